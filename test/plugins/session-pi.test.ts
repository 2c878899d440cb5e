/** Sessions are shared with pi: the published program opens ours, ours opens its own. */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, onTestFinished, type TestContext } from "vitest";
import { type Frame, preparePlaces, startRpc, tempDir } from "../helpers/pi.ts";
import { isRegistryReachable } from "../helpers/registry.ts";

const PEER = "@mariozechner/pi-coding-agent@0.73.1";
const home = join(tmpdir(), "pi-kernel-peer-0.73.1");
const program = join(home, "node_modules/@mariozechner/pi-coding-agent/dist/cli.js");

beforeAll(async () => {
  if (existsSync(program) || !(await isRegistryReachable())) return;
  const draft = `${home}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  writeFileSync(join(draft, "package.json"), "{}");
  await promisify(execFile)("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", PEER], { cwd: draft, timeout: 280_000 }).catch(() => undefined);
  rmSync(home, { recursive: true, force: true });
  renameSync(draft, home);
}, 300_000);

function requirePeer(context: TestContext): void {
  if (!existsSync(program)) context.skip(`${PEER} cannot be installed: no registry`);
}

/** pi's RPC mode, as far as these tests need it. */
function startPeer(places: { cwd: string; home: string }, args: string[]) {
  const child = spawn(process.execPath, [program, "--mode", "rpc", ...args], {
    cwd: places.cwd,
    env: { PATH: process.env.PATH, HOME: places.home, PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1" },
  });
  const exited = new Promise((resolve) => child.on("close", resolve));
  const frames: Frame[] = [];
  let waiting: (() => void)[] = [];
  let rest = "";
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) frames.push(JSON.parse(line));
    for (const wake of waiting.splice(0)) wake();
  });
  void exited.then(() => {
    for (const wake of waiting.splice(0)) wake();
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const find = async (matches: (frame: Frame) => boolean, from = 0): Promise<Frame> => {
    for (;;) {
      const found = frames.slice(from).find(matches);
      if (found) return found;
      if (child.exitCode !== null) throw new Error(`pi ended: ${stderr}`);
      await new Promise<void>((resolve) => {
        waiting = [...waiting, resolve];
      });
    }
  };
  let next = 1;
  const ask = async (type: string, params: object = {}) => {
    const id = `p${next++}`;
    child.stdin.write(`${JSON.stringify({ id, type, ...params })}\n`);
    const response = await find((frame) => frame.type === "response" && frame.id === id);
    if (!response.success) throw new Error(`${type}: ${response.error}`);
    return response.data as any;
  };
  const prompt = async (message: string) => {
    const from = frames.length;
    await ask("prompt", { message });
    await find(({ type }) => type === "agent_end", from);
  };
  const stop = async () => {
    child.stdin.end();
    // pi of that version does not always end with its input.
    await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, 3000))]);
    child.kill("SIGKILL");
    await exited;
  };
  return { ask, prompt, stop };
}

/** A model for pi: answers chat completions with what it is given, one after the other. */
async function startModel(answers: object[]) {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const delta = answers.shift() ?? { content: "nothing more" };
      const isCall = "tool_calls" in delta;
      const chunk = (choice: object, more: object = {}) =>
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "model", choices: [{ index: 0, ...choice }], ...more })}\n\n`;
      const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(
        `${chunk({ delta: { role: "assistant", ...delta } })}${chunk({ delta: {}, finish_reason: isCall ? "tool_calls" : "stop" }, { usage })}data: [DONE]\n\n`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const model = {
    id: "model",
    reasoning: false,
    input: ["text"],
    cost: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 100_000,
    maxTokens: 1000,
  };
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { providers: { local: { baseUrl, api: "openai-completions", apiKey: "none-needed", models: [model] } } };
}

/** One home for both programs. */
async function world(answers: object[]) {
  const places = preparePlaces({ files: { "notes.txt": "a note\n" } });
  mkdirSync(places.agentDir, { recursive: true });
  writeFileSync(join(places.agentDir, "models.json"), JSON.stringify(await startModel(answers)));
  writeFileSync(join(places.agentDir, "settings.json"), JSON.stringify({ compaction: { keepRecentTokens: 50, reserveTokens: 1000 } }));
  const shared = { home: places.home, cwd: places.cwd };
  return {
    startPi: (args: string[]) => startPeer(shared, ["--model", "local/model", ...args]),
    startOurs: (args: string[], responses: unknown[] = []) => startRpc({ ...shared, args, script: { responses } }),
    cwd: places.cwd,
  };
}

describe("sessions shared with pi 0.73.1", () => {
  it("go back and forth with equal messages", { timeout: 240_000 }, async (context) => {
    requirePeer(context);
    const call = { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "read", arguments: '{"path":"notes.txt"}' } }] };
    const { startPi, startOurs } = await world([call, { content: "It says: a note" }, { content: "fine" }]);
    const peer = startPi([]);
    await peer.prompt("What is in the file?");
    await peer.ask("set_session_name", { name: "shared" });
    const { sessionFile, sessionId } = await peer.ask("get_state");
    const theirs = await peer.ask("get_messages");
    await peer.stop();
    expect(theirs.messages.map(({ role }: Frame) => role)).toEqual(["user", "assistant", "toolResult", "assistant"]);

    const ours = startOurs(["--continue"], ["word ".repeat(50), "## Goal\nRead notes.", "last word"]);
    expect(await ours.ask("get_state")).toMatchObject({ sessionFile, sessionId, sessionName: "shared" });
    expect((await ours.ask("get_messages")).messages).toEqual(theirs.messages);
    await ours.prompt("Hello?");
    const [first] = (await ours.ask("get_fork_messages")).messages;
    await ours.ask("compact");
    await ours.ask("set_label", { entryId: first.entryId, label: "start" });
    await ours.prompt("And now?");
    const mixed = await ours.ask("get_messages");
    expect(mixed.messages[0].role).toBe("compactionSummary");
    await ours.stop();

    const again = startPi(["--continue"]);
    expect(await again.ask("get_state")).toMatchObject({ sessionFile, sessionId, sessionName: "shared" });
    expect((await again.ask("get_messages")).messages).toEqual(mixed.messages);
    await again.prompt("Still there?");
    const last = await again.ask("get_messages");
    await again.stop();
    expect(readdirSync(dirname(sessionFile))).toHaveLength(1);

    const back = startOurs(["--session", sessionFile]);
    expect((await back.ask("get_messages")).messages).toEqual(last.messages);
  });

  it("of version 1 are brought up to date alike", { timeout: 240_000 }, async (context) => {
    requirePeer(context);
    const { startPi, startOurs, cwd } = await world([]);
    const lines = [
      {
        type: "session",
        id: "11111111-1111-4111-8111-111111111111",
        timestamp: "2025-11-20T10:00:00.000Z",
        cwd,
        provider: "p",
        modelId: "m",
        thinkingLevel: "off",
      },
      { type: "message", timestamp: "2025-11-20T10:00:01.000Z", message: { role: "user", content: "one", timestamp: 1 } },
      { type: "message", timestamp: "2025-11-20T10:00:04.000Z", message: { role: "user", content: "two", timestamp: 2 } },
      { type: "compaction", timestamp: "2025-11-20T10:00:05.000Z", summary: "SUM", firstKeptEntryIndex: 2, tokensBefore: 1234 },
      { type: "message", timestamp: "2025-11-20T10:00:06.000Z", message: { role: "hookMessage", customType: "h", content: "hk", display: true, timestamp: 3 } },
    ];
    const dir = tempDir();
    const write = (name: string) => {
      writeFileSync(join(dir, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      return join(dir, name);
    };
    const peer = startPi(["--session", write("theirs.jsonl")]);
    const theirs = await peer.ask("get_messages");
    await peer.stop();
    const ours = startOurs(["--session", write("ours.jsonl")]);
    expect((await ours.ask("get_messages")).messages).toEqual(theirs.messages);
    await ours.stop();
    const reread = startPi(["--session", join(dir, "ours.jsonl")]);
    expect((await reread.ask("get_messages")).messages).toEqual(theirs.messages);
    await reread.stop();
    expect(readFileSync(join(dir, "ours.jsonl"), "utf8").split("\n")[0]).toContain('"version":3');
  });
});
