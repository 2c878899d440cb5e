/** What handlers answer, checked and completed where it would spoil a request or the session. */
import type { AgentMessage } from "../../core/index.ts";
import { assertJson } from "./json.ts";

/** A compaction that can be stored; what it leaves out is what was prepared. */
export function compactionOf(given: Record<string, unknown>, { firstKeptEntryId, tokensBefore }: { firstKeptEntryId: string; tokensBefore: number }): object {
  assertJson(given, "compaction of a session_before_compact handler");
  const compaction = { ...given, firstKeptEntryId: given.firstKeptEntryId ?? firstKeptEntryId, tokensBefore: given.tokensBefore ?? tokensBefore };
  if (typeof given.summary !== "string") throw new TypeError("A session_before_compact handler answered a compaction without a summary.");
  if (typeof compaction.firstKeptEntryId !== "string") throw new TypeError("A session_before_compact handler answered a firstKeptEntryId that is not an id.");
  if (typeof compaction.tokensBefore !== "number") throw new TypeError("A session_before_compact handler answered tokensBefore that is not a number.");
  return compaction;
}

/** Puts back what a handler made something else of: a list stays a list. */
export function repair<T extends object>(changed: T, before: Partial<T>): void {
  const kind = (value: unknown) => (value === null ? "null" : Array.isArray(value) ? "list" : typeof value);
  for (const name of Object.keys(before) as (keyof T)[]) if (kind(changed[name]) !== kind(before[name])) Object.assign(changed, { [name]: before[name] });
}

/** What identifies a message cannot be left out by whoever replaces it. */
const essentials = ["timestamp", "api", "provider", "model", "usage", "stopReason", "toolCallId", "toolName", "isError", "customType", "display"];

export function completed(message: AgentMessage, replacement: AgentMessage): AgentMessage {
  const original = message as unknown as Record<string, unknown>;
  const kept = Object.fromEntries(essentials.filter((name) => original[name] !== undefined).map((name) => [name, original[name]]));
  return "content" in original ? ({ ...kept, ...replacement, content: (replacement as { content?: unknown }).content ?? [] } as AgentMessage) : replacement;
}

/** Throws a sentence if a message could not be read again. */
export function assertContent(message: AgentMessage): void {
  if (!("content" in message)) return;
  const { role } = message;
  const content: unknown = message.content;
  if (typeof content === "string" && role !== "assistant" && role !== "toolResult") return;
  const isBlock = (block: { type?: unknown; text?: unknown } | null) =>
    typeof block?.type === "string" && (block.type !== "text" || typeof block.text === "string");
  if (!Array.isArray(content) || !content.every(isBlock)) throw new TypeError(`A message_end handler answered a content that no ${role} message can have.`);
}
