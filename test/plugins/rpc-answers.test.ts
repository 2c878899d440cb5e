/** Records in, responses out: checks, lanes, acknowledgement, order. */
import { expect, test } from "vitest";
import { command, KernelError, type Plugin, slashCommand, type Transcript } from "../../core/index.ts";
import { memoryRpc } from "../helpers/memory-rpc.ts";

const broken = command({
  name: "broken",
  run() {
    throw new TypeError("x is not a function");
  },
});
const refusing = command({
  name: "refusing",
  run() {
    throw new KernelError("E_REFUSED", "Not now");
  },
});

/** Just enough for prompts to be taken. */
const conversation: Plugin = {
  name: "conversation",
  apply(kernel) {
    const messages: any[] = [];
    const transcript: Transcript = { sessionId: () => "s", messages: () => messages, append: (message) => void messages.push(message) };
    kernel.provide("transcript", transcript);
    const model = { id: "m", name: "M", api: "none", provider: "p", baseUrl: "", reasoning: false, input: ["text"], contextWindow: 1, maxTokens: 1 } as any;
    kernel.provide("model", { current: () => model, thinkingLevel: () => "off" });
    kernel.registry("providers").add({
      name: "none",
      async *stream({ signal }) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        yield* [];
      },
    });
  },
};

/** A command that is answered when the test says so. */
function gated(name: string, lane: "immediate" | "ordered" | "background") {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { plugin: command({ name, lane, run: () => opened }), open: () => open() };
}

const ids = (frames: { type: string; id?: unknown }[]) => frames.filter(({ type }) => type === "response").map(({ id }) => id);

test("the first check that fails decides", async () => {
  const rpc = await memoryRpc([broken, refusing]);
  rpc.stdin.write("{bad json\n[1]\nnull\n5\n");
  rpc.send({ id: "n" });
  rpc.send({ id: "t", type: 7 });
  rpc.send({ id: "u", type: "frobnicate" });
  rpc.send({ id: "m", type: "set_steering_mode" });
  rpc.send({ id: "nul", type: "set_steering_mode", mode: null });
  rpc.send({ id: "e", type: "set_steering_mode", mode: "some" });
  rpc.send({ id: "i", type: "set_interrupt_mode", mode: 1 });
  rpc.send({ id: "s", type: "refusing" });
  rpc.send({ id: "x", type: "broken" });
  rpc.send({ id: "last", type: "set_steering_mode", mode: "all", unknown: "ignored" });
  await rpc.response("last");
  const parse = 'Failed to parse command: expected an object with a string "type"';
  expect(rpc.frames.map(({ type: _, success: __, ...rest }) => rest)).toEqual([
    { command: "parse", error: expect.stringMatching(/^Failed to parse command: Expected property name or '}' in JSON at position 1/) },
    { command: "parse", error: parse },
    { command: "parse", error: parse },
    { command: "parse", error: parse },
    { id: "n", command: "parse", error: parse },
    { id: "t", command: "parse", error: parse },
    { id: "u", command: "frobnicate", error: "Unknown command: frobnicate" },
    { id: "m", command: "set_steering_mode", error: 'Missing required parameter "mode"' },
    { id: "nul", command: "set_steering_mode", error: 'Missing required parameter "mode"' },
    { id: "e", command: "set_steering_mode", error: 'Invalid parameter "mode": expected one of all, one-at-a-time' },
    { id: "i", command: "set_interrupt_mode", error: 'Invalid parameter "mode": expected one of immediate, wait' },
    { id: "s", command: "refusing", error: "Not now" },
    { id: "x", command: "broken", error: "x is not a function" },
    { id: "last", command: "set_steering_mode" },
  ]);
});

test("names of things that every object has are no commands", async () => {
  const rpc = await memoryRpc();
  for (const type of ["constructor", "__proto__", "toString", ""]) rpc.send({ id: type, type });
  await rpc.response("");
  expect(rpc.frames.map(({ error }) => error)).toEqual(["constructor", "__proto__", "toString", ""].map((type) => `Unknown command: ${type}`));
});

test("parameters of prompts are named where they are wrong", async () => {
  const rpc = await memoryRpc([conversation]);
  const image = { type: "image", data: "AA==", mimeType: "image/png" };
  const wrong: [object, string][] = [
    [{}, 'Missing required parameter "message"'],
    [{ message: 5 }, 'Invalid parameter "message": expected a string'],
    [{ message: " \n" }, 'Invalid parameter "message": expected a non-empty string'],
    [{ message: "", images: [], attachments: null }, 'Invalid parameter "message": expected a non-empty string'],
    [{ message: "x", images: {} }, 'Invalid parameter "images": expected an array'],
    [{ message: "x", images: [image, { type: "image", data: "AA==" }] }, 'Missing required parameter "images[1].mimeType"'],
    [{ message: "x", images: [{ ...image, mimeType: 1 }] }, 'Invalid parameter "images[0].mimeType": expected a string'],
    [{ message: "x", images: [{ ...image, type: "picture" }] }, 'Invalid parameter "images[0].type": expected one of image'],
    [{ message: "x", images: [{ type: "image", source: { type: "base64", data: "AA==" } }] }, 'Missing required parameter "images[0].source.mediaType"'],
    [{ message: "x", images: [{ type: "image", source: { type: "url" } }] }, 'Missing required parameter "images[0].source.url"'],
    [{ message: "x", images: [{ type: "image", source: { type: "file" } }] }, 'Invalid parameter "images[0].source.type": expected one of base64, url'],
    [{ message: "x", images: [{ type: "image", source: { type: "url", url: 5 } }] }, 'Invalid parameter "images[0].source.url": expected a string'],
    [{ message: "x", attachments: [{ id: "a" }] }, 'Missing required parameter "attachments[0].type"'],
    [{ message: "x", streamingBehavior: "later" }, 'Invalid parameter "streamingBehavior": expected one of steer, followUp'],
    [{ message: "x", images: [{ ...image, mimeType: "image/bmp" }] }, "Failed to load image: unsupported media type image/bmp"],
    [{ message: "x", images: [{ ...image, data: "%%" }] }, "Failed to load image: the data is not base64"],
    [{ message: "x", images: [{ type: "image", source: { type: "url", url: "file:///etc/passwd" } }] }, "Failed to load image: unsupported scheme file:"],
    [{ message: "x", images: [{ type: "image", source: { type: "url", url: "nonsense" } }] }, "Failed to load image: not a URL: nonsense"],
    [
      { message: "x", attachments: [{ id: "a", type: "document", fileName: "a.pdf", mimeType: "application/pdf", size: 1, content: "AA==" }] },
      "Unsupported attachment: a.pdf (application/pdf)",
    ],
  ];
  for (const [index, [params, error]] of wrong.entries()) {
    for (const type of ["prompt", "steer", "follow_up", "abort_and_prompt"]) {
      if ((type === "steer" || type === "follow_up") && ("attachments" in params || "streamingBehavior" in params)) continue;
      if (type === "abort_and_prompt" && "streamingBehavior" in params) continue;
      const id = `${index} ${type}`;
      rpc.send({ id, type, ...params });
      expect(await rpc.response(id)).toMatchObject({ success: false, error });
    }
  }
  expect(rpc.frames.every(({ type }) => type === "response")).toBe(true);
});

test("immediate commands overtake; background ones are not waited for; ordered ones wait", async () => {
  const slow = gated("slow", "ordered");
  const behind = gated("behind", "background");
  const now = gated("now", "immediate");
  now.open();
  const rpc = await memoryRpc([slow.plugin, behind.plugin, now.plugin]);
  rpc.send({ id: 1, type: "behind" });
  rpc.send({ id: 2, type: "slow" });
  rpc.send({ id: 3, type: "get_commands" });
  rpc.stdin.write("{\n");
  rpc.send({ id: 4, type: "now" });
  await rpc.response(4);
  expect(ids(rpc.frames)).toEqual([4]);
  slow.open();
  await rpc.response(3);
  await rpc.find(({ command: name }) => name === "parse");
  expect(ids(rpc.frames)).toEqual([4, 2, 3, undefined]);
  behind.open();
  await rpc.response(1);
});

test("a slash command does not hold up later commands, and is answered when it has returned", async () => {
  let finish: () => void = () => {};
  const work = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const rpc = await memoryRpc([
    slashCommand({ name: "deploy", run: () => work }),
    slashCommand({ name: "fail", run: () => Promise.reject(new Error("it broke")) }),
  ]);
  rpc.send({ id: 1, type: "prompt", message: "/deploy now" });
  rpc.send({ id: 2, type: "get_commands" });
  rpc.send({ id: 3, type: "steer", message: "/deploy now" });
  rpc.send({ id: 4, type: "prompt", message: "/fail" });
  await rpc.response(4);
  expect(rpc.frames[0]).toMatchObject({ id: 2, data: { commands: [{ name: "deploy", source: "extension" }, { name: "fail" }] } });
  expect(rpc.frames[1]?.error).toBe('Extension command "/deploy" cannot be queued. Use prompt() or execute the command when not streaming.');
  expect(rpc.frames[2]).toEqual({ type: "extension_error", extensionPath: "command:fail", event: "command", error: "it broke" });
  expect(rpc.frames[3]).toMatchObject({ id: 4, success: true });
  finish();
  expect(await rpc.response(1)).toMatchObject({ success: true });
});

test.each(["omp", "xcsh"])("%s: prompts are answered at once, and a second time if they are refused after all", async (dialect) => {
  const rpc = await memoryRpc([conversation], { "rpc-dialect": dialect });
  rpc.send({ id: "bad", type: "prompt", message: "" });
  rpc.send({ id: "late", type: "prompt", message: "x", images: [{ type: "image", data: "%", mimeType: "image/png" }] });
  rpc.send({ id: "ap", type: "abort_and_prompt", message: "x", images: [{ type: "image", data: "%", mimeType: "image/png" }] });
  rpc.send({ id: "good", type: "prompt", message: "x" });
  rpc.send({ id: "end", type: "get_commands" });
  await rpc.response("end");
  const error = "Failed to load image: the data is not base64";
  const head = { type: "response", command: "prompt" };
  expect(rpc.frames.filter(({ type }) => type === "response").slice(0, -1)).toEqual([
    { ...head, id: "bad", success: false, error: 'Invalid parameter "message": expected a non-empty string' },
    { ...head, id: "late", success: true },
    { ...head, id: "late", success: false, error },
    { ...head, command: "abort_and_prompt", id: "ap", success: true },
    { ...head, command: "abort_and_prompt", id: "ap", success: false, error },
    { ...head, id: "good", success: true },
  ]);
});

test("legacy: prompts without an id are answered by events only", async () => {
  const rpc = await memoryRpc([conversation], { "rpc-dialect": "legacy" });
  rpc.send({ type: "prompt", message: "" });
  rpc.send({ type: "prompt", message: "x" });
  await rpc.find(({ type }) => type === "message_start");
  rpc.send({ type: "prompt", message: "busy" });
  rpc.send({ id: "p", type: "get_protocol" });
  await rpc.response("p");
  rpc.send({ type: "abort" });
  await rpc.find(({ type }) => type === "agent_end");
  rpc.send({ id: "end", type: "abort" });
  await rpc.response("end");
  expect(rpc.frames.filter(({ type }) => type === "response" || type === "error")).toEqual([
    { type: "error", error: 'Invalid parameter "message": expected a non-empty string' },
    { type: "error", error: "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message." },
    { type: "error", error: "Unknown command: get_protocol" },
    { id: "p", type: "response", command: "get_protocol", success: false, error: "Unknown command: get_protocol" },
    { id: "end", type: "response", command: "abort", success: true },
  ]);
  expect(rpc.frames.map(({ type }) => type)).not.toContain("agent_settled");
});

test("the response precedes the run it starts, and follows the events that its command caused", async () => {
  const rpc = await memoryRpc([conversation]);
  rpc.send({ id: 1, type: "steer", message: "first" });
  rpc.send({ id: 2, type: "prompt", message: "go" });
  await rpc.find(({ type }) => type === "agent_start");
  rpc.send({ id: 3, type: "prompt", message: "more", streamingBehavior: "followUp" });
  rpc.send({ id: 4, type: "clear_queue" });
  rpc.send({ id: 5, type: "clear_queue" });
  rpc.send({ id: 6, type: "get_state" });
  await rpc.response(6);
  rpc.send({ id: 7, type: "abort" });
  await rpc.response(7);
  const kinds = rpc.frames.filter(({ type }) => !type.startsWith("message_")).map((frame) => (frame.type === "response" ? frame.id : frame.type));
  expect(kinds).toEqual([
    "queue_update",
    1,
    2,
    "agent_start",
    "turn_start",
    "queue_update",
    "queue_update",
    3,
    "queue_update",
    4,
    5,
    6,
    "turn_end",
    "agent_end",
    "agent_settled",
    7,
  ]);
  expect((await rpc.response(4)).data).toEqual({ steering: [], followUp: ["more"] });
  expect((await rpc.response(5)).data).toEqual({ steering: [], followUp: [] });
  expect((await rpc.response(6)).data).toMatchObject({ isStreaming: true, pendingMessageCount: 0, queuedMessageCount: 0 });
});

test("the update mode changes with its response", async () => {
  const rpc = await memoryRpc();
  rpc.send({ id: 1, type: "set_update_mode", mode: "delta" });
  rpc.send({ id: 2, type: "set_update_mode", mode: "full" });
  rpc.send({ id: 3, type: "get_state" });
  rpc.send({ id: 4, type: "set_update_mode", mode: "some" });
  expect((await rpc.response(1)).data).toEqual({ mode: "delta", previous: "full" });
  expect((await rpc.response(2)).data).toEqual({ mode: "full", previous: "delta" });
  expect((await rpc.response(3)).data.protocol).toEqual({ version: 1, dialect: "pi", updates: "full" });
  expect((await rpc.response(4)).error).toBe('Invalid parameter "mode": expected one of full, delta');
});

test("numbered records can be asked for again", async () => {
  const rpc = await memoryRpc([], { "rpc-seq": true });
  for (let id = 1; id <= 3; id++) rpc.send({ id, type: "get_commands" });
  await rpc.response(3);
  rpc.send({ id: "r", type: "resume_events", after: 1 });
  await rpc.response("r");
  rpc.send({ id: "none", type: "resume_events", after: 4 });
  await rpc.response("none");
  expect((await rpc.response("r")).data).toEqual({ from: 2, to: 3 });
  expect(rpc.frames.map(({ seq, id }) => [seq, id])).toEqual([
    [1, 1],
    [2, 2],
    [3, 3],
    [4, "r"],
    [2, 2],
    [3, 3],
    [5, "none"],
  ]);
});

test("a command that the protocol does not have without its option", async () => {
  const rpc = await memoryRpc();
  rpc.send({ id: 1, type: "resume_events", after: 1 });
  expect((await rpc.response(1)).error).toBe("Unknown command: resume_events");
  expect((await rpc.response(1)).seq).toBeUndefined();
});

test("get_protocol lists exactly what is there", async () => {
  const rpc = await memoryRpc([broken]);
  rpc.send({ id: 1, type: "get_protocol" });
  const { data } = await rpc.response(1);
  expect(data).toMatchObject({ version: 1, dialect: "pi", updateMode: "full" });
  expect(Object.keys(data.commands)).toEqual(expect.arrayContaining(["broken", "prompt", "get_state", "get_protocol", "set_update_mode"]));
  expect(data.commands.set_update_mode.params).toMatchObject({ type: "object", required: ["mode"] });
  expect(data.commands.abort.result).toBeNull();
  expect(Object.keys(data.inbound)).toEqual(["extension_ui_response"]);
  expect(data.events.agent_end).toMatchObject({ type: "object", required: ["type", "messages", "willRetry"] });
});

test.each(["pi", "omp", "xcsh", "legacy"])("questions that come together are looked up once, until something is done (%s)", async (dialect) => {
  const looks: string[] = [];
  const owner: Plugin = {
    name: "owner",
    apply: (kernel) => kernel.hooks.describe.tap("owner", ({ steeringMode }) => void looks.push(String(steeringMode))) as never,
  };
  const rpc = await memoryRpc([owner], { "rpc-dialect": dialect });
  rpc.send({ id: "begin", type: "get_state" });
  await rpc.response("begin");
  looks.length = 0;
  const mode = (id: string, mode: string) => ({ id, type: "set_steering_mode", mode });
  const records = [
    { id: "a", type: "get_state" },
    { id: 'quo"te\u2028', type: "get_state" },
    { type: "get_state" },
    { id: 7, type: "get_state" },
    mode("m", "all"),
    { id: 77, type: "get_state" },
    { id: "last", type: "get_state" },
  ];
  rpc.stdin.write(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  const last = await rpc.response("last");
  expect(looks).toEqual(["one-at-a-time", "all"]);

  // One by one, every one of them is looked up; only the ids may differ.
  const alone: unknown[] = [];
  rpc.send(mode("back", "one-at-a-time"));
  await rpc.response("back");
  const from = rpc.frames.length;
  for (const record of records) {
    rpc.send(record);
    alone.push(await rpc.find(({ type, id }) => type === "response" && id === record.id, from + alone.length));
  }
  expect(rpc.frames.slice(1, rpc.frames.indexOf(last) + 1)).toEqual(alone);
  expect(Object.keys(last)).toEqual(["id", "type", "command", "success", "data"]);

  // What is not asked in the same breath may have changed in the meantime.
  looks.length = 0;
  rpc.view.queue.steeringMode = "one-at-a-time";
  rpc.send({ id: "later", type: "get_state" });
  expect((await rpc.response("later")).data.steeringMode).toBe("one-at-a-time");
  expect(looks).toEqual(["one-at-a-time"]);
});
