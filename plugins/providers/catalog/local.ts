/** Servers on this machine: no key, and what they have is asked when one of them is named. */
import type { Model } from "../../../core/index.ts";
import type { ModelSource } from "../../models/contract.ts";
import { type House, modelOf, sourceOf } from "./rows.ts";

/** A server that is not there should not hold anybody up. */
const PATIENCE_MS = 2000;

const servers: readonly [provider: string, displayName: string, baseUrl: string][] = [
  ["ollama", "Ollama", "http://localhost:11434/v1"],
  ["lmstudio", "LM Studio", "http://localhost:1234/v1"],
  ["llama.cpp", "llama.cpp", "http://localhost:8080/v1"],
  ["vllm", "vLLM", "http://localhost:8000/v1"],
];

const DEFAULT_WINDOW = 32_768;

export const local: readonly ModelSource[] = servers.map(([provider, displayName, baseUrl]) => {
  const house: House = { provider, api: "openai-completions", baseUrl, compat: { supportsPromptCacheKey: false } };
  return sourceOf(house, () => [], {
    displayName,
    keyless: true,
    discover: (configured = baseUrl) => askServer({ ...house, baseUrl: configured }),
    template: (id) => localModel(house, id),
  });
});

/** One entry of `/v1/models`; servers differ in how they spell the window. */
interface Listed {
  id?: unknown;
  max_model_len?: unknown;
  context_length?: unknown;
  max_context_length?: unknown;
  meta?: { n_ctx_train?: unknown } | null;
}

async function askServer(house: House): Promise<Model[]> {
  const response = await fetch(`${house.baseUrl.replace(/\/+$/, "")}/models`, { signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!response.ok) throw new Error(`${house.provider} answered ${response.status}`);
  const { data } = (await response.json()) as { data?: Listed[] | null };
  return (data ?? []).flatMap((listed) => (typeof listed.id === "string" ? [localModel(house, listed.id, windowOf(listed))] : []));
}

function windowOf({ max_model_len, context_length, max_context_length, meta }: Listed): number | undefined {
  return [max_model_len, context_length, max_context_length, meta?.n_ctx_train].find((size): size is number => typeof size === "number" && size > 0);
}

function localModel(house: House, id: string, context = DEFAULT_WINDOW): Model {
  return modelOf(house, { id, name: id, context, output: Math.min(16_384, Math.ceil(context / 2)), prices: [0, 0] });
}
