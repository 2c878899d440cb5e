/** The assistant message while it streams: blocks may be open side by side, and every event has its own snapshot. */
import {
  type AssistantContent,
  type AssistantMessage,
  type AssistantMessageEvent,
  emptyMessage,
  type Model,
  type TextContent,
  type ThinkingContent,
  type ToolCall,
  type Usage,
} from "../../core/index.ts";
import { PartialJson } from "./partial-json.ts";

type Reason = "stop" | "length" | "toolUse";

/** Copies what changes (block, list, message) and nothing else; what was handed out stays as it was. */
export class Draft {
  #message: AssistantMessage;
  #isStarted = false;
  /** the open blocks by their place; tool calls with their reader */
  readonly #open = new Map<number, PartialJson | undefined>();

  constructor(model: Model) {
    this.#message = emptyMessage(model, "stop");
  }

  get message(): AssistantMessage {
    return this.#message;
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Sets fields of the message itself: ids, usage. The next event shows them. */
  note(fields: Partial<Pick<AssistantMessage, "responseId" | "responseModel" | "usage" | "rawStopReason">>): void {
    this.#message = { ...this.#message, ...fields };
  }

  start(): AssistantMessageEvent {
    this.#isStarted = true;
    return { type: "start", partial: this.#message };
  }

  /** Opens a block; its place is `contentIndex` of the event. */
  open(block: TextContent | ThinkingContent): Extract<AssistantMessageEvent, { contentIndex: number }> {
    const contentIndex = this.#push(block);
    this.#open.set(contentIndex, undefined);
    return { type: `${block.type}_start`, contentIndex, partial: this.#message };
  }

  openCall(id: string, name: string): Extract<AssistantMessageEvent, { contentIndex: number }> {
    const contentIndex = this.#push({ type: "toolCall", id, name, arguments: {} });
    this.#open.set(contentIndex, new PartialJson());
    return { type: "toolcall_start", contentIndex, id, toolName: name, partial: this.#message };
  }

  /** Adds to an open block. Nothing to add: no event. */
  *append(contentIndex: number, delta: string): Generator<AssistantMessageEvent> {
    const block = this.#message.content[contentIndex];
    if (delta === "" || !block || !this.#open.has(contentIndex)) return;
    if (block.type === "text") this.#replace(contentIndex, { ...block, text: block.text + delta });
    else if (block.type === "thinking") this.#replace(contentIndex, { ...block, thinking: block.thinking + delta });
    else this.#replace(contentIndex, { ...block, arguments: this.#open.get(contentIndex)?.feed(delta) ?? {} });
    const kind = block.type === "toolCall" ? "toolcall" : block.type;
    yield { type: `${kind}_delta`, contentIndex, delta, partial: this.#message };
  }

  /** Changes fields of a block without an event of its own, e.g. its signature. */
  amend(contentIndex: number, fields: Partial<TextContent> | Partial<ThinkingContent> | Partial<ToolCall>): void {
    const block = this.#message.content[contentIndex];
    if (block) this.#replace(contentIndex, { ...block, ...fields } as AssistantContent);
  }

  *close(contentIndex: number): Generator<AssistantMessageEvent> {
    const block = this.#message.content[contentIndex];
    if (!block || !this.#open.has(contentIndex)) return;
    const json = this.#open.get(contentIndex);
    this.#open.delete(contentIndex);
    if (block.type === "toolCall") {
      const toolCall: ToolCall = json ? { ...block, arguments: json.end() } : block;
      this.#replace(contentIndex, toolCall);
      yield { type: "toolcall_end", contentIndex, toolCall, partial: this.#message };
    } else if (block.type === "text") yield { type: "text_end", contentIndex, content: block.text, partial: this.#message };
    else yield { type: "thinking_end", contentIndex, content: block.thinking, partial: this.#message };
  }

  *closeAll(): Generator<AssistantMessageEvent> {
    for (const contentIndex of [...this.#open.keys()]) yield* this.close(contentIndex);
  }

  get hasCalls(): boolean {
    return this.#message.content.some(({ type }) => type === "toolCall");
  }

  done(reason: Reason, usage: Usage): AssistantMessageEvent {
    return { type: "done", reason, message: { ...this.#message, usage, stopReason: reason } };
  }

  fail(reason: "error" | "aborted", errorMessage: string, usage: Usage): AssistantMessageEvent {
    return { type: "error", reason, error: { ...this.#message, usage, stopReason: reason, errorMessage } };
  }

  #push(block: AssistantContent): number {
    this.#message = { ...this.#message, content: [...this.#message.content, block] };
    return this.#message.content.length - 1;
  }

  #replace(contentIndex: number, block: AssistantContent): void {
    const content = this.#message.content.slice();
    content[contentIndex] = block;
    this.#message = { ...this.#message, content };
  }
}
