/** The way to a model's server over real sockets: connections that are kept, closed, redirected or compressed, and floods of deltas. */
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { constants, gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import type { Draft, Provider } from "../../core/index.ts";
import { readTool, setUp, user, wires } from "../helpers/model-server/agent.ts";

const wire = "openai-completions";
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "c1", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const answer = (...texts: string[]) => [...texts.map((content) => chunk({ content })), chunk({}, "stop"), "data: [DONE]\n\n"].join("");

/** A server that answers with `listen` and counts its connections. */
async function serve(listen: RequestListener): Promise<{ baseUrl: string; server: Server; sockets: Socket[] }> {
  const server = createServer(listen);
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, server, sockets };
}

function replaceFetch(fetch: typeof globalThis.fetch): void {
  const before = globalThis.fetch;
  globalThis.fetch = fetch;
  onTestFinished(() => {
    globalThis.fetch = before;
  });
}

/** A proxy that passes on what goes through. */
async function tunnel(): Promise<string> {
  const { server, sockets, baseUrl } = await serve(() => undefined);
  server.on("connect", ({ url = "" }, client) => {
    const upstream = connect(Number(url.split(":")[1]), "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(upstream).pipe(client);
    });
    sockets.push(upstream);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return new URL(baseUrl).origin;
}

const events = { "content-type": "text/event-stream" };

test("a connection serves one request after the other", async () => {
  const { baseUrl, sockets } = await serve((_, response) => void response.writeHead(200, events).end(answer("Hi")));
  const { ask } = await setUp();
  for (let turn = 0; turn < 5; turn++) expect((await ask(wire, { model: { baseUrl } })).message.stopReason).toBe("stop");
  expect(sockets).toHaveLength(1);
});

test("a kept connection that the server closed is replaced without a word", async () => {
  let count = 0;
  const { baseUrl, sockets } = await serve((request, response) => {
    // The second request comes over the connection of the first, which is closed at that moment.
    if (++count === 2) return void request.socket.destroy();
    response.writeHead(200, events).end(answer("Hi"));
  });
  const { ask } = await setUp();
  await ask(wire, { model: { baseUrl } });
  expect((await ask(wire, { model: { baseUrl } })).message).toMatchObject({ stopReason: "stop", content: [{ text: "Hi" }] });
  expect(sockets).toHaveLength(2);
});

test("a server that closes a fresh connection is not asked twice", async () => {
  let count = 0;
  const { baseUrl } = await serve((request) => {
    count++;
    request.socket.destroy();
  });
  const { ask } = await setUp();
  expect((await ask(wire, { model: { baseUrl } })).message).toMatchObject({
    stopReason: "error",
    errorMessage: expect.stringMatching(/connection error.*socket hang up/i),
  });
  expect(count).toBe(1);
});

test("an answer whose server keeps the connection open after the last word is over with the last word", async () => {
  const { baseUrl } = await serve((_, response) => void response.writeHead(200, events).write(answer("Hi")));
  const { ask } = await setUp();
  expect((await ask(wire, { model: { baseUrl } })).message).toMatchObject({ stopReason: "stop", content: [{ text: "Hi" }] });
});

test("a compressed answer is read, and a compressed refusal too", async () => {
  const { baseUrl } = await serve((request, response) => {
    const isRefused = request.url?.includes("refused");
    response.writeHead(isRefused ? 429 : 200, { ...(isRefused ? { "content-type": "application/json" } : events), "content-encoding": "gzip" });
    response.end(gzipSync(isRefused ? '{"error":{"message":"Slow down"}}' : answer("Grü", "ße")));
  });
  const { ask } = await setUp();
  expect((await ask(wire, { model: { baseUrl } })).message.content).toMatchObject([{ text: "Grüße" }]);
  const refused = await ask(wire, { model: { baseUrl: `${baseUrl}/refused` } });
  expect(refused.message.errorMessage).toBe('429 {"error":{"message":"Slow down"}}');
});

test("a redirect is followed", async () => {
  const { baseUrl } = await serve((request, response) => {
    if (request.url?.startsWith("/v1")) return void response.writeHead(307, { location: "/v2/chat/completions" }).end();
    let body = "";
    request.on("data", (data) => {
      body += data;
    });
    request.on("end", () => response.writeHead(200, events).end(answer(JSON.parse(body).stream ? "moved" : "lost")));
  });
  const { ask } = await setUp();
  expect((await ask(wire, { model: { baseUrl } })).message).toMatchObject({ stopReason: "stop", content: [{ text: "moved" }] });
});

test.each([301, 302, 307, 308])("the credential does not follow a redirect (%i) to another server", async (status) => {
  const seen: IncomingHttpHeaders[] = [];
  const stranger = await serve((request, response) => {
    seen.push(request.headers);
    response.writeHead(200, events).end(answer("Hi"));
  });
  const { baseUrl } = await serve((_, response) => void response.writeHead(status, { location: `${stranger.baseUrl}/chat/completions` }).end());
  const proxy = await tunnel();
  for (const env of [{}, { HTTP_PROXY: proxy }] as Record<string, string>[]) {
    const { ask } = await setUp([], { env });
    const request = { apiKey: "sk-only-for-one", model: { baseUrl, headers: { "X-Api-Key": "key-only-for-one", "x-team": "blue" } } };
    expect((await ask(wire, request)).message).toMatchObject({ stopReason: "stop", content: [{ text: "Hi" }] });
  }
  expect(seen).toHaveLength(2);
  for (const headers of seen) {
    expect(headers).toMatchObject({ "content-type": "application/json", "x-team": "blue" });
    expect(JSON.stringify(headers)).not.toContain("only-for-one");
  }
});

test("a redirect that goes in a circle is an error", async () => {
  const { baseUrl } = await serve((_, response) => void response.writeHead(307, { location: "/v1/chat/completions" }).end());
  const { ask } = await setUp();
  expect((await ask(wire, { model: { baseUrl } })).message).toMatchObject({ stopReason: "error", errorMessage: "307 without a body" });
});

test("an answer that redirects gives its connection back, also if its body goes on", async () => {
  const { baseUrl, sockets } = await serve((request, response) => {
    if (request.url?.startsWith("/v1")) return void response.writeHead(307, { location: "/v2/chat/completions" }).write("moved");
    response.writeHead(200, events).end(answer("Hi"));
  });
  const { ask } = await setUp();
  expect((await ask(wire, { model: { baseUrl } })).message.stopReason).toBe("stop");
  await expect.poll(() => sockets[0]?.destroyed).toBe(true);
});

test("a compressed answer that nobody reads on gives its connection back", async () => {
  const { baseUrl, sockets } = await serve((_, response) => {
    response.writeHead(200, { ...events, "content-encoding": "gzip" });
    // Without its end.
    response.write(gzipSync(answer("Hi"), { finishFlush: constants.Z_SYNC_FLUSH }));
  });
  const { ask } = await setUp();
  expect((await ask(wire, { model: { baseUrl } })).message.stopReason).toBe("stop");
  await expect.poll(() => sockets[0]?.destroyed).toBe(true);
});

test.each(["gzip", "identity"])("an answer (%s) that breaks before it is read is the failure of its request and of nobody else", async (encoding) => {
  const uncaught: unknown[] = [];
  const onUncaught = (error: unknown) => void uncaught.push(error);
  process.on("uncaughtException", onUncaught);
  onTestFinished(() => void process.off("uncaughtException", onUncaught));
  const { baseUrl } = await serve((_, response) => {
    response.writeHead(200, { ...events, "content-encoding": encoding }).write("this is not compressed");
    setTimeout(() => response.destroy(), 20);
  });
  const { ask, view } = await setUp();
  view.hooks.response.tap("slow", () => new Promise((resolve) => setTimeout(resolve, 200)));
  const { message } = await ask(wire, { model: { baseUrl } });
  // Which of the two is noticed first is a matter of load.
  const expected = encoding === "gzip" ? /incorrect header|terminated/ : /terminated/;
  expect(message).toMatchObject({ stopReason: "error", errorMessage: expect.stringMatching(expected) });
  expect(uncaught).toEqual([]);
});

test("a fetch that does not listen to its signal is given up on all the same", async () => {
  const { ask } = await setUp([], { settings: { httpIdleTimeoutMs: 150 } });
  const body = () => new ReadableStream({ pull: () => new Promise<void>(() => {}) });
  const silent = [() => new Promise<Response>(() => {}), async () => new Response(body(), { headers: events })];
  for (const fetch of silent) {
    replaceFetch(fetch);
    expect((await ask(wire)).message.errorMessage).toBe("The request timed out: the server sent nothing for 0.15 s.");
  }
});

test("a configured proxy is used also if somebody replaced fetch, which knows none", async () => {
  const { baseUrl } = await serve((_, response) => void response.writeHead(200, events).end(answer("Hi")));
  const { ask } = await setUp([], { env: { HTTP_PROXY: "http://127.0.0.1:9" } });
  const fetch = globalThis.fetch;
  replaceFetch((url, init) => fetch(url, init));
  expect((await ask(wire, { model: { baseUrl } })).message).toMatchObject({ stopReason: "error", errorMessage: expect.stringContaining("ECONNREFUSED") });
});

test("a proxy may be given as other programs take it, and a bad one is told without its login", async () => {
  const { baseUrl } = await serve((_, response) => void response.writeHead(200, events).end(answer("Hi")));
  const proxy = new URL(await tunnel()).host;
  const textWith = async (HTTP_PROXY: string) => {
    const { ask } = await setUp([], { env: { HTTP_PROXY } });
    const { message } = await ask(wire, { model: { baseUrl } });
    return message.errorMessage ?? message.content;
  };
  for (const given of [proxy, ` ${proxy} `, `http://${proxy}/some/path`, " "]) expect(await textWith(given)).toMatchObject([{ text: "Hi" }]);
  expect(await textWith("http://name:word@[no address")).toBe("The address of the proxy cannot be read (HTTP_PROXY, HTTPS_PROXY or the setting httpProxy)");
});

test("whoever replaces fetch sees the requests", async () => {
  const { baseUrl } = await serve((_, response) => void response.writeHead(200, events).end(answer("Hi")));
  const { ask } = await setUp();
  const fetch = globalThis.fetch;
  const seen: string[] = [];
  replaceFetch((url, init) => {
    seen.push(`${init?.method} ${url} ${JSON.parse(init?.body as string).stream}`);
    return fetch(url, init);
  });
  expect((await ask(wire, { model: { baseUrl } })).message.content).toMatchObject([{ text: "Hi" }]);
  expect(seen).toEqual([`POST ${baseUrl}/chat/completions true`]);
});

test("few deltas that come together are shown one by one, a flood is not, and no character is lost", async () => {
  const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index} `);
  const { baseUrl } = await serve((request, response) => {
    response.writeHead(200, events).end(answer(...words(request.url?.includes("flood") ? 5000 : 10)));
  });
  const { ask } = await setUp();
  const deltasOf = async (url: string) => {
    const { events: all, message } = await ask(wire, { model: { baseUrl: url } });
    const deltas = all.flatMap((event) => (event.type === "text_delta" ? [event.delta] : []));
    expect(message.content).toMatchObject([{ text: deltas.join("") }]);
    return deltas;
  };
  expect(await deltasOf(baseUrl)).toEqual(words(10));
  const flood = await deltasOf(`${baseUrl}/flood`);
  expect(flood.join("")).toBe(words(5000).join(""));
  expect(flood.length).toBeLessThan(2500);
});

test.each(wires)("%s: what a plugin does to one payload is not in the next", async (api) => {
  const { ask, server } = await setUp(["one", "two", "three"]);
  const messages = [user("first"), user("second")];
  await ask(api, { messages, tools: [readTool] });
  await ask(api, { messages, tools: [readTool], onPayload: async (payload) => spoiled(payload as Record<string, unknown>) });
  await ask(api, { messages, tools: [readTool] });
  const [before, spoilt, after] = server.requests.map(({ raw }) => raw);
  expect(spoilt).toContain("spoiled");
  expect(after).toBe(before);
});

test("a plugin that wraps a provider may put its own onPayload in place", async () => {
  const { ask, server, view } = await setUp(["one"]);
  const onPayload = async (payload: unknown) => ({ ...(payload as object), wrapped: true });
  const wrapAll = (draft: Draft<Provider>) => {
    for (const [name, provider] of draft) draft.set(name, { ...provider, stream: (request) => provider.stream({ ...request, onPayload }) });
  };
  view.registry("providers").filter(wrapAll);
  await ask(wire);
  expect(JSON.parse(server.requests[0]?.raw ?? "")).toMatchObject({ wrapped: true });
});

/** Changes all that a payload lists, in place. */
function spoiled(payload: Record<string, unknown>): object {
  for (const list of Object.values(payload).filter(Array.isArray)) for (const item of list) Object.assign(item as object, { spoiled: true });
  return payload;
}

test.each([
  ["a refusal", 400, "text/plain", ""],
  ["JSON instead of a stream", 200, "application/json", ""],
  ["one event", 200, "text/event-stream", "data: "],
])("%s that never ends is left, and memory stays bounded", async (_, status, type, start) => {
  const piece = "x".repeat(1024 * 1024);
  let sent = 0;
  const { baseUrl } = await serve((_, response) => {
    response.writeHead(status, { "content-type": type }).write(start);
    const pour = () => {
      while (!response.destroyed && response.write(piece)) sent++;
    };
    response.on("drain", pour);
    pour();
  });
  const { ask } = await setUp();
  const { message } = await ask(wire, { model: { baseUrl } });
  expect(message).toMatchObject({ stopReason: "error", errorMessage: expect.stringMatching(/^(\d+ x|The server sent an event that does not end)/) });
  expect(message.errorMessage?.length).toBeLessThan(10_000);
  expect(sent).toBeLessThan(200);
});

test("a stream that says it is JSON is read all the same", async () => {
  const { baseUrl } = await serve((_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).write("da");
    setTimeout(() => response.end(answer("Hi").slice(2)), 20);
  });
  const { ask } = await setUp();
  expect((await ask(wire, { model: { baseUrl } })).message).toMatchObject({ stopReason: "stop", content: [{ text: "Hi" }] });
});

test("arguments that are nested without end fail the answer, and the next request is sent", async () => {
  let count = 0;
  const json = `${'{"a":'.repeat(3000)}1${"}".repeat(3000)}`;
  const { baseUrl } = await serve((_, response) => {
    const call = chunk({ tool_calls: [{ index: 0, id: "c1", function: { name: "read", arguments: json } }] }) + chunk({}, "tool_calls");
    response.writeHead(200, events).end(++count === 1 ? `${call}data: [DONE]\n\n` : answer("Hi"));
  });
  const { ask } = await setUp();
  const { message } = await ask(wire, { model: { baseUrl }, messages: [user("Read")], tools: [readTool] });
  expect(message).toMatchObject({ stopReason: "error", errorMessage: expect.stringContaining("nested more than 500 levels") });
  const next = await ask(wire, { model: { baseUrl }, messages: [user("Read"), message, user("Again")], tools: [readTool] });
  expect(next.message).toMatchObject({ stopReason: "stop", content: [{ text: "Hi" }] });
});
