/** The RPC mode as a process: starting, framing over real pipes, ending. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Frame, preparePlaces, programPath, runPi, startRpc, tempDir } from "../helpers/pi.ts";

const linesOf = (text: string): Frame[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

/** Waits for a condition that nothing announces. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A child that nobody has waited for yet is no more.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

describe("starting", () => {
  const refused = async (options: Parameters<typeof runPi>[0], message: string) => {
    const { status, stdout, stderr } = await runPi({ ...options, args: ["--mode", "rpc", ...(options?.args ?? [])] });
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr.trim()).toBe(message);
  };

  test("wrong words are refused before anything is written", async () => {
    await refused({ args: ["--rpc-dialect", "klingon"] }, 'Error: Invalid --rpc-dialect "klingon" (expected pi, omp, xcsh or legacy)');
    await refused({ env: { PI_RPC_DIALECT: "x" } }, 'Error: Invalid --rpc-dialect "x" (expected pi, omp, xcsh or legacy)');
    await refused({ args: ["--rpc-updates", "some"] }, 'Error: Invalid --rpc-updates "some" (expected full or delta)');
    await refused({ env: { PI_RPC_UPDATES: "x" } }, 'Error: Invalid --rpc-updates "x" (expected full or delta)');
    await refused({ args: ["@notes.md"], files: { "notes.md": "x" } }, "Error: @file arguments are not supported in RPC mode");
  });

  test("the option wins over the variable; other words are ignored with a warning", async () => {
    const { status, stdout, stderr } = await runPi({
      args: ["--mode", "rpc", "--rpc-dialect", "omp", "--rpc-updates", "full", "do", "this"],
      env: { PI_RPC_DIALECT: "nonsense", PI_RPC_UPDATES: "delta" },
      input: '{"type":"get_state"}\n',
    });
    expect(status).toBe(0);
    expect(linesOf(stdout)[0]?.data.protocol).toEqual({ version: 1, dialect: "omp", updates: "full" });
    expect(linesOf(stdout)[0]?.data.interruptMode).toBe("immediate");
    expect(stderr).toContain("do this");
  });

  test("the environment chooses too", async () => {
    const { stdout } = await runPi({
      args: ["--mode", "rpc"],
      env: { PI_RPC_DIALECT: "xcsh", PI_RPC_UPDATES: "delta", PI_RPC_SEQ: "1" },
      input: '{"type":"get_state"}\n{"id":"u","type":"nope"}\n',
    });
    const [state, unknown] = linesOf(stdout);
    expect(state).toMatchObject({ seq: 1, data: { protocol: { version: 1, dialect: "xcsh", updates: "delta" }, interruptMode: "wait" } });
    expect(unknown).toEqual({ seq: 2, type: "response", command: "nope", success: false, error: "Unknown command: nope" });
  });

  test("--print-schema prints what get_protocol answers", async () => {
    const printed = await runPi({ args: ["--print-schema"] });
    const asked = await runPi({ args: ["--mode", "rpc"], input: '{"type":"get_protocol"}\n' });
    expect(printed.status).toBe(0);
    expect(JSON.parse(printed.stdout)).toEqual(linesOf(asked.stdout)[0]?.data);
    expect(Object.keys(JSON.parse(printed.stdout).inbound)).toContain("extension_ui_response");
  });
});

describe("framing", () => {
  test("records in pieces, with CRLF, blanks, a mark, separators and broken bytes", async () => {
    const rpc = startRpc();
    const input = Buffer.concat([
      Buffer.from('\uFEFF{"id":"ä😀\u2028","type":"get_commands"}\r\n\n \t \r\n{"id":"2","type":"nope\u2029"}\n'),
      Buffer.from('{"id":"3","type":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}\n{"id":"4","type":"get_commands"}'),
    ]);
    for (let at = 0; at < input.length; at += 3) {
      rpc.child.stdin.write(input.subarray(at, at + 3));
      await new Promise((resolve) => setImmediate(resolve));
    }
    let raw = "";
    rpc.child.stdout.on("data", (text) => {
      raw += text;
    });
    expect(await rpc.stop()).toEqual({ status: 0, signal: null });
    expect(rpc.frames.map(({ id, error }) => [id, error])).toEqual([
      ["ä😀\u2028", undefined],
      ["2", "Unknown command: nope\u2029"],
      ["3", "Unknown command: \uFFFD("],
      ["4", undefined],
    ]);
    expect(raw).not.toMatch(/[\u2028\u2029\r]/);
  });

  test("a record of more than 64 MiB is refused, one of nearly 64 MiB is not", async () => {
    const rpc = startRpc();
    const limit = 64 * 1024 * 1024;
    const head = '{"id":"big","type":"steer","message":"';
    const write = async (length: number) => {
      rpc.child.stdin.write(head);
      const piece = Buffer.alloc(1024 * 1024, "x");
      for (let rest = length - head.length - 2; rest > 0; rest -= piece.length) {
        if (!rpc.child.stdin.write(piece.subarray(0, rest))) await once(rpc.child.stdin, "drain");
      }
      rpc.child.stdin.write('"}\n');
    };
    await write(limit + 1);
    rpc.send({ id: "after", type: "get_commands" });
    expect(await rpc.next()).toEqual({
      type: "response",
      command: "parse",
      success: false,
      error: "Failed to parse command: record exceeds 67108864 bytes",
    });
    expect(await rpc.next()).toMatchObject({ id: "after", success: true });
    // Not kept: only its length matters here.
    rpc.child.stdin.write(`{"id":"fits","type":"nope","x":"${"x".repeat(limit - 100)}"}\n`);
    expect(await rpc.next()).toMatchObject({ id: "fits", error: "Unknown command: nope" });
  });
});

describe.skipIf(process.platform !== "linux")("waiting", () => {
  test("an agent that was asked in quick succession sleeps when nothing more comes", async () => {
    const rpc = startRpc({ args: ["--no-session"] });
    const cpuMs = () => Number(readFileSync(`/proc/${rpc.child.pid}/schedstat`, "utf8").split(" ", 1)[0]) / 1e6;
    for (let count = 0; count < 300; count++) await rpc.call("get_state");
    // What a start leaves for later is done by then.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const before = { cpu: cpuMs(), time: performance.now() };
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((cpuMs() - before.cpu) / (performance.now() - before.time)).toBeLessThan(0.3);
  });
});

describe("ending", () => {
  test("an abort_bash in the same breath as a bash ends the command", async () => {
    const rpc = startRpc({ script: { responses: [] } });
    await rpc.ask("get_state");
    rpc.child.stdin.write('{"id":"b","type":"bash","command":"sleep 60"}\n{"id":"x","type":"abort_bash"}\n');
    expect(await rpc.find((frame) => frame.id === "b" && frame.type === "response")).toMatchObject({ success: true, data: { cancelled: true } });
  });

  test("an abort in the same breath as a prompt ends its run", async () => {
    const rpc = startRpc({ script: [{ hang: true }] });
    rpc.child.stdin.write('{"id":"p","type":"prompt","message":"go"}\n{"id":"a","type":"abort"}\n');
    await rpc.find(({ id }) => id === "a");
    expect(rpc.frames[0]).toMatchObject({ id: "p", success: true });
    expect(rpc.frames.at(-2)).toEqual({ type: "agent_settled" });
  });

  test("what cancels is for what came before it, not for what comes after it in the same write", async () => {
    const rpc = startRpc({ script: { responses: ["Fine."], repeat: true }, args: ["--no-session"] });
    for (let round = 0; round < 3; round++) {
      const from = rpc.frames.length;
      const records = [
        { id: "a", type: "abort" },
        { id: "p", type: "prompt", message: "go" },
        { id: "x", type: "abort_bash" },
        { id: "b", type: "bash", command: "echo out" },
      ];
      rpc.child.stdin.write(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
      const shell = await rpc.find(({ type, id }) => type === "response" && id === "b", from);
      expect(shell.data).toMatchObject({ output: "out\n", cancelled: false });
      await rpc.find(({ type }) => type === "agent_settled", from);
      expect(rpc.frames.slice(from).find(({ type }) => type === "turn_end")?.message.stopReason).toBe("stop");
    }
  });

  test("a prompt whose writer leaves gets its response and an aborted run, which is stored", async () => {
    const rpc = startRpc({ script: [{ steps: [{ text: ["partly "] }, { hang: true }] }] });
    rpc.send({ id: "p", type: "prompt", message: "go" });
    rpc.send({ id: "s", type: "get_state" });
    await rpc.find((frame) => frame.type === "message_update" && frame.assistantMessageEvent.type === "text_end");
    expect(await rpc.stop()).toEqual({ status: 0, signal: null });
    expect(rpc.frames.map(({ type }) => type)).toContain("agent_settled");
    const end = rpc.frames.find(({ type }) => type === "agent_end") as Frame;
    expect(end.messages.at(-1)).toMatchObject({ stopReason: "aborted", errorMessage: "Request was aborted", content: [{ text: "partly " }] });
    const file = rpc.frames.find(({ id }) => id === "s")?.data.sessionFile;
    expect(readFileSync(file, "utf8")).toContain('"stopReason":"aborted"');
  });

  test("records that were read are answered although the input has ended", async () => {
    const input = [
      { id: 1, type: "prompt", message: "go" },
      ...Array.from({ length: 50 }, (_, n) => ({ id: n + 2, type: "get_state" })),
      { id: 52, type: "set_session_name", name: "x" },
    ];
    const { stdout, status } = await runPi({
      args: ["--mode", "rpc"],
      script: [{ hang: true }],
      input: input.map((record) => JSON.stringify(record)).join("\n"),
    });
    expect(status).toBe(0);
    const responses = linesOf(stdout).filter(({ type }) => type === "response");
    expect(responses.map(({ id, success }) => [id, success])).toEqual(input.map(({ id }) => [id, true]));
    expect(linesOf(stdout).at(-1)?.type).toBe("agent_settled");
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
    ["SIGINT", 130],
  ] as const)("%s ends in order with status %i", async (signal, status) => {
    const rpc = startRpc({ script: [{ hang: true }] });
    rpc.send({ id: "p", type: "prompt", message: "go" });
    await rpc.find((frame) => frame.type === "message_start" && frame.message.role === "assistant");
    rpc.child.kill(signal);
    expect(await rpc.exited).toEqual({ status, signal: null });
    expect(rpc.frames.at(-1)?.type).toBe("agent_settled");
  });

  test("a reader that leaves is the end, in order", async () => {
    const rpc = startRpc({ script: { responses: [{ steps: [{ text: Array(2000).fill("word "), delayMs: 1 }] }] } });
    rpc.send({ id: "p", type: "prompt", message: "go" });
    await rpc.find((frame) => frame.type === "message_update");
    rpc.child.stdout.destroy();
    expect(await rpc.exited).toEqual({ status: 0, signal: null });
    expect(rpc.stderr).toBe("");
  });

  test("a reader that does not read does not keep the process", async () => {
    const { cwd, env, args } = preparePlaces({ script: { responses: [{ text: Array(3000).fill("many words ".repeat(50)) }] } });
    const child = spawn(process.execPath, [programPath, "--mode", "rpc", ...args], { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    child.stdin.write('{"type":"prompt","message":"go"}\n');
    // There is something to read, and nobody does.
    await once(child.stdout, "readable");
    await new Promise((resolve) => setTimeout(resolve, 500));
    child.stdin.end();
    const [status] = await once(child, "exit");
    expect(status).toBe(0);
  });

  test("a host that is killed leaves no agent behind", async () => {
    const { cwd, env, args } = preparePlaces({ script: [{ toolCalls: [{ name: "bash", arguments: { command: "sleep 300" } }] }] });
    const file = join(tempDir(), "host.mjs");
    const { writeFileSync } = await import("node:fs");
    writeFileSync(
      file,
      `import { spawn } from "node:child_process";
       const agent = spawn(process.execPath, ${JSON.stringify([programPath, "--mode", "rpc", ...args])}, { stdio: ["pipe", "pipe", "ignore"] });
       agent.stdout.on("data", (bytes) => process.stdout.write(bytes));
       agent.stdin.write('{"type":"prompt","message":"go"}\\n');
       console.error(agent.pid);`,
    );
    const host = spawn(process.execPath, [file], { cwd, env });
    onTestFinished(() => void host.kill("SIGKILL"));
    const [pid] = await once(host.stderr, "data");
    let output = "";
    host.stdout.on("data", (bytes) => {
      output += bytes;
    });
    await until(() => output.includes("tool_execution_start"));
    host.kill("SIGKILL");
    await until(() => !isAlive(Number(pid)));
  });
});

test("a prompt that waits for the end of a run begins none once the agent is being stopped", async () => {
  const lazy = `export default (pi: any) => pi.registerTool({ name: "lazy", label: "l", description: "d", parameters: { type: "object", properties: {} },
    execute: async () => { await new Promise((resolve) => setTimeout(resolve, 700)); return { content: [] }; } });`;
  const rpc = startRpc({ script: { responses: [{ toolCalls: [{ name: "lazy", arguments: {} }] }, "unwanted"] }, agentFiles: { "extensions/lazy.ts": lazy } });
  rpc.send({ type: "prompt", message: "go" });
  await rpc.find(({ type }) => type === "tool_execution_start");
  rpc.send({ id: "next", type: "abort_and_prompt", message: "and then?" });
  rpc.send({ id: "state", type: "abort_retry" });
  await rpc.find(({ id }) => id === "state");
  rpc.child.kill("SIGTERM");
  expect(await rpc.exited).toEqual({ status: 143, signal: null });
  const frames = rpc.frames.filter(({ type }) => type !== "message_update");
  expect(frames.filter(({ type }) => type === "agent_start")).toHaveLength(1);
  expect(frames.find(({ id }) => id === "next")).toMatchObject({ success: false, error: "The agent is shutting down." });
});
