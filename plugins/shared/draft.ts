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

/** Of deltas that arrive together these many are shown one by one, the rest as one: a flood is read at the pace of its bytes. */
const ONE_BY_ONE = 16;

/** Copies what changes (block, list, message) and nothing else; what was handed out stays as it was. Events gather until they are taken. */
export class Draft {
  #message: AssistantMessage;
  #isStarted = false;
  /** the open blocks by their place; tool calls with their reader */
  readonly #open = new Map<number, PartialJson | undefined>();
  #events: AssistantMessageEvent[] = [];
  /** an addition to an open block that no event shows yet */
  #heldAt = -1;
  #held = "";
  #isCut = false;

  constructor(model: Model) {
    this.#message = emptyMessage(model, "stop");
  }

  /** The message so far, without what is not shown yet. */
  get message(): AssistantMessage {
    return this.#message;
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** The events since the last time. The message is announced first, with all that is known about it by now, but without the blocks to come. */
  take(): AssistantMessageEvent[] {
    this.#show();
    const events = this.#events;
    this.#events = [];
    if (this.#isStarted) return events;
    this.#isStarted = true;
    return [{ type: "start", partial: events.length > 0 ? { ...this.#message, content: [] } : this.#message }, ...events];
  }

  /** Sets fields of the message itself: ids, usage. The next event shows them. */
  note(fields: Partial<Pick<AssistantMessage, "responseId" | "responseModel" | "usage" | "rawStopReason">>): void {
    this.#message = { ...this.#message, ...fields };
  }

  /** Opens a block and answers its place. */
  open(block: TextContent | ThinkingContent): number {
    const contentIndex = this.#push(block);
    this.#open.set(contentIndex, undefined);
    this.#events.push({ type: `${block.type}_start`, contentIndex, partial: this.#message });
    return contentIndex;
  }

  openCall(id: string, name: string): number {
    const contentIndex = this.#push({ type: "toolCall", id, name, arguments: {} });
    this.#open.set(contentIndex, new PartialJson());
    this.#events.push({ type: "toolcall_start", contentIndex, id, toolName: name, partial: this.#message });
    return contentIndex;
  }

  /** Adds to an open block. Nothing to add: no event. */
  append(contentIndex: number, delta: string): void {
    if (delta === "") return;
    if (contentIndex === this.#heldAt && this.#events.length >= ONE_BY_ONE) {
      this.#held += delta;
      return;
    }
    if (!this.#open.has(contentIndex)) return;
    this.#show();
    this.#heldAt = contentIndex;
    this.#held = delta;
  }

  /** Changes fields of a block without an event of its own, e.g. its signature. */
  amend(contentIndex: number, fields: Partial<TextContent> | Partial<ThinkingContent> | Partial<ToolCall>): void {
    this.#show();
    const block = this.#message.content[contentIndex];
    if (block) this.#replace(contentIndex, { ...block, ...fields } as AssistantContent);
  }

  close(contentIndex: number): void {
    this.#show();
    const block = this.#message.content[contentIndex];
    if (!block || !this.#open.has(contentIndex)) return;
    const json = this.#open.get(contentIndex);
    this.#open.delete(contentIndex);
    if (block.type === "toolCall") {
      const toolCall: ToolCall = json ? { ...block, arguments: json.end() } : block;
      this.#isCut ||= json?.isCut === true;
      this.#replace(contentIndex, toolCall);
      this.#events.push({ type: "toolcall_end", contentIndex, toolCall, partial: this.#message });
    } else if (block.type === "text") this.#events.push({ type: "text_end", contentIndex, content: block.text, partial: this.#message });
    else this.#events.push({ type: "thinking_end", contentIndex, content: block.thinking, partial: this.#message });
  }

  closeAll(): void {
    for (const contentIndex of [...this.#open.keys()]) this.close(contentIndex);
  }

  get hasCalls(): boolean {
    return this.#message.content.some(({ type }) => type === "toolCall");
  }

  /** The arguments of a call broke off: what is there of them was not meant to be run. */
  get isCut(): boolean {
    return this.#isCut;
  }

  done(reason: Reason, usage: Usage): AssistantMessageEvent {
    return { type: "done", reason, message: { ...this.#message, usage, stopReason: reason } };
  }

  fail(reason: "error" | "aborted", errorMessage: string, usage: Usage): AssistantMessageEvent {
    return { type: "error", reason, error: { ...this.#message, usage, stopReason: reason, errorMessage } };
  }

  /** Makes an event of what is held back. */
  #show(): void {
    if (this.#heldAt < 0) return;
    const contentIndex = this.#heldAt;
    const delta = this.#held;
    this.#heldAt = -1;
    this.#held = "";
    const block = this.#message.content[contentIndex] as AssistantContent;
    if (block.type === "text") this.#replace(contentIndex, { ...block, text: block.text + delta });
    else if (block.type === "thinking") this.#replace(contentIndex, { ...block, thinking: block.thinking + delta });
    else this.#replace(contentIndex, { ...block, arguments: this.#open.get(contentIndex)?.feed(delta) ?? {} });
    const kind = block.type === "toolCall" ? "toolcall" : block.type;
    this.#events.push({ type: `${kind}_delta`, contentIndex, delta, partial: this.#message });
  }

  #push(block: AssistantContent): number {
    this.#show();
    this.#message = { ...this.#message, content: [...this.#message.content, block] };
    return this.#message.content.length - 1;
  }

  #replace(contentIndex: number, block: AssistantContent): void {
    const content = this.#message.content.slice();
    content[contentIndex] = block;
    this.#message = { ...this.#message, content };
  }
}
