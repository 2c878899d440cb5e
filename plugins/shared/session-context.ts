/** From a branch of session entries to the messages that the model sees: pure functions. */
import type { AgentMessage, AssistantMessage, ThinkingLevel, UserContent } from "../../core/index.ts";
import type { SessionEntry } from "../session/contract.ts";
import { calculateContextTokens, estimateTokens } from "./conversation.ts";

export type Compaction = Extract<SessionEntry, { type: "compaction" }>;
type Replacement = Extract<SessionEntry, { type: "context_edit" }>["replacement"];

/** The part of a branch (root to leaf) that counts: the last compaction, what it kept, and what followed. */
export function contextEntries(branch: readonly SessionEntry[]): SessionEntry[] {
  const at = branch.findLastIndex((entry) => entry.type === "compaction");
  const compaction = branch[at] as Compaction | undefined;
  if (!compaction) return [...branch];
  const kept = branch.findIndex((entry, index) => index < at && entry.id === compaction.firstKeptEntryId);
  // What an earlier compaction said is part of what the last one says.
  const isCurrent = (entry: SessionEntry) => entry.type !== "compaction";
  return [compaction, ...(kept < 0 ? [] : branch.slice(kept, at).filter(isCurrent)), ...branch.slice(at + 1)];
}

/** The messages of context entries, with context edits applied. */
export function messagesOf(entries: readonly SessionEntry[]): AgentMessage[] {
  return contextMessages(entries).flatMap((message) => message ?? []);
}

/** One message, or none, for each context entry. */
export function contextMessages(entries: readonly SessionEntry[]): (AgentMessage | undefined)[] {
  const edits = new Map<string, Replacement>();
  for (const entry of entries) if (entry.type === "context_edit") edits.set(entry.targetId, entry.replacement);
  return entries.map((entry) => {
    const message = entryMessage(entry);
    if (!message || !edits.has(entry.id)) return message;
    return edited(message, edits.get(entry.id) ?? null);
  });
}

/** Each context entry with what it adds to the conversation, and the conversation. */
export interface SessionProjection {
  entries: { sourceEntry: SessionEntry; messages: AgentMessage[] }[];
  messages: AgentMessage[];
}

export function projectionOf(entries: readonly SessionEntry[]): SessionProjection {
  const added = contextMessages(entries).map((message) => (message ? [message] : []));
  return { entries: entries.map((sourceEntry, index) => ({ sourceEntry, messages: added[index] ?? [] })), messages: added.flat() };
}

/** What one entry adds to the conversation. */
export function entryMessage(entry: SessionEntry): AgentMessage | undefined {
  switch (entry.type) {
    case "message":
      return isMessage(entry.message) ? withContent(entry.message) : undefined;
    case "custom_message": {
      const { customType, content = "", display, details } = entry;
      return { role: "custom", customType, content, display, ...(details !== undefined && { details }), timestamp: timeOf(entry) };
    }
    case "compaction":
      return { role: "compactionSummary", summary: entry.summary, tokensBefore: entry.tokensBefore, timestamp: timeOf(entry) };
    case "branch_summary":
      return { role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp: timeOf(entry) };
    default:
      return undefined;
  }
}

/** System messages of other programs stay in the file and out of the conversation. */
function isMessage(message: unknown): boolean {
  const role = (message as { role?: unknown } | null | undefined)?.role;
  return typeof role === "string" && role !== "system";
}

/** Files of other programs may lack content, or hold a text where we want blocks. */
function withContent(message: AgentMessage): AgentMessage {
  if (message.role !== "assistant" && message.role !== "toolResult" && message.role !== "user") return message;
  const content = message.content as unknown;
  if (Array.isArray(content) || (message.role === "user" && typeof content === "string")) return message;
  return { ...message, content: typeof content === "string" ? [{ type: "text", text: content }] : [] };
}

function timeOf(entry: SessionEntry): number {
  const time = Date.parse(entry.timestamp);
  return Number.isNaN(time) ? 0 : time;
}

function edited(message: AgentMessage, replacement: Replacement): AgentMessage | undefined {
  if (!replacement) return undefined;
  const { content } = replacement;
  // Said by another program in a way that we do not know.
  if (typeof content !== "string" && !Array.isArray(content)) return message;
  if (message.role === "user" || message.role === "custom") return { ...message, content };
  const blocks: UserContent[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (message.role === "toolResult") return { ...message, content: blocks };
  if (message.role === "assistant") return { ...message, content: blocks as AssistantMessage["content"] };
  return message;
}

/** The path from the root to `leafId` (default: the last entry; null: nothing). */
export function branchOf(entries: readonly SessionEntry[], leafId?: string | null): SessionEntry[] {
  if (leafId === null) return [];
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  return pathTo(leafId === undefined ? entries.at(-1) : byId.get(leafId), byId);
}

/** From an entry up to its root, reversed. A cycle, which only a damaged file has, ends the walk. */
export function pathTo(leaf: SessionEntry | undefined, byId: ReadonlyMap<string, SessionEntry>): SessionEntry[] {
  const path: SessionEntry[] = [];
  for (let entry = leaf; entry; entry = entry.parentId === null ? undefined : byId.get(entry.parentId)) {
    // Longer than all there is: it goes in a circle, of which each counts once.
    if (path.length > byId.size) return [...new Set(path)].reverse();
    path.push(entry);
  }
  return path.reverse();
}

export interface SessionContext {
  messages: AgentMessage[];
  thinkingLevel: ThinkingLevel;
  model: { provider: string; modelId: string } | null;
}

/** What a session's branch amounts to: its messages, and the model and level it last used. */
export function buildSessionContext(entries: readonly SessionEntry[], leafId?: string | null): SessionContext {
  const branch = branchOf(entries, leafId);
  return { messages: messagesOf(contextEntries(branch)), thinkingLevel: lastLevelOf(branch) ?? "off", model: lastModelOf(branch) ?? null };
}

export function lastModelOf(branch: readonly SessionEntry[]): { provider: string; modelId: string } | undefined {
  for (let index = branch.length - 1; index >= 0; index--) {
    const named = modelNamedBy(branch[index] as SessionEntry);
    // A damaged entry may name none.
    if (named?.provider && named.modelId) return named;
  }
  return undefined;
}

function modelNamedBy(entry: SessionEntry): { provider: string; modelId: string } | undefined {
  if (entry.type === "model_change") return { provider: entry.provider, modelId: entry.modelId };
  if (entry.type === "message" && entry.message?.role === "assistant") return { provider: entry.message.provider, modelId: entry.message.model };
  return undefined;
}

export function lastLevelOf(branch: readonly SessionEntry[]): ThinkingLevel | undefined {
  const change = branch.findLast((entry) => entry.type === "thinking_level_change");
  return change?.type === "thinking_level_change" ? change.thinkingLevel : undefined;
}

// ---------------------------------------------------------------- sizes

function isAnswer(message: AgentMessage | undefined): message is AssistantMessage {
  return message?.role === "assistant" && message.stopReason !== "error" && message.stopReason !== "aborted";
}

/** Whether an assistant message tells how full the window was. */
function tellsSize(message: AgentMessage | undefined): message is AssistantMessage {
  return isAnswer(message) && message.usage !== undefined && calculateContextTokens(message.usage) > 0;
}

/** The tokens of a context: the last count of the provider and an estimate of what followed. A count from before an edit or a compaction is not trusted. */
export function estimateContextTokens(entries: readonly SessionEntry[]): number {
  const start = afterCompaction(entries);
  let tokens = 0;
  // From the end: what an edit changes lies before it, so up to the last edit entries are what they say.
  for (let index = entries.length - 1; index >= start; index--) {
    const entry = entries[index] as SessionEntry;
    if (entry.type === "context_edit") break;
    const message = entryMessage(entry);
    if (tellsSize(message)) return tokens + calculateContextTokens(message.usage);
    if (message) tokens += estimateTokens(message);
  }
  return contextMessages(entries).reduce((sum, message) => sum + (message ? estimateTokens(message) : 0), 0);
}

/** Whether a compaction is the newest thing known about the size: nothing has been answered since. */
export function isSizeUnknown(entries: readonly SessionEntry[]): boolean {
  if (entries[0]?.type !== "compaction") return false;
  const messages = contextMessages(entries);
  for (let index = afterCompaction(entries); index < entries.length; index++) if (isAnswer(messages[index])) return false;
  return true;
}

/** Index of the first context entry that was added after the compaction (not kept by it). */
function afterCompaction(entries: readonly SessionEntry[]): number {
  const compaction = entries[0];
  if (compaction?.type !== "compaction") return 0;
  const next = entries.findIndex((entry) => entry.parentId === compaction.id);
  return next < 0 ? entries.length : next;
}
