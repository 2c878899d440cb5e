/** Retrying as a client sees it: the real program and a scripted model. */
import { expect, test } from "vitest";
import { type Frame, startRpc } from "../helpers/pi.ts";

const overloaded = '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';
const settings = (retry: object) => ({ "settings.json": JSON.stringify({ retry }) });
const typesOf = (frames: Frame[]) =>
  frames.map(({ type, message }) => (message?.role ? `${type}:${message.role}` : type)).filter((type) => !type.startsWith("message_update"));

const failedRun = ["agent_start", "turn_start", "message_start:assistant", "message_end:assistant", "turn_end:assistant", "agent_end"];
const opening = ["response", "agent_start", "turn_start", "message_start:user", "message_end:user", ...failedRun.slice(2)];

test("success at the first retry", async () => {
  const rpc = startRpc({ script: { responses: [{ error: overloaded }, "Hello"] }, agentFiles: settings({ baseDelayMs: 5 }) });
  const frames = await rpc.prompt("Say hello");
  expect(typesOf(frames)).toEqual([
    ...opening,
    "auto_retry_start",
    "entry_appended",
    "agent_start",
    "turn_start",
    "message_start:assistant",
    "message_end:assistant",
    "auto_retry_end",
    "turn_end:assistant",
    "agent_end",
    "agent_settled",
  ]);
  expect(frames.find(({ type }) => type === "auto_retry_start")).toEqual({
    type: "auto_retry_start",
    attempt: 1,
    maxAttempts: 3,
    delayMs: 5,
    errorMessage: overloaded,
  });
  expect(frames.find(({ type }) => type === "auto_retry_end")).toEqual({ type: "auto_retry_end", success: true, attempt: 1 });
  const { entries } = await rpc.ask("get_entries");
  const failed = entries.find(({ message }: Frame) => message?.stopReason === "error");
  expect(frames.find(({ type }) => type === "entry_appended")?.entry).toMatchObject({
    type: "context_edit",
    targetId: failed.id,
    parentId: failed.id,
    replacement: null,
  });
  const { messages } = await rpc.ask("get_messages");
  expect(messages.map(({ role, stopReason }: Frame) => stopReason ?? role)).toEqual(["user", "stop"]);
});

test("all attempts used up: the last failure stays", async () => {
  const rpc = startRpc({ script: { responses: [{ error: overloaded }], repeat: true }, agentFiles: settings({ baseDelayMs: 5, maxRetries: 1 }) });
  const frames = await rpc.prompt("Say hello");
  expect(typesOf(frames)).toEqual([...opening, "auto_retry_start", "entry_appended", ...failedRun, "auto_retry_end", "agent_settled"]);
  expect(frames.find(({ type }) => type === "auto_retry_end")).toEqual({ type: "auto_retry_end", success: false, attempt: 1, finalError: overloaded });
  expect(frames.filter(({ type }) => type === "agent_end").map(({ willRetry }) => willRetry)).toEqual([true, false]);
  const { messages } = await rpc.ask("get_messages");
  expect(messages.map(({ role }: Frame) => role)).toEqual(["user", "assistant"]);
});

test("in a delay the session is busy; abort_retry and abort end it", async () => {
  const rpc = startRpc({ script: { responses: [{ error: overloaded }], repeat: true }, args: ["--no-session"], agentFiles: settings({ baseDelayMs: 60_000 }) });
  for (const command of ["abort_retry", "abort"]) {
    const from = rpc.frames.length;
    await rpc.ask("prompt", { message: "Hi" });
    await rpc.find(({ type }) => type === "auto_retry_start", from);
    expect(await rpc.ask("get_state")).toMatchObject({ isStreaming: true, autoRetryEnabled: true });
    await rpc.ask(command);
    await rpc.find(({ type }) => type === "agent_settled", from);
    const seen = rpc.frames.slice(from);
    expect(seen.filter(({ type }) => type === "auto_retry_end")).toEqual([
      { type: "auto_retry_end", success: false, attempt: 1, finalError: "Retry cancelled" },
    ]);
    expect(typesOf(seen)).not.toContain("entry_appended");
    expect(await rpc.ask("get_state")).toMatchObject({ isStreaming: false });
  }
  const { messages } = await rpc.ask("get_messages");
  expect(messages.at(-1)).toMatchObject({ role: "assistant", stopReason: "error", errorMessage: overloaded });
});

test("a retry that is cancelled while an extension looks at agent_end is announced and taken back", async () => {
  const slow = `export default (pi: any) => { pi.on("agent_end", async (_: any, ctx: any) => {
    ctx.ui.notify("looking");
    await new Promise((resolve) => setTimeout(resolve, 500));
  }); };`;
  const agentFiles = { ...settings({ baseDelayMs: 60_000 }), "extensions/slow.ts": slow };
  const rpc = startRpc({ script: { responses: [{ error: overloaded }], repeat: true }, args: ["--no-session"], agentFiles });
  for (const command of ["abort_retry", "abort"]) {
    const from = rpc.frames.length;
    await rpc.ask("prompt", { message: "Hi" });
    await rpc.find(({ method }) => method === "notify", from);
    await rpc.ask(command);
    await rpc.find(({ type }) => type === "agent_settled", from);
    const seen = rpc.frames.slice(from).filter(({ type }) => type !== "response");
    expect(seen.at(-4)).toMatchObject({ willRetry: true });
    expect(typesOf(seen).slice(-4)).toEqual(["agent_end", "auto_retry_start", "auto_retry_end", "agent_settled"]);
    expect(seen.at(-2)).toEqual({ type: "auto_retry_end", success: false, attempt: 1, finalError: "Retry cancelled" });
  }
});

test("switched off, the failure ends the run", async () => {
  const rpc = startRpc({ script: { responses: [{ error: overloaded }, "Hello"] }, args: ["--no-session"] });
  expect(await rpc.call("set_auto_retry", { enabled: false })).not.toHaveProperty("data");
  const frames = await rpc.prompt("Hi");
  expect(typesOf(frames)).toEqual([...opening, "agent_settled"]);
  expect(await rpc.ask("get_state")).toMatchObject({ autoRetryEnabled: false });
});
