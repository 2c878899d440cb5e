/** Usage as whoever did the work reports it. */
import { type Usage, zeroUsage } from "../../core/index.ts";

export type ReportedUsage = Omit<Partial<Usage>, "cost"> & { cost?: Partial<Usage["cost"]> };

/** What is not counted is nothing; the total is the sum. */
export function wholeUsage(usage: ReportedUsage): Usage {
  const { cost, ...counts } = zeroUsage();
  const { input, output, cacheRead, cacheWrite } = { ...counts, ...usage };
  return { ...counts, totalTokens: input + output + cacheRead + cacheWrite, ...usage, cost: { ...cost, ...usage.cost } };
}
