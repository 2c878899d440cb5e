/** What configuration becomes on the wire: a model of models.json works without code, keys and headers go where they belong. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type AnswerSource, ModelServer } from "../helpers/model-server.ts";
import { startRpc, tempDir } from "../helpers/pi.ts";

async function serve(...answers: AnswerSource[]): Promise<ModelServer> {
  const server = await ModelServer.start(...answers);
  onTestFinished(() => server.close());
  return server;
}

const files = (providers: Record<string, unknown>, settings: object = {}) => ({
  "models.json": JSON.stringify({ providers }),
  "settings.json": JSON.stringify(settings),
});

test("a model of models.json answers, with its key and headers, and neither shows", async () => {
  const server = await serve("Hello from mine");
  const mine = { baseUrl: server.v1, api: "openai-completions", apiKey: "$MY_KEY", headers: { "X-Team": "team-$TEAM" }, models: [{ id: "m" }] };
  const rpc = startRpc({ args: ["--model", "mine/m"], agentFiles: files({ mine }), env: { MY_KEY: "secret-key-1", TEAM: "secret-team" } });
  const frames = await rpc.prompt("Hi");
  expect(frames.find(({ type, message }) => type === "message_end" && message.role === "assistant")?.message).toMatchObject({
    provider: "mine",
    model: "m",
    content: [{ type: "text", text: "Hello from mine" }],
    stopReason: "stop",
  });
  expect(server.requests[0]?.headers).toMatchObject({ authorization: "Bearer secret-key-1", "x-team": "team-secret-team" });
  await rpc.ask("get_available_models");
  const { sessionFile } = await rpc.ask("get_state");
  await rpc.stop();
  expect(JSON.stringify(rpc.frames) + rpc.stderr + readFileSync(sessionFile, "utf8")).not.toContain("secret-");
});

test("a server that repeats the key in its error does not get it into the output", async () => {
  const server = await serve({ status: 401, body: { error: { message: "Incorrect API key provided: secret-key-2" } } });
  const mine = { baseUrl: server.v1, api: "openai-completions", apiKey: "secret-key-2", models: [{ id: "m" }] };
  const rpc = startRpc({ args: ["--model", "mine/m"], agentFiles: files({ mine }) });
  const frames = await rpc.prompt("Hi");
  expect(frames.find(({ type, message }) => type === "message_end" && message.role === "assistant")?.message).toMatchObject({ stopReason: "error" });
  await rpc.stop();
  expect(JSON.stringify(rpc.frames) + rpc.stderr).not.toContain("secret-key-2");
});

test("a key command runs once per request", async () => {
  const server = await serve("one", "two");
  const counter = join(tempDir(), "count");
  const mine = { baseUrl: server.v1, api: "openai-completions", apiKey: `!echo x >> ${counter}; echo key-$(wc -l < ${counter})`, models: [{ id: "m" }] };
  const rpc = startRpc({ args: ["--no-session", "--model", "mine/m"], agentFiles: files({ mine }) });
  await rpc.prompt("Hi");
  await rpc.prompt("Again");
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer key-1", "Bearer key-2"]);
});

test("a known provider behind a proxy: key of the environment, headers of its API", async () => {
  const server = await serve("Hi there");
  const agentFiles = files({ anthropic: { baseUrl: server.origin, headers: { "X-Proxy": "yes" } } });
  const rpc = startRpc({ args: ["--no-session", "--model", "anthropic/claude-haiku-4-5"], agentFiles, env: { ANTHROPIC_API_KEY: "secret-key-3" } });
  await rpc.prompt("Hi");
  expect(server.requests[0]).toMatchObject({ wire: "anthropic-messages", headers: { "x-api-key": "secret-key-3", "x-proxy": "yes" } });
  expect(server.requests[0]?.body).toMatchObject({ model: "claude-haiku-4-5" });
});

test("a bearer token of the environment replaces the key header", async () => {
  const server = await serve("Hi there");
  const agentFiles = files({ anthropic: { baseUrl: server.origin } });
  const env = { ANTHROPIC_AUTH_TOKEN: "secret-token", ANTHROPIC_API_KEY: "secret-key-4" };
  const rpc = startRpc({ args: ["--no-session", "--model", "anthropic/claude-haiku-4-5"], agentFiles, env });
  await rpc.prompt("Hi");
  expect(server.requests[0]?.headers).toMatchObject({ authorization: "Bearer secret-token" });
  expect(server.requests[0]?.headers["x-api-key"]).toBe(undefined);
});

test("a local server needs no key", async () => {
  const server = await serve({ body: { data: [{ id: "qwen3:8b" }] } }, "Local words");
  const agentFiles = files({ ollama: { baseUrl: server.v1 } });
  const rpc = startRpc({ args: ["--no-session", "--model", "ollama/qwen3:8b"], agentFiles });
  await rpc.prompt("Hi");
  expect(await rpc.ask("get_last_assistant_text")).toEqual({ text: "Local words" });
});

test("an overloaded server is asked again", async () => {
  const server = await serve({ status: 529, body: { error: { type: "overloaded_error", message: "Overloaded" } } }, "Better now");
  const mine = { baseUrl: server.v1, api: "openai-completions", apiKey: "secret-key-5", models: [{ id: "m" }] };
  const rpc = startRpc({ args: ["--no-session", "--model", "mine/m"], agentFiles: files({ mine }, { retry: { baseDelayMs: 5 } }) });
  const frames = await rpc.prompt("Hi");
  expect(frames.find(({ type }) => type === "auto_retry_end")).toMatchObject({ success: true, attempt: 1 });
  expect(server.requests).toHaveLength(2);
  expect(server.requests[1]?.body).toMatchObject({ messages: expect.not.arrayContaining([expect.objectContaining({ role: "assistant" })]) });
});
