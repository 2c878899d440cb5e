/** Models as a client and a user of the command line see them: the real program. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Frame, runPi, startRpc } from "../helpers/pi.ts";

const server = (fields: object = {}) => ({ baseUrl: "http://127.0.0.1:9/v1", api: "openai-completions", apiKey: "local-secret-key", ...fields });
const thinker = { id: "thinker", name: "Thinker", reasoning: true, contextWindow: 5000, maxTokens: 500 };
const plain = { id: "plain" };
const modelsFile = (providers: Record<string, unknown>) => ({ "models.json": JSON.stringify({ providers }) });
const mine = modelsFile({ mine: server({ models: [thinker, plain] }) });
const plainModel = {
  id: "plain",
  name: "plain",
  api: "openai-completions",
  provider: "mine",
  baseUrl: "http://127.0.0.1:9/v1",
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 128_000,
  maxTokens: 16_384,
};
const typesFrom = (frames: Frame[], from: number) => frames.slice(from).map(({ type }) => type);

describe("starting", () => {
  test("without a model RPC mode starts and refuses prompts", async () => {
    const rpc = startRpc({ args: ["--no-session"] });
    expect(await rpc.ask("get_state")).toMatchObject({ model: null, thinkingLevel: "off" });
    expect(await rpc.call("prompt", { message: "Hi" })).toMatchObject({
      success: false,
      error: "No model selected. Use set_model or start pi with --model (--model offline/demo needs no key).",
    });
    expect(await rpc.ask("get_available_thinking_levels")).toEqual({ levels: ["off"] });
    expect(await rpc.ask("cycle_model")).toBe(null);
    expect(await rpc.ask("cycle_thinking_level")).toBe(null);
  });

  test("without a model print mode answers with the demo", async () => {
    const { stdout, status } = await runPi({ args: ["--no-session", "-p", "What can you do?"] });
    expect(stdout).toContain("offline demo");
    expect(status).toBe(0);
  });

  test("a model without a key is selected, and prompts are refused with the variable's name", async () => {
    const rpc = startRpc({ args: ["--no-session", "--model", "anthropic/claude-sonnet-4-20250514"] });
    expect(await rpc.ask("get_state")).toMatchObject({ model: { id: "claude-sonnet-4-20250514", name: "Claude Sonnet 4" }, thinkingLevel: "medium" });
    expect(await rpc.call("prompt", { message: "Hi" })).toMatchObject({
      success: false,
      error: "No API key found for anthropic. Set ANTHROPIC_API_KEY or add it to auth.json.",
    });
  });

  test("options: pattern with a level, scope, settings", async () => {
    const suffix = startRpc({ args: ["--no-session", "--model", "thinker:high"], agentFiles: mine });
    expect(await suffix.ask("get_state")).toMatchObject({ model: { id: "thinker" }, thinkingLevel: "high" });
    const option = startRpc({ args: ["--no-session", "--model", "mine/thinker:high", "--thinking", "low"], agentFiles: mine });
    expect(await option.ask("get_state")).toMatchObject({ thinkingLevel: "low" });
    const clamped = startRpc({ args: ["--no-session", "--models", "plain:high"], agentFiles: mine });
    expect(await clamped.ask("get_state")).toMatchObject({ model: { id: "plain" }, thinkingLevel: "off" });
    const settings = { "settings.json": JSON.stringify({ defaultProvider: "mine", defaultModel: "plain", defaultThinkingLevel: "max" }) };
    const saved = startRpc({ args: ["--no-session"], agentFiles: { ...mine, ...settings } });
    expect(await saved.ask("get_state")).toMatchObject({ model: { id: "plain" }, thinkingLevel: "off" });
  });

  test.each([
    [["--model", "no-such-model"], "Model not found: no-such-model"],
    [["--provider", "nobody", "--model", "x"], 'Unknown provider "nobody"'],
    [["--model", "offline/demo", "--thinking", "much"], 'Invalid --thinking "much"'],
    [["--api-key", "some-secret-key"], "--api-key needs a model"],
    [["--mode", "text", "--api-key", "some-secret-key", "hi"], "--api-key needs a model"],
  ])("%j ends with status 1 and a sentence", async (args, sentence) => {
    const { status, stdout, stderr } = await runPi({ args: ["--mode", "rpc", "--no-session", ...args] });
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain("some-secret-key");
    expect(stdout).toBe("");
    expect(status).toBe(1);
  });

  test("a broken models.json is said on stderr and does not stop the process", async () => {
    const rpc = startRpc({ args: ["--no-session"], agentFiles: { "models.json": "{ nonsense" } });
    expect(await rpc.ask("get_available_models")).toEqual({ models: [] });
    await rpc.stop();
    expect(rpc.stderr).toContain("models.json");
  });
});

describe("set_model", () => {
  test("answers the model itself, clamps the level before the response, records the change", async () => {
    const rpc = startRpc({ args: ["--no-session", "--model", "mine/thinker", "--thinking", "high"], agentFiles: mine });
    await rpc.ask("get_state");
    const from = rpc.frames.length;
    expect(await rpc.ask("set_model", { provider: "mine", modelId: "plain" })).toEqual(plainModel);
    expect(typesFrom(rpc.frames, from)).toEqual(["thinking_level_changed", "model_changed", "response"]);
    expect(rpc.frames[from]).toEqual({ type: "thinking_level_changed", level: "off" });
    expect(rpc.frames[from + 1]).toMatchObject({ model: { id: "plain" }, source: "set" });
    expect(await rpc.ask("get_state")).toMatchObject({ model: plainModel, thinkingLevel: "off" });
    const { entries } = await rpc.ask("get_entries");
    expect(entries).toMatchObject([
      { type: "model_change", provider: "mine", modelId: "thinker" },
      { type: "thinking_level_change", thinkingLevel: "high" },
      { type: "model_change", provider: "mine", modelId: "plain" },
      { type: "thinking_level_change", thinkingLevel: "off" },
    ]);
  });

  test("the first model of a process that had none gets the level of the start", async () => {
    const rpc = startRpc({ args: ["--no-session"], agentFiles: { "models.json": '{"providers":{}}' } });
    await rpc.ask("get_state");
    writeFileSync(join(rpc.places.agentDir, "models.json"), mine["models.json"]);
    await rpc.ask("set_model", { provider: "mine", modelId: "thinker" });
    expect(await rpc.ask("get_state")).toMatchObject({ model: { id: "thinker" }, thinkingLevel: "medium" });
  });

  test("a level of the settings counts when models change", async () => {
    const settings = { "settings.json": JSON.stringify({ modelThinkingLevels: { "mine/thinker": "minimal" } }) };
    const rpc = startRpc({ args: ["--no-session", "--model", "mine/plain"], agentFiles: { ...mine, ...settings } });
    await rpc.ask("set_model", { provider: "mine", modelId: "thinker" });
    expect(await rpc.ask("get_state")).toMatchObject({ thinkingLevel: "minimal" });
  });

  test("errors", async () => {
    const rpc = startRpc({ args: ["--no-session"], agentFiles: mine });
    const error = async (params: object) => (await rpc.call("set_model", params)).error;
    expect(await error({ provider: "invalid", modelId: "model" })).toBe("Model not found: invalid/model");
    expect(await error({ provider: "mine", modelId: "PLAIN" })).toBe("Model not found: mine/PLAIN");
    expect(await error({ provider: "openai", modelId: "gpt-5-mini" })).toBe("No API key found for openai. Set OPENAI_API_KEY or add it to auth.json.");
    expect(await error({ provider: "mine" })).toBe('Missing required parameter "modelId"');
    expect(await error({ provider: " ", modelId: "x" })).toBe('Invalid parameter "provider": expected a non-empty string');
  });

  test("hidden models can be chosen by name but are not listed", async () => {
    const rpc = startRpc({ args: ["--no-session"] });
    expect(await rpc.ask("set_model", { provider: "offline", modelId: "demo" })).toMatchObject({ provider: "offline", id: "demo" });
    expect(await rpc.ask("get_available_models")).toEqual({ models: [] });
  });
});

describe("cycle_model", () => {
  test("goes through available models and wraps", async () => {
    const rpc = startRpc({ args: ["--no-session", "--model", "mine/thinker", "--thinking", "low"], agentFiles: mine });
    expect(await rpc.ask("cycle_model")).toEqual({ model: plainModel, thinkingLevel: "off", isScoped: false });
    expect(await rpc.ask("cycle_model")).toMatchObject({ model: { id: "thinker" }, isScoped: false });
  });

  test("stays in the scope and takes its levels", async () => {
    const rpc = startRpc({ args: ["--no-session", "--models", "plain,mine/thinker:high"], agentFiles: mine, env: { OPENAI_API_KEY: "openai-secret" } });
    expect(await rpc.ask("get_state")).toMatchObject({ model: { id: "plain" } });
    expect(await rpc.ask("cycle_model")).toMatchObject({ model: { id: "thinker" }, thinkingLevel: "high", isScoped: true });
    expect(await rpc.ask("cycle_model")).toMatchObject({ model: { id: "plain" }, thinkingLevel: "off", isScoped: true });
    const alone = startRpc({ args: ["--no-session", "--models", "plain"], agentFiles: mine });
    expect(await alone.ask("cycle_model")).toBe(null);
  });
});

test("get_available_models: catalogue order, credentials only, models.json as it is now", async () => {
  const rpc = startRpc({ args: ["--no-session"], agentFiles: mine, env: { ANTHROPIC_API_KEY: "anthropic-secret" } });
  const names = async () => (await rpc.ask("get_available_models")).models.map(({ provider, id }: Frame) => `${provider}/${id}`);
  const before = await names();
  expect(before.slice(-2)).toEqual(["mine/thinker", "mine/plain"]);
  expect(before[0]).toMatch(/^anthropic\//);
  expect(before.every((name: string) => /^(anthropic|mine)\//.test(name))).toBe(true);
  writeFileSync(join(rpc.places.agentDir, "models.json"), JSON.stringify({ providers: { mine: server({ models: [plain] }) } }));
  expect((await names()).slice(-1)).toEqual(["mine/plain"]);
  expect(await names()).not.toContain("mine/thinker");
});

describe("thinking levels", () => {
  const args = ["--no-session", "--model", "mine/thinker", "--thinking", "low"];

  test("set_thinking_level clamps down, announces before the response and only changes", async () => {
    const rpc = startRpc({ args, agentFiles: modelsFile({ mine: server({ models: [{ ...thinker, thinkingLevelMap: { minimal: null } }] }) }) });
    await rpc.ask("get_state");
    const set = async (level: string) => {
      const from = rpc.frames.length;
      expect(await rpc.call("set_thinking_level", { level })).not.toHaveProperty("data");
      return rpc.frames.slice(from).map((frame) => frame.level ?? frame.type);
    };
    expect(await set("max")).toEqual(["high", "response"]);
    expect(await set("xhigh")).toEqual(["response"]);
    expect(await set("minimal")).toEqual(["off", "response"]);
    expect(await rpc.ask("get_state")).toMatchObject({ thinkingLevel: "off" });
    const { entries } = await rpc.ask("get_entries");
    expect(entries.flatMap((entry: Frame) => entry.thinkingLevel ?? [])).toEqual(["low", "high", "off"]);
    expect((await rpc.call("set_thinking_level", { level: "ultra" })).error).toBe(
      'Invalid parameter "level": expected one of off, minimal, low, medium, high, xhigh, max',
    );
  });

  test("cycle_thinking_level goes through the list and wraps", async () => {
    const rpc = startRpc({ args, agentFiles: mine });
    expect(await rpc.ask("get_available_thinking_levels")).toEqual({ levels: ["off", "minimal", "low", "medium", "high"] });
    expect(await rpc.ask("cycle_thinking_level")).toEqual({ level: "medium" });
    expect(await rpc.ask("cycle_thinking_level")).toEqual({ level: "high" });
    expect(await rpc.ask("cycle_thinking_level")).toEqual({ level: "off" });
    await rpc.ask("set_model", { provider: "mine", modelId: "plain" });
    expect(await rpc.ask("cycle_thinking_level")).toBe(null);
  });
});

describe("sessions", () => {
  test("a resumed session brings its model and level; an explicit choice wins and is recorded", async () => {
    const first = startRpc({ script: { responses: ["Hello"] }, args: ["--thinking", "low"] });
    await first.prompt("Hi");
    const { model } = await first.ask("get_state");
    await first.stop();
    const { home, cwd } = first.places;
    const again = startRpc({ home, cwd, args: ["--continue"], agentFiles: mine });
    expect(await again.ask("get_state")).toMatchObject({ model: { provider: "scripted", id: model.id }, thinkingLevel: "low", messageCount: 2 });
    const count = (await again.ask("get_entries")).entries.length;
    await again.stop();
    const chosen = startRpc({ home, cwd, args: ["--continue", "--model", "mine/plain"] });
    expect(await chosen.ask("get_state")).toMatchObject({ model: { id: "plain" }, thinkingLevel: "off" });
    expect((await chosen.ask("get_entries")).entries.slice(count)).toMatchObject([
      { type: "model_change", modelId: "plain" },
      { type: "thinking_level_change", thinkingLevel: "off" },
    ]);
  });

  test("new_session keeps both, switch_session restores them after the response", async () => {
    const rpc = startRpc({ script: { responses: ["Hello"], repeat: true }, args: ["--thinking", "low"], agentFiles: mine });
    await rpc.prompt("Hi");
    const { sessionFile, model } = await rpc.ask("get_state");
    await rpc.ask("set_model", { provider: "mine", modelId: "plain" });
    await rpc.ask("new_session");
    expect(await rpc.ask("get_state")).toMatchObject({ model: { id: "plain" }, thinkingLevel: "off" });
    expect((await rpc.ask("get_entries")).entries).toMatchObject([
      { type: "model_change", modelId: "plain" },
      { type: "thinking_level_change", thinkingLevel: "off" },
    ]);
    await rpc.ask("set_model", { provider: "scripted", modelId: model.id });
    await rpc.ask("set_thinking_level", { level: "high" });
    const from = rpc.frames.length;
    await rpc.ask("switch_session", { sessionPath: sessionFile });
    // The branch of that file ends with the model that was set before the session was left.
    expect(await rpc.ask("get_state")).toMatchObject({ model: { id: "plain" }, thinkingLevel: "off" });
    const types = typesFrom(rpc.frames, from);
    expect(types.indexOf("response")).toBe(0);
    expect(types).toContain("thinking_level_changed");
    expect(rpc.frames.slice(from).find(({ type }) => type === "model_changed")).toMatchObject({ source: "restore", model: { id: "plain" } });
  });
});

describe("the command line", () => {
  test("--list-models lists what has a key, with a search what matches", async () => {
    const available = await runPi({ args: ["--list-models"], agentFiles: mine });
    expect(available.stdout).toMatch(/^provider +model +context/);
    expect(available.stdout).toContain("thinker");
    expect(available.stdout).not.toContain("claude");
    expect(available.status).toBe(0);
    const searched = await runPi({ args: ["--list-models", "claude sonnet"], agentFiles: mine });
    expect(searched.stdout).toContain("claude-sonnet-4-20250514");
    expect(searched.stdout).not.toContain("thinker");
    const nothing = await runPi({ args: ["--list-models"] });
    expect(nothing.stdout).toBe("");
    expect(nothing.stderr).toContain("No provider has a credential");
  });

  test("auth check says where keys come from and whether they work", async () => {
    const agentFiles = {
      ...modelsFile({ mine: server({ models: [plain] }), bad: server({ apiKey: "!false", models: [plain] }) }),
      "auth.json": JSON.stringify({ groq: { type: "api_key", key: "groq-secret-key" } }),
    };
    const env = { OPENAI_API_KEY: "openai-secret-key" };
    const all = await runPi({ args: ["auth", "check"], agentFiles, env });
    expect(all.stdout).toMatch(/openai +ok +OPENAI_API_KEY/);
    expect(all.stdout).toMatch(/groq +ok +auth\.json/);
    expect(all.stdout).toMatch(/mine +ok +models\.json/);
    expect(all.stdout).toMatch(/bad +not usable/);
    expect(all.stdout).toMatch(/anthropic +none/);
    expect(all.status).toBe(0);
    expect(all.stdout + all.stderr).not.toContain("secret");
    expect((await runPi({ args: ["auth", "check", "anthropic"] })).status).toBe(1);
    expect((await runPi({ args: ["auth", "frobnicate"] })).status).toBe(1);
  });
});

test("no key appears in any output", async () => {
  const rpc = startRpc({
    args: ["--model", "mine/plain", "--api-key", "secret-runtime-key"],
    agentFiles: {
      ...modelsFile({ mine: server({ apiKey: "secret-config-key", headers: { "X-Key": "secret-header-$HEADER" }, models: [plain] }) }),
      "auth.json": JSON.stringify({ openai: { type: "api_key", key: "secret-stored-key" } }),
      "settings.json": JSON.stringify({ retry: { enabled: false } }),
    },
    env: { ANTHROPIC_API_KEY: "secret-environment-key", HEADER: "secret-variable" },
  });
  for (const command of ["get_state", "get_available_models", "cycle_model", "get_entries", "get_protocol"]) await rpc.call(command);
  await rpc.ask("set_model", { provider: "mine", modelId: "plain" });
  await rpc.prompt("Hi");
  await rpc.stop();
  expect(JSON.stringify(rpc.frames) + rpc.stderr).not.toContain("secret-");
});

test("a local server is asked when it is named", async () => {
  const http = createServer((_, response) => response.end(JSON.stringify({ data: [{ id: "qwen3:8b", max_model_len: 9000 }] })));
  await new Promise<void>((ready) => http.listen(0, "127.0.0.1", ready));
  onTestFinished(() => void http.close());
  const agentFiles = modelsFile({ ollama: { baseUrl: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1` } });
  const rpc = startRpc({ args: ["--no-session", "--model", "ollama/qwen3"], agentFiles });
  expect(await rpc.ask("get_state")).toMatchObject({ model: { provider: "ollama", id: "qwen3:8b", contextWindow: 9000 } });
  expect((await rpc.call("set_model", { provider: "ollama", modelId: "other" })).error).toBe("Model not found: ollama/other");
});
