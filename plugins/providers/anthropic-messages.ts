/** Anthropic's Messages API. */
import type { Anthropic as Sdk } from "@anthropic-ai/sdk";
import type { AssistantMessageEvent, ModelRequest } from "../../core/index.ts";
import type { Draft } from "../shared/draft.ts";
import { anthropicPayload, callIds } from "./anthropic-convert.ts";
import type { Environment } from "./shared/environment.ts";
import { type Address, type Counts, type Ending, exchange, type Reader, type WireApi } from "./shared/exchange.ts";
import { type Target, targetOf } from "./shared/target.ts";

type Payload = Sdk.Messages.MessageCreateParamsStreaming;
type Chunk = Sdk.Messages.RawMessageStreamEvent;

export function streamAnthropic(request: ModelRequest, environment: Environment): AsyncGenerator<AssistantMessageEvent> {
  return exchange(api, request, environment);
}

/** Tokens of a login are sent in another way than keys. */
const LOGIN_TOKEN = "sk-ant-oat";

const api: WireApi<Payload, Chunk> = {
  limits: () => ({ callIds }),
  payload: anthropicPayload,
  headers: (_, { auth }): Record<string, string | null> => {
    const key = auth.apiKey;
    if (key?.startsWith(LOGIN_TOKEN)) return { authorization: `Bearer ${key}`, "anthropic-beta": "oauth-2025-04-20" };
    return { authorization: null, ...(key !== undefined && { "x-api-key": key }) };
  },
  target,
  failure: (chunk) => ((chunk as { type: string }).type === "error" ? chunk : undefined),
  reader: (draft) => new AnthropicReader(draft),
};

function target({ baseUrl, headers }: Address): Promise<Target> {
  return targetOf(JSON.stringify(["anthropic", baseUrl, headers]), async (fetch) => {
    const { Anthropic } = await import("@anthropic-ai/sdk");
    const client = new Anthropic({
      baseURL: baseUrl.replace(/\/v1\/?$/, ""),
      // Any value keeps the SDK from looking for credentials itself; the headers carry ours.
      authToken: "in-headers",
      maxRetries: 0,
      timeout: 2 ** 31 - 1,
      logLevel: "off",
      defaultHeaders: headers,
      fetch,
    });
    await client.post("/v1/messages", { body: Buffer.alloc(0), headers: { "content-type": "application/json" }, stream: true }).asResponse();
  });
}

const endings: Record<string, Ending> = {
  end_turn: { reason: "stop" },
  stop_sequence: { reason: "stop", raw: "stop_sequence" },
  pause_turn: { reason: "stop", raw: "pause_turn" },
  tool_use: { reason: "toolUse" },
  max_tokens: { reason: "length" },
  model_context_window_exceeded: { reason: "length", raw: "model_context_window_exceeded" },
};

class AnthropicReader implements Reader<Chunk> {
  readonly #draft: Draft;
  /** the API's block numbers to ours */
  readonly #places = new Map<number, number>();
  #signatures = new Map<number, string>();
  #counts: Counts | undefined;
  #stop: string | undefined;
  #refusal: string | undefined;
  #isOver = false;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  read(chunk: Chunk): void {
    if (chunk.type === "message_start") {
      const { id, model, usage } = chunk.message;
      this.#draft.note({ ...(id && { responseId: id }), ...(model && model !== this.#draft.message.model && { responseModel: model }) });
      this.#count(usage);
    } else if (chunk.type === "content_block_start") this.#begin(chunk.index, chunk.content_block);
    else if (chunk.type === "content_block_delta") this.#continue(chunk.index, chunk.delta);
    else if (chunk.type === "content_block_stop") this.#finish(chunk.index);
    else if (chunk.type === "message_delta") {
      this.#stop = chunk.delta?.stop_reason ?? this.#stop;
      this.#refusal = chunk.delta?.stop_details?.explanation ?? this.#refusal;
      this.#count(chunk.usage);
    } else if (chunk.type === "message_stop") this.#isOver = true;
  }

  ending(): Ending {
    if (!this.#isOver && !this.#stop) throw new Error("The stream ended before message_stop.");
    if (this.#stop === "refusal") return { error: `The model refused to answer${this.#refusal ? `: ${this.#refusal}` : "."}`, raw: "refusal" };
    const known = endings[this.#stop ?? "end_turn"] ?? { reason: "stop", raw: this.#stop };
    return "reason" in known && known.reason === "stop" && this.#draft.hasCalls ? { ...known, reason: "toolUse" } : known;
  }

  counts(): Counts | undefined {
    return this.#counts;
  }

  #begin(index: number, block: Sdk.Messages.ContentBlock): void {
    // Blocks of tools that run at the provider are not ours to show.
    if (block.type === "tool_use") {
      const place = this.#draft.openCall(block.id, block.name);
      this.#places.set(index, place);
      // Some servers send the whole input at once.
      if (block.input && Object.keys(block.input).length > 0) this.#draft.append(place, JSON.stringify(block.input));
      return;
    }
    if (block.type !== "text" && block.type !== "thinking" && block.type !== "redacted_thinking") return;
    const place =
      block.type === "text"
        ? this.#draft.open({ type: "text", text: "" })
        : this.#draft.open({ type: "thinking", thinking: "", ...(block.type === "redacted_thinking" && { thinkingSignature: block.data, redacted: true }) });
    this.#places.set(index, place);
    if (block.type === "text" && block.text) this.#draft.append(place, block.text);
    if (block.type === "thinking" && block.thinking) this.#draft.append(place, block.thinking);
    if (block.type === "thinking" && block.signature) this.#signatures.set(place, block.signature);
  }

  #continue(index: number, delta: Sdk.Messages.RawContentBlockDelta): void {
    const place = this.#places.get(index);
    if (place === undefined || !delta) return;
    if (delta.type === "text_delta") this.#draft.append(place, delta.text ?? "");
    else if (delta.type === "thinking_delta") this.#draft.append(place, delta.thinking ?? "");
    else if (delta.type === "input_json_delta") this.#draft.append(place, delta.partial_json ?? "");
    else if (delta.type === "signature_delta") this.#signatures.set(place, (this.#signatures.get(place) ?? "") + delta.signature);
  }

  #finish(index: number): void {
    const place = this.#places.get(index);
    if (place === undefined) return;
    const thinkingSignature = this.#signatures.get(place);
    if (thinkingSignature) this.#draft.amend(place, { thinkingSignature });
    this.#draft.close(place);
  }

  /** Later numbers replace earlier ones; what a record leaves out stays. */
  #count(usage: Partial<Sdk.Messages.Usage> | Partial<Sdk.Messages.MessageDeltaUsage> | null | undefined): void {
    if (!usage) return;
    const before = this.#counts ?? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const longWrites = "cache_creation" in usage ? usage.cache_creation?.ephemeral_1h_input_tokens : undefined;
    const reasoning = usage.output_tokens_details?.thinking_tokens;
    this.#counts = {
      ...before,
      input: usage.input_tokens ?? before.input,
      output: usage.output_tokens ?? before.output,
      cacheRead: usage.cache_read_input_tokens ?? before.cacheRead,
      cacheWrite: usage.cache_creation_input_tokens ?? before.cacheWrite,
      ...(longWrites && { cacheWrite1h: longWrites }),
      ...(reasoning && { reasoning }),
    };
  }
}
