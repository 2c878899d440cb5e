/** What a branch amounts to: counts of messages, tokens and money. */
import type { Usage } from "../../core/index.ts";
import { estimateContextTokens, isSizeUnknown } from "../shared/session-context.ts";
import type { SessionEntry, SessionStats } from "./contract.ts";

/** Counts every entry of the branch from its root, also those that a compaction hid. */
export function branchStats(branch: readonly SessionEntry[]): Omit<SessionStats, "sessionFile" | "sessionId" | "contextUsage"> {
  const counts = { userMessages: 0, assistantMessages: 0, toolCalls: 0, toolResults: 0, totalMessages: 0 };
  const tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  let cost = 0;
  for (const entry of branch) {
    count(counts, entry);
    const usage = usageOf(entry);
    if (!usage) continue;
    for (const kind of ["input", "output", "cacheRead", "cacheWrite"] as const) tokens[kind] += usage[kind] ?? 0;
    cost += usage.cost?.total ?? 0;
  }
  tokens.total = tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite;
  return { ...counts, tokens, cost };
}

function count(counts: Pick<SessionStats, "userMessages" | "assistantMessages" | "toolCalls" | "toolResults" | "totalMessages">, entry: SessionEntry): void {
  if (entry.type === "custom_message" || entry.type === "compaction" || entry.type === "branch_summary") counts.totalMessages++;
  if (entry.type !== "message" || !entry.message || (entry.message.role as string) === "system") return;
  counts.totalMessages++;
  const { message } = entry;
  if (message.role === "user") counts.userMessages++;
  if (message.role === "toolResult") counts.toolResults++;
  if (message.role !== "assistant") return;
  counts.assistantMessages++;
  counts.toolCalls += (message.content ?? []).filter(({ type }) => type === "toolCall").length;
}

function usageOf(entry: SessionEntry): Partial<Usage> | undefined {
  if (entry.type === "compaction" || entry.type === "branch_summary" || entry.type === "usage") return entry.usage;
  if (entry.type !== "message") return undefined;
  return entry.message?.role === "assistant" || entry.message?.role === "toolResult" ? entry.message.usage : undefined;
}

/** How full the window is; unknown from a compaction to the next answer. */
export function contextUsage(entries: readonly SessionEntry[], contextWindow: number): NonNullable<SessionStats["contextUsage"]> {
  if (isSizeUnknown(entries)) return { tokens: null, contextWindow, percent: null };
  const tokens = estimateContextTokens(entries);
  return { tokens, contextWindow, percent: (tokens / contextWindow) * 100 };
}
