/** Queues, their modes, and abort, on the real process. */
import { expect, test } from "vitest";
import { type Frame, startRpc } from "../helpers/pi.ts";

const hanging = { steps: [{ text: "Thinking about it" }, { hang: true }] };
/** What was said in a run, in order. */
const said = (frames: Frame[]) =>
  frames
    .filter(({ type }) => type === "message_end")
    .map(({ message }) => `${message.role}: ${message.content.map((block: { text?: string }) => block.text ?? "").join("")}`);
const isStreaming = ({ type, assistantMessageEvent }: Frame) => type === "message_update" && assistantMessageEvent.type === "text_end";

test("what is queued while idle joins the next run: steering at once, follow-ups at its end", async () => {
  const rpc = startRpc({ script: ["one", "two", "three"] });
  await rpc.ask("steer", { message: "first" });
  await rpc.ask("steer", { message: "second" });
  await rpc.ask("follow_up", { message: "last" });
  expect(await rpc.ask("get_state")).toMatchObject({ isStreaming: false, pendingMessageCount: 3, queuedMessageCount: 3 });
  const frames = await rpc.prompt("go");
  expect(said(frames)).toEqual(["user: go", "user: first", "assistant: one", "user: second", "assistant: two", "user: last", "assistant: three"]);
  expect(frames.filter(({ type }) => type === "queue_update").map(({ steering, followUp }) => [steering, followUp])).toEqual([
    [["second"], ["last"]],
    [[], ["last"]],
    [[], []],
  ]);
  expect(frames.filter(({ type }) => type === "agent_end")).toHaveLength(1);
});

test("mode all delivers everything in one turn, each with its own update", async () => {
  const rpc = startRpc({ script: ["one", "two"] });
  await rpc.ask("set_steering_mode", { mode: "all" });
  await rpc.ask("set_follow_up_mode", { mode: "all" });
  expect(await rpc.ask("get_state")).toMatchObject({ steeringMode: "all", followUpMode: "all" });
  for (const message of ["a", "b"]) await rpc.ask("steer", { message });
  for (const message of ["c", "d"]) await rpc.ask("follow_up", { message });
  const frames = await rpc.prompt("go");
  expect(said(frames)).toEqual(["user: go", "user: a", "user: b", "assistant: one", "user: c", "user: d", "assistant: two"]);
  expect(frames.filter(({ type }) => type === "queue_update")).toHaveLength(4);
  for (const [index, frame] of frames.entries()) if (frame.type === "queue_update") expect(frames[index + 1]?.type).toBe("message_start");
});

test("abort keeps the queues for the next run; clear_queue empties them", async () => {
  const rpc = startRpc({ script: [hanging, "answered", hanging] });
  rpc.send({ id: "p", type: "prompt", message: "go" });
  await rpc.find(isStreaming);
  await rpc.ask("prompt", { message: "steered", streamingBehavior: "steer" });
  const from = rpc.frames.length;
  await rpc.ask("abort");
  expect(rpc.frames.slice(from).map(({ type }) => type)).toEqual(["message_end", "turn_end", "agent_end", "agent_settled", "response"]);
  expect((await rpc.ask("get_state")).pendingMessageCount).toBe(1);
  expect(said(await rpc.prompt("again"))).toEqual(["user: again", "user: steered", "assistant: answered"]);

  const third = rpc.frames.length;
  rpc.send({ id: "p3", type: "prompt", message: "more" });
  await rpc.find(isStreaming, third);
  await rpc.ask("steer", { message: "dropped" });
  await rpc.ask("follow_up", { message: "dropped too" });
  expect(await rpc.ask("clear_queue")).toEqual({ steering: ["dropped"], followUp: ["dropped too"] });
  expect(rpc.frames.at(-2)).toEqual({ type: "queue_update", steering: [], followUp: [] });
  await rpc.ask("abort");
  expect((await rpc.ask("get_state")).isStreaming).toBe(false);
});

test("abort_and_prompt replaces the run; idle, it is a prompt", async () => {
  const rpc = startRpc({ script: ["first", hanging, "second"] });
  const idle = rpc.frames.length;
  await rpc.ask("abort_and_prompt", { message: "one" });
  await rpc.find(({ type }) => type === "agent_settled", idle);
  const from = rpc.frames.length;
  rpc.send({ id: "p", type: "prompt", message: "two" });
  await rpc.find(isStreaming, from);
  await rpc.ask("abort_and_prompt", { message: "instead" });
  const settled = (frame: Frame) => frame.type === "agent_settled";
  await rpc.find(settled, rpc.frames.findIndex(settled) + 1);
  await rpc.find(({ type, message }) => type === "message_end" && message.content[0].text === "second", from);
  await rpc.find(
    settled,
    rpc.frames.findLastIndex(({ type }) => type === "agent_start"),
  );
  expect(said(rpc.frames.slice(from))).toEqual(["user: two", "assistant: Thinking about it", "user: instead", "assistant: second"]);
  const order = rpc.frames.slice(from).map((frame) => (frame.type === "response" ? frame.command : frame.type));
  expect(order.indexOf("abort_and_prompt")).toBeGreaterThan(order.indexOf("agent_settled"));
  expect(order.indexOf("abort_and_prompt")).toBeLessThan(order.lastIndexOf("agent_start"));
});

test("refusals name what is missing", async () => {
  const rpc = startRpc({ agentFiles: { "models.json": "{}" } });
  expect((await rpc.call("prompt", { message: "x" })).error).toBe(
    "No model selected. Use set_model or start pi with --model (--model offline/demo needs no key).",
  );
  const other = startRpc({ args: ["--model", "anthropic/claude-sonnet-4-20250514"] });
  expect((await other.call("prompt", { message: "x" })).error).toMatch(/^No API key found for anthropic\. Set ANTHROPIC_\w+ or add it to auth\.json\.$/);
  expect(await other.ask("get_last_assistant_text")).toEqual({ text: null });
  expect(await other.ask("get_messages")).toEqual({ messages: [] });
});
