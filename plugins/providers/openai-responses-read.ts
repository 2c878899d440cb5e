/** Reads the events of a response. Items may stream side by side; each is known by its number. */
import { randomUUID } from "node:crypto";
import type { OpenAI as Sdk } from "openai";
import type { Draft } from "../shared/draft.ts";
import type { TextMark } from "./openai-responses-convert.ts";
import type { Counts, Ending, Reader } from "./shared/exchange.ts";

type Chunk = Sdk.Responses.ResponseStreamEvent;
type Item = Sdk.Responses.ResponseOutputItem;

interface Streamed {
  place: number;
  /** characters that have come as deltas */
  length: number;
}

export class ResponsesReader implements Reader<Chunk> {
  readonly #draft: Draft;
  readonly #items = new Map<number, Streamed>();
  readonly #finished = new Set<number>();
  #counts: Counts | undefined;
  #ending: Ending | undefined;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  read(chunk: Chunk): void {
    switch (chunk.type) {
      case "response.created":
        this.#note(chunk.response);
        return;
      case "response.output_item.added":
        this.#begin(chunk.output_index, chunk.item);
        return;
      case "response.reasoning_summary_part.added":
        // Parts of a summary are paragraphs.
        if (chunk.summary_index > 0) this.#grow(chunk.output_index, "\n\n");
        return;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
      case "response.output_text.delta":
      case "response.refusal.delta":
      case "response.function_call_arguments.delta":
        this.#grow(chunk.output_index, chunk.delta);
        return;
      case "response.output_item.done":
        this.#finish(chunk.output_index, chunk.item);
        return;
      case "response.completed":
      case "response.incomplete":
        this.#complete(chunk.response);
        return;
      case "response.failed":
        this.#note(chunk.response);
        this.#ending = { error: failureText(chunk.response) };
        return;
      case "error":
        this.#ending = { error: JSON.stringify({ code: chunk.code, message: chunk.message, param: chunk.param ?? null }) };
    }
  }

  ending(): Ending {
    if (!this.#ending) throw new Error("The stream ended before a terminal response event.");
    return this.#ending;
  }

  counts(): Counts | undefined {
    return this.#counts;
  }

  #note({ id, model }: Sdk.Responses.Response): void {
    this.#draft.note({ ...(id && { responseId: id }), ...(model && model !== this.#draft.message.model && { responseModel: model }) });
  }

  #begin(index: number, item: Item): void {
    if (item.type !== "message" && item.type !== "reasoning" && item.type !== "function_call") return;
    const place =
      item.type === "function_call"
        ? this.#draft.openCall(item.call_id || `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`, item.name)
        : this.#draft.open(item.type === "message" ? { type: "text", text: "" } : { type: "thinking", thinking: "" });
    this.#items.set(index, { place, length: 0 });
  }

  #grow(index: number, delta: string): void {
    const streamed = this.#items.get(index);
    if (!streamed || !delta) return;
    streamed.length += delta.length;
    this.#draft.append(streamed.place, delta);
  }

  /** The finished item has all of the text, also where the server sent no deltas, and what identifies it. */
  #finish(index: number, item: Item): void {
    if (this.#finished.has(index)) return;
    if (!this.#items.has(index)) this.#begin(index, item);
    const streamed = this.#items.get(index);
    if (!streamed) return;
    this.#finished.add(index);
    const whole = textOfItem(item);
    if (whole.length > streamed.length) this.#grow(index, whole.slice(streamed.length));
    if (item.type === "reasoning") {
      const { id, summary, encrypted_content, content } = item;
      const kept = { type: "reasoning", id, summary: summary ?? [], ...(content && { content }), ...(encrypted_content && { encrypted_content }) };
      this.#draft.amend(streamed.place, { thinkingSignature: JSON.stringify(kept) });
    }
    if (item.type === "message" && item.id) {
      const mark: TextMark = { id: item.id, ...(item.phase && { phase: item.phase }) };
      this.#draft.amend(streamed.place, { textSignature: JSON.stringify(mark) });
    }
    this.#draft.close(streamed.place);
  }

  #complete(response: Sdk.Responses.Response): void {
    this.#note(response);
    for (const [index, item] of (response.output ?? []).entries()) this.#finish(index, item);
    this.#count(response.usage);
    const reason = response.status === "incomplete" ? response.incomplete_details?.reason : undefined;
    if (reason === "content_filter") this.#ending = { error: "The provider's content filter stopped the answer.", raw: reason };
    else if (response.status === "incomplete") this.#ending = { reason: "length", ...(reason && reason !== "max_output_tokens" && { raw: reason }) };
    else this.#ending = { reason: this.#draft.hasCalls ? "toolUse" : "stop" };
  }

  #count(usage: Sdk.Responses.ResponseUsage | null | undefined): void {
    if (!usage) return;
    const cacheRead = usage.input_tokens_details?.cached_tokens ?? 0;
    const cacheWrite = usage.input_tokens_details?.cache_write_tokens ?? 0;
    const reasoning = usage.output_tokens_details?.reasoning_tokens ?? 0;
    this.#counts = {
      input: Math.max(0, (usage.input_tokens ?? 0) - cacheRead - cacheWrite),
      output: usage.output_tokens ?? 0,
      cacheRead,
      cacheWrite,
      ...(reasoning > 0 && { reasoning }),
    };
  }
}

function textOfItem(item: Item): string {
  if (item.type === "function_call") return item.arguments ?? "";
  if (item.type === "message") return (item.content ?? []).map((part) => (part.type === "output_text" ? part.text : part.refusal)).join("");
  if (item.type !== "reasoning") return "";
  const summary = (item.summary ?? []).map(({ text }) => text).join("\n\n");
  return summary || (item.content ?? []).map(({ text }) => text).join("");
}

function failureText({ error, status }: Sdk.Responses.Response): string {
  return error ? JSON.stringify({ code: error.code, message: error.message }) : `The response ended with the status ${status ?? "failed"}.`;
}
