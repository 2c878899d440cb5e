/** The wire APIs through their real SDKs over HTTP: what is streamed, what is counted, and what happens when servers misbehave. */
import { connect as connectTcp, createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AssistantMessageEvent } from "../../core/index.ts";
import { readTool, setUp, user, wires } from "../helpers/model-server/agent.ts";
import type { ServerAnswer } from "../helpers/model-server.ts";

const types = (events: AssistantMessageEvent[]) => events.map(({ type }) => type);
const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };

describe.each(wires)("%s", (wire) => {
  test("streams text, thinking and tool calls, with usage and cost", async () => {
    const { ask, server } = await setUp([
      {
        blocks: [
          { thinking: ["Let me ", "see."], signature: "signed" },
          { text: ["Grüße, ", "Welt 🌍"] },
          { toolCall: { id: "call_a", name: "read", json: ['{"pa', 'th":"a.', 'txt","n":[1,2', "]}"] } },
        ],
        usage: { input: 100, output: 20, cacheRead: 50, cacheWrite: 8, reasoning: 7 },
      },
    ]);
    const { events, message } = await ask(wire, { tools: [readTool], thinkingLevel: "high" });
    expect(types(events)).toEqual([
      "start",
      "thinking_start",
      "thinking_delta",
      "thinking_delta",
      "thinking_end",
      "text_start",
      "text_delta",
      "text_delta",
      "text_end",
      "toolcall_start",
      "toolcall_delta",
      "toolcall_delta",
      "toolcall_delta",
      "toolcall_delta",
      "toolcall_end",
      "done",
    ]);
    expect(message.content).toMatchObject([
      { type: "thinking", thinking: "Let me see.", thinkingSignature: expect.any(String) },
      { type: "text", text: "Grüße, Welt 🌍" },
      { type: "toolCall", id: "call_a", name: "read", arguments: { path: "a.txt", n: [1, 2] } },
    ]);
    expect(message).toMatchObject({ stopReason: "toolUse", api: wire, model: `${wire}-1` });
    expect(message.usage).toMatchObject({ input: 100, output: 20, cacheRead: 50, cacheWrite: 8, reasoning: 7, totalTokens: 178 });
    expect(message.usage.cost.total).toBeCloseTo((100 * 1 + 20 * 10 + 50 * 0.1 + 8 * 1.25) / 1e6, 12);
    const shown = events.flatMap((event) => (event.type === "toolcall_delta" ? [(event.partial.content[2] as { arguments: unknown }).arguments] : []));
    expect(shown).toEqual([{}, { path: "a." }, { path: "a.txt", n: [1] }, { path: "a.txt", n: [1, 2] }]);
    expect(server.requests[0]?.body.stream).toBe(true);
  });

  test("snapshots never change after they were handed out", async () => {
    const { view, model } = await setUp([
      { blocks: [{ thinking: ["a", "b"] }, { text: ["c", "d"] }, { toolCall: { name: "read", json: ['{"path":"x', 'y"}'] } }] },
    ]);
    const seen: [AssistantMessageEvent, string][] = [];
    const frozen = (value: unknown): void => {
      if (!value || typeof value !== "object" || Object.isFrozen(value)) return;
      Object.freeze(value);
      for (const member of Object.values(value)) frozen(member);
    };
    for await (const event of view.stream({ model: model(wire), systemPrompt: "", messages: [user("x")], apiKey: "sk-12345678" })) {
      seen.push([event, JSON.stringify(event)]);
      frozen(event);
    }
    for (const [event, text] of seen) expect(JSON.stringify(event)).toBe(text);
    expect(seen.at(-1)?.[0].type).toBe("done");
  });

  test.each<[string, Partial<ServerAnswer>]>([
    ["characters cut in two", { splitBytes: 3 }],
    ["keep-alives between the events", { keepAlives: true }],
    ["CRLF", { crlf: true }],
    ["empty deltas", { blocks: [{ text: ["", "Grüße ", "", "🌍"] }] }],
  ])("copes with %s", async (_, ugly) => {
    const { ask } = await setUp([{ text: ["Grüße ", "🌍"], ...ugly }]);
    const { message, events } = await ask(wire);
    expect(message).toMatchObject({ stopReason: "stop", content: [{ type: "text", text: "Grüße 🌍" }] });
    expect(types(events).filter((type) => type === "text_delta")).toHaveLength(2);
  });

  test("tool calls that stream side by side are kept apart", async () => {
    const { ask } = await setUp([
      {
        interleave: true,
        blocks: [
          { toolCall: { id: "call_a", name: "read", json: ['{"path":', '"a"}'] } },
          { toolCall: { id: "call_b", name: "read", json: ['{"path":', '"b"', "}"] } },
        ],
      },
    ]);
    const { message } = await ask(wire, { tools: [readTool] });
    expect(message.content).toMatchObject([
      { id: "call_a", arguments: { path: "a" } },
      { id: "call_b", arguments: { path: "b" } },
    ]);
  });

  test("counts that are no numbers do no harm", async () => {
    const { ask } = await setUp([{ text: "Hi", usage: { input: "12" as unknown as number, output: -3, cacheRead: "many" as unknown as number } }]);
    const { usage } = (await ask(wire)).message;
    for (const count of [usage.input, usage.output, usage.cacheRead, usage.cacheWrite, usage.totalTokens, usage.cost.total])
      expect(count).toBeGreaterThanOrEqual(0);
    expect(usage.totalTokens).toBe(usage.input + usage.output);
  });

  test("a server that does not count", async () => {
    const { ask } = await setUp([{ text: "Hi", usage: false }]);
    const { message } = await ask(wire);
    expect(message).toMatchObject({ stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0, cost: { total: 0 } } });
  });

  test("a tool call without arguments", async () => {
    const { ask } = await setUp([{ blocks: [{ toolCall: { name: "read", json: [] } }] }]);
    const { message } = await ask(wire);
    expect(message.content).toMatchObject([{ type: "toolCall", name: "read", arguments: {} }]);
  });

  test("an answer that ran into its limit", async () => {
    const { ask } = await setUp([
      { text: "Once upon", stop: { "anthropic-messages": "max_tokens", "openai-completions": "length", "openai-responses": "max_output_tokens" }[wire] },
    ]);
    expect((await ask(wire)).message).toMatchObject({ stopReason: "length", content: [{ text: "Once upon" }] });
  });

  test("a tool call whose arguments break off was cut, whatever the server calls it", async () => {
    const { ask } = await setUp([{ blocks: [{ toolCall: { name: "read", json: ['{"path":"/tmp/a', "bc"] } }] }]);
    const { message } = await ask(wire, { tools: [readTool] });
    expect(message).toMatchObject({ stopReason: "length", content: [{ type: "toolCall", name: "read" }] });
  });

  test("a refusal says so", async () => {
    const { ask } = await setUp([wire === "anthropic-messages" ? { text: "I ", stop: "refusal" } : { blocks: [{ refusal: ["I cannot ", "do that."] }] }]);
    const { message } = await ask(wire);
    if (wire === "anthropic-messages")
      expect(message).toMatchObject({ stopReason: "error", errorMessage: "The model refused to answer.", rawStopReason: "refusal" });
    else expect(message).toMatchObject({ stopReason: "stop", content: [{ text: "I cannot do that." }] });
  });

  test.each([
    [529, overloaded, {}],
    [429, { error: { type: "rate_limit_error", message: "Slow down" } }, { "retry-after": "20" }],
    [500, { error: { message: "Oh" } }, {}],
    [400, { error: { message: "prompt is too long: 213462 tokens > 200000 maximum" } }, {}],
    [422, { detail: "unknown field" }, {}],
  ])("status %i is an error with status and body, and is not asked again", async (status, body, headers) => {
    const { ask, server } = await setUp([{ status, body, headers }]);
    const { events, message } = await ask(wire);
    expect(types(events)).toEqual(["error"]);
    expect(message).toMatchObject({
      stopReason: "error",
      errorMessage: `${status} ${JSON.stringify(body)}${"retry-after" in headers ? " (retry after 20 s)" : ""}`,
      content: [],
      usage: { totalTokens: 0 },
    });
    expect(server.requests).toHaveLength(1);
  });

  test("the request's id is told; a body that is no JSON is told as it is", async () => {
    const name = wire === "anthropic-messages" ? "request-id" : "x-request-id";
    const { ask } = await setUp([{ status: 502, body: "<h1>Bad gateway</h1>", headers: { [name]: "req_77" } }]);
    expect((await ask(wire)).message.errorMessage).toBe("502 <h1>Bad gateway</h1> (request id req_77)");
  });

  test("how long to wait is told as seconds, whatever the header's form", async () => {
    const until = new Date(Date.now() + 90_000).toUTCString();
    const headers: Record<string, string>[] = [{ "retry-after-ms": "1500", "retry-after": "2" }, { "retry-after": until }, { "retry-after": "soon" }];
    const { ask } = await setUp(headers.map((headers) => ({ status: 503, body: "Busy", headers })));
    expect((await ask(wire)).message.errorMessage).toBe("503 Busy (retry after 1.5 s)");
    expect((await ask(wire)).message.errorMessage).toMatch(/^503 Busy \(retry after (8\d|90) s\)$/);
    expect((await ask(wire)).message.errorMessage).toBe("503 Busy");
  });

  test("200 with an error instead of a stream", async () => {
    const { ask } = await setUp([{ body: overloaded }]);
    const { events, message } = await ask(wire);
    expect(types(events)).toEqual(["error"]);
    expect(message.errorMessage).toBe(`200 ${JSON.stringify(overloaded)}`);
  });

  test("an error in the middle of the stream keeps what came before", async () => {
    const { ask } = await setUp([
      { text: ["Half ", "an answer"], after: { frames: 4, next: { error: { type: "overloaded_error", code: "overloaded", message: "Overloaded" } } } },
    ]);
    const { events, message } = await ask(wire);
    expect(events[0]?.type).toBe("start");
    expect(message).toMatchObject({ stopReason: "error", errorMessage: expect.stringContaining("Overloaded") });
  });

  test.each(["disconnect", "end"] as const)("a stream that breaks off (%s) is an error that may be tried again", async (next) => {
    const { ask } = await setUp([{ text: ["Half ", "an answer"], after: { frames: 3, next } }]);
    const { message } = await ask(wire);
    expect(message.stopReason).toBe("error");
    expect(message.errorMessage).toMatch(/terminated|ended before|ended without/);
  });

  test("nobody listens", async () => {
    const { ask } = await setUp();
    const { message } = await ask(wire, { model: { baseUrl: "http://127.0.0.1:9" } });
    expect(message.errorMessage).toMatch(/connection error.*(ECONNREFUSED|bad port)/i);
  });

  test.each<[string, ServerAnswer]>([
    ["never answers", { silent: true }],
    ["stops in the middle", { text: ["a", "b"], after: { frames: 3, next: "hang" } }],
  ])("a server that %s is given up", async (_, answer) => {
    const { ask, server } = await setUp([answer], { settings: { httpIdleTimeoutMs: 150 } });
    const { message } = await ask(wire);
    expect(message).toMatchObject({ stopReason: "error", errorMessage: "The request timed out: the server sent nothing for 0.15 s." });
    await server.requests[0]?.over;
    expect(server.requests[0]?.closedEarly).toBe(true);
  });

  test("keep-alives are signs of life", async () => {
    const { ask } = await setUp([{ text: "slow", keepAlives: true, frameDelayMs: 60 }], { settings: { httpIdleTimeoutMs: 1000 } });
    expect((await ask(wire)).message.stopReason).toBe("stop");
  });

  test.each<[string, ServerAnswer, number]>([
    ["before the answer", { silent: true }, 0],
    ["in the middle", { text: ["a", "b"], after: { frames: 4, next: "hang" } }, 1],
  ])("abort %s closes the connection", async (_, answer, start) => {
    const { view, model, server } = await setUp([answer]);
    const abort = new AbortController();
    const events: AssistantMessageEvent[] = [];
    const reading = (async () => {
      for await (const event of view.stream({ model: model(wire), systemPrompt: "", messages: [user("x")], apiKey: "sk-12345678", signal: abort.signal })) {
        events.push(event);
        if (event.type === "start") abort.abort();
      }
    })();
    const request = await server.received(1);
    if (start === 0) abort.abort();
    await reading;
    await request.over;
    expect(request.closedEarly).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: "error", reason: "aborted", error: { stopReason: "aborted", errorMessage: "Request was aborted" } });
    expect(types(events).includes("start")).toBe(start === 1);
  });

  test("hooks see the payload, change headers and hear of the response", async () => {
    const { ask, server } = await setUp([{ text: "Hi", headers: { "x-limit": "9" } }]);
    const responses: unknown[] = [];
    await ask(wire, {
      headers: { "x-caller": "me", "x-gone": "soon" },
      onPayload: async (payload) => ({ ...(payload as object), metadata: { user_id: "u" } }),
      onHeaders: async (headers) => {
        headers["x-hook"] = "here";
        headers["x-gone"] = null;
      },
      onResponse: async (response) => void responses.push(response),
    });
    expect(server.requests[0]?.body.metadata).toEqual({ user_id: "u" });
    expect(server.requests[0]?.headers).toMatchObject({ "x-caller": "me", "x-hook": "here" });
    expect(server.requests[0]?.headers).not.toHaveProperty("x-gone");
    expect(responses).toMatchObject([{ status: 200, headers: { "x-limit": "9" } }]);
  });

  test("a key that the server echoes is not repeated", async () => {
    const key = "sk-very-secret-0123456789";
    const { ask, server } = await setUp([{ status: 401, body: { error: { message: `Incorrect API key provided: ${key}` } } }]);
    const { message } = await ask(wire, { apiKey: key });
    expect(message.errorMessage).toBe('401 {"error":{"message":"Incorrect API key provided: [secret]"}}');
    const { headers } = server.requests[0] as { headers: Record<string, unknown> };
    expect(wire === "anthropic-messages" ? headers["x-api-key"] : headers.authorization).toBe(wire === "anthropic-messages" ? key : `Bearer ${key}`);
    if (wire === "anthropic-messages") expect(headers).not.toHaveProperty("authorization");
  });

  test("nor is the part of a key that a cut leaves of what the server said", async () => {
    const key = "sk-very-secret-0123456789";
    const { ask } = await setUp([
      { status: 400, body: { error: { message: `${"x".repeat(7960)}${key} and so on` } } },
      { frames: [`data: {broken ${"x".repeat(180)}${key} and so on\n\n`] },
    ]);
    for (const expected of ["400", "not JSON"]) {
      const { message } = await ask(wire, { apiKey: key });
      expect(message.errorMessage).toContain(expected);
      expect(message.errorMessage).not.toContain("sk-v");
    }
  });

  test("a proxy of the environment carries the request, and NO_PROXY goes around it", async () => {
    const proxy = await tunnel();
    const { ask } = await setUp(["through", "around"], { env: { HTTP_PROXY: proxy.url } });
    expect((await ask(wire)).message.content).toMatchObject([{ text: "through" }]);
    expect(proxy.targets).toHaveLength(1);
    const direct = await setUp(["around"], { env: { HTTP_PROXY: proxy.url, NO_PROXY: "127.0.0.1" } });
    expect((await direct.ask(wire)).message.content).toMatchObject([{ text: "around" }]);
    const set = await setUp(["set"], { settings: { httpProxy: proxy.url, httpIdleTimeoutMs: 0 } });
    expect((await set.ask(wire)).message.content).toMatchObject([{ text: "set" }]);
    expect(proxy.targets).toHaveLength(2);
  });
});

test("openai-completions: content that comes as a list of parts", async () => {
  const frame = (content: unknown, finish_reason: string | null = null) => ({ id: "c", choices: [{ index: 0, delta: { content }, finish_reason }] });
  const thought = (text: string) => [{ type: "thinking", thinking: [{ type: "text", text }] }];
  const frames = [frame(thought("Let ")), frame(thought("me see.")), frame([{ type: "text", text: "Four" }, null, { type: "reference" }]), frame(".", "stop")];
  const { ask } = await setUp([{ frames }]);
  expect((await ask("openai-completions")).message).toMatchObject({
    stopReason: "stop",
    content: [
      { type: "thinking", thinking: "Let me see." },
      { type: "text", text: "Four." },
    ],
  });
});

test("openai-completions: calls that all have the same number are kept apart by their ids", async () => {
  const frame = (call: object, finish_reason: string | null = null) => ({
    id: "c",
    choices: [{ index: 0, delta: { tool_calls: [{ index: 0, type: "function", ...call }] }, finish_reason }],
  });
  const frames = [
    frame({ id: "call_a", function: { name: "read", arguments: '{"path":' } }),
    // The whole head again, and one that makes up an id for each piece.
    frame({ id: "call_a", function: { name: "read", arguments: '"a"' } }),
    frame({ id: "piece_3", function: { arguments: "}" } }),
    frame({ id: "call_b", function: { name: "read", arguments: '{"path":"b"}' } }, "tool_calls"),
  ];
  const { ask } = await setUp([{ frames }]);
  expect((await ask("openai-completions", { tools: [readTool] })).message).toMatchObject({
    stopReason: "toolUse",
    content: [
      { id: "call_a", arguments: { path: "a" } },
      { id: "call_b", arguments: { path: "b" } },
    ],
  });
});

test.each(wires)("%s: a web page in place of an answer is told as it is", async (wire) => {
  const { ask } = await setUp([{ frames: ["<!doctype html><title>Welcome</title>"], headers: { "content-type": "text/html" } }]);
  expect((await ask(wire)).message).toMatchObject({ stopReason: "error", errorMessage: "200 <!doctype html><title>Welcome</title>" });
});

/** A proxy that only knows CONNECT. */
async function tunnel(): Promise<{ url: string; targets: string[] }> {
  const targets: string[] = [];
  const sockets = new Set<Socket>();
  const server = createTcpServer((client) => {
    sockets.add(client);
    client.on("error", () => undefined);
    client.once("data", (head) => {
      const target = /^CONNECT (\S+):(\d+)/.exec(head.toString());
      if (!target) return void client.end("HTTP/1.1 405 No\r\n\r\n");
      targets.push(`${target[1]}:${target[2]}`);
      const upstream = connectTcp(Number(target[2]), target[1], () => {
        client.write("HTTP/1.1 200 OK\r\n\r\n");
        client.pipe(upstream).pipe(client);
      });
      upstream.on("error", () => client.destroy());
      sockets.add(upstream);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, targets };
}
