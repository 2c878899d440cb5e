/** The tool bash with real processes: what they print, how they end, and that nothing stays behind. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ToolResult } from "../../core/index.ts";
import { ProcessGroups } from "../../plugins/shared/shell.ts";
import { type BashToolOptions, createBashTool } from "../../plugins/tools/definitions/bash.ts";
import { runPi, startRpc, tempDir } from "../helpers/pi.ts";

const textOf = ({ content }: ToolResult) => content.map((block) => ("text" in block ? block.text : "")).join("");
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, "latin1").includes(") Z ");
  } catch {
    return false;
  }
};
const until = async (holds: () => boolean) => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
};

function shell(options: BashToolOptions = {}, cwd = tempDir()) {
  const tool = createBashTool(cwd, options);
  const updates: ToolResult[] = [];
  const run = (command: string, more: { timeout?: number; signal?: AbortSignal; context?: unknown } = {}) =>
    tool.execute("1", { command, ...(more.timeout !== undefined && { timeout: more.timeout }) }, more.signal, (update) => updates.push(update), more.context);
  const failure = (command: string, more?: Parameters<typeof run>[1]) =>
    run(command, more).then(
      () => "it did not fail",
      (error: Error) => error.message,
    );
  return { cwd, run, failure, updates };
}

describe("output", () => {
  it("merges stdout and stderr in the order of writing and has empty details", async () => {
    const { run } = shell();
    const result = await run("for i in 1 2 3; do echo out$i; echo err$i >&2; done");
    expect(textOf(result)).toBe("out1\nerr1\nout2\nerr2\nout3\nerr3\n");
    expect(result.details).toEqual({});
  });

  it("says so if there is none, and keeps control sequences", async () => {
    const { run } = shell();
    expect(textOf(await run("true"))).toBe("(no output)");
    expect(textOf(await run("printf '\\033[31mred\\033[0m\\r\\n'"))).toBe("\u001b[31mred\u001b[0m\r\n");
  });

  it("decodes characters that arrive in pieces, and bytes that are none", async () => {
    const { run } = shell();
    expect(textOf(await run("printf '\\303'; sleep 0.1; printf '\\251\\n'; printf '\\377'"))).toBe("é\n\uFFFD");
  });

  it("does not name a file that could not be written", async () => {
    const { stdout } = await runPi({
      args: ["--mode", "json", "--no-session", "hi"],
      env: { TMPDIR: join(tempDir(), "none") },
      script: { responses: [{ toolCalls: [{ name: "bash", arguments: { command: "seq 1 3000" } }] }, "done"] },
    });
    const end = stdout.split("\n").find((line) => line.includes('"tool_execution_end"')) ?? "";
    const { result } = JSON.parse(end);
    expect(textOf(result)).toMatch(/3000\n\n\n\[Showing lines 1001-3000 of 3000\. The full output could not be kept\]$/);
    expect(result.details).not.toHaveProperty("fullOutputPath");
  });

  it("keeps the last 2000 lines and puts everything into a file", async () => {
    const { run } = shell();
    const result = await run("seq 1 3000");
    const { truncation, fullOutputPath } = result.details as any;
    expect(textOf(result)).toBe(
      `${Array.from({ length: 2000 }, (_, index) => `${index + 1001}\n`).join("")}\n\n[Showing lines 1001-3000 of 3000. Full output: ${fullOutputPath}]`,
    );
    expect(truncation).toMatchObject({ truncated: true, truncatedBy: "lines", totalLines: 3000, outputLines: 2000 });
    expect(fullOutputPath).toMatch(/pi-bash-[0-9a-f]{16}\.log$/);
    expect(readFileSync(fullOutputPath, "utf8").split("\n").length).toBe(3001);
    expect(statSync(fullOutputPath).mode & 0o777).toBe(0o600);
    rmSync(fullOutputPath);
  });

  it("keeps the last 50 KB in whole lines", async () => {
    const { run } = shell();
    const result = await run("for i in $(seq 1 100); do printf '%01023d\\n' $i; done");
    const { fullOutputPath } = result.details as any;
    expect(textOf(result)).toContain(`\n\n[Showing lines 51-100 of 100 (50.0KB limit). Full output: ${fullOutputPath}]`);
    expect(textOf(result).split("\n")[0]).toBe("51".padStart(1023, "0"));
    rmSync(fullOutputPath);
  });

  it("shows the end of a last line that is too big", async () => {
    const { run } = shell();
    const result = await run("echo first; head -c 60000 /dev/zero | tr '\\0' x");
    const { fullOutputPath } = result.details as any;
    expect(textOf(result)).toBe(`${"x".repeat(51_200)}\n\n[Showing last 50.0KB of line 2 (line is 58.6KB). Full output: ${fullOutputPath}]`);
    rmSync(fullOutputPath);
  });

  it("updates begin empty, then carry the whole so far, at least 100 ms apart", async () => {
    const { run, updates } = shell();
    const times: number[] = [];
    const push = updates.push.bind(updates);
    updates.push = (...items) => {
      times.push(performance.now());
      return push(...items);
    };
    await run("for i in $(seq 1 40); do echo $i; sleep 0.01; done");
    expect(updates[0]).toEqual({ content: [], details: undefined });
    const texts = updates.slice(1).map(textOf);
    expect(texts.length).toBeGreaterThan(1);
    expect(texts.every((text, index) => text.startsWith(texts[index - 1] ?? "1\n"))).toBe(true);
    expect(updates[1]?.details).toEqual({});
    // Timers may fire a hair early.
    for (let index = 2; index < times.length; index++) expect((times[index] as number) - (times[index - 1] as number)).toBeGreaterThan(98);
  });

  it("a consumer that is not ready holds a flood back, and nothing of it is lost", async () => {
    const bytes = 10 * 1024 * 1024;
    let isOpen = true;
    let waits = 0;
    const { run } = shell({
      ready() {
        isOpen = !isOpen;
        if (isOpen || waits++ > 50) return undefined;
        return new Promise((resolve) => setTimeout(resolve, 1));
      },
    });
    const { fullOutputPath, truncation } = (await run(`yes 0123456789012345678901234567890 | head -c ${bytes}`)).details as any;
    expect(truncation.totalBytes).toBe(bytes);
    expect(statSync(fullOutputPath).size).toBe(bytes);
    expect(waits).toBeGreaterThan(10);
    rmSync(fullOutputPath);
  });

  it.skipIf(process.platform !== "linux")("a flood moves the program's memory by little", async () => {
    const bytes = (process.env.PI_TEST_LONG ? 1024 : 100) * 1024 * 1024;
    const call = (command: string) => ({ toolCalls: [{ name: "bash", arguments: { command } }] });
    const flood = `yes 0123456789012345678901234567890 | head -c ${bytes}`;
    const rpc = startRpc({ args: ["--no-session"], script: { responses: [call("echo first"), { text: "one" }, call(flood), { text: "two" }] } });
    const memory = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${rpc.child.pid}/status`, "utf8"))?.[1]) / 1024;
    await rpc.prompt("first");
    const before = memory("VmRSS");
    const frames = await rpc.prompt("flood");
    const { fullOutputPath, truncation } = frames.filter(({ type }) => type === "tool_execution_end").map(({ result }) => result.details)[0];
    expect(truncation.totalBytes).toBe(bytes);
    expect(statSync(fullOutputPath).size).toBe(bytes);
    expect(memory("VmHWM") - before).toBeLessThan(64);
    rmSync(fullOutputPath);
  });
});

describe("ends", () => {
  it("a failure is an error with the output and the code; a signal is 128 and its number", async () => {
    const { failure } = shell();
    expect(await failure("echo a; exit 3")).toBe("a\n\n\nCommand exited with code 3");
    expect(await failure("exit 1")).toBe("(no output)\n\nCommand exited with code 1");
    expect(await failure("kill -9 $$")).toBe("(no output)\n\nCommand exited with code 137");
    expect(await failure("echo 'unterminated")).toContain("Command exited with code 2");
  });

  it("a time-out kills the whole group, also what ignores SIGTERM", async () => {
    const { failure, cwd } = shell();
    expect(await failure("trap '' TERM INT HUP; echo hi; sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done'", { timeout: 0.5 })).toBe(
      "hi\n\n\nCommand timed out after 0.5 seconds",
    );
    const pid = Number(readFileSync(join(cwd, "pid"), "utf8"));
    await until(() => !isAlive(pid));
  });

  it("refuses time-outs that are none", async () => {
    const { failure } = shell();
    for (const timeout of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2_147_484]) expect(await failure("true", { timeout })).toMatch(/^Invalid timeout/);
  });

  it("an abort ends the tree, also children in another session, and reports the output so far", async () => {
    const { failure, cwd } = shell();
    const controller = new AbortController();
    const failed = failure("echo a; sleep 100 & echo $! > pid1; setsid sh -c 'echo $$ > pid2; sleep 100'; true", { signal: controller.signal });
    await until(() => ["pid1", "pid2"].every((name) => existsSync(join(cwd, name)) && readFileSync(join(cwd, name), "utf8").includes("\n")));
    controller.abort();
    expect(await failed).toBe("a\n\n\nCommand aborted");
    for (const name of ["pid1", "pid2"]) await until(() => !isAlive(Number(readFileSync(join(cwd, name), "utf8"))));
    expect(await failure("echo never", { signal: AbortSignal.abort() })).toBe("Command aborted");
  });

  it("an abort does not wait for a consumer that takes nothing", async () => {
    const controller = new AbortController();
    const { failure } = shell({ ready: () => new Promise(() => {}) });
    setTimeout(() => controller.abort(), 200);
    const message = await failure("yes", { signal: controller.signal });
    expect(message).toContain("Command aborted");
    const [, path] = /Full output: (.+)\]/.exec(message) ?? [];
    if (path) rmSync(path);
  });

  it("background children do not hold it up, and end with their groups", async () => {
    const groups = new ProcessGroups();
    const { run, cwd } = shell({ groups });
    expect(textOf(await run("sleep 100 & echo $! > pid; echo started"))).toBe("started\n");
    const pid = Number(readFileSync(join(cwd, "pid"), "utf8"));
    expect(isAlive(pid)).toBe(true);
    groups.killAll();
    await until(() => !isAlive(pid));
  });

  it.skipIf(process.platform !== "linux")("commands end with an agent that is killed, also what they left in the background", async () => {
    const run = (command: string) => ({ toolCalls: [{ name: "bash", arguments: { command } }] });
    const left = "sleep 300 >/dev/null 2>&1 & echo $! > left; disown";
    const rpc = startRpc({ script: [run(left), run("sh -c 'echo $$ > inner; sleep 300' & echo $$ > outer; wait")] });
    await rpc.ask("prompt", { message: "go" });
    const started = rpc.child.pid as number;
    const pidIn = (name: string) => {
      const path = join(rpc.places.cwd, name);
      return existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
    };
    await until(() => ["left", "outer", "inner"].every((name) => pidIn(name) > 0));
    // A guard comes beside the command when one has run for a while, and is told of each after that time.
    await until(() => readFileSync(`/proc/${started}/task/${started}/children`, "utf8").trim().split(" ").length === 2);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    rpc.child.kill("SIGKILL");
    await rpc.exited;
    for (const name of ["left", "outer", "inner"]) await until(() => !isAlive(pidIn(name)));
  });

  it("waits for a command that closed its output, and gives one that reads input its end", async () => {
    const { run, cwd } = shell();
    expect(textOf(await run("exec >&- 2>&-; sleep 0.3; touch done"))).toBe("(no output)");
    expect(existsSync(join(cwd, "done"))).toBe(true);
    expect(textOf(await run("cat; read x; echo end"))).toBe("end\n");
  });

  it("names a working directory that is gone and a shell that is not there", async () => {
    const { failure, cwd } = shell();
    rmSync(cwd, { recursive: true });
    expect(await failure("true")).toBe(`Working directory does not exist: ${cwd}`);
    mkdirSync(cwd);
    expect(await shell({ shellPath: "/no/such/shell" }).failure("true")).toContain("/no/such/shell");
  });

  it("a command that is too long or holds a zero byte fails, and the next one runs", async () => {
    const { failure, run } = shell();
    expect(await failure(`echo ${"x".repeat(3_000_000)}`)).toMatch(/E2BIG/);
    expect(await failure("echo a\0b")).toMatch(/null bytes/);
    expect(textOf(await run("echo fine"))).toBe("fine\n");
  });
});

describe("surroundings", () => {
  it("runs in bash, with the prefix before the command, in the working directory", async () => {
    const { run, cwd } = shell({ commandPrefix: "shopt -s extglob\nGREETING=hello" });
    expect(textOf(await run("echo $GREETING $BASH_VERSION | cut -d' ' -f1; pwd"))).toBe(`hello\n${cwd}\n`);
    expect(textOf(await shell({ shellPath: "/bin/sh" }).run("echo $0"))).toBe("/bin/sh\n");
  });

  it("sets the five variables for each command, and removes those of an outer agent", async () => {
    let model = "m1";
    const environment = { base: { PATH: process.env.PATH, PI_SESSION_FILE: "/outer", PI_MODEL: "outer", KEEP: "1" }, binDir: "/agent/bin" };
    const { run } = shell({
      environment,
      sessionEnvironment: () => ({ SESSION_ID: "s", PROVIDER: "p", MODEL: model, REASONING_LEVEL: "low", SESSION_FILE: undefined }),
    });
    const show = 'echo "$PI_SESSION_ID|$PI_SESSION_FILE|$PI_PROVIDER|$PI_MODEL|$PI_REASONING_LEVEL|$KEEP|$AI_AGENT|$PI_CODING_AGENT"; echo $PATH';
    expect(textOf(await run(show))).toBe(`s||p|m1|low|1|pi|true\n/agent/bin:${process.env.PATH}\n`);
    model = "m2";
    expect(textOf(await run(show))).toContain("|m2|");
    const hidden = shell({ environment, exposeSessionEnvironment: false, sessionEnvironment: () => ({ MODEL: "m" }) });
    expect(textOf(await hidden.run(show))).toContain("||||");
  });

  it("takes them from an extension's context, and lets a hook change what is spawned", async () => {
    const context = { sessionManager: { getSessionId: () => "id", getSessionFile: () => "/f" }, model: { provider: "p", id: "m" }, thinkingLevel: "high" };
    const { run } = shell({ spawnHook: ({ command, cwd, env }) => ({ command: `${command}; echo $ADDED`, cwd, env: { ...env, ADDED: "yes" } }) });
    expect(textOf(await run('echo "$PI_SESSION_ID $PI_SESSION_FILE $PI_MODEL $PI_REASONING_LEVEL"', { context }))).toBe("id /f m high\nyes\n");
  });

  it("runs through operations of an extension", async () => {
    const { run, failure } = shell(
      {
        operations: {
          async exec(command, cwd, { onData }) {
            if (command === "slow") throw new Error("timeout:5");
            onData(Buffer.from(`${command} in ${cwd}`));
            return { exitCode: command === "bad" ? 2 : 0 };
          },
        },
      },
      "/far",
    );
    expect(textOf(await run("ls"))).toBe("ls in /far");
    expect(await failure("bad")).toBe("bad in /far\n\nCommand exited with code 2");
    expect(await failure("slow")).toBe("Command timed out after 5 seconds");
  });
});
