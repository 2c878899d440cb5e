/** What an extension's events have told of its message so far. The message they carry is alive, and may be far ahead of them. */
import type { AssistantContent, ToolCall } from "../../core/index.ts";
import { PartialJson } from "../shared/partial-json.ts";

type Increment = { type: string; contentIndex: number; delta?: string; content?: string; toolCall?: ToolCall };

export class ToldContent {
  #blocks: readonly AssistantContent[] = [];
  readonly #calls = new Map<number, PartialJson>();

  /** The blocks as they stand after `event`. Earlier answers never change. */
  after(event: Increment, live: readonly AssistantContent[] = []): AssistantContent[] {
    const { contentIndex } = event;
    const blocks = this.#blocks.slice();
    // Blocks that no event told of, such as hidden thinking, are taken as they are.
    for (let index = blocks.length; index < contentIndex && live[index]; index++) blocks[index] = { ...(live[index] as AssistantContent) };
    blocks[contentIndex] = this.#blockAfter(event, blocks[contentIndex], live[contentIndex]);
    this.#blocks = blocks;
    return blocks;
  }

  #blockAfter(event: Increment, told: AssistantContent | undefined, live: AssistantContent | undefined): AssistantContent {
    const { contentIndex, delta = "" } = event;
    const [kind, phase] = event.type.split("_");
    if (kind === "toolcall") {
      const call = live as Partial<ToolCall> | undefined;
      if (phase === "end") return { type: "toolCall", id: "", name: "", arguments: {}, ...call, ...event.toolCall };
      if (phase === "start" || !told) {
        this.#calls.set(contentIndex, new PartialJson());
        told = { type: "toolCall", id: call?.id ?? "", name: call?.name ?? "", arguments: {} };
      }
      return { ...(told as ToolCall), arguments: this.#calls.get(contentIndex)?.feed(delta) ?? {} };
    }
    // What comes with a block, such as a signature, is complete at its end only.
    const rest = phase === "end" ? live : phase === "start" ? undefined : told;
    if (kind === "text") return { ...rest, type: "text", text: event.content ?? textOf(told) + delta };
    return { ...rest, type: "thinking", thinking: event.content ?? textOf(told) + delta };
  }
}

function textOf(block: AssistantContent | undefined): string {
  if (block?.type === "text") return block.text;
  return block?.type === "thinking" ? block.thinking : "";
}
