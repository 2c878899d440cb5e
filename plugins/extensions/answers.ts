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
  for (const name of Object.keys(before) as (keyof T)[]) if (kind(changed[name]) !== kind(before[name])) Object.assign(changed, { [name]: before[name] });
}

const kind = (value: unknown) => (value === null ? "null" : Array.isArray(value) ? "list" : typeof value);

/** What identifies a message cannot be left out by whoever replaces it. */
const essentials = ["role", "timestamp", "api", "provider", "model", "usage", "stopReason", "toolCallId", "toolName", "isError", "customType", "display"];

export function completed(message: AgentMessage, replacement: AgentMessage): AgentMessage {
  return "content" in message
    ? ({ ...essentialsOf(message), ...replacement, content: (replacement as { content?: unknown }).content ?? [] } as AgentMessage)
    : replacement;
}

function essentialsOf(message: AgentMessage): Record<string, unknown> {
  const fields = message as unknown as Record<string, unknown>;
  return Object.fromEntries(essentials.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]));
}

/** The message as handlers left it; what they made of it in its place is put right where nobody could read it again. */
export function mended(message: AgentMessage, before: AgentMessage): AgentMessage {
  const whole: Record<string, unknown> = { ...message };
  repair(whole, essentialsOf(before));
  if (isReadable(message) && Object.keys(whole).every((name) => whole[name] === (message as unknown as Record<string, unknown>)[name])) return message;
  if (!isReadable(whole as unknown as AgentMessage)) {
    const { content } = (Array.isArray(whole.content) ? whole : before) as { content?: unknown };
    whole.content = Array.isArray(content) ? content.filter(isBlock) : content;
  }
  return whole as unknown as AgentMessage;
}

/** Throws a sentence if a message could not be read again. */
export function assertContent(message: AgentMessage): void {
  if (!isReadable(message)) throw new TypeError(`A message_end handler answered a content that no ${message.role} message can have.`);
}

function isReadable(message: AgentMessage): boolean {
  if (!("content" in message)) return !hasContent.has(message.role);
  const content: unknown = message.content;
  if (typeof content === "string") return message.role !== "assistant" && message.role !== "toolResult";
  return Array.isArray(content) && content.every(isBlock);
}

const hasContent = new Set(["user", "assistant", "toolResult", "custom"]);

/** What a client and a provider can read, whatever else may be in it. */
export function isBlock(block: { type?: unknown; text?: unknown } | null): boolean {
  return typeof block?.type === "string" && (block.type !== "text" || typeof block.text === "string");
}
