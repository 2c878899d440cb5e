/** Puts the message that is being streamed together from its increments, alike in both update modes. */
import type { AgentEvent, AssistantMessage, AssistantMessageEvent, Events, Usage } from "./protocol.ts";

/** `message_update` as the client hands it on. */
export interface MessageUpdate {
  type: "message_update";
  /** The message up to and with this increment; it is not changed later. Absent only for a client that came in the middle of it. */
  message?: AssistantMessage;
  usage?: Usage;
  assistantMessageEvent: AssistantMessageEvent;
}

export type ClientEvent = (Exclude<AgentEvent, Events["message_update"]> | MessageUpdate) & {
  /** number of the record, if the agent counts them */
  seq?: number;
};

export class MessageAssembler {
  #message: AssistantMessage | undefined;

  /** The event with the whole message in it. */
  apply(event: AgentEvent): ClientEvent {
    switch (event.type) {
      case "message_start": {
        if (event.message.role !== "assistant") return event;
        this.#message = { ...event.message, stopReason: "pending" };
        return { ...event, message: this.#message };
      }
      case "message_update":
        return this.#update(event);
      case "message_end":
        this.#message = undefined;
        return event;
      default:
        return event;
    }
  }

  #update(event: Events["message_update"]): MessageUpdate {
    const { partial: _, ...increment } = event.assistantMessageEvent as AssistantMessageEvent & { partial?: unknown };
    const full = "message" in event ? event.message : undefined;
    const usage = "usage" in event ? event.usage : full?.usage;
    if (this.#message) {
      this.#message = { ...this.#message, content: grown(this.#message.content, increment), ...(usage && { usage }) };
    } else if (full) {
      this.#message = { ...full, stopReason: "pending" };
    }
    const { seq } = event as { seq?: number };
    return {
      type: "message_update",
      ...(this.#message && { message: this.#message }),
      ...(usage && { usage }),
      assistantMessageEvent: increment,
      ...(seq !== undefined && { seq }),
    };
  }
}

type Content = AssistantMessage["content"];

/** A copy of the list and of the one block that changes; all others are shared. */
function grown(content: Content, event: AssistantMessageEvent): Content {
  const copy = [...content];
  copy[event.contentIndex] = nextBlock(content[event.contentIndex], event);
  return copy;
}

function nextBlock(block: Content[number] | undefined, event: AssistantMessageEvent): Content[number] {
  switch (event.type) {
    case "text_start":
      return { type: "text", text: "" };
    case "thinking_start":
      return { type: "thinking", thinking: "" };
    case "toolcall_start":
      return { type: "toolCall", id: event.id, name: event.toolName, arguments: {} };
    case "text_delta":
      return { ...block, type: "text", text: (block?.type === "text" ? block.text : "") + event.delta };
    case "thinking_delta":
      return { ...block, type: "thinking", thinking: (block?.type === "thinking" ? block.thinking : "") + event.delta };
    case "text_end":
      return { ...block, type: "text", text: event.content };
    case "thinking_end":
      return { ...block, type: "thinking", thinking: event.content };
    case "toolcall_end":
      return event.toolCall;
    // Half of a JSON text says nothing reliable: arguments are there when they are complete.
    case "toolcall_delta":
      return block ?? { type: "toolCall", id: "", name: "", arguments: {} };
    default:
      return block ?? { type: "text", text: "" };
  }
}
