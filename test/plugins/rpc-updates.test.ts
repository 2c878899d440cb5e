/** The two shapes of updates on the real process, in RPC and in JSON mode. */
import { expect, test } from "vitest";
import { type Frame, runPi, startRpc } from "../helpers/pi.ts";
import { checkFrames } from "../helpers/seen.ts";

const script = [
  { thinking: ["Let me ", "think."], text: ["One ", "two ", "three."], toolCalls: [{ name: "bash", arguments: { command: "echo hi" } }] },
  "Done.",
];

test("the mode may change within a message; what is written before the response has the old shape", async () => {
  const words = Array.from({ length: 60 }, (_, n) => `word${n} `);
  const rpc = startRpc({ script: [{ steps: [{ text: words, delayMs: 15 }] }] });
  rpc.send({ id: "p", type: "prompt", message: "go" });
  const isDelta = ({ type, assistantMessageEvent }: Frame) => type === "message_update" && assistantMessageEvent.type === "text_delta";
  let seen = rpc.frames.indexOf(await rpc.find(isDelta));
  for (const mode of ["delta", "full", "delta"]) {
    await rpc.ask("set_update_mode", { mode });
    seen = rpc.frames.indexOf(await rpc.find(isDelta, rpc.frames.length));
  }
  await rpc.find(({ type }) => type === "agent_settled", seen);
  let mode = "full";
  let text = "";
  for (const frame of rpc.frames) {
    if (frame.type === "response" && frame.data?.mode) mode = frame.data.mode;
    if (!isDelta(frame)) continue;
    text += frame.assistantMessageEvent.delta;
    expect(frame.message?.content[0].text).toBe(mode === "full" ? text : undefined);
    expect(frame.assistantMessageEvent.partial?.content[0].text).toBe(mode === "full" ? text : undefined);
    expect(frame.usage !== undefined).toBe(mode === "delta");
  }
  expect(text).toBe(words.join(""));
});

test("a client can put each message together from its increments", async () => {
  const rpc = startRpc({ args: ["--rpc-updates", "delta"], script });
  const blocks: any[] = [];
  for (const frame of await rpc.prompt("go")) {
    const { type, contentIndex, delta, content, toolCall } = frame.assistantMessageEvent ?? {};
    if (frame.type === "message_start") blocks.length = 0;
    if (type?.endsWith("_delta")) blocks[contentIndex] = (blocks[contentIndex] ?? "") + delta;
    if (type === "text_end" || type === "thinking_end") expect(blocks[contentIndex]).toBe(content);
    if (type === "toolcall_end") expect(JSON.parse(blocks[contentIndex])).toEqual(toolCall.arguments);
    if (frame.type === "message_end" && frame.message.role === "assistant") {
      const final = frame.message.content.map((block: any) => block.text ?? block.thinking ?? JSON.stringify(block.arguments));
      expect(final).toEqual(blocks);
    }
  }
});

test("a message whose provider throws within it ends as the message that began", async () => {
  const steps = [{ text: ["so far"], delayMs: 30 }, { toolCall: { name: "bash", json: ["{ no JSON"] } }];
  const rpc = startRpc({ script: { responses: [{ steps }] } });
  const frames = await rpc.prompt("go");
  const [began, ended] = frames.filter(({ type, message }) => /^message_(start|end)$/.test(type) && message.role === "assistant");
  expect(ended?.message).toMatchObject({ content: [{ type: "text", text: "so far" }], stopReason: "error", timestamp: began?.message.timestamp });
});

test.each(["pi", "omp", "xcsh", "legacy"])("JSON mode in dialect %s sends what RPC mode sends, less what is for clients only", async (dialect) => {
  const args = ["--rpc-dialect", dialect, "--rpc-updates", "delta"];
  const rpc = startRpc({ args, script });
  await rpc.ask("prompt", { message: "go" });
  await rpc.find(({ type, messages }) => type === "agent_end" && messages.length > 2);
  await rpc.stop();
  const { stdout, status } = await runPi({ args: ["--mode", "json", ...args, "go"], script });
  expect(status).toBe(0);
  const [header, ...events] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  checkFrames([header, ...events]);
  expect(header).toMatchObject({ type: "session", version: 3 });
  const shape = ({ type, assistantMessageEvent, message }: Frame) => [type, assistantMessageEvent?.type, message?.role, message?.stopReason].join(" ");
  const isStable = ({ type }: Frame) => type !== "response" && type !== "tool_execution_update";
  expect(events.filter(isStable).map(shape)).toEqual(rpc.frames.filter(isStable).map(shape));
});
