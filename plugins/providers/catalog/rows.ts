/** How a catalogue entry is written: one row per model, whole models when somebody asks. */
import type { Model, ModelCost, ThinkingLevel } from "../../../core/index.ts";
import type { ModelSource } from "../../models/contract.ts";

/** When the tables were last compared with the providers' own pages. */
export const asOf = "2026-11-18";

/** US dollars per million tokens: input, output, cache read, cache write. */
export type Prices = readonly [input: number, output: number, cacheRead?: number, cacheWrite?: number];

export interface Row {
  id: string;
  name: string;
  context: number;
  output: number;
  prices: Prices;
  /** prices of requests with more input tokens than this */
  above?: readonly [tokens: number, prices: Prices];
  /** absent: the model does not think; an empty map: it does, by the usual names */
  thinking?: Partial<Record<ThinkingLevel, string | null>>;
  images?: boolean;
  compat?: Record<string, unknown>;
}

/** What the rows of a provider have in common. */
export interface House {
  provider: string;
  api: "anthropic-messages" | "openai-responses" | "openai-completions";
  baseUrl: string;
  compat?: Record<string, unknown>;
}

export function modelOf(house: House, row: Row): Model {
  const compat = { ...house.compat, ...row.compat };
  return {
    id: row.id,
    name: row.name,
    api: house.api,
    provider: house.provider,
    baseUrl: house.baseUrl,
    reasoning: row.thinking !== undefined,
    ...(row.thinking && Object.keys(row.thinking).length > 0 && { thinkingLevelMap: row.thinking }),
    input: row.images ? ["text", "image"] : ["text"],
    cost: costOf(row),
    contextWindow: row.context,
    maxTokens: row.output,
    ...(Object.keys(compat).length > 0 && { compat }),
  };
}

function costOf({ prices, above }: Row): ModelCost {
  return { ...rates(prices), ...(above && { tiers: [{ inputTokensAbove: above[0], ...rates(above[1]) }] }) };
}

function rates([input, output, cacheRead = 0, cacheWrite = 0]: Prices) {
  return { input, output, cacheRead, cacheWrite };
}

/** A source whose models are made at the first look: most processes use one provider. */
export function sourceOf(house: House, rows: () => readonly Row[], rest: Omit<ModelSource, "name" | "models">): ModelSource {
  let models: Model[] | undefined;
  return {
    name: house.provider,
    ...rest,
    get models() {
      models ??= rows().map((row) => modelOf(house, row));
      return models;
    },
  };
}

/** A model that nobody has described, with careful limits. */
export function unknownModel(house: House, id: string): Model {
  return modelOf(house, { id, name: id, context: 128_000, output: 16_384, prices: [0, 0] });
}
