/** A conversation as a certain model may read it: what another model thought or called, what broke off, and what it cannot see. */
import { createHash } from "node:crypto";
import type { AssistantContent, AssistantMessage, ImageContent, LlmMessage, Model, ToolCall, ToolResultMessage, UserContent } from "../../../core/index.ts";
import { Conversations } from "./memory.ts";

export interface Limits {
  /** how long ids of tool calls may be, and what they must not contain */
  callIds: { shortest?: number; longest: number; forbidden: RegExp };
}

const UNSEEN = "[An image was left out: this model cannot see images.]";
/** The types that all of our APIs take. With any other they refuse the request, and each one after it. */
const imageTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const MISSPELT = "image/jpg";
const NO_IMAGE = "[An image was left out: its type is none that models can see.]";
const INTERRUPTED = "The call was interrupted: there is no result.";
const SILENT = "(no output)";

const conversations = new Conversations<LlmMessage>();

/**
 * Ready to be spelled in a wire format: each tool call has its result directly behind it, nothing is empty, thinking is the target's own.
 * What comes out for a message does not depend on what follows it, but for results: request n is the beginning of request n + 1.
 */
export function prepareMessages(messages: readonly LlmMessage[], model: Model, limits: Limits): LlmMessage[] {
  const { shortest, longest, forbidden } = limits.callIds;
  const target = [model.api, model.provider, model.id, model.input, shortest, longest, forbidden].join("\n");
  return conversations.of(messages, target, (prepared, from) => {
    const taken = new Set(prepared.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : [])));
    for (let index = from; index < messages.length; index++) {
      const message = messages[index] as LlmMessage;
      if (message.role === "toolResult") continue;
      const results = message.role === "assistant" ? following(messages, index) : [];
      prepared.push(...withOwnIds(prepareMessage(message, results, model, limits), taken, limits));
    }
  });
}

/** One message of the user or the model, with the results of its calls. */
function prepareMessage(message: Exclude<LlmMessage, ToolResultMessage>, results: readonly ToolResultMessage[], model: Model, limits: Limits): LlmMessage[] {
  if (message.role === "user") {
    const content = visible(typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content, model);
    return content.length > 0 ? [{ ...message, content }] : [];
  }
  const content = assistantContent(message, model, limits);
  if (content.length === 0) return [];
  const calls = content.filter((block): block is ToolCall => block.type === "toolCall");
  return [{ ...message, content }, ...resultsOf(calls, results, model, limits)];
}

/** Some servers number the calls of each answer anew; others refuse an id that was there before. Results are in the order of their calls. */
function withOwnIds(made: LlmMessage[], taken: Set<string>, { callIds }: Limits): LlmMessage[] {
  const renamed: string[] = [];
  const own = (id: string): string => {
    let free = id;
    for (let count = 2; taken.has(free); count++) free = callId(`${id} ${count}`, callIds);
    taken.add(free);
    renamed.push(free);
    return free;
  };
  return made.map((message): LlmMessage => {
    if (message.role === "toolResult") return { ...message, toolCallId: renamed.shift() as string };
    if (message.role === "user") return message;
    return { ...message, content: message.content.map((block) => (block.type === "toolCall" ? { ...block, id: own(block.id) } : block)) };
  });
}

/** Takes away halves of surrogate pairs: they are no text, and servers refuse them. */
export function cleanText(text: string): string {
  return text.isWellFormed() ? text : text.replace(/\p{Surrogate}/gu, "");
}

/** The id as the target takes it. Different ids stay different. */
export function callId(id: string, { shortest = 1, longest, forbidden }: Limits["callIds"]): string {
  // Some programs keep a second id behind a bar.
  const [first = ""] = id.split("|");
  const clean = first.replace(forbidden, "");
  if (clean === first && clean.length >= shortest && clean.length <= longest) return clean;
  const mark = createHash("sha256").update(id).digest("hex").slice(0, Math.min(9, longest));
  return clean.slice(0, longest - mark.length) + mark;
}

function assistantContent(message: AssistantMessage, model: Model, limits: Limits): AssistantContent[] {
  const isOwn = message.model === model.id && message.provider === model.provider && message.api === model.api;
  const isBroken = message.stopReason === "error" || message.stopReason === "aborted";
  const lastWord = message.content.findLastIndex(({ type }) => type !== "thinking");
  return message.content.flatMap((block, index): AssistantContent[] => {
    if (block.type === "thinking") {
      // What broke off before its signature cannot be shown again, nor can signed thinking that nothing follows from: servers refuse it for ever.
      if (block.thinkingSignature ? index > lastWord && (isOwn || isBroken) : isBroken) return [];
      if (isOwn) return block.thinkingSignature || block.thinking.trim() ? [{ ...block, thinking: cleanText(block.thinking) }] : [];
      return block.redacted || !block.thinking.trim() ? [] : [{ type: "text", text: cleanText(block.thinking) }];
    }
    if (block.type === "text") {
      if (!block.text.trim()) return [];
      const { textSignature, ...plain } = block;
      return [{ ...plain, text: cleanText(block.text), ...(isOwn && textSignature && { textSignature }) }];
    }
    // Blocks of other programs that we do not know.
    if (block.type !== "toolCall") return [];
    const { thoughtSignature, ...call } = block;
    return [
      { ...call, id: callId(call.id, limits.callIds), arguments: cleanJson(call.arguments ?? {}), ...(isOwn && thoughtSignature && { thoughtSignature }) },
    ];
  });
}

/** The results between an answer and the next one. */
function following(messages: readonly LlmMessage[], index: number): ToolResultMessage[] {
  const results: ToolResultMessage[] = [];
  for (let at = index + 1; at < messages.length; at++) {
    const message = messages[at] as LlmMessage;
    if (message.role === "assistant") break;
    if (message.role === "toolResult") results.push(message);
  }
  return results;
}

/** One result per call, in the order of the calls. Results of nothing are left out. */
function resultsOf(calls: readonly ToolCall[], results: readonly ToolResultMessage[], model: Model, limits: Limits): ToolResultMessage[] {
  const left = [...results];
  return calls.map((call): ToolResultMessage => {
    const at = left.findIndex(({ toolCallId }) => callId(toolCallId, limits.callIds) === call.id);
    const [found] = at < 0 ? [] : left.splice(at, 1);
    if (!found) {
      const content: UserContent[] = [{ type: "text", text: INTERRUPTED }];
      return { role: "toolResult", toolCallId: call.id, toolName: call.name, content, isError: true, timestamp: 0 };
    }
    const content = visible(found.content, model);
    return { ...found, toolCallId: call.id, content: content.length > 0 ? content : [{ type: "text", text: SILENT }] };
  });
}

/** Content that the model can see; neighbouring notes about images become one. */
function visible(content: readonly UserContent[], model: Model): UserContent[] {
  const seen: UserContent[] = [];
  let noted: string | undefined;
  for (const block of content) {
    if (block.type === "text") {
      if (block.text.trim()) seen.push({ ...block, text: cleanText(block.text) });
      noted = undefined;
    } else if (block.type === "image") {
      const note = noteInsteadOf(block, model);
      if (!note) seen.push(block.mimeType === MISSPELT ? { ...block, mimeType: "image/jpeg" } : block);
      else if (note !== noted) seen.push({ type: "text", text: note });
      noted = note;
    }
  }
  return seen;
}

function noteInsteadOf({ mimeType }: ImageContent, model: Model): string | undefined {
  if (!model.input.includes("image")) return UNSEEN;
  return imageTypes.has(mimeType) || mimeType === MISSPELT ? undefined : NO_IMAGE;
}

function cleanJson<T>(value: T): T {
  if (typeof value === "string") return cleanText(value) as T;
  if (Array.isArray(value)) return value.map(cleanJson) as T;
  if (!value || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, cleanJson(member)])) as T;
}
