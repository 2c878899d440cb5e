/** What a request cost, in US dollars. */
import type { Cost, Model, Usage } from "../../core/index.ts";

/** Prices by the highest tier whose threshold the input exceeds; that tier counts for the whole request. */
export function calculateCost(model: Pick<Model, "cost">, usage: Omit<Usage, "cost" | "totalTokens">): Cost {
  const read = usage.input + usage.cacheRead + usage.cacheWrite;
  const tiers = (model.cost.tiers ?? []).filter(({ inputTokensAbove }) => read > inputTokensAbove);
  const rates = tiers.sort((a, b) => b.inputTokensAbove - a.inputTokensAbove)[0] ?? model.cost;
  const longWrites = usage.cacheWrite1h ?? 0;
  const cost = {
    input: (rates.input * usage.input) / 1e6,
    output: (rates.output * usage.output) / 1e6,
    cacheRead: (rates.cacheRead * usage.cacheRead) / 1e6,
    cacheWrite: (rates.cacheWrite * (usage.cacheWrite - longWrites) + 2 * rates.input * longWrites) / 1e6,
  };
  return { ...cost, total: cost.input + cost.output + cost.cacheRead + cost.cacheWrite };
}
