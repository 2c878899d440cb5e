/** What hurts: garbage, slow readers, floods. A tenth of it unless PI_TEST_LONG is set. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { RecordSplitter } from "../../plugins/shared/frames/jsonl.ts";
import { type Frame, preparePlaces, programPath, startRpc } from "../helpers/pi.ts";
import { generator } from "../helpers/random.ts";

const isLong = process.env.PI_TEST_LONG === "1";
const scale = isLong ? 1 : 0.1;

/** Resident memory of a process in MiB. */
const memoryOf = (pid: number) => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

test("garbage is answered record by record, and memory stays bounded", { timeout: 300_000 }, async () => {
  const rpc = startRpc({ script: { responses: ["Fine."], repeat: true } });
  const seed = 20260302;
  const random = generator(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const values = [null, true, -1, 1e308, "", "x", "\u2028", "é😀", [], {}, [[[]]], { type: "image" }, { a: { b: 1 } }];
  // Harmless ones: whatever their parameters are, nothing is started or changed for the rest of the test.
  const commands = ["get_state", "set_steering_mode", "set_update_mode", "steer", "clear_queue", "get_commands", "set_thinking_level", "frobnicate", "prompt"];
  const names = ["id", "mode", "message", "images", "level", "after", "streamingBehavior", "__proto__", "constructor"];
  const record = (): string => {
    const kind = random();
    if (kind < 0.2) return Array.from({ length: Math.floor(random() * 60) }, () => String.fromCharCode(32 + Math.floor(random() * 90))).join("");
    if (kind < 0.3) return JSON.stringify(pick(values));
    const fields = Array.from({ length: Math.floor(random() * 4) }, () => [pick(names), pick(values)]);
    const command = pick(commands);
    const text = JSON.stringify({ type: kind < 0.4 ? pick(values) : command, ...Object.fromEntries(fields), ...(command === "prompt" && { message: "" }) });
    return kind < 0.5 ? text.slice(0, Math.floor(random() * text.length)) : text;
  };
  const total = Math.round(100_000 * scale);
  let expected = 0;
  let largest = 0;
  for (let sent = 0; sent < total; ) {
    const lines: string[] = [];
    for (; lines.length < 500 && sent < total; sent++) lines.push(record());
    expected += lines.filter((line) => line.trim() !== "").length;
    rpc.child.stdin.write(`${lines.join("\n")}\n`);
    const marker = `marker ${sent}`;
    rpc.send({ id: marker, type: "get_commands" });
    await rpc.find(({ id }) => id === marker, Math.max(0, rpc.frames.length - 1200));
    largest = Math.max(largest, memoryOf(rpc.child.pid as number));
  }
  const responses = rpc.frames.filter((frame) => frame.type === "response" && !String(frame.id).startsWith("marker"));
  expect(responses.length, `seed ${seed}`).toBe(expected);
  for (const { success, error } of responses) if (!success) expect(error).toMatch(/./);
  expect(largest).toBeLessThan(400);
  // It is still an agent.
  await rpc.ask("clear_queue");
  await rpc.ask("set_update_mode", { mode: "full" });
  const frames = await rpc.prompt("Still there?");
  expect(frames.findLast(({ type }) => type === "message_end")?.message.content).toEqual([{ type: "text", text: "Fine." }]);
  expect(await rpc.stop()).toEqual({ status: 0, signal: null });
});

test.each(["delta", "full"])("a slow reader gets everything in mode %s, and memory stays bounded", { timeout: 300_000 }, async (mode) => {
  const count = Math.round((mode === "full" ? 10_000 : 50_000) * scale);
  const pause = isLong ? 30_000 : 2000;
  const pieces = Array.from({ length: count }, (_, n) => `piece ${n} with some words `);
  const { cwd, env, args } = preparePlaces({ script: { responses: [{ text: pieces }, "Next."] } });
  const child = spawn(process.execPath, [programPath, "--mode", "rpc", "--rpc-updates", mode, ...args], { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.write('{"id":"p","type":"prompt","message":"go"}\n{"id":"s","type":"get_state"}\n');
  let largest = 0;
  for (let waited = 0; waited < pause; waited += 200) {
    await sleep(200);
    largest = Math.max(largest, memoryOf(child.pid as number));
  }
  // Immediate commands are handled while nobody reads: an answer to a dialog that is not there does no harm.
  child.stdin.write('{"type":"extension_ui_response","id":"ui-1","value":"x"}\n');

  let text = "";
  let whole: Frame | undefined;
  let updates = 0;
  let rest = "";
  const settled = new Promise<void>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const frame = JSON.parse(line) as Frame;
        if (frame.type === "message_update" && frame.assistantMessageEvent.delta !== undefined) {
          updates++;
          text += frame.assistantMessageEvent.delta;
          if (mode === "full" && frame.message.content[0].text.length !== text.length) throw new Error("a snapshot does not match its deltas");
        }
        if (frame.type === "message_end" && frame.message.role === "assistant") whole = frame.message;
        if (frame.type === "agent_settled") resolve();
      }
    });
  });
  await settled;
  expect(text).toBe(pieces.join(""));
  expect(whole?.content[0].text).toBe(text);
  expect(updates).toBeLessThanOrEqual(count);
  expect(largest).toBeLessThan(400);
  child.stdin.end();
  const [status] = await once(child, "exit");
  expect(status).toBe(0);
});

test("while more than 8 MiB wait for the reader, the model is not asked for more", { timeout: 300_000 }, async () => {
  const count = 4000;
  const piece = "words ".repeat(1000);
  // Blocks of two kinds in turn: their increments have no neighbours to be merged with.
  const steps = Array.from({ length: count }, (_, n) => (n % 2 === 0 ? { thinking: piece } : { text: piece }));
  const { cwd, env, args, agentDir } = preparePlaces({ script: [{ steps }] });
  const child = spawn(process.execPath, [programPath, "--mode", "rpc", "--rpc-updates", "delta", ...args], { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.write('{"id":"p","type":"prompt","message":"go"}\n');
  await once(child.stdout, "readable");
  await sleep(3000);
  // The file appears with the first whole assistant message: 24 MB of it are still to come.
  const sessions = join(agentDir, "sessions");
  const files = existsSync(sessions) ? readdirSync(sessions, { recursive: true }).filter((name) => String(name).endsWith(".jsonl")) : [];
  expect(files).toEqual([]);
  expect(memoryOf(child.pid as number)).toBeLessThan(400);

  let ends = 0;
  await new Promise<void>((resolve) => {
    // Not by joining strings: one line has 24 MB.
    const splitter = new RecordSplitter({
      onRecord(line) {
        if (line.includes('_end","contentIndex"')) ends++;
        if (line === '{"type":"agent_settled"}') resolve();
      },
      onTooLong: () => {},
    });
    child.stdout.on("data", (bytes: Buffer) => splitter.push(bytes));
  });
  expect(ends).toBe(count);
});

test("over plain pipes, commands that come together are all answered, whole and in order", { timeout: 60_000 }, async () => {
  const count = Math.round(20_000 * scale);
  const { cwd, env } = preparePlaces();
  // Node gives its children sockets; a shell's are pipes, which hold 64 KB and no more.
  const child = spawn("sh", ["-c", 'cat | "$0" "$1" --mode rpc | cat', process.execPath, programPath], { cwd, env });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = Array.from({ length: count }, (_, n) => JSON.stringify({ id: n, type: "get_state" }));
  child.stdin.end(`${lines.join("\n")}\n`);
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    // Now and then nobody reads.
    if (chunks.length % 20 !== 0) return;
    child.stdout.pause();
    setTimeout(() => child.stdout.resume(), 20);
  });
  await once(child, "close");
  const answers = Buffer.concat(chunks)
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(answers.map(({ id }) => id)).toEqual(Array.from({ length: count }, (_, n) => n));
  expect(answers.every(({ success, data }) => success && data.sessionId === answers[0].data.sessionId)).toBe(true);
});

test("all messages of a long session arrive whole and in their place, also where nobody reads for a while", { timeout: 60_000 }, async () => {
  const count = Math.round(20_000 * scale);
  const { cwd, env, args } = preparePlaces({ script: { responses: ["Fine."] } });
  const timestamp = new Date(1_770_000_000_000).toISOString();
  const idOf = (n: number) => n.toString(16).padStart(8, "0");
  const messages = Array.from({ length: count }, (_, n) => ({ role: "user", content: [{ type: "text", text: `Zeile ${n} — `.repeat(60) }], timestamp: n }));
  const entries = messages.map((message, n) => ({ type: "message", id: idOf(n + 1), parentId: n === 0 ? null : idOf(n), timestamp, message }));
  const file = join(cwd, "long.jsonl");
  const header = { type: "session", version: 3, id: "01a1ecf7-2ec6-75d5-9588-24b733b56a4b", timestamp, cwd };
  writeFileSync(file, [header, ...entries].map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  const child = spawn(process.execPath, [programPath, "--mode", "rpc", ...args, "--session", file], { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const asked = ["get_state", "get_messages", "get_state", "get_messages", "get_messages", "get_state"];
  child.stdin.write(asked.map((type, id) => `${JSON.stringify({ id, type })}\n`).join(""));
  await sleep(500);
  const answers: Frame[] = [];
  await new Promise<void>((resolve) => {
    const splitter = new RecordSplitter({
      onRecord(line) {
        const frame = JSON.parse(line) as Frame;
        if (frame.type === "response") answers.push(frame);
        if (frame.id === asked.length - 1) resolve();
      },
      onTooLong: () => {},
    });
    child.stdout.on("data", (bytes: Buffer) => splitter.push(bytes));
  });
  expect(answers.map(({ id, command }) => [id, command])).toEqual(asked.map((type, id) => [id, type]));
  for (const { command, data } of answers) if (command === "get_messages") expect(data.messages).toEqual(messages);
});

test("commands that nobody reads the answers of wait as they came, and an abort among them is heard", { timeout: 120_000 }, async () => {
  const count = Math.round(500_000 * scale);
  const { cwd, env, args } = preparePlaces({ script: { responses: [{ steps: [{ text: "begun" }, { hang: true }] }] } });
  const child = spawn(process.execPath, [programPath, "--mode", "rpc", ...args], { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  const send = (records: object[]) => new Promise((sent) => child.stdin.write(records.map((record) => `${JSON.stringify(record)}\n`).join(""), sent));
  await send([{ id: "p", type: "prompt", message: "go" }]);
  await once(child.stdout, "readable");
  const before = memoryOf(child.pid as number);
  const asked = Array.from({ length: count }, (_, n) => ({ id: n, type: n % 7 === 6 ? "frobnicate" : "get_state" }));
  await send(asked);
  await send([
    { id: "stop", type: "abort" },
    { id: "last", type: "get_state" },
  ]);
  const sent = memoryOf(child.pid as number);
  // 8 MiB wait at the pipe, and each command is some thirty bytes.
  expect(sent - before).toBeLessThan(30 + count / 5000);

  const order: unknown[] = [];
  await new Promise<void>((resolve) => {
    const splitter = new RecordSplitter({
      onRecord(line) {
        const { type, id, success, data, error } = JSON.parse(line) as Frame;
        if (type !== "response" || id === "p") return;
        order.push(id);
        if (typeof id === "number" && success === (id % 7 === 6)) throw new Error(`${id}: ${error}`);
        if (id === 0 || id === "last") expect(data.isStreaming).toBe(id === 0);
        if (id === "last") resolve();
      },
      onTooLong: () => {},
    });
    child.stdout.on("data", (bytes: Buffer) => splitter.push(bytes));
  });
  expect(order.filter((id) => typeof id === "number")).toEqual(asked.map(({ id }) => id));
  expect(order.indexOf("stop")).toBeLessThan(order.indexOf("last"));
  expect(order.at(-1)).toBe("last");
  child.stdin.end();
  await once(child, "exit");
  expect(complaints).toBe("");
});
