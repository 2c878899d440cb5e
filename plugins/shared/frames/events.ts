/** Events as frames of a dialect: shared by every transport that writes JSON lines. */
import type { AgentEvent, AssistantMessage } from "../../../core/index.ts";
import { recordFrame, replaceableFrame } from "./serialize.ts";
import { MessageUpdates, type UpdateMode } from "./updates.ts";
import type { Frame } from "./writer.ts";

/** What is needed of a dialect to spell events. */
export interface EventSpelling {
  event(event: AgentEvent): object[];
  sendsPartial: boolean;
}

export class EventFrames {
  readonly #updates = new MessageUpdates();
  readonly #dialect: () => EventSpelling;
  readonly #mode: () => UpdateMode;

  constructor(dialect: () => EventSpelling, mode: () => UpdateMode) {
    this.#dialect = dialect;
    this.#mode = mode;
  }

  /** The frames of one event; events must come in order. */
  of(event: AgentEvent): Frame[] {
    if (event.type === "message_update") return [this.#updates.frame(event.assistantMessageEvent, this.#mode(), this.#dialect().sendsPartial)];
    if (event.type === "message_start") this.#updates.begin();
    const records = this.#dialect().event(this.#shaped(event));
    if (event.type === "tool_execution_update") return records.map((record) => replaceableFrame(record, event.toolCallId));
    return records.map(recordFrame);
  }

  /** In mode `delta` a message that is only beginning says so. */
  #shaped(event: AgentEvent): AgentEvent {
    if (event.type !== "message_start" || this.#mode() !== "delta" || !isBeginning(event.message)) return event;
    return { ...event, message: { ...event.message, stopReason: "pending" } as unknown as AssistantMessage };
  }
}

function isBeginning(message: { role: string }): boolean {
  const { role, content, stopReason } = message as AssistantMessage;
  return role === "assistant" && stopReason === "stop" && content.length === 0;
}
