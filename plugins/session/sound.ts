/** Entries as the program and its clients count on them: what damage or another program left out is filled in, in memory and not in the file. */
import { zeroUsage } from "../../core/index.ts";
import type { SessionEntry, SessionHeader } from "./contract.ts";

type Fields = Record<string, unknown>;

/** The entry itself if nothing is wrong with it, else a copy. What we do not know stays: types, roles, blocks, fields. */
export function soundEntry(entry: Fields): SessionEntry {
  if (isUsual(entry)) return entry as unknown as SessionEntry;
  const changed = byType[entry.type as string]?.(entry) ?? {};
  if (typeof entry.parentId !== "string" && entry.parentId !== null) changed.parentId = null;
  return (isEmpty(changed) ? entry : { ...entry, ...changed }) as unknown as SessionEntry;
}

/** What nearly every line of a long file is, a message with all in its place: seen field by field, and nothing is made for it. */
function isUsual({ type, parentId, message }: Fields): boolean {
  if (type !== "message" || typeof parentId !== "string" || !isObject(message) || typeof message.timestamp !== "number") return false;
  const { role, content, usage } = message;
  if (typeof content === "string" ? role !== "user" : !isBlocks(content)) return false;
  if (role === "user") return true;
  if (role === "toolResult") {
    return typeof message.toolCallId === "string" && typeof message.toolName === "string" && typeof message.isError === "boolean" && usage === undefined;
  }
  const { api, provider, model, stopReason } = message;
  if (role !== "assistant" || typeof api !== "string" || typeof provider !== "string" || typeof model !== "string") return false;
  return typeof stopReason === "string" && isUsage(usage);
}

function isBlocks(content: unknown): boolean {
  if (!Array.isArray(content)) return false;
  for (const block of content) {
    if (block?.type === "text" ? typeof block.text !== "string" : !isBlock(block)) return false;
  }
  return true;
}

function isUsage(usage: unknown): boolean {
  if (!isObject(usage) || !isObject(usage.cost)) return false;
  const { input, output, cacheRead, cacheWrite, totalTokens, cost } = usage as Record<string, unknown> & { cost: Fields };
  if (typeof input !== "number" || typeof output !== "number" || typeof cacheRead !== "number" || typeof cacheWrite !== "number") return false;
  if (typeof totalTokens !== "number" || typeof cost.input !== "number" || typeof cost.output !== "number") return false;
  return typeof cost.cacheRead === "number" && typeof cost.cacheWrite === "number" && typeof cost.total === "number";
}

/** The header likewise. */
export function soundHeader(header: Fields): SessionHeader {
  const changed = filled(header, { timestamp: new Date(0).toISOString() });
  for (const name of ["cwd", "parentSession"]) if (!isText(header[name])) changed[name] = undefined;
  return (isEmpty(changed) ? header : { ...header, ...changed }) as SessionHeader;
}

/** What is to be changed about an entry. */
const byType: Readonly<Record<string, (entry: Fields) => Fields>> = {
  message: ({ message }) => (isObject(message) ? soundMessage(message) : { message: null }),
  custom_message: (entry) => ({ ...filled(entry, { customType: "", display: true }), ...contentOf(entry) }),
  compaction: (entry) => ({ ...filled(entry, { summary: "", firstKeptEntryId: "", tokensBefore: 0 }), ...usageIn(entry) }),
  branch_summary: (entry) => ({ ...filled(entry, { summary: "" }), ...usageIn(entry), ...(entry.fromId === undefined && { fromId: null }) }),
  usage: usageIn,
  label: ({ label }) => (isText(label) ? {} : { label: undefined }),
  session_info: ({ name }) => (isText(name) ? {} : { name: undefined }),
};

const answer = { api: "", provider: "", model: "", stopReason: "stop", timestamp: 0 };
const result = { toolCallId: "", toolName: "", isError: false, timestamp: 0 };
const execution = { command: "", output: "", cancelled: false, truncated: false, timestamp: 0 };

const byRole: Readonly<Record<string, (message: Fields) => Fields>> = {
  user: (message) => ({ ...filled(message, { timestamp: 0 }), ...contentOf(message) }),
  custom: (message) => ({ ...filled(message, { customType: "", display: true, timestamp: 0 }), ...contentOf(message) }),
  assistant: (message) => ({ ...filled(message, answer), ...blocksOf(message), ...(message.usage ? usageIn(message) : { usage: zeroUsage() }) }),
  toolResult: (message) => ({ ...filled(message, result), ...blocksOf(message), ...usageIn(message) }),
  bashExecution: (message) => ({ ...filled(message, execution), ...(message.exitCode === undefined && { exitCode: null }) }),
  branchSummary: (message) => ({ ...filled(message, { summary: "", timestamp: 0 }), ...(message.fromId === undefined && { fromId: null }) }),
  compactionSummary: (message) => filled(message, { summary: "", tokensBefore: 0, timestamp: 0 }),
};

function soundMessage(message: Fields): Fields {
  const changed = byRole[message.role as string]?.(message) ?? {};
  return isEmpty(changed) ? {} : { message: { ...message, ...changed } };
}

/** Values for fields that are missing or of another type. */
function filled(fields: Fields, values: Fields): Fields {
  const changed: Fields = {};
  for (const name in values) if (typeof fields[name] !== typeof values[name]) changed[name] = values[name];
  return changed;
}

/** A text or blocks. */
function contentOf(fields: Fields): Fields {
  return typeof fields.content === "string" ? {} : blocksOf(fields);
}

/** Blocks only. */
function blocksOf({ content }: Fields): Fields {
  if (!Array.isArray(content)) return { content: typeof content === "string" ? [{ type: "text", text: content }] : [] };
  return content.every(isBlock) ? {} : { content: content.filter(isBlock) };
}

const required: Readonly<Record<string, readonly string[]>> = { text: ["text"], thinking: ["thinking"], toolCall: ["id", "name"], image: ["data", "mimeType"] };

function isBlock(block: unknown): boolean {
  if (!isObject(block) || typeof block.type !== "string" || (block.type === "toolCall" && !isObject(block.arguments))) return false;
  return (required[block.type] ?? []).every((name) => typeof block[name] === "string");
}

/** Usage with all of its counts; older files have no total. */
function usageIn({ usage }: Fields): Fields {
  if (usage === undefined) return {};
  if (!isObject(usage)) return { usage: zeroUsage() };
  const { cost: free, totalTokens: _, ...none } = zeroUsage();
  const counts = filled(usage, none);
  const { input, output, cacheRead, cacheWrite } = { ...usage, ...counts } as Record<string, number> as typeof none;
  const changed = { ...counts, ...filled(usage, { totalTokens: input + output + cacheRead + cacheWrite }) };
  const cost = isObject(usage.cost) ? filled(usage.cost, { ...free }) : free;
  if (!isEmpty({ ...cost })) changed.cost = { ...(usage.cost as Fields), ...cost };
  return isEmpty(changed) ? {} : { usage: { ...usage, ...changed } };
}

function isEmpty(fields: Fields): boolean {
  for (const _ in fields) return false;
  return true;
}

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown) => value === undefined || typeof value === "string";
