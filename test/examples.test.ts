/** The examples run, as they would where the package is installed. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { installedExamples } from "./helpers/examples.ts";
import { preparePlaces, programPath, repositoryRoot } from "./helpers/pi.ts";

/** Runs a program to its end. */
function run(command: string[], { cwd, env, input }: { cwd: string; env: NodeJS.ProcessEnv; input?: string }) {
  return new Promise<{ stdout: string; stderr: string; status: number | null }>((resolve, reject) => {
    const [program = "", ...args] = command;
    const child = spawn(program, args, { cwd, env });
    onTestFinished(() => void child.kill("SIGKILL"));
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
    });
    child.on("error", reject);
    child.on("close", (status) => resolve({ stdout, stderr, status }));
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
  });
}

const hasPython = (() => {
  try {
    execFileSync("python3", ["-c", "import sys; assert sys.version_info >= (3, 9)"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();
const noPython = "no python3 of version 3.9 or later on this machine";

test.for(["full", "delta"])("both clients see the scenario in the same way, updates %s", async (updates, { skip }) => {
  if (!hasPython) skip(noPython);
  const examples = installedExamples();
  const { cwd, env } = preparePlaces();
  const file = join(examples, "scenario.json");
  const { expect: expected } = JSON.parse(readFileSync(file, "utf8"));
  const options = [file, programPath, "--rpc-updates", updates];
  const javascript = await run([process.execPath, join(examples, "scenario.mjs"), ...options], { cwd, env });
  expect(javascript.stderr).toBe("");
  expect(JSON.parse(javascript.stdout)).toEqual(expected);
  const python = await run(["python3", join(examples, "python/scenario.py"), ...options], { cwd, env });
  expect(python.stderr).toBe("");
  expect(JSON.parse(python.stdout)).toEqual(expected);
});

test("basic: prints the answer, and an error on stderr", async () => {
  const examples = installedExamples();
  const places = preparePlaces({ script: ["Good day."] });
  const env = { ...places.env, PI: programPath };
  const basic = (args: string[]) => run([process.execPath, join(examples, "basic.mjs"), "Hello", ...args], { cwd: places.cwd, env });
  expect(await basic(places.args)).toMatchObject({ stdout: "Good day.\n", status: 0 });
  expect(await basic(["--model", "scripted/none.json"])).toMatchObject({ status: 1 });
});

test("host tools: the model sells tea", async () => {
  const examples = installedExamples();
  const sell = (thing: string, count: number) => ({ toolCalls: [{ name: "sell", arguments: { thing, count } }] });
  const { cwd, env, args } = preparePlaces({ script: [sell("tea", 2), sell("coffee", 1), "Two cups of tea are sold; there is no coffee."] });
  const { stdout } = await run([process.execPath, join(examples, "host-tools.mjs"), "Sell", ...args], { cwd, env: { ...env, PI: programPath } });
  expect(stdout.trim().split("\n")).toEqual([
    "sell: Sold 2 tea, 3 left.",
    "sell: There is not enough coffee.",
    "Two cups of tea are sold; there is no coffee.",
    "tea left: 3",
  ]);
});

test("terminal: talks, asks, and lets no escape sequence through", async () => {
  const examples = installedExamples();
  const { cwd, env, args } = preparePlaces({
    script: ["Hello \u001b]0;owned\u0007there.", { toolCalls: [{ name: "bash", arguments: { command: "echo from bash" } }] }, "It ran."],
  });
  const input = ["hi", "run it", "y", "/ask", "2", "n", "Ada", "", ""].join("\n");
  const command = [process.execPath, join(examples, "terminal.mjs"), "-e", join(examples, "extensions/ask.ts"), "--no-session", ...args];
  const { stdout, status } = await run(command, { cwd, env: { ...env, PI: programPath }, input });
  expect(status).toBe(0);
  expect(stdout).not.toMatch(/[\u001b\u0007]/);
  expect(stdout).toContain("Hello ]0;ownedthere.");
  expect(stdout).toContain("Run this command? echo from bash [y/n]");
  expect(stdout).toContain("from bash\n");
  expect(stdout).toContain("iced coffee for Ada: No sugar.");
});

test("python: the example lends a tool; a dead agent is told; pending calls end", async ({ skip }) => {
  if (!hasPython) skip(noPython);
  const examples = installedExamples();
  const { cwd, env, args } = preparePlaces({ script: [{ toolCalls: [{ name: "clock", arguments: {} }] }, "It is late."] });
  const { stdout, status } = await run(["python3", join(examples, "python/example.py"), "What time is it?", ...args], {
    cwd,
    env: { ...env, PI: programPath },
  });
  expect(status).toBe(0);
  expect(stdout).toContain("[clock]");
  expect(stdout).toContain("It is late.");

  const hanging = preparePlaces({ script: [{ hang: true }] });
  const program = `
import sys, threading
sys.path.insert(0, ${JSON.stringify(join(examples, "python"))})
from pi_client import AgentGone, PiClient, PiError
pi = PiClient(command=["node", ${JSON.stringify(programPath)}], args=${JSON.stringify(hanging.args)}).start()
try:
    pi.call("set_steering_mode", mode="some")
except PiError as error:
    print(error.command, error)
errors = []
def wait():
    try:
        pi.prompt_and_wait("hang")
    except AgentGone as error:
        errors.append(str(error))
thread = threading.Thread(target=wait)
with pi.events() as events:
    thread.start()
    for event in events:
        if event["type"] == "turn_start":
            break
print(pi.bash("echo hi")["output"], pi.get_messages()[0]["role"], pi.get_last_assistant_text())
pi._process.kill()
thread.join(30)
print(errors)
try:
    pi.get_state()
except AgentGone as error:
    print(error)
pi.stop()

pi = PiClient(command=["node", ${JSON.stringify(programPath)}], args=${JSON.stringify(hanging.args)})
with pi:
    pi.prompt("hang")
    pi.abort()
    state = pi.get_state()
    print(pi.set_model(state["model"]["provider"], state["model"]["id"])["provider"])
print(pi._process.returncode)
`;
  writeFileSync(join(cwd, "check.py"), program);
  const checked = await run(["python3", join(cwd, "check.py")], { cwd, env: hanging.env });
  expect(checked.stderr).toBe("");
  expect(checked.stdout.split("\n")).toEqual([
    'set_steering_mode Invalid parameter "mode": expected one of all, one-at-a-time',
    "hi",
    " user None",
    "['The agent ended with status -9.']",
    "The agent ended with status -9.",
    "scripted",
    "0",
    "",
  ]);
});

test("python: a client that comes back gets what it missed, once and in order, and runs the tools that nobody answered", async ({ skip }) => {
  if (!hasPython) skip(noPython);
  const examples = installedExamples();
  const call = (name: string) => ({ toolCalls: [{ name, arguments: {} }] });
  const { cwd, env, args } = preparePlaces({ script: [call("clock"), call("clock"), "It is noon."] });
  const program = `import json, subprocess, sys
sys.path.insert(0, ${JSON.stringify(join(examples, "python"))})
from pi_client import HostTool, PiClient, PiError

runs = []
clock = HostTool("clock", "Tells the time", {"type": "object", "properties": {}}, lambda arguments, context: runs.append(1) or "noon")
agent = subprocess.Popen(
    [${JSON.stringify(process.execPath)}, ${JSON.stringify(programPath)}, "--mode", "rpc", "--rpc-seq", *${JSON.stringify(args)}],
    bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

def send(record):
    agent.stdin.write(json.dumps(record).encode() + b"\\n")

# The first client answers one call, reads the next and half a record more, and is no more.
send({"type": "set_host_tools", "id": "a", "tools": [clock.definition()]})
send({"type": "prompt", "id": "b", "message": "What time is it?"})
handled = calls = 0
while calls < 2:
    record = json.loads(agent.stdout.readline())
    if record["type"] == "agent_start":
        handled = record["seq"]
    if record["type"] == "host_tool_call":
        calls += 1
        if calls == 1:
            send({"type": "host_tool_result", "id": record["id"], "result": {"content": [{"type": "text", "text": "noon"}]}})
send({"type": "get_state", "id": "c"})
agent.stdout.read(5)

pi = PiClient(streams=(agent.stdout, agent.stdin), after=handled, host_tools=[clock])
seen = []
with pi.events() as events:
    pi.start()
    for event in events:
        seen.append(event["seq"])
        if event["type"] == "agent_settled":
            break
numbers = sorted(set(seen))
print(pi.complete, seen == numbers, numbers[0] == handled + 1, len(runs), pi.get_last_assistant_text())
print(pi.resume_events(), pi.last_seq > numbers[-1])
pi.stop()
agent.wait()

with PiClient([${JSON.stringify(process.execPath)}, ${JSON.stringify(programPath)}], args=${JSON.stringify(args)}) as plain:
    print(plain.last_seq)
    try:
        plain.resume_events()
    except PiError as error:
        print(error)
other = subprocess.Popen([${JSON.stringify(process.execPath)}, ${JSON.stringify(programPath)}, "--mode", "rpc", "--rpc-seq", *${JSON.stringify(args)}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
with PiClient(streams=(other.stdout, other.stdin), after=1000) as stranger:
    print(stranger.complete, stranger.get_state()["isStreaming"])
other.wait()
`;
  writeFileSync(join(cwd, "back.py"), program);
  const { stdout, stderr } = await run(["python3", join(cwd, "back.py")], { cwd, env });
  expect(stderr).toBe("");
  expect(stdout.split("\n")).toEqual(["True True True 1 It is noon.", "True True", "None", "Unknown command: resume_events", "False False", ""]);
});

test("the programs in docs/embedding.md run", async ({ skip }) => {
  const page = readFileSync(join(repositoryRoot, "docs/embedding.md"), "utf8");
  const programs = [...page.matchAll(/^```js run\n(.*?)^```$/gms)].map(([, text]) => String(text));
  expect(programs).toHaveLength(2);
  const examples = installedExamples();
  const { cwd, env } = preparePlaces({ files: { "a.txt": "" } });
  mkdirSync(join(cwd, ".bin"));
  symlinkSync(programPath, join(cwd, ".bin/pi"));
  for (const [index, text] of programs.entries()) {
    // The SDK needs the packages that are installed beside it.
    if (text.includes('from "pi-kernel"') && !programPath.startsWith(repositoryRoot)) skip("built outside of the repository, away from its packages");
    const file = join(examples, `program-${index}.mjs`);
    writeFileSync(file, text);
    const { stdout, stderr, status } = await run([process.execPath, file], { cwd, env: { ...env, PATH: `${join(cwd, ".bin")}:${env.PATH}` } });
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    expect(stdout.trim()).not.toBe("");
  }
});
