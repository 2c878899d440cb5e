/** Shell commands of the user: through the real program, and the hook and the plain text by themselves. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type AgentMessage, definePlugin } from "../../core/index.ts";
import userBash from "../../plugins/user-bash/index.ts";
import { PlainText } from "../../plugins/user-bash/plain-text.ts";
import { startMemory } from "../helpers/memory.ts";
import { type Frame, type PiOptions, startRpc } from "../helpers/pi.ts";
import { recordingModel } from "../helpers/recording-model.ts";

function start(answers?: unknown[], options: PiOptions = {}) {
  const model = recordingModel(answers);
  const pi = startRpc({ ...options, args: [...model.args, ...(options.args ?? [])] });
  const deltas = (id: string) => pi.frames.filter((frame) => frame.type === "bash_execution_update" && frame.id === id).map(({ delta }) => delta as string);
  return { pi, deltas, requests: model.requests };
}

const isAlive = (pid: number) => {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "latin1").includes(") Z ");
  } catch {
    return false;
  }
};
const until = async (holds: () => boolean) => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
};
const bashMessages = (messages: AgentMessage[]) => messages.filter(({ role }) => role === "bashExecution");

describe("bash", () => {
  it("answers with output, counts and code, and sends the output as it comes", async () => {
    const { pi, deltas } = start();
    pi.send({ id: "b1", type: "bash", command: "echo out; echo err >&2; exit 3" });
    const response = await pi.find((frame) => frame.type === "response" && frame.id === "b1");
    expect(response).toEqual({
      id: "b1",
      type: "response",
      command: "bash",
      success: true,
      data: { output: "out\nerr\n", exitCode: 3, cancelled: false, truncated: false, totalLines: 2, totalBytes: 8, outputLines: 2, outputBytes: 8 },
    });
    expect(deltas("b1").join("")).toBe("out\nerr\n");
    // No message events are told about the recorded message.
    expect(pi.frames.filter(({ type }) => type.startsWith("message_"))).toEqual([]);
    const { messages } = await pi.ask("get_messages");
    expect(messages).toMatchObject([{ role: "bashExecution", command: "echo out; echo err >&2; exit 3", output: "out\nerr\n", exitCode: 3 }]);
  });

  it("cuts long output from the front; the updates and the file are complete", async () => {
    const { pi, deltas } = start();
    pi.send({ id: "b1", type: "bash", command: "seq 1 20000" });
    const { data } = await pi.find((frame) => frame.type === "response" && frame.id === "b1");
    expect(data).toMatchObject({ exitCode: 0, truncated: true, totalLines: 20_000, totalBytes: 108_894, outputLines: 2000, outputBytes: 12_000 });
    expect(data.output.startsWith("18001\n")).toBe(true);
    expect(data.fullOutputPath).toContain(data.artifactId);
    const whole = Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join("");
    expect(readFileSync(data.fullOutputPath, "utf8")).toBe(whole);
    expect(deltas("b1").join("")).toBe(whole);
    rmSync(data.fullOutputPath);
  });

  it("reaches the model with the next prompt, not before, and not at all if excluded", async () => {
    const { pi, requests } = start();
    await pi.ask("bash", { command: "echo one; exit 2" });
    await pi.ask("bash", { command: "true" });
    await pi.ask("bash", { command: "echo secret", excludeFromContext: true });
    await pi.ask("bash", { command: "echo '```'" });
    expect(requests()).toEqual([]);
    await pi.prompt("go on");
    const texts = requests()[0]?.messages.map(({ role, content }: any) => `${role}: ${content[0].text}`);
    expect(texts).toEqual([
      "user: Ran `echo one; exit 2`\n```\none\n```\n\nCommand exited with code 2",
      "user: Ran `true`\n(no output)",
      "user: Ran `echo '```'`\n````\n```\n````",
      "user: go on",
    ]);
    const { messages } = await pi.ask("get_messages");
    expect(messages.map(({ role }: Frame) => role)).toEqual(["bashExecution", "bashExecution", "bashExecution", "bashExecution", "user", "assistant"]);
    expect(messages[2].excludeFromContext).toBe(true);
  });

  it("during a run it runs at once and is recorded when the run has ended", async () => {
    const { pi } = start([{ hang: true }]);
    await pi.ask("prompt", { message: "wait" });
    await pi.find((frame) => frame.type === "agent_start");
    expect(await pi.ask("bash", { command: "echo now" })).toMatchObject({ output: "now\n" });
    expect(bashMessages((await pi.ask("get_messages")).messages)).toEqual([]);
    await pi.ask("abort");
    const { messages } = await pi.ask("get_messages");
    expect(messages.map(({ role }: Frame) => role)).toEqual(["user", "assistant", "bashExecution"]);
  });

  it("several run at the same time; abort_bash kills all of them with their children", async () => {
    const { pi } = start();
    pi.send({ id: "b1", type: "bash", command: "echo a; sleep 100 & echo $! > pid1; wait" });
    pi.send({ id: "b2", type: "bash", command: "trap '' TERM; echo $$ > pid2; while :; do sleep 1; done" });
    const file = (name: string) => join(pi.places.cwd, name);
    await until(() => ["pid1", "pid2"].every((name) => existsSync(file(name)) && readFileSync(file(name), "utf8").includes("\n")));
    await pi.find((frame) => frame.type === "bash_execution_update" && frame.id === "b1");
    expect(await pi.ask("abort_bash")).toBeUndefined();
    const [first, second] = await Promise.all(["b1", "b2"].map((id) => pi.find((frame) => frame.type === "response" && frame.id === id)));
    expect(first?.data).toMatchObject({ output: "a\n", exitCode: null, cancelled: true, truncated: false });
    expect(second?.data).toMatchObject({ output: "", exitCode: null, cancelled: true });
    for (const name of ["pid1", "pid2"]) await until(() => !isAlive(Number(readFileSync(file(name), "utf8"))));
    expect(await pi.call("abort_bash")).toMatchObject({ success: true });
  });

  it("strips what only a terminal understands, gives no input, and does not know the session", async () => {
    const { pi } = start([], { env: { PI_MODEL: "outer" } });
    const { output } = await pi.ask("bash", {
      command: "printf '\\033[31mred\\033[0m\\r\\nbell\\007 tab\\there\\n'; cat; echo \"[$PI_SESSION_ID$PI_MODEL]\"; echo $PI_CODING_AGENT",
    });
    expect(output).toBe("red\nbell tab\there\n[]\ntrue\n");
    expect(await pi.ask("bash", { command: "kill -9 $$" })).toMatchObject({ exitCode: null, cancelled: false });
  });

  it("checks its parameters, and says why a shell cannot be started", async () => {
    const { pi } = start([], { agentFiles: { "settings.json": JSON.stringify({ shellPath: "/no/shell" }) } });
    expect(await pi.call("bash")).toMatchObject({ success: false, error: 'Missing required parameter "command"' });
    expect(await pi.call("bash", { command: "" })).toMatchObject({ success: false, error: 'Invalid parameter "command": expected a non-empty string' });
    const { error } = await pi.call("bash", { command: "true" });
    expect(error).toMatch(/^Failed to start shell: .*\/no\/shell/);
  });

  it("uses the configured shell and prefix", async () => {
    const { pi } = start([], { agentFiles: { "settings.json": JSON.stringify({ shellPath: "/bin/sh", shellCommandPrefix: "hello() { echo hi; }" }) } });
    expect(await pi.ask("bash", { command: "hello; echo $0" })).toMatchObject({ output: "hi\n/bin/sh\n" });
  });

  it("ends with the agent, also what it left in the background", async () => {
    const { pi } = start();
    await pi.ask("bash", { command: "sleep 100 & echo $! > pid1" });
    pi.send({ id: "b2", type: "bash", command: "echo $$ > pid2; sleep 100" });
    const file = (name: string) => join(pi.places.cwd, name);
    await until(() => existsSync(file("pid2")) && readFileSync(file("pid2"), "utf8").includes("\n"));
    expect((await pi.stop()).status).toBe(0);
    for (const name of ["pid1", "pid2"]) await until(() => !isAlive(Number(readFileSync(file(name), "utf8"))));
    expect(pi.frames.find(({ id }) => id === "b2")).toMatchObject({ success: true, data: { cancelled: true } });
  });

  it("dialect legacy: no updates, bash_end instead", async () => {
    const { pi } = start([], { args: ["--rpc-dialect", "legacy"] });
    pi.send({ type: "bash", command: "echo hi" });
    const end = await pi.find((frame) => frame.type === "bash_end");
    expect(end.message).toMatchObject({ role: "bashExecution", command: "echo hi", output: "hi\n", exitCode: 0 });
    expect(pi.frames.filter(({ type }) => type === "bash_execution_update")).toEqual([]);
  });

  it("a client that does not read stops a flood, and gets all of it in the end", async () => {
    const { pi, deltas } = start();
    const bytes = (process.env.PI_TEST_LONG ? 512 : 48) * 1024 * 1024;
    await pi.ask("get_state");
    pi.child.stdout.pause();
    pi.send({ id: "b1", type: "bash", command: `yes 01234567890123456789012345678901 | head -c ${bytes}; touch done` });
    const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pi.child.pid}/status`, "utf8"))?.[1]) * 1024;
    const before = memory();
    let peak = 0;
    for (let round = 0; round < 10; round++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      peak = Math.max(peak, memory() - before);
    }
    expect(existsSync(join(pi.places.cwd, "done"))).toBe(false);
    pi.child.stdout.resume();
    const { data } = await pi.find((frame) => frame.type === "response" && frame.id === "b1");
    expect(data.totalBytes).toBe(bytes);
    expect(deltas("b1").reduce((sum, delta) => sum + delta.length, 0)).toBe(bytes);
    expect(peak).toBeLessThan(96 * 1024 * 1024);
    rmSync(data.fullOutputPath);
  });
});

describe("the hook before", () => {
  const withVerdict = async (verdict: any) => {
    const memory = await startMemory(
      [],
      [
        userBash,
        definePlugin({
          name: "taker",
          apply: (kernel) => void kernel.own(kernel.service("userBash").hooks).before.tap("taker", (request) => verdict(request)),
        }),
      ],
    );
    return { memory, run: (command: string) => memory.kernel.execute("bash", { command }).then(({ data }) => data as any) };
  };

  it("may bring the result", async () => {
    const { run, memory } = await withVerdict(({ command }: { command: string }) => ({ result: { output: `not ${command}\n`, exitCode: 0 } }));
    expect(await run("ls")).toEqual({
      output: "not ls\n",
      exitCode: 0,
      cancelled: false,
      truncated: false,
      totalLines: 1,
      totalBytes: 7,
      outputLines: 1,
      outputBytes: 7,
    });
    expect(memory.messages).toMatchObject([{ role: "bashExecution", command: "ls", output: "not ls\n" }]);
  });

  it("may bring the way it is run, or refuse by throwing", async () => {
    const operations = {
      exec: async (command: string, _cwd: string, { onData }: { onData(data: Buffer): void }) => {
        onData(Buffer.from(`far: ${command}`));
        return { exitCode: 4 };
      },
    };
    expect(await (await withVerdict(() => ({ operations }))).run("ls")).toMatchObject({ output: "far: ls", exitCode: 4 });
    const refusing = await withVerdict(() => {
      throw new Error("not today");
    });
    await expect(refusing.run("ls")).rejects.toThrow("not today");
    expect(refusing.memory.messages).toEqual([]);
  });
});

describe("plain text", () => {
  const strip = (...pieces: string[]) => {
    const plain = new PlainText();
    const parts = [...pieces.map((piece) => plain.push(Buffer.from(piece, "latin1"))), plain.end()];
    const text = parts.map((part) => part.text).join("");
    // The bytes are those of the text, whatever was held or taken out.
    expect(Buffer.concat(parts.map(({ bytes }) => bytes)).toString("utf8")).toBe(text);
    return text;
  };

  it("leaves out colours, titles, links, device strings and control characters", () => {
    expect(strip("\u001b[1;31mred\u001b[0m")).toBe("red");
    expect(strip("\u001b]0;title\u0007text\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\")).toBe("textlink");
    expect(strip("a\u001bPdevice\u001b\\b\u001b(Bc\u001b7d\u001b=e")).toBe("abcde");
    expect(strip("a\rb\0c\u0008d\te\nf\u007f")).toBe("abcd\te\nf");
  });

  it("also if they come in pieces, and keeps what only looks like one", () => {
    expect(strip("a\u001b", "[3", "1", "mb")).toBe("ab");
    expect(strip("a\u001b]0;ti", "tle\u001b", "\\b")).toBe("ab");
    expect(strip("caf\u00c3", "\u00a9")).toBe("caf\u00e9");
    expect(strip(`a\u001b]${"x".repeat(10_000)}`, "b")).toContain("xb");
    expect(strip("end\u001b")).toBe("end");
    // As many characters as bytes, and yet not the same.
    expect(strip("a\u001b[3", "\u0007\u0007b")).toBe("a[3b");
    expect(strip("\u00c3", "\u00a9")).toBe("\u00e9");
    expect(strip("\u00c3", "ab\u0007")).toBe("\ufffdab");
    expect(strip("\u00ff\u00fe")).toBe("\ufffd\ufffd");
  });
});
