/** Builds an assistant message block by block; every event carries its own snapshot, and nothing emitted is changed later. */
import { randomUUID } from "node:crypto";
import {
  type AssistantContent,
  type AssistantMessage,
  type AssistantMessageEvent,
  emptyMessage,
  type Model,
  type ToolCall,
  type Usage,
} from "../../../core/index.ts";

export class MessageBuilder {
  #message: AssistantMessage;
  #started = false;
  textLength = 0;

  constructor(model: Model) {
    this.#message = emptyMessage(model, "stop");
  }

  /** the snapshot so far; undefined before `start` */
  get partial(): AssistantMessage | undefined {
    return this.#started ? this.#message : undefined;
  }

  start(): AssistantMessageEvent {
    this.#started = true;
    return { type: "start", partial: this.#message };
  }

  setUsage(usage: Usage): void {
    this.#message = { ...this.#message, usage };
  }

  /** Opens a block of text or thinking; `append` and `close` work on it. */
  open(kind: "text" | "thinking"): AssistantMessageEvent {
    const partial = this.#push(kind === "text" ? { type: "text", text: "" } : { type: "thinking", thinking: "" });
    return { type: `${kind}_start`, contentIndex: this.#last, partial };
  }

  append(delta: string): AssistantMessageEvent {
    const block = this.#message.content[this.#last] as AssistantContent;
    this.textLength += delta.length;
    if (block.type === "thinking") {
      return { type: "thinking_delta", contentIndex: this.#last, delta, partial: this.#replace({ ...block, thinking: block.thinking + delta }) };
    }
    if (block.type === "text") return { type: "text_delta", contentIndex: this.#last, delta, partial: this.#replace({ ...block, text: block.text + delta }) };
    throw new Error("append needs an open block of text or thinking");
  }

  close(): AssistantMessageEvent {
    const block = this.#message.content[this.#last] as AssistantContent;
    const contentIndex = this.#last;
    const partial = this.#message;
    if (block.type === "text") return { type: "text_end", contentIndex, content: block.text, partial };
    if (block.type === "thinking") return { type: "thinking_end", contentIndex, content: block.thinking, partial };
    return { type: "toolcall_end", contentIndex, toolCall: block, partial };
  }

  /** A whole tool call whose JSON arrives in `pieces`. */
  *toolCall(name: string, pieces: readonly string[], id = `call_${randomUUID().slice(0, 8)}`): Generator<AssistantMessageEvent> {
    const call: ToolCall = { type: "toolCall", id, name, arguments: {} };
    yield { type: "toolcall_start", contentIndex: this.#message.content.length, id, toolName: name, partial: this.#push(call) };
    for (const delta of pieces) {
      this.textLength += delta.length;
      yield { type: "toolcall_delta", contentIndex: this.#last, delta, partial: this.#message };
    }
    const text = pieces.join("");
    this.#replace({ ...call, arguments: text === "" ? {} : JSON.parse(text) });
    yield this.close();
  }

  done(stopReason?: "stop" | "length" | "toolUse"): AssistantMessageEvent {
    const hasCalls = this.#message.content.some(({ type }) => type === "toolCall");
    const reason = stopReason ?? (hasCalls ? "toolUse" : "stop");
    return { type: "done", reason, message: { ...this.#message, stopReason: reason } };
  }

  fail(reason: "error" | "aborted", errorMessage: string): AssistantMessageEvent {
    return { type: "error", reason, error: { ...this.#message, stopReason: reason, errorMessage } };
  }

  get #last(): number {
    return this.#message.content.length - 1;
  }

  #push(block: AssistantContent): AssistantMessage {
    this.#message = { ...this.#message, content: [...this.#message.content, block] };
    return this.#message;
  }

  #replace(block: AssistantContent): AssistantMessage {
    this.#message = { ...this.#message, content: [...this.#message.content.slice(0, -1), block] };
    return this.#message;
  }
}
