/** Patterns and what they mean; levels and how they are clamped. */
import { describe, expect, test } from "vitest";
import type { Model } from "../../core/index.ts";
import type { ModelSource } from "../../plugins/models/contract.ts";
import { buildProvider } from "../../plugins/models/layers.ts";
import { type Market, match, nameOf, parse, resolveModelOption, resolveScope } from "../../plugins/models/resolve.ts";
import { type Beginning, chooseStart } from "../../plugins/models/start.ts";
import { clampDown, clampUp, supportedLevels } from "../../plugins/shared/thinking.ts";

const model = (name: string, fields: Partial<Model> = {}): Model => {
  const slash = name.indexOf("/");
  return {
    id: name.slice(slash + 1),
    name: name.slice(slash + 1),
    api: "openai-completions",
    provider: name.slice(0, slash),
    baseUrl: "http://localhost",
    reasoning: true,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 1000,
    maxTokens: 100,
    ...fields,
  };
};

const models = [
  model("anthropic/claude-sonnet-4-20250514", { name: "Claude Sonnet 4" }),
  model("anthropic/claude-sonnet-4-5"),
  model("anthropic/claude-sonnet-4-5-20250929"),
  model("anthropic/claude-3-opus-20240229", { name: "Old Opus" }),
  model("anthropic/claude-3-opus-20240307", { name: "Old Opus" }),
  model("anthropic/claude-3-haiku-latest"),
  model("openai/gpt-5"),
  model("openai/gpt-5-mini"),
  model("azure/gpt-5"),
  model("openrouter/openai/gpt-oss:free"),
  model("openrouter/qwen/qwen3:exacto"),
];
const names = (found: Model | undefined) => found && nameOf(found);

describe("match", () => {
  test.each([
    ["Anthropic/Claude-Sonnet-4-5", "anthropic/claude-sonnet-4-5"],
    ["openrouter/openai/gpt-oss:free", "openrouter/openai/gpt-oss:free"],
    ["openai/gpt-oss:free", "openrouter/openai/gpt-oss:free"],
    ["GPT-5-MINI", "openai/gpt-5-mini"],
    ["sonnet", "anthropic/claude-sonnet-4-5"],
    ["haiku", "anthropic/claude-3-haiku-latest"],
    ["old opus", "anthropic/claude-3-opus-20240307"],
    ["claude-sonnet-4-2", "anthropic/claude-sonnet-4-20250514"],
    ["nothing", undefined],
    ["", undefined],
  ])("%s means %s", (pattern, expected) => expect(names(match(pattern, models))).toBe(expected));

  test("an id that several providers have is no exact match, so the highest partial one counts", () => {
    expect(names(match("gpt-5", models))).toBe("openai/gpt-5-mini");
  });
});

describe("parse", () => {
  test("a level after the last colon", () => {
    expect(parse("sonnet:high", models)).toMatchObject({ model: { id: "claude-sonnet-4-5" }, thinkingLevel: "high" });
  });
  test("ids with colons come first", () => {
    expect(parse("openrouter/qwen/qwen3:exacto", models)).toEqual({ model: models[10] });
    expect(parse("qwen3:exacto:low", models)).toMatchObject({ model: { id: "qwen/qwen3:exacto" }, thinkingLevel: "low" });
  });
  test("a suffix that is no level fails alone and is passed over in lists", () => {
    expect(parse("sonnet:fast", models)).toEqual({});
    expect(parse("sonnet:fast", models, true)).toMatchObject({ model: { id: "claude-sonnet-4-5" }, warning: expect.stringContaining("fast") });
  });
});

describe("scopes", () => {
  const scope = (...patterns: string[]) => resolveScope(patterns, models);
  test("globs over provider/id and id, without regard to case, keeping order, once each", () => {
    expect(scope("ANTHROPIC/claude-sonnet-*", "openai/*", "claude-sonnet-4-?").scoped.map(({ model }) => nameOf(model))).toEqual([
      "anthropic/claude-sonnet-4-20250514",
      "anthropic/claude-sonnet-4-5",
      "anthropic/claude-sonnet-4-5-20250929",
      "openai/gpt-5",
      "openai/gpt-5-mini",
      "openrouter/openai/gpt-oss:free",
    ]);
    expect(scope("gpt-[56]").scoped.map(({ model }) => nameOf(model))).toEqual(["openai/gpt-5", "azure/gpt-5"]);
    expect(scope("claude-3-opus-2024022[!0-8]").scoped).toHaveLength(1);
  });
  test("a level may follow a glob and a pattern", () => {
    expect(scope("openai/gpt*:low", "haiku:off").scoped.map(({ thinkingLevel }) => thinkingLevel)).toEqual(["low", "low", "low", "off"]);
  });
  test("no hit is a warning", () => {
    expect(scope("nothing", "sonnet").warnings).toEqual(['No available model matches "nothing"']);
  });
  test("a range that is none is no hit either", () => {
    expect(scope("gpt-[6-5]")).toEqual({ scoped: [], warnings: ['No available model matches "gpt-[6-5]"'] });
  });
});

const sources: ModelSource[] = [
  { name: "anthropic", models: models.slice(0, 6), defaultModel: "claude-sonnet-4-5" },
  { name: "openai", models: models.slice(6, 8) },
  { name: "azure", models: models.slice(8, 9) },
  { name: "openrouter", models: models.slice(9) },
  { name: "scripted", models: [], hidden: true, keyless: true, resolve: (id) => model(`scripted/${id}`) },
  { name: "plain", models: [model("plain/one", { reasoning: false })] },
  { name: "empty", models: [] },
];

const marketWith = (...keys: string[]): Market => ({
  models: () => models,
  ids: () => sources.map(({ name }) => name),
  provider: (id) => {
    const source = sources.find(({ name }) => name === id);
    return source && buildProvider({ id, source, extensions: [] });
  },
  hasAuth: ({ provider }) => keys.includes(provider),
  discover: async () => {},
});

describe("--model", () => {
  const resolve = (pattern: string, provider?: string, wantsThinking = false, keys: string[] = []) =>
    resolveModelOption(marketWith(...keys), pattern, { provider, wantsThinking });

  test("a prefix that is a provider", async () => {
    expect(await resolve("OpenAI/gpt-5")).toEqual({ model: models[6] });
    expect(await resolve("anthropic/sonnet:low")).toMatchObject({ model: { id: "claude-sonnet-4-5" }, thinkingLevel: "low" });
  });
  test("--provider must exist", async () => {
    expect(await resolve("gpt-5", "azure")).toEqual({ model: models[8] });
    await expect(resolve("gpt-5", "nobody")).rejects.toThrow('Unknown provider "nobody"');
  });
  test("an id of several providers: the only one with a credential, else an error that lists them", async () => {
    await expect(resolve("gpt-5")).rejects.toThrow("openai/gpt-5, azure/gpt-5");
    expect(await resolve("gpt-5:high", undefined, false, ["azure"])).toEqual({ model: models[8], thinkingLevel: "high" });
    await expect(resolve("gpt-5:high")).rejects.toThrow("openai/gpt-5, azure/gpt-5");
    await expect(resolve("gpt-5", undefined, false, ["openai", "azure"])).rejects.toThrow("openai/gpt-5, azure/gpt-5");
    expect(await resolve("gpt-5", undefined, false, ["azure"])).toEqual({ model: models[8] });
  });
  test("an inferred provider that has no such model: the whole text as an id", async () => {
    expect(await resolve("openai/gpt-oss:free")).toEqual({ model: models[9] });
  });
  test("a model that nobody lists is made in the likeness of the provider's default", async () => {
    expect(await resolve("anthropic/claude-next")).toMatchObject({
      isAdhoc: true,
      warning: expect.stringContaining("anthropic/claude-next"),
      model: { id: "claude-next", baseUrl: "http://localhost" },
    });
    expect(await resolve("plain/two")).toMatchObject({ model: { id: "two", reasoning: false } });
    expect(await resolve("plain/two:high")).toMatchObject({ model: { id: "two", reasoning: true }, thinkingLevel: "high" });
    expect(await resolve("plain/two", undefined, true)).toMatchObject({ model: { reasoning: true } });
  });
  test("a source that makes models from ids", async () => {
    expect(await resolve("scripted//tmp/x.json:low")).toMatchObject({ model: { provider: "scripted", id: "/tmp/x.json" }, thinkingLevel: "low" });
  });
  test.each(["nothing", "empty/x", "sonnet:fast"])("%s is not found", (pattern) => expect(resolve(pattern)).rejects.toThrow(`Model not found: ${pattern}`));
});

describe("the start-up choice", () => {
  type Given = Partial<Beginning> & { settings?: Record<string, unknown>; keys?: string[] };
  const start = ({ settings, keys = ["anthropic", "openai"], ...given }: Given) =>
    chooseStart({
      ...marketWith(...keys),
      options: {},
      setting: <T>(key: string) => settings?.[key] as T | undefined,
      available: () => models.filter(({ provider }) => keys.includes(provider)),
      find: (provider, id) => models.find((candidate) => candidate.provider === provider && candidate.id === id),
      ...given,
    });
  const chosen = async (given: Given) => names((await start(given)).model);
  const saved = { defaultProvider: "openai", defaultModel: "gpt-5-mini" };

  test("--model wins over everything, also without a credential", async () => {
    expect(await chosen({ options: { model: "azure/gpt-5", models: "openai/*" }, settings: saved, keys: [] })).toBe("azure/gpt-5");
  });
  test("a scope: the saved default if it is in there, else the first", async () => {
    expect(await chosen({ options: { models: "sonnet,openai/*" }, settings: saved })).toBe("openai/gpt-5-mini");
    expect(await chosen({ options: { models: "sonnet,openai/gpt-5" }, settings: saved })).toBe("anthropic/claude-sonnet-4-5");
    expect(await chosen({ settings: { enabledModels: ["openai/gpt-5"] } })).toBe("openai/gpt-5");
  });
  test("a resumed session's model if it is available", async () => {
    const session = { model: { provider: "openai", modelId: "gpt-5" } };
    expect(await chosen({ session, settings: saved, options: { models: "sonnet" } })).toBe("openai/gpt-5");
    expect(await chosen({ session, keys: ["anthropic"], settings: saved })).toBe("anthropic/claude-sonnet-4-5");
  });
  test("the saved default if it has a credential, the default of the first provider that has one, the first available", async () => {
    expect(await chosen({ settings: saved })).toBe("openai/gpt-5-mini");
    expect(await chosen({ settings: saved, keys: ["anthropic"] })).toBe("anthropic/claude-sonnet-4-5");
    expect(await chosen({ keys: ["openrouter", "openai"] })).toBe("openai/gpt-5");
    expect(await chosen({ keys: [] })).toBe(undefined);
  });
  test("a saved default or a session's model that cannot be used is said", async () => {
    const warnings = async (given: Given) => (await start(given)).warnings;
    expect(await warnings({ settings: saved })).toEqual([]);
    expect(await warnings({ settings: saved, keys: ["anthropic"] })).toEqual([
      "The default model, openai/gpt-5-mini, cannot be used: there is no credential for openai",
    ]);
    expect(await warnings({ settings: { ...saved, defaultModel: "gpt-55" } })).toEqual([
      "The default model, openai/gpt-55, cannot be used: it is not in the list of models",
    ]);
    expect(await warnings({ settings: { ...saved, defaultModel: "gpt-55" }, options: { model: "sonnet" } })).toEqual([]);
    expect(await warnings({ session: { model: { provider: "azure", modelId: "gpt-5" } }, settings: saved })).toEqual([
      "The model of the session, azure/gpt-5, cannot be used: there is no credential for azure",
    ]);
  });
  test("--provider alone takes the provider's default", async () => {
    expect(await chosen({ options: { provider: "anthropic" }, settings: saved })).toBe("anthropic/claude-sonnet-4-5");
    expect(await chosen({ options: { provider: "openai" }, settings: saved })).toBe("openai/gpt-5-mini");
    await expect(chosen({ options: { provider: "empty" } })).rejects.toThrow("lists no models");
  });
  test("the thinking level: option, suffix, scope, session, per model, default, medium", async () => {
    const level = async (given: Given) => (await start(given)).thinkingLevel;
    const session = { model: { provider: "anthropic", modelId: "claude-sonnet-4-5" }, thinkingLevel: "max" as const };
    const settings = { modelThinkingLevels: { "anthropic/claude-sonnet-4-5": "minimal" }, defaultThinkingLevel: "low" };
    expect(await level({ options: { thinking: "high", model: "sonnet:off", models: "sonnet:xhigh" }, session, settings })).toBe("high");
    expect(await level({ options: { model: "sonnet:off", models: "sonnet:xhigh" }, session, settings })).toBe("off");
    expect(await level({ options: { models: "sonnet:xhigh" }, settings })).toBe("xhigh");
    expect(await level({ session, settings })).toBe("max");
    expect(await level({ settings })).toBe("minimal");
    expect(await level({ settings: { defaultThinkingLevel: "low" } })).toBe("low");
    expect(await level({})).toBe("medium");
    await expect(level({ options: { thinking: "much" } })).rejects.toThrow('Invalid --thinking "much"');
  });
});

describe("thinking levels", () => {
  test("which ones a model has", () => {
    expect(supportedLevels(undefined)).toEqual(["off"]);
    expect(supportedLevels({ reasoning: false, thinkingLevelMap: { high: "high" } })).toEqual(["off"]);
    expect(supportedLevels({ reasoning: true })).toEqual(["off", "minimal", "low", "medium", "high"]);
    const map = { off: null, minimal: null, xhigh: "x", max: null };
    expect(supportedLevels({ reasoning: true, thinkingLevelMap: map })).toEqual(["low", "medium", "high", "xhigh"]);
  });
  test("a switch goes up, else down", () => {
    expect(clampUp("minimal", ["off", "low", "high"])).toBe("low");
    expect(clampUp("max", ["off", "low", "high"])).toBe("high");
    expect(clampUp("medium", ["off"])).toBe("off");
  });
  test("a request goes down, else to the lowest", () => {
    expect(clampDown("minimal", ["off", "low", "high"])).toBe("off");
    expect(clampDown("max", ["off", "low", "high"])).toBe("high");
    expect(clampDown("off", ["low", "high"])).toBe("low");
  });
});
