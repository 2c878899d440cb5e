/** The catalogue: ids that the SDKs know, whole rows, presets, and local servers that are asked when named. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Kernel, type Model } from "../../core/index.ts";
import type { ModelSource } from "../../plugins/models/contract.ts";
import models from "../../plugins/models/index.ts";
import { anthropic } from "../../plugins/providers/catalog/anthropic.ts";
import { hosted } from "../../plugins/providers/catalog/hosted.ts";
import catalog from "../../plugins/providers/catalog/index.ts";
import { local } from "../../plugins/providers/catalog/local.ts";
import { azure, openai } from "../../plugins/providers/catalog/openai.ts";
import { asOf } from "../../plugins/providers/catalog/rows.ts";
import { supportedLevels } from "../../plugins/shared/thinking.ts";

const sdk = (file: string) => readFileSync(join(import.meta.dirname, "../../node_modules", file), "utf8");

/** The string literals of a type union. */
function union(text: string, type: string): Set<string> {
  const declaration = new RegExp(`export type ${type} = ([^;]+);`).exec(text)?.[1] ?? "";
  return new Set([...declaration.matchAll(/'([^']+)'/g)].map(([, id]) => id as string));
}

const ids = (source: ModelSource) => source.models.map(({ id }) => id);

describe("ids", () => {
  test("Anthropic's are those of its SDK, and older ones that documents still name", () => {
    const older = ["claude-opus-4-1-20250805", "claude-opus-4-20250514", "claude-sonnet-4-20250514"];
    const known = union(sdk("@anthropic-ai/sdk/resources/messages/messages.d.ts"), "Model");
    expect(known.size).toBeGreaterThan(10);
    expect(ids(anthropic).filter((id) => !known.has(id))).toEqual(older);
    expect([...known].filter((id) => !ids(anthropic).includes(id))).toEqual(["claude-mythos-preview"]);
  });

  test("OpenAI's are those of its SDK, and the generation that is newer than it", () => {
    const text = sdk("openai/resources/shared.d.ts");
    const known = new Set([...union(text, "ChatModel"), ...union(text, "ResponsesModel")]);
    expect(known.size).toBeGreaterThan(50);
    expect(ids(openai).filter((id) => !known.has(id) && !id.startsWith("gpt-6"))).toEqual([]);
    expect(ids(openai)).toContain("gpt-5-mini");
    expect(ids(azure).every((id) => ids(openai).includes(id))).toBe(true);
  });
});

const all = [anthropic, openai, ...hosted, azure, ...local];

test.each(all.map((source) => [source.name, source] as const))("%s: rows are whole, ids unique, the default is listed", (_, source) => {
  expect(new Set(ids(source)).size).toBe(source.models.length);
  if (source.models.length > 0) expect(ids(source)).toContain(source.defaultModel);
  for (const model of source.models) {
    expect(model.provider).toBe(source.name);
    expect(model.contextWindow).toBeGreaterThan(model.maxTokens - 1);
    expect(model.cost.output).toBeGreaterThanOrEqual(model.cost.input);
    expect(supportedLevels(model)[0]).toBe("off");
    expect(model.baseUrl === "" ? source.baseUrlFrom : URL.canParse(model.baseUrl)).toBeTruthy();
  }
});

test("the tables are dated", () => expect(asOf).toMatch(/^20\d\d-\d\d-\d\d$/));

test("models that the protocol's examples name", () => {
  expect(anthropic.models.find(({ id }) => id === "claude-sonnet-4-20250514")).toMatchObject({
    name: "Claude Sonnet 4",
    api: "anthropic-messages",
    provider: "anthropic",
    baseUrl: "https://api.anthropic.com",
    reasoning: true,
    input: ["text", "image"],
    contextWindow: 200_000,
    cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
  });
  expect(openai.models.find(({ id }) => id === "gpt-5-mini")).toMatchObject({
    name: "GPT-5 mini",
    api: "openai-responses",
    baseUrl: "https://api.openai.com/v1",
    contextWindow: 400_000,
    maxTokens: 128_000,
    cost: { input: 0.25, output: 2, cacheRead: 0.025, cacheWrite: 0 },
  });
});

test("a long request has its own prices", () => {
  expect(anthropic.models.find(({ id }) => id === "claude-haiku-5-5")?.cost.tiers).toEqual([
    { inputTokensAbove: 100_000, input: 0.5, output: 2.5, cacheRead: 0.05, cacheWrite: 0.625 },
  ]);
});

describe("what the environment makes of it", () => {
  const agent = async (env: Record<string, string>, options: Record<string, unknown> = {}) => {
    const kernel = new Kernel();
    // Without settings the process's own environment would count.
    const { default: settings } = await import("../../plugins/settings/index.ts");
    await kernel.useAll([settings, models, catalog]);
    await kernel.start({ env: { HOME: "/nonexistent", ...env }, mode: "rpc", ...options });
    return kernel.service("models");
  };
  const providers = (list: Model[]) => [...new Set(list.map(({ provider }) => provider))];

  test("nothing without keys", async () => {
    const service = await agent({});
    expect(service.available()).toEqual([]);
    expect(service.current()).toBe(undefined);
  });
  test.each([
    ["ANTHROPIC_API_KEY", "anthropic"],
    ["OPENAI_API_KEY", "openai"],
    ["GEMINI_API_KEY", "google"],
    ["OPENROUTER_API_KEY", "openrouter"],
    ["GROQ_API_KEY", "groq"],
    ["XAI_API_KEY", "xai"],
    ["MISTRAL_API_KEY", "mistral"],
    ["DEEPSEEK_API_KEY", "deepseek"],
    ["CEREBRAS_API_KEY", "cerebras"],
    ["TOGETHER_API_KEY", "together"],
    ["FIREWORKS_API_KEY", "fireworks"],
    ["GITHUB_MODELS_TOKEN", "github-models"],
  ])("%s makes %s available and its default the start-up model", async (variable, provider) => {
    const service = await agent({ [variable]: "key" });
    expect(providers(service.available())).toEqual([provider]);
    expect(service.current()?.provider).toBe(provider);
    expect(await service.requireAuth(service.current() as Model)).toEqual({ apiKey: "key" });
  });
  test("Azure needs a resource as well as a key", async () => {
    expect((await agent({ AZURE_OPENAI_API_KEY: "key" })).available()).toEqual([]);
    const service = await agent({ AZURE_OPENAI_API_KEY: "key", AZURE_OPENAI_RESOURCE_NAME: "mine" });
    expect(await service.requireAuth(service.current() as Model)).toEqual({ apiKey: "key", baseUrl: "https://mine.openai.azure.com/openai/v1" });
    const direct = await agent({ AZURE_OPENAI_API_KEY: "key", AZURE_OPENAI_BASE_URL: "https://else.example/v1" });
    expect((await direct.requireAuth(direct.current() as Model)).baseUrl).toBe("https://else.example/v1");
  });
  test("a host without a list takes any id", async () => {
    const service = await agent({ HF_TOKEN: "key" }, { model: "huggingface/some/model" });
    expect(service.current()).toMatchObject({ provider: "huggingface", id: "some/model", baseUrl: "https://router.huggingface.co/v1" });
  });
  test("a local server is used without a key, also when it does not answer", async () => {
    const service = await agent({}, { model: "vllm/my-model" });
    expect(service.current()).toMatchObject({ provider: "vllm", id: "my-model", baseUrl: "http://localhost:8000/v1" });
    expect(await service.requireAuth(service.current() as Model)).toEqual({});
  });
});

test("a local server is asked for its models and their windows", async () => {
  const data = [{ id: "qwen3:8b" }, { id: "big", max_model_len: 65_536 }, { id: "cpp", meta: { n_ctx_train: 4096 } }, { object: "strange" }];
  const server = createServer((request, response) => response.end(request.url === "/v1/models" ? JSON.stringify({ data }) : "{}"));
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const found = await local[0]?.discover?.(baseUrl);
  expect(found?.map(({ id, contextWindow, maxTokens, baseUrl: address }) => [id, contextWindow, maxTokens, address])).toEqual([
    ["qwen3:8b", 32_768, 16_384, baseUrl],
    ["big", 65_536, 16_384, baseUrl],
    ["cpp", 4096, 2048, baseUrl],
  ]);
});
