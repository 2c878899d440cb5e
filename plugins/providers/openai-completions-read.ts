/** Reads the chunks of a chat completion. Servers differ, so nothing about a chunk is taken for granted. */
import { randomUUID } from "node:crypto";
import type { OpenAI as Sdk } from "openai";
import type { Draft } from "../shared/draft.ts";
import type { Counts, Ending, Reader } from "./shared/exchange.ts";

type Chunk = Sdk.Chat.ChatCompletionChunk;
type CallDelta = Sdk.Chat.ChatCompletionChunk.Choice.Delta.ToolCall & { extra_content?: unknown };
type Delta = Sdk.Chat.ChatCompletionChunk.Choice.Delta & Record<string, unknown>;
type Detail = Record<string, unknown>;

/** where servers put what the model thinks */
const thinkingFields = ["reasoning_content", "reasoning", "reasoning_text"] as const;

const endings: Record<string, Ending> = {
  stop: { reason: "stop" },
  end: { reason: "stop", raw: "end" },
  length: { reason: "length" },
  tool_calls: { reason: "toolUse" },
  function_call: { reason: "toolUse", raw: "function_call" },
  content_filter: { error: "The provider's content filter stopped the answer.", raw: "content_filter" },
  network_error: { error: "The provider reported a network error.", raw: "network_error" },
};

interface Call {
  id: string;
  /** undefined until its name has come */
  place: number | undefined;
  waiting: string;
}

export class CompletionsReader implements Reader<Chunk> {
  readonly #draft: Draft;
  /** the block that text or thinking goes to */
  #open: { kind: "text" | "thinking"; place: number } | undefined;
  readonly #calls = new Map<number | string, Call>();
  #lastCall: number | string = 0;
  #details: Detail[] = [];
  /** where the details of thinking are kept */
  #thinkingPlace: number | undefined;
  #counts: Counts | undefined;
  #finish: string | undefined;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  read(chunk: Chunk): void {
    if (!this.#draft.message.responseId && chunk.id) this.#draft.note({ responseId: chunk.id });
    if (chunk.model && chunk.model !== this.#draft.message.model && chunk.model !== this.#draft.message.responseModel) {
      this.#draft.note({ responseModel: chunk.model });
    }
    const choice = chunk.choices?.[0] as (Sdk.Chat.ChatCompletionChunk.Choice & { usage?: Sdk.CompletionUsage }) | undefined;
    this.#count(chunk.usage ?? choice?.usage);
    if (!choice) return;
    if (choice.delta) this.#readDelta(choice.delta as Delta);
    if (choice.finish_reason) this.#finish = choice.finish_reason;
  }

  ending(): Ending {
    if (!this.#finish) throw new Error("The stream ended without a finish_reason.");
    if (this.#thinkingPlace !== undefined && this.#details.length > 0) {
      this.#draft.amend(this.#thinkingPlace, { thinkingSignature: JSON.stringify(this.#details) });
    }
    const known = endings[this.#finish] ?? { error: `The provider stopped the answer: ${this.#finish}`, raw: this.#finish };
    return "reason" in known && known.reason === "stop" && this.#draft.hasCalls ? { ...known, reason: "toolUse" } : known;
  }

  counts(): Counts | undefined {
    return this.#counts;
  }

  #readDelta(delta: Delta): void {
    for (const field of thinkingFields) {
      const text = delta[field];
      if (typeof text !== "string" || text === "") continue;
      this.#grow("thinking", text, field);
      break;
    }
    if (Array.isArray(delta.reasoning_details)) this.#readDetails(delta.reasoning_details as Detail[]);
    this.#readContent(delta.content);
    if (typeof delta.refusal === "string" && delta.refusal) this.#grow("text", delta.refusal);
    for (const call of delta.tool_calls ?? []) this.#readCall(call);
  }

  /** A text; at Mistral, once a model thinks, a list of parts. */
  #readContent(content: unknown): void {
    const parts = Array.isArray(content) ? (content as (Detail | null)[]) : [{ type: "text", text: content }];
    for (const part of parts) {
      const kind = part?.type === "thinking" ? "thinking" : "text";
      const text = plainText(part?.[kind]);
      if (text) this.#grow(kind, text);
    }
  }

  #grow(kind: "text" | "thinking", text: string, signature?: string): void {
    if (this.#open?.kind !== kind) {
      this.#closeOpen();
      const place = this.#draft.open(
        kind === "text" ? { type: "text", text: "" } : { type: "thinking", thinking: "", ...(signature && { thinkingSignature: signature }) },
      );
      this.#open = { kind, place };
      if (kind === "thinking") this.#thinkingPlace ??= place;
    }
    this.#draft.append(this.#open?.place ?? 0, text);
  }

  #closeOpen(): void {
    const place = this.#open?.place;
    this.#open = undefined;
    if (place !== undefined) this.#draft.close(place);
  }

  /** Details come in pieces too: those of one number belong together. */
  #readDetails(details: readonly Detail[]): void {
    for (const detail of details) {
      const same = this.#details.findIndex((other) => other.index === detail.index && other.type === detail.type && detail.index !== undefined);
      if (same < 0) this.#details.push({ ...detail });
      else this.#details[same] = joined(this.#details[same] as Detail, detail);
    }
    if (this.#thinkingPlace !== undefined) return;
    this.#thinkingPlace = this.#draft.open({ type: "thinking", thinking: "", redacted: true });
    this.#draft.close(this.#thinkingPlace);
  }

  #readCall(delta: CallDelta): void {
    this.#closeOpen();
    const name = delta.function?.name;
    // Some servers leave the number out: a new id is a new call, no id the one before.
    const key = delta.index ?? delta.id ?? this.#lastCall;
    this.#lastCall = key;
    let call = this.#calls.get(key);
    // Others give all calls one number: a name under another id begins a call.
    if (!call || (name && delta.id && delta.id !== call.id)) {
      call = { id: delta.id || `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`, place: undefined, waiting: "" };
      this.#calls.set(key, call);
    }
    const given: unknown = delta.function?.arguments;
    const text = typeof given === "string" ? given : given ? JSON.stringify(given) : "";
    if (call.place === undefined && name) {
      call.place = this.#draft.openCall(call.id, name);
      this.#draft.append(call.place, call.waiting);
    }
    if (call.place === undefined) call.waiting += text;
    else {
      if (delta.extra_content) this.#draft.amend(call.place, { thoughtSignature: JSON.stringify(delta.extra_content) });
      this.#draft.append(call.place, text);
    }
  }

  #count(usage: Sdk.CompletionUsage | null | undefined): void {
    if (!usage) return;
    const prompt = usage.prompt_tokens ?? 0;
    const completion = usage.completion_tokens ?? 0;
    const cacheRead = usage.prompt_tokens_details?.cached_tokens ?? (usage as { prompt_cache_hit_tokens?: number }).prompt_cache_hit_tokens ?? 0;
    const cacheWrite = usage.prompt_tokens_details?.cache_write_tokens ?? 0;
    const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? 0;
    // A few servers count what was thought beside the answer, which shows in the total.
    const isBeside = reasoning > 0 && usage.total_tokens === prompt + completion + reasoning;
    this.#counts = {
      input: Math.max(0, prompt - cacheRead - cacheWrite),
      output: isBeside ? completion + reasoning : completion,
      cacheRead,
      cacheWrite,
      ...(reasoning > 0 && { reasoning }),
    };
  }
}

function plainText(given: unknown): string {
  if (typeof given === "string") return given;
  return Array.isArray(given) ? given.map((part: Detail | null) => plainText(part?.text)).join("") : "";
}

function joined(before: Detail, more: Detail): Detail {
  const result = { ...before, ...more };
  for (const field of ["text", "summary", "data"]) {
    if (typeof before[field] === "string" && typeof more[field] === "string") result[field] = before[field] + more[field];
  }
  return result;
}
