/** OpenAI's models, here and on Azure. */
import type { ModelSource } from "../../models/contract.ts";
import { type Prices, type Row, sourceOf } from "./rows.ts";

const upToHigh = { off: "none", minimal: null };
const upToXhigh = { off: "none", minimal: null, xhigh: "xhigh" };
const upToMax = { off: "none", minimal: null, xhigh: "xhigh", max: "max" };
const withoutMinimal = { minimal: null };
/** `minimal` to `high`; thinking cannot be switched off */
const original = {};

const million = { context: 1_050_000, output: 128_000, images: true, thinking: upToMax } as const;
const five = { context: 400_000, output: 128_000, images: true } as const;
const four = { context: 1_047_576, output: 32_768, images: true } as const;
const o = { context: 200_000, output: 100_000, images: true, thinking: withoutMinimal } as const;

/** Long requests cost double, their output half as much again. */
const longRequests = ([input, output, cacheRead = 0, cacheWrite = 0]: Prices) =>
  ({ prices: [input, output, cacheRead, cacheWrite], above: [272_000, [input * 2, output * 1.5, cacheRead * 2, cacheWrite * 2]] }) as const;

const rows = (): Row[] => [
  { id: "gpt-6-astra", name: "GPT-6 Astra", ...million, thinking: { minimal: null, xhigh: "xhigh", max: "max" }, ...longRequests([10, 50, 1, 12.5]) },
  { id: "gpt-6.1-sol", name: "GPT-6.1 Sol", ...million, thinking: { minimal: null, xhigh: "xhigh", max: "max" }, ...longRequests([2, 10, 0.1, 2.5]) },
  { id: "gpt-6.1-terra", name: "GPT-6.1 Terra", ...million, ...longRequests([1, 5, 0.05, 1.25]) },
  { id: "gpt-6-sol", name: "GPT-6 Sol", ...million, ...longRequests([2, 10, 0.2, 2.5]) },
  { id: "gpt-6-luna", name: "GPT-6 Luna", ...million, ...longRequests([0.1, 0.5, 0.01, 0.125]) },
  { id: "gpt-5.6-sol", name: "GPT-5.6 Sol", ...million, ...longRequests([4, 20, 0.4, 5]) },
  { id: "gpt-5.6-terra", name: "GPT-5.6 Terra", ...million, ...longRequests([2, 12, 0.2, 2.5]) },
  { id: "gpt-5.6-luna", name: "GPT-5.6 Luna", ...million, ...longRequests([0.2, 1.2, 0.02, 0.25]) },
  { id: "gpt-5.4", name: "GPT-5.4", ...million, thinking: upToXhigh, ...longRequests([2.5, 15, 0.25]) },
  { id: "gpt-5.4-mini", name: "GPT-5.4 mini", ...five, thinking: upToXhigh, prices: [0.75, 4.5, 0.075] },
  { id: "gpt-5.4-nano", name: "GPT-5.4 nano", ...five, thinking: upToXhigh, prices: [0.2, 1.25, 0.02] },
  { id: "gpt-5.2", name: "GPT-5.2", ...five, thinking: upToXhigh, prices: [1.75, 14, 0.175] },
  { id: "gpt-5.2-pro", name: "GPT-5.2 Pro", ...five, thinking: { minimal: null, low: null, xhigh: "xhigh" }, prices: [21, 168] },
  { id: "gpt-5.1", name: "GPT-5.1", ...five, thinking: upToHigh, prices: [1.25, 10, 0.125] },
  { id: "gpt-5.1-codex", name: "GPT-5.1 Codex", ...five, thinking: upToHigh, prices: [1.25, 10, 0.125] },
  { id: "gpt-5.1-codex-max", name: "GPT-5.1 Codex Max", ...five, thinking: upToXhigh, prices: [1.25, 10, 0.125] },
  { id: "gpt-5", name: "GPT-5", ...five, thinking: original, prices: [1.25, 10, 0.125] },
  { id: "gpt-5-mini", name: "GPT-5 mini", ...five, thinking: original, prices: [0.25, 2, 0.025] },
  { id: "gpt-5-nano", name: "GPT-5 nano", ...five, thinking: original, prices: [0.05, 0.4, 0.005] },
  { id: "gpt-5-pro", name: "GPT-5 Pro", ...five, output: 272_000, thinking: { minimal: null, low: null, medium: null }, prices: [15, 120] },
  { id: "gpt-5-codex", name: "GPT-5 Codex", ...five, thinking: withoutMinimal, prices: [1.25, 10, 0.125] },
  { id: "gpt-4.1", name: "GPT-4.1", ...four, prices: [2, 8, 0.5] },
  { id: "gpt-4.1-mini", name: "GPT-4.1 mini", ...four, prices: [0.4, 1.6, 0.1] },
  { id: "gpt-4.1-nano", name: "GPT-4.1 nano", ...four, prices: [0.1, 0.4, 0.025] },
  { id: "o4-mini", name: "o4-mini", ...o, prices: [1.1, 4.4, 0.275] },
  { id: "o3", name: "o3", ...o, prices: [2, 8, 0.5] },
  { id: "o3-mini", name: "o3-mini", ...o, images: false, prices: [1.1, 4.4, 0.55] },
  { id: "gpt-4o", name: "GPT-4o", context: 128_000, output: 16_384, images: true, prices: [2.5, 10, 1.25] },
  { id: "gpt-4o-mini", name: "GPT-4o mini", context: 128_000, output: 16_384, images: true, prices: [0.15, 0.6, 0.075] },
];

export const openai = sourceOf({ provider: "openai", api: "openai-responses", baseUrl: "https://api.openai.com/v1" }, rows, {
  displayName: "OpenAI",
  keyVariables: ["OPENAI_API_KEY"],
  defaultModel: "gpt-6.1-sol",
});

/** Deployments are usually called after their model; the address is the resource's. */
const onAzure = new Set(["gpt-5.4", "gpt-5.4-mini", "gpt-5.2", "gpt-5.1", "gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-4.1", "gpt-4.1-mini", "gpt-4o", "o4-mini"]);

export const azure: ModelSource = sourceOf(
  { provider: "azure-openai-responses", api: "openai-responses", baseUrl: "" },
  () => rows().filter(({ id }) => onAzure.has(id)),
  {
    displayName: "Azure OpenAI",
    keyVariables: ["AZURE_OPENAI_API_KEY"],
    defaultModel: "gpt-5.4",
    baseUrlFrom(env) {
      const resource = env("AZURE_OPENAI_RESOURCE_NAME");
      return env("AZURE_OPENAI_BASE_URL") ?? (resource && `https://${resource}.openai.azure.com/openai/v1`);
    },
  },
);
