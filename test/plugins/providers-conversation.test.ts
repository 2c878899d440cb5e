/** What a request says: the conversation as each API spells it, after a change of model, after an abort, and in a form that can be cached. */
import { describe, expect, test } from "vitest";
import type { AssistantMessage, LlmMessage, Model } from "../../core/index.ts";
import { readTool, type Setup, setUp, toolResult, user, wires } from "../helpers/model-server/agent.ts";
import type { ServerAnswer, WireFormat } from "../helpers/model-server.ts";

const callAnswer = (id: string, path: string): ServerAnswer => ({
  blocks: [{ thinking: "I should look.", signature: "c2lnbmVk" }, { text: "Reading." }, { toolCall: { id, name: "read", arguments: { path } } }],
});

/** One tool conversation: question, call, result, answer. */
async function converse({ ask, server }: Setup, wire: WireFormat, history: LlmMessage[], id: string): Promise<LlmMessage[]> {
  server.answer(callAnswer(id, "a.txt"), "Done.");
  const asked: LlmMessage[] = [...history, user(`Read for ${id}`)];
  const first = await ask(wire, { messages: asked, tools: [readTool], thinkingLevel: "high" });
  const resulted: LlmMessage[] = [...asked, first.message, toolResult(id, "content of a")];
  const second = await ask(wire, { messages: resulted, tools: [readTool], thinkingLevel: "high" });
  expect(second.message.stopReason).toBe("stop");
  return [...resulted, second.message];
}

const withoutMarks = (value: unknown) => JSON.parse(JSON.stringify(value, (key, member) => (key === "cache_control" ? undefined : member)));

describe.each(wires)("%s", (wire) => {
  test("each request begins with the one before it, byte for byte", async () => {
    const setup = await setUp();
    let history = await converse(setup, wire, [], "call_1");
    history = await converse(setup, wire, history, "call_2");
    await converse(setup, wire, history, "call_3");
    const list = wire === "openai-responses" ? "input" : "messages";
    const bodies = setup.server.requests.map(({ body }) => withoutMarks(body));
    for (const [index, body] of bodies.entries()) {
      const next = bodies[index + 1];
      if (!next) continue;
      const { [list]: before, ...fields } = body;
      const { [list]: after, ...nextFields } = next;
      expect(JSON.stringify(nextFields)).toBe(JSON.stringify(fields));
      expect(JSON.stringify(after).startsWith(JSON.stringify(before).slice(0, -1))).toBe(true);
      expect(after.length).toBeGreaterThan(before.length);
    }
  });

  test("without caching there is no trace of it", async () => {
    const { ask, server } = await setUp(["Hi"]);
    await ask(wire, { cache: false, tools: [readTool] });
    expect(server.requests[0]?.raw).not.toMatch(/cache/);
  });

  test("images go along in prompts and results, and become a note where they cannot be seen", async () => {
    const image = { type: "image" as const, data: "aW1hZ2U=", mimeType: "image/png" };
    const answered = { content: [{ type: "toolCall", id: "call_1", name: "read", arguments: {} }] };
    const messages = (from: Partial<AssistantMessage>): LlmMessage[] => [
      { role: "user", content: [{ type: "text", text: "Look" }, image, image], timestamp: 1 },
      { ...answered, ...from } as AssistantMessage,
      { role: "toolResult", toolCallId: "call_1", toolName: "read", content: [{ type: "text", text: "Read image" }, image], isError: false, timestamp: 1 },
    ];
    const { ask, server, model } = await setUp(["a", "b", "c"]);
    const from = { role: "assistant", api: wire, provider: model(wire).provider, model: model(wire).id, stopReason: "toolUse" } as const;
    await ask(wire, { messages: messages(from), tools: [readTool] });
    expect(server.requests[0]?.raw.match(/aW1hZ2U=/g)).toHaveLength(3);
    await ask(wire, { messages: messages(from), tools: [readTool], model: { input: ["text"] } });
    expect(server.requests[1]?.raw).not.toContain("aW1hZ2U=");
    expect(server.requests[1]?.raw.match(/cannot see images/g)).toHaveLength(2);
    const blocked = await setUp(["d"], { settings: { "images.blockImages": true } });
    await blocked.ask(wire, { messages: messages(from), tools: [readTool] });
    expect(blocked.server.requests[0]?.raw.match(/Image reading is disabled\./g)).toHaveLength(2);
  });

  test("an image of a type that no API takes becomes a note", async () => {
    const { ask, server } = await setUp(["a"]);
    const image = (mimeType: string) => ({ type: "image" as const, data: "aW1hZ2U=", mimeType });
    const content = [image("image/svg+xml"), image("image/heic"), image("image/webp"), image("image/jpg")];
    await ask(wire, { messages: [{ role: "user", content, timestamp: 1 }] });
    expect(server.requests[0]?.raw).not.toMatch(/svg|heic/);
    expect(server.requests[0]?.raw.match(/image\/(webp|jpeg)/g)).toEqual(["image/webp", "image/jpeg"]);
    expect(server.requests[0]?.raw.match(/An image was left out/g)).toHaveLength(1);
  });

  test("broken pieces of a conversation are mended", async () => {
    const { ask, server, model } = await setUp(["Fine."]);
    const { provider, id } = model(wire);
    const from = { role: "assistant" as const, api: wire, provider, model: id, timestamp: 1 } as AssistantMessage;
    const messages: LlmMessage[] = [
      user("  "),
      user("Half a pair: \ud83d."),
      // of a program that knows more than we do
      { role: "user", content: [{ type: "video", data: "lost" } as never, { type: "text", text: "Seen?" }], timestamp: 1 },
      { ...from, content: [{ type: "video", data: "lost" } as never, { type: "text", text: "No." }], stopReason: "stop" },
      // cut off in the middle of thinking, then an error before the first word
      { ...from, content: [{ type: "thinking", thinking: "Hm" }], stopReason: "aborted" },
      { ...from, content: [], stopReason: "error", errorMessage: "529" },
      // stopped while its tools ran
      { ...from, content: [{ type: "text", text: "Two calls." }, call("call_a"), call("call_b")], stopReason: "toolUse" },
      toolResult("call_b", ""),
      toolResult("call_of_nobody", "lost"),
      user("Go on"),
    ];
    const { message } = await ask(wire, { messages, tools: [readTool] });
    expect(message.stopReason).toBe("stop");
    const { raw, body } = server.requests[0] as { raw: string; body: any };
    expect(raw).toContain("Half a pair: .");
    expect(raw).not.toMatch(/\\ud83d|lost|Hm/);
    const results = JSON.stringify(body.input ?? body.messages);
    expect(results.indexOf("The call was interrupted")).toBeGreaterThan(results.lastIndexOf("call_b", results.indexOf("The call was interrupted")));
    expect(results.indexOf("(no output)")).toBeGreaterThan(results.indexOf("The call was interrupted"));
  });

  test("the answer of a model comes back to it whole: signatures and hidden thinking", async () => {
    const setup = await setUp([{ blocks: [{ thinking: "Seen", signature: "sig-seen" }, { redacted: "hidden-data" }, { text: "Answer" }] }, "Next"]);
    const { message } = await setup.ask(wire, { thinkingLevel: "high" });
    await setup.ask(wire, { messages: [user("Hello"), message, user("More")], thinkingLevel: "high" });
    const { body } = setup.server.requests[1] as { body: any };
    if (wire === "anthropic-messages") {
      expect(withoutMarks(body).messages[1].content).toEqual([
        { type: "thinking", thinking: "Seen", signature: "sig-seen" },
        { type: "redacted_thinking", data: "hidden-data" },
        { type: "text", text: "Answer" },
      ]);
    } else if (wire === "openai-responses") {
      expect(body.input.slice(1, 4)).toMatchObject([
        { type: "reasoning", encrypted_content: "sig-seen", summary: [{ text: "Seen" }] },
        { type: "reasoning", encrypted_content: "hidden-data" },
        { type: "message", id: "msg_2", content: [{ text: "Answer" }] },
      ]);
    } else expect(body.messages[2]).toEqual({ role: "assistant", content: "Answer", reasoning_content: "Seen" });
  });

  test("an id that a server gives to several calls stands for one of them only", async () => {
    const { ask, server } = await setUp(["a", "b"]);
    const from = { role: "assistant", api: "other", provider: "other", model: "other", stopReason: "toolUse", timestamp: 1 } as unknown as AssistantMessage;
    const turn = (...texts: string[]): LlmMessage[] => [
      { ...from, content: texts.map(() => call("call_0")) },
      ...texts.map((text) => toolResult("call_0", text)),
    ];
    const messages = [user("a"), ...turn("one"), ...turn("two", "three")];
    await ask(wire, { messages, tools: [readTool] });
    await ask(wire, { messages: [...messages, ...turn("four")], tools: [readTool] });
    for (const { body } of server.requests) expectPaired(body, wire);
    const { raw, body } = server.requests[1] as { raw: string; body: any };
    expect(["one", "two", "three", "four"].map((text) => raw.indexOf(`"${text}"`)).every((at, index, all) => at > (all[index - 1] ?? 0))).toBe(true);
    const ids = JSON.stringify(body).match(/"(?:tool_use_id|tool_call_id)":"[^"]+"|"function_call_output","call_id":"[^"]+"/g);
    expect(new Set(ids).size).toBe(4);
  });

  test("thinking that nothing followed from does not go back: every later request would be refused", async () => {
    const { ask, server } = await setUp([{ blocks: [{ thinking: "Hm", signature: "sig" }] }, "Four."]);
    const { message } = await ask(wire, { thinkingLevel: "high" });
    await ask(wire, { messages: [user("Two and two?"), message, user("Well?")], thinkingLevel: "high" });
    const { body } = server.requests[1] as { body: any };
    expect((body.input ?? body.messages).map((item: any) => item.role ?? item.type).slice(-2)).toEqual(["user", "user"]);
  });

  test("another model of the same API does not get the thinking of the first as its own", async () => {
    const setup = await setUp();
    const history = await converse(setup, wire, [], "call_1");
    setup.server.answer("Ok");
    await setup.ask(wire, { messages: [...history, user("And you?")], tools: [readTool], model: { id: "another" } });
    const { raw } = setup.server.requests.at(-1) as { raw: string };
    expect(raw).toContain("I should look.");
    expect(raw).not.toMatch(/c2lnbmVk|reasoning_content|"type":"thinking"|"type":"reasoning"/);
  });
});

describe("changing the API in the middle of a tool conversation", () => {
  const pairs = wires.flatMap((from) => wires.filter((to) => to !== from).map((to) => [from, to] as const));
  test.each(pairs)("from %s to %s and back", async (from, to) => {
    const setup = await setUp();
    const { server, ask } = setup;
    // The call is made by one model, its result read by the other: an id of one API in the other's request.
    const id = from === "anthropic-messages" ? "toolu_01A" : `call_${"x".repeat(60)}|fc_1`;
    server.answer(callAnswer(id, "a.txt"), callAnswer("second", "b.txt"), "Done.");
    const request = { tools: [readTool], thinkingLevel: "high" as const };
    const messages: LlmMessage[] = [user("Read a and b")];
    const first = await ask(from, { ...request, messages });
    messages.push(first.message, toolResult(id, "content of a"));
    const second = await ask(to, { ...request, messages });
    messages.push(second.message, toolResult("second", "content of b"));
    const third = await ask(from, { ...request, messages });
    expect(third.message).toMatchObject({ stopReason: "stop", content: [{ text: "Done." }] });
    for (const { body, wire } of server.requests) expectPaired(body, wire);
    // Foreign thinking is text, the own one has its signature again.
    expect(server.requests[1]?.raw).not.toContain("c2lnbmVk");
    if (from !== "openai-completions") expect(server.requests[2]?.raw.match(/c2lnbmVk/g)).toHaveLength(1);
  });
});

/** Every call has its result, under an id that the API takes. */
function expectPaired(body: any, wire: WireFormat): void {
  const blocks: any[] = wire === "openai-responses" ? body.input : body.messages.flatMap((message: any) => [message, ...[message.content].flat()]);
  const calls: string[] = blocks.flatMap((block) =>
    block?.type === "tool_use" ? [block.id] : block?.type === "function_call" ? [block.call_id] : (block?.tool_calls ?? []).map((made: any) => made.id),
  );
  const results: string[] = blocks.flatMap(
    (block) => block?.tool_use_id ?? (block?.type === "function_call_output" ? block.call_id : block?.tool_call_id) ?? [],
  );
  expect(results).toEqual(calls);
  for (const made of calls) expect(made).toMatch(wire === "openai-completions" ? /^[\w-]{1,40}$/ : /^[\w-]{1,64}$/);
}

function call(id: string) {
  return { type: "toolCall" as const, id, name: "read", arguments: { path: "a\ud83d" } };
}

describe("Anthropic", () => {
  const wire = "anthropic-messages";
  test("marks system prompt, tools and the newest messages for its cache", async () => {
    const { ask, server } = await setUp(["Hi"]);
    await ask(wire, { tools: [readTool], messages: [user("one"), user("two"), user("three")] });
    const { body } = server.requests[0] as { body: any };
    const mark = { type: "ephemeral" };
    expect(body.system).toEqual([{ type: "text", text: "Be brief.", cache_control: mark }]);
    expect(body.tools[0].cache_control).toEqual(mark);
    expect(body.messages.map(({ content }: any) => content.at(-1).cache_control)).toEqual([undefined, mark, mark]);
    const long = await setUp(["Hi"], { env: { PI_CACHE_RETENTION: "long" } });
    await long.ask(wire);
    expect(long.server.requests[0]?.body.system[0].cache_control).toEqual({ type: "ephemeral", ttl: "1h" });
  });

  test("writes to the long cache are counted apart", async () => {
    const { ask } = await setUp([{ text: "Hi", usage: { input: 10, output: 1, cacheWrite: 100, cacheWrite1h: 60 } }]);
    const { usage } = (await ask(wire)).message;
    expect(usage).toMatchObject({ cacheWrite: 100, cacheWrite1h: 60 });
    expect(usage.cost.cacheWrite).toBeCloseTo((1.25 * 40 + 2 * 60) / 1e6, 12);
  });

  test.each<[string, Partial<Model>, object]>([
    ["a budget", {}, { thinking: { type: "enabled", budget_tokens: 8192 } }],
    ["a budget that leaves room for the answer", { maxTokens: 4000 }, { thinking: { type: "enabled", budget_tokens: 2976 }, max_tokens: 4000 }],
    ["nothing where there is no room", { maxTokens: 1500 }, { max_tokens: 1500 }],
    ["effort", { thinkingLevelMap: { minimal: "low" } }, { thinking: { type: "adaptive" }, output_config: { effort: "medium" } }],
    ["nothing to a model that does not think", { reasoning: false }, {}],
  ])("thinking is %s", async (_, model, expected) => {
    const { ask, server } = await setUp(["Hi"]);
    await ask(wire, { thinkingLevel: "medium", model });
    expect(server.requests[0]?.body).toMatchObject(expected);
    if (!("thinking" in expected)) expect(server.requests[0]?.body).not.toHaveProperty("thinking");
  });

  test("a turn of tool calls that another model began is finished without a budget", async () => {
    const setup = await setUp([callAnswer("call_1", "a"), "Ok", "Ok"]);
    const { message } = await setup.ask("openai-completions", { tools: [readTool] });
    const messages = [user("Read"), message, toolResult("call_1", "r")];
    await setup.ask(wire, { messages, tools: [readTool], thinkingLevel: "high" });
    await setup.ask(wire, { messages: [...messages, user("And?")], tools: [readTool], thinkingLevel: "high" });
    expect(setup.server.requests[1]?.body).not.toHaveProperty("thinking");
    expect(setup.server.requests[2]?.body).toHaveProperty("thinking");
  });

  test("a result that shows an image is not marked as an error: the API would refuse it", async () => {
    const { ask, server, model } = await setUp(["Hi"]);
    const { api, provider, id } = model(wire);
    const made = {
      role: "assistant",
      content: [call("a"), call("b")],
      api,
      provider,
      model: id,
      stopReason: "toolUse",
      timestamp: 1,
    } as unknown as AssistantMessage;
    const image = { type: "image", data: "aW1hZ2U=", mimeType: "image/png" } as const;
    const shown: LlmMessage = { role: "toolResult", toolCallId: "a", toolName: "read", content: [image], isError: true, timestamp: 1 };
    await ask(wire, { messages: [user("a"), made, shown, { ...shown, toolCallId: "b", content: [{ type: "text", text: "No." }] }], tools: [readTool] });
    const results: any[] = server.requests[0]?.body.messages[2].content;
    expect(results.map(({ is_error }) => is_error)).toEqual([undefined, true]);
  });

  test("a login's token is sent as such", async () => {
    const { ask, server } = await setUp(["Hi"]);
    await ask(wire, { apiKey: "sk-ant-oat01-token" });
    expect(server.requests[0]?.headers).toMatchObject({ authorization: "Bearer sk-ant-oat01-token", "anthropic-beta": "oauth-2025-04-20" });
    expect(server.requests[0]?.headers).not.toHaveProperty("x-api-key");
  });
});

describe("OpenAI and those who speak like it", () => {
  test.each(["openai-completions", "openai-responses"] as const)("%s names the session as key of the cache", async (wire) => {
    const { ask, server } = await setUp(["Hi"]);
    await ask(wire);
    expect(server.requests[0]?.body.prompt_cache_key).toBe("session-1");
  });

  test.each<[string, Record<string, unknown>, object, string[]]>([
    [
      "an unknown server",
      {},
      { reasoning_effort: "high", stream_options: { include_usage: true }, messages: [{ role: "system" }, {}] },
      ["store", "max_completion_tokens"],
    ],
    ["store", { supportsStore: true }, { store: false }, []],
    ["developer role", { supportsDeveloperRole: true }, { messages: [{ role: "developer" }, {}] }, []],
    ["no effort", { supportsReasoningEffort: false }, {}, ["reasoning_effort"]],
    ["no usage", { supportsUsageInStreaming: false }, {}, ["stream_options"]],
    ["max_completion_tokens", { maxTokensField: "max_completion_tokens" }, { max_completion_tokens: 32_000 }, ["max_tokens"]],
    ["no cache key", { supportsPromptCacheKey: false }, {}, ["prompt_cache_key"]],
    ["OpenRouter's thinking", { thinkingFormat: "openrouter" }, { reasoning: { effort: "high" } }, ["reasoning_effort"]],
    ["Z.ai's thinking", { thinkingFormat: "zai" }, { thinking: { type: "enabled" } }, ["reasoning_effort"]],
    ["Qwen's thinking", { thinkingFormat: "qwen" }, { enable_thinking: true }, ["reasoning_effort"]],
    ["an unknown switch", { whatever: true }, {}, ["whatever"]],
  ])("compat: %s", async (_, compat, expected, absent) => {
    const { ask, server } = await setUp(["Hi"]);
    await ask("openai-completions", { thinkingLevel: "high", model: { compat } });
    expect(server.requests[0]?.body).toMatchObject(expected);
    for (const field of absent) expect(server.requests[0]?.body).not.toHaveProperty(field);
  });

  test("compat of results: names, ids of nine characters, an answer before the next question", async () => {
    const { ask, server, model } = await setUp(["Hi"]);
    const { api, provider, id } = model("openai-completions");
    const made = { role: "assistant", content: [call("call_1")], api, provider, model: id, stopReason: "toolUse", timestamp: 1 } as unknown as AssistantMessage;
    const compat = { requiresToolResultName: true, requiresMistralToolIds: true, requiresAssistantAfterToolResult: true };
    await ask("openai-completions", { messages: [user("a"), made, toolResult("call_1", "r"), user("b")], model: { compat } });
    const messages: any[] = server.requests[0]?.body.messages;
    expect(messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "assistant", "user"]);
    expect(messages[3]).toMatchObject({ name: "read", tool_call_id: messages[2].tool_calls[0].id });
    expect(messages[3].tool_call_id).toMatch(/^[a-zA-Z0-9]{9}$/);
  });

  test("levels go by the model's map, and off is said where the map has a word for it", async () => {
    const { ask, server } = await setUp(["a", "b", "c", "d"]);
    const thinkingLevelMap = { off: "none", xhigh: "extreme" };
    await ask("openai-responses", { thinkingLevel: "xhigh", model: { thinkingLevelMap } });
    await ask("openai-responses", { thinkingLevel: "off", model: { thinkingLevelMap } });
    await ask("openai-responses", { thinkingLevel: "off" });
    await ask("openai-completions", { thinkingLevel: "off", model: { thinkingLevelMap } });
    const [first, second, third, fourth] = server.requests.map(({ body }) => body);
    expect(first.reasoning).toEqual({ effort: "extreme", summary: "auto" });
    expect(second.reasoning).toEqual({ effort: "none" });
    expect(third).not.toHaveProperty("reasoning");
    expect(fourth.reasoning_effort).toBe("none");
  });

  test("signatures that a server hides beside a call go back with it", async () => {
    const extra_content = { google: { thought_signature: "abc" } };
    const chunk = (delta: object, finish_reason: string | null = null) => ({ id: "c", model: "m", choices: [{ index: 0, delta, finish_reason }] });
    const tool_calls = [{ index: 0, id: "call_g", type: "function", extra_content, function: { name: "read", arguments: '{"path":"a"}' } }];
    const details = { reasoning_details: [{ type: "reasoning.encrypted", index: 0, data: "xyz" }] };
    const { ask, server } = await setUp([{ frames: [chunk(details), chunk({ tool_calls }), chunk({}, "tool_calls"), "data: [DONE]\n\n"] }, "Ok"]);
    const { message } = await ask("openai-completions");
    await ask("openai-completions", { messages: [user("a"), message, toolResult("call_g", "r")] });
    expect(server.requests[1]?.body.messages[2]).toMatchObject({ ...details, tool_calls: [{ id: "call_g", extra_content }] });
  });

  test("Azure: its header, its version, and the names of deployments", async () => {
    const env = { AZURE_OPENAI_API_VERSION: "preview", AZURE_OPENAI_DEPLOYMENT_NAME_MAP: "x=y, openai-responses-1=my-deployment" };
    const { ask, server } = await setUp(["Hi"], { env });
    await ask("openai-responses", { apiKey: "azure-key-1", model: { provider: "azure-openai-responses", baseUrl: server.origin } });
    const { path, headers, body } = server.requests[0] as { path: string; headers: object; body: any };
    expect(path).toBe("/openai/v1/responses?api-version=preview");
    expect(headers).toMatchObject({ "api-key": "azure-key-1" });
    expect(headers).not.toHaveProperty("authorization");
    expect(body.model).toBe("my-deployment");
  });
});
