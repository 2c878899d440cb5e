/** Host tools on the wire of the real program. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Frame, startRpc } from "../helpers/pi.ts";

const echo = {
  name: "echo_host",
  label: "Echo Host",
  description: "Echo a value from the embedding host",
  parameters: { type: "object", properties: { message: { type: "string" } }, required: ["message"], additionalProperties: false },
};
const calling = (args: object = { message: "hello" }, id = "toolu_1") => ({ toolCalls: [{ name: "echo_host", arguments: args, id }] });
const isCall = ({ type }: Frame) => type === "host_tool_call";
const textOf = (result: Frame["result"]) => result.content.map((block: { text: string }) => block.text).join("");

function hostWith(responses: unknown[], args: string[] = []) {
  return startRpc({ args: ["--no-session", ...args], script: { responses } });
}

test("a set is taken whole or not at all, with a sentence on what is wrong", async () => {
  const rpc = hostWith([{ text: "ok", expect: { tools: ["read", "bash", "edit", "write", "echo_host"] } }]);
  expect(await rpc.ask("set_host_tools", { tools: [echo] })).toEqual({ toolNames: ["echo_host"] });
  const refused = async (tools: unknown) => (await rpc.call("set_host_tools", { tools })).error;
  expect(await refused(undefined)).toBe('Missing required parameter "tools"');
  expect(await refused("x")).toBe('Invalid parameter "tools": expected an array');
  expect(await refused([echo, 1])).toBe('Invalid parameter "tools[1]": expected an object');
  expect(await refused([{ ...echo, name: "no spaces" }])).toBe('Invalid parameter "tools[0].name": expected 1-64 characters of A-Z, a-z, 0-9, _ and -');
  expect(await refused([{ ...echo, name: "" }])).toBe('Invalid parameter "tools[0].name": expected 1-64 characters of A-Z, a-z, 0-9, _ and -');
  expect(await refused([{ ...echo, name: undefined }])).toBe('Missing required parameter "tools[0].name"');
  expect(await refused([{ ...echo, description: " " }])).toBe('Invalid parameter "tools[0].description": expected a non-empty string');
  expect(await refused([{ ...echo, parameters: [] }])).toBe('Invalid parameter "tools[0].parameters": expected a JSON Schema of type object');
  for (const broken of [{ properties: 5 }, { properties: [] }, { required: "message" }, { required: [1] }]) {
    expect(await refused([{ ...echo, parameters: { type: "object", ...broken } }])).toBe(
      'Invalid parameter "tools[0].parameters": expected a JSON Schema of type object',
    );
  }
  expect(await refused([echo, { ...echo, name: "b", parameters: { type: "string" } }])).toBe(
    'Invalid parameter "tools[1].parameters": expected a JSON Schema of type object',
  );
  expect(await refused([echo, echo])).toBe("Duplicate host tool: echo_host");
  expect(
    await refused([
      { ...echo, name: "other" },
      { ...echo, name: "bash" },
    ]),
  ).toBe("Host tool conflicts with an existing tool: bash");
  expect(await refused([{ ...echo, name: "grep" }])).toBe("Host tool conflicts with an existing tool: grep");
  const frames = await rpc.prompt("Which tools are there?");
  expect(frames.findLast(({ type }) => type === "turn_end")?.message.stopReason).toBe("stop");
  expect(await rpc.ask("set_host_tools", { tools: [] })).toEqual({ toolNames: [] });
});

test("a call goes to the host and its answer to the model", async () => {
  const rpc = hostWith([calling(), { text: "thanks", expect: { lastText: "done" } }]);
  await rpc.ask("set_host_tools", { tools: [echo] });
  await rpc.ask("prompt", { message: "Echo" });
  const call = await rpc.find(isCall);
  expect(call).toEqual({ type: "host_tool_call", id: "host_1", toolCallId: "toolu_1", toolName: "echo_host", arguments: { message: "hello" } });
  rpc.send({ type: "host_tool_update", id: "host_1", partialResult: { content: [{ type: "text", text: "working" }] } });
  rpc.send({ type: "host_tool_result", id: "host_1", result: { content: [{ type: "text", text: "done" }], details: { n: 1 } } });
  await rpc.find(({ type }) => type === "agent_settled");
  const about = rpc.frames.filter(({ type }) => type.startsWith("tool_execution") || type.startsWith("host_tool"));
  expect(about.map(({ type }) => type)).toEqual(["tool_execution_start", "host_tool_call", "tool_execution_update", "tool_execution_end"]);
  expect(about[2]?.partialResult).toEqual({ content: [{ type: "text", text: "working" }] });
  expect(about[3]?.result).toEqual({ content: [{ type: "text", text: "done" }], details: { n: 1 } });
  expect(about[3]?.isError).toBe(false);
  expect(rpc.frames.at(-2)?.messages.at(-1).content[0].text).toBe("thanks");
  expect(rpc.frames.filter(({ command }) => command?.startsWith("host_tool"))).toEqual([]);
});

test("strings, errors and nonsense become results; arguments are checked before the host is asked", async () => {
  const rpc = hostWith([calling({ message: 1, extra: true }), calling(), calling(), calling(), calling(), "over"]);
  await rpc.ask("set_host_tools", { tools: [echo] });
  await rpc.ask("prompt", { message: "Echo" });
  const ends = async (count: number) => {
    let seen: Frame[] = [];
    await rpc.find(() => {
      seen = rpc.frames.filter(({ type }) => type === "tool_execution_end");
      return seen.length >= count;
    });
    return seen[count - 1] as Frame;
  };
  expect(textOf((await ends(1)).result)).toMatch(/^Validation failed for tool "echo_host":/);
  await rpc.find(({ id }) => id === "host_1");
  rpc.send({ type: "host_tool_result", id: "nobody", result: "ignored" });
  rpc.send({ type: "host_tool_result", id: "host_1", result: "plain words" });
  expect((await ends(2)).result).toEqual({ content: [{ type: "text", text: "plain words" }] });
  await rpc.find(({ id }) => id === "host_2");
  const image = { type: "image", source: { type: "base64", mediaType: "image/png", data: "aaaa" } };
  rpc.send({ type: "host_tool_result", id: "host_2", isError: true, result: { content: [{ type: "text", text: "broke" }, image], details: { code: 3 } } });
  expect(await ends(3)).toMatchObject({
    isError: true,
    result: {
      content: [
        { type: "text", text: "broke" },
        { type: "image", mimeType: "image/png", data: "aaaa" },
      ],
      details: { code: 3 },
    },
  });
  await rpc.find(({ id }) => id === "host_3");
  rpc.send({ type: "host_tool_result", id: "host_3", result: { content: [{ type: "video" }] } });
  expect(await ends(4)).toMatchObject({ isError: true, result: { content: [{ type: "text", text: "Host tool returned an invalid result." }] } });
  await rpc.find(({ id }) => id === "host_4");
  rpc.send({ type: "host_tool_result", id: "host_4" });
  expect(await ends(5)).toMatchObject({ isError: true, result: { content: [{ type: "text", text: "Host tool returned an invalid result." }] } });
  await rpc.find(({ type }) => type === "agent_settled");
});

test("an abort cancels the call at once, and a late answer is ignored", async () => {
  const rpc = hostWith([calling(), "again"]);
  await rpc.ask("set_host_tools", { tools: [echo] });
  await rpc.ask("prompt", { message: "Echo" });
  await rpc.find(isCall);
  expect((await rpc.call("abort")).success).toBe(true);
  const cancel = rpc.frames.find(({ type }) => type === "host_tool_cancel");
  expect(cancel).toEqual({ type: "host_tool_cancel", id: "host_cancel_1", targetId: "host_1" });
  const end = rpc.frames.find(({ type }) => type === "tool_execution_end") as Frame;
  expect(end).toMatchObject({ isError: true, result: { content: [{ type: "text", text: "Host tool call was cancelled." }] } });
  expect(rpc.frames.indexOf(end)).toBeGreaterThan(rpc.frames.indexOf(cancel as Frame));
  rpc.send({ type: "host_tool_result", id: "host_1", result: "too late" });
  const { messages } = await rpc.ask("get_messages");
  expect(JSON.stringify(messages)).not.toContain("too late");
});

test("a new set leaves calls in flight alone, and the set outlives the session", async () => {
  const rpc = hostWith([
    calling(),
    { text: "one", expect: { tools: ["read", "bash", "edit", "write", "other"] } },
    { text: "two", expect: { tools: ["read", "bash", "edit", "write", "other"] } },
  ]);
  await rpc.ask("set_host_tools", { tools: [echo] });
  await rpc.ask("prompt", { message: "Echo" });
  await rpc.find(isCall);
  await rpc.ask("set_host_tools", { tools: [{ ...echo, name: "other" }] });
  rpc.send({ type: "host_tool_result", id: "host_1", result: "still here" });
  const end = await rpc.find(({ type }) => type === "tool_execution_end");
  expect(textOf(end.result)).toBe("still here");
  await rpc.find(({ type }) => type === "agent_settled");
  await rpc.ask("new_session");
  const frames = await rpc.prompt("And now?");
  expect(frames.findLast(({ type }) => type === "turn_end")?.message.content[0].text).toBe("two");
});

test("the command line's filters apply to host tools by name", async () => {
  const rpc = hostWith([{ text: "ok", expect: { tools: ["read", "echo_host"] } }], ["--tools", "read,echo_host"]);
  await rpc.ask("set_host_tools", { tools: [echo, { ...echo, name: "other" }] });
  const frames = await rpc.prompt("Which tools?");
  expect(frames.findLast(({ type }) => type === "turn_end")?.message.stopReason).toBe("stop");
});

test("at the end of input a pending call fails without a record and is in the session file", async () => {
  const rpc = startRpc({ script: { responses: [calling()] } });
  await rpc.ask("set_host_tools", { tools: [echo] });
  await rpc.ask("prompt", { message: "Echo" });
  await rpc.find(isCall);
  const { sessionFile } = await rpc.ask("get_state");
  expect(await rpc.stop()).toEqual({ status: 0, signal: null });
  expect(rpc.frames.filter(({ type }) => type === "host_tool_cancel")).toEqual([]);
  expect(readFileSync(sessionFile, "utf8")).toContain("Host tool call was cancelled.");
});

test("a result nested deeper than the engine follows is stored, and the session with it", async () => {
  const rpc = startRpc({ script: { responses: [calling(), "Seen.", "Still here."] } });
  await rpc.ask("set_host_tools", { tools: [echo] });
  rpc.send({ type: "prompt", message: "Go" });
  const { id } = await rpc.find(isCall);
  const details = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
  rpc.child.stdin.write(`{"type":"host_tool_result","id":"${id}","result":{"content":[{"type":"text","text":"deep"}],"details":${details}}}\n`);
  await rpc.find(({ type }) => type === "agent_settled");
  await rpc.prompt("Again");
  const { sessionFile, messageCount } = await rpc.ask("get_state");
  expect(messageCount).toBe(6);
  await rpc.stop();
  const again = startRpc({ args: ["--session", sessionFile], cwd: rpc.places.cwd, home: rpc.places.home });
  expect((await again.ask("get_state")).messageCount).toBe(6);
});

test("usage that the host leaves unfinished is completed", async () => {
  const rpc = hostWith([calling(), "thanks"]);
  await rpc.ask("set_host_tools", { tools: [echo] });
  await rpc.ask("prompt", { message: "Echo" });
  const { id } = await rpc.find(isCall);
  const usage = { input: 3, output: 4, cacheRead: 0, cacheWrite: 0, cost: { total: 0.5 } };
  rpc.send({ type: "host_tool_result", id, result: { content: [], usage } });
  const message = (await rpc.find(({ type, message: { role } = {} }) => type === "message_end" && role === "toolResult")).message;
  expect(message.usage).toEqual({ ...usage, totalTokens: 7, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.5 } });
  await rpc.find(({ type }) => type === "agent_settled");
});
