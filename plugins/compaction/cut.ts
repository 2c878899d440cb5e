/** Where a conversation is cut: what is kept as it is and what a summary stands for. Pure functions over entries. */
import type { AgentMessage, Usage } from "../../core/index.ts";
import type { SessionEntry } from "../session/contract.ts";
import { estimateTokens } from "../shared/conversation.ts";
import { type Compaction, contextMessages, estimateContextTokens } from "../shared/session-context.ts";
import type { CompactionPreparation } from "./contract.ts";
import { filesOf, newFileOps } from "./files.ts";

export type CompactionSettings = CompactionPreparation["settings"];

export const DEFAULT_COMPACTION_SETTINGS: CompactionSettings = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };

export interface CutPoint {
  firstKeptEntryIndex: number;
  /** where the turn begins that the cut goes through; -1 if it goes through none */
  turnStartIndex: number;
  isSplitTurn: boolean;
}

/** Whether a context is too large to go on with. */
export function shouldCompact(contextTokens: number, contextWindow: number, settings: CompactionSettings): boolean {
  return settings.enabled && contextWindow > 0 && contextTokens > contextWindow - settings.reserveTokens;
}

/** What is to be done for the context entries of a branch; undefined if there is nothing to summarize. */
export function prepareCompaction(context: readonly SessionEntry[], settings: CompactionSettings): CompactionPreparation | undefined {
  const first = context[0];
  const previous = first?.type === "compaction" ? first : undefined;
  const entries = previous ? context.slice(1) : context;
  const messages = previous ? contextMessages(context).slice(1) : contextMessages(context);
  const cut = cutOf(messages, settings.keepRecentTokens);
  if (!cut) return undefined;
  const { firstKeptEntryIndex, turnStartIndex, isSplitTurn } = cut;
  const historyEnd = isSplitTurn ? turnStartIndex : firstKeptEntryIndex;
  const messagesToSummarize = messages.slice(0, historyEnd).flatMap((message) => message ?? []);
  const turnPrefixMessages = isSplitTurn ? messages.slice(turnStartIndex, firstKeptEntryIndex).flatMap((message) => message ?? []) : [];
  if (messagesToSummarize.length + turnPrefixMessages.length === 0) return undefined;
  const fileOps = newFileOps(previous);
  filesOf([...messagesToSummarize, ...turnPrefixMessages], fileOps);
  return {
    firstKeptEntryId: (entries[firstKeptEntryIndex] as SessionEntry).id,
    messagesToSummarize,
    turnPrefixMessages,
    isSplitTurn,
    tokensBefore: estimateContextTokens(context),
    ...(previous && { previousSummary: previous.summary }),
    fileOps,
    settings,
  };
}

/** The cut within `entries[start, end)`; everything is kept if that is less than `keepRecentTokens`. */
export function findCutPoint(entries: readonly SessionEntry[], start: number, end: number, keepRecentTokens: number): CutPoint {
  const cut = cutOf(contextMessages(entries.slice(start, end)), keepRecentTokens) ?? { firstKeptEntryIndex: 0, turnStartIndex: -1, isSplitTurn: false };
  const shifted = (index: number) => (index < 0 ? index : index + start);
  return { ...cut, firstKeptEntryIndex: shifted(cut.firstKeptEntryIndex), turnStartIndex: shifted(cut.turnStartIndex) };
}

/** The message that began the turn of an entry; -1 if it is not in `entries[start, index]`. */
export function findTurnStartIndex(entries: readonly SessionEntry[], index: number, start: number): number {
  return turnStart(contextMessages(entries), index, start);
}

type Messages = readonly (AgentMessage | undefined)[];

function cutOf(messages: Messages, keepRecentTokens: number): CutPoint | undefined {
  const reached = reach(messages, keepRecentTokens);
  if (reached < 0) return undefined;
  let index = messages.findIndex((message, at) => at >= reached && isCutPoint(message));
  if (index < 0) index = messages.findLastIndex(isCutPoint);
  if (index < 0) return undefined;
  const turnStartIndex = startsTurn(messages[index]) ? -1 : turnStart(messages, index, 0);
  // What adds nothing to the conversation, such as a change of the model, stays with what follows it.
  while (index > turnStartIndex + 1 && !messages[index - 1]) index--;
  return { firstKeptEntryIndex: index, turnStartIndex, isSplitTurn: turnStartIndex >= 0 };
}

/** The newest entry from which on `tokens` are reached; -1 if all together are less. */
function reach(messages: Messages, tokens: number): number {
  let sum = 0;
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index];
    if (!message) continue;
    sum += estimateTokens(message);
    if (sum >= tokens) return index;
  }
  return -1;
}

/** A conversation may begin with anything but the result of a tool that nobody called. */
function isCutPoint(message: AgentMessage | undefined): boolean {
  return message?.role === "assistant" || startsTurn(message);
}

function startsTurn(message: AgentMessage | undefined): boolean {
  return message !== undefined && ["user", "custom", "bashExecution", "branchSummary", "compactionSummary"].includes(message.role);
}

function turnStart(messages: Messages, index: number, start: number): number {
  for (let at = index; at >= start; at--) if (startsTurn(messages[at])) return at;
  return -1;
}

export function getLatestCompactionEntry(entries: readonly SessionEntry[]): Compaction | null {
  return (entries.findLast((entry) => entry.type === "compaction") as Compaction | undefined) ?? null;
}

/** What the provider counted for the last answer that did not fail. */
export function getLastAssistantUsage(entries: readonly SessionEntry[]): Usage | undefined {
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index];
    if (entry?.type !== "message" || entry.message.role !== "assistant") continue;
    if (entry.message.stopReason !== "error" && entry.message.stopReason !== "aborted") return entry.message.usage;
  }
  return undefined;
}
