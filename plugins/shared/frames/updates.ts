/** `message_update` on the wire. In mode `full` each update carries the whole message, so its escaped bytes are kept and copied, never made again. */
import type { AssistantContent, AssistantMessage, BlockEvent } from "../../../core/index.ts";
import { escapeText, toJson } from "./serialize.ts";
import type { Frame } from "./writer.ts";

export type UpdateMode = "full" | "delta";

/** Bytes that only ever grow at the end, so that a frame may remember a length instead of a copy. */
class Bytes {
  #buffer = Buffer.allocUnsafe(256);
  length = 0;

  append(text: string): this {
    const added = Buffer.byteLength(text);
    if (this.length + added > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.length + added));
      this.#buffer.copy(larger, 0, 0, this.length);
      this.#buffer = larger;
    }
    this.#buffer.write(text, this.length);
    this.length += added;
    return this;
  }

  copyTo(target: Buffer, at: number, length: number): number {
    return this.#buffer.copy(target, at, 0, length);
  }
}

/** A prefix of some bytes: what they were at one moment. */
interface Slice {
  bytes: Bytes;
  length: number;
}

interface KnownBlock {
  block: AssistantContent;
  /** without the closing part while the block can still grow */
  bytes: Bytes;
  /** what closes the block after `bytes` */
  tail: string;
}

/** Makes the frames of one stream of events. */
export class MessageUpdates {
  #message: AssistantMessage | undefined;
  #blocks: KnownBlock[] = [];
  #head = "";
  #tail = "";
  #count = 0;

  /** A new message begins: its updates are no neighbours of the old one's. */
  begin(): void {
    this.#message = undefined;
    this.#blocks = [];
    this.#count++;
  }

  frame(event: BlockEvent, mode: UpdateMode, sendsPartial: boolean): Frame {
    const { partial, ...increment } = event;
    if (mode === "delta") return new DeltaFrame(increment, partial, this.#count);
    this.#advance(partial, event);
    const slices = this.#blocks.map(({ bytes, tail }): [Slice, string] => [{ bytes, length: bytes.length }, tail]);
    return new FullFrame(increment, { head: this.#head, blocks: slices, tail: this.#tail }, sendsPartial, this.#count);
  }

  /** Brings what is known up to `message`; whatever is not simply the old plus this delta is serialized anew. */
  #advance(message: AssistantMessage, event: BlockEvent): void {
    if (!this.#message || !sameFrame(this.#message, message)) [this.#head, this.#tail] = frameOf(message);
    this.#message = message;
    this.#blocks.length = Math.min(this.#blocks.length, message.content.length);
    for (const [index, block] of message.content.entries()) {
      const known = this.#blocks[index];
      if (known?.block === block) continue;
      if (known && index === event.contentIndex && grew(known, block, event)) known.block = block;
      else this.#blocks[index] = serialized(block);
    }
  }
}

/** Appends the delta if that is all that happened to the block. Lengths tell: reading the texts would flatten them each time. */
function grew(known: KnownBlock, block: AssistantContent, event: BlockEvent): boolean {
  if (event.type === "text_delta" && block.type === "text" && known.block.type === "text") {
    if (block.textSignature !== known.block.textSignature || block.text.length !== known.block.text.length + event.delta.length) return false;
  } else if (event.type === "thinking_delta" && block.type === "thinking" && known.block.type === "thinking") {
    const { thinking, thinkingSignature, redacted } = known.block;
    if (block.thinkingSignature !== thinkingSignature || block.redacted !== redacted) return false;
    if (block.thinking.length !== thinking.length + event.delta.length) return false;
  } else {
    return false;
  }
  known.bytes.append(escapeText(event.delta));
  return true;
}

function serialized(block: AssistantContent): KnownBlock {
  if (block.type === "toolCall") return { block, bytes: new Bytes().append(toJson(block)), tail: "" };
  const { type, ...fields } = block;
  const name = type === "text" ? "text" : "thinking";
  const { [name]: text, ...rest } = fields as Record<string, string>;
  const others = toJson(rest).slice(1);
  return {
    block,
    bytes: new Bytes().append(`{"type":"${type}","${name}":"${escapeText(text ?? "")}`),
    tail: others === "}" ? '"}' : `",${others}`,
  };
}

/** Whether all but the content is the same. */
function sameFrame(old: AssistantMessage, fresh: AssistantMessage): boolean {
  if (old === fresh) return true;
  const keys = Object.keys(fresh) as (keyof AssistantMessage)[];
  return keys.length === Object.keys(old).length && keys.every((key) => key === "content" || old[key] === fresh[key]);
}

/** The JSON before and after the content's elements. */
function frameOf(message: AssistantMessage): [head: string, tail: string] {
  const entries = Object.entries(message).filter(([, value]) => value !== undefined);
  const at = entries.findIndex(([key]) => key === "content");
  const fields = (part: [string, unknown][]) => part.map(([key, value]) => `${toJson(key)}:${toJson(value)}`);
  const after = fields(entries.slice(at + 1)).map((field) => `,${field}`);
  return [`{${[...fields(entries.slice(0, at)), '"content":['].join(",")}`, `]${after.join("")}}`];
}

interface Increment {
  type: string;
  contentIndex: number;
  delta?: string;
}

/** Same kind of delta, same block, same message. */
function areNeighbours(one: Increment, other: Increment): boolean {
  return one.delta !== undefined && one.type === other.type && one.contentIndex === other.contentIndex;
}

interface Snapshot {
  head: string;
  blocks: [Slice, string][];
  tail: string;
}

class FullFrame implements Frame {
  readonly #increment: Increment;
  readonly #message: Snapshot;
  readonly #sendsPartial: boolean;
  readonly #count: number;
  readonly size: number;

  constructor(increment: Increment, message: Snapshot, sendsPartial: boolean, count: number) {
    this.#increment = increment;
    this.#message = message;
    this.#sendsPartial = sendsPartial;
    this.#count = count;
    this.size = sizeOf(message) * (sendsPartial ? 2 : 1) + (increment.delta?.length ?? 0) + 150;
  }

  merge(next: Frame): Frame | undefined {
    if (!(next instanceof FullFrame) || next.#count !== this.#count || !areNeighbours(this.#increment, next.#increment)) return undefined;
    const delta = (this.#increment.delta ?? "") + next.#increment.delta;
    return new FullFrame({ ...next.#increment, delta }, next.#message, next.#sendsPartial, next.#count);
  }

  render(): Buffer {
    const event = toJson(this.#increment).slice(0, -1);
    const between = `,"assistantMessageEvent":${event}${this.#sendsPartial ? ',"partial":' : ""}`;
    const message = partsOf(this.#message);
    return assembled(['{"type":"message_update","message":', ...message, between, ...(this.#sendsPartial ? message : []), "}}\n"]);
  }
}

function sizeOf({ head, blocks, tail }: Snapshot): number {
  return blocks.reduce((size, [slice, close]) => size + slice.length + close.length + 1, head.length + tail.length);
}

function partsOf({ head, blocks, tail }: Snapshot): (Slice | string)[] {
  return [head, ...blocks.flatMap(([slice, close], index) => (index > 0 ? [",", slice, close] : [slice, close])), tail];
}

function assembled(parts: (Slice | string)[]): Buffer {
  const size = parts.reduce((sum, part) => sum + (typeof part === "string" ? Buffer.byteLength(part) : part.length), 0);
  const target = Buffer.allocUnsafe(size);
  let at = 0;
  for (const part of parts) at += typeof part === "string" ? target.write(part, at) : part.bytes.copyTo(target, at, part.length);
  return target;
}

class DeltaFrame implements Frame {
  readonly #increment: Increment;
  readonly #deltas: string[];
  readonly #partial: AssistantMessage;
  readonly #count: number;
  readonly size: number;

  constructor(increment: Increment, partial: AssistantMessage, count: number, deltas = increment.delta === undefined ? [] : [increment.delta], size?: number) {
    this.#increment = increment;
    this.#deltas = deltas;
    this.#partial = partial;
    this.#count = count;
    this.size = size ?? 250 + (increment.delta?.length ?? 0);
  }

  merge(next: Frame): Frame | undefined {
    if (!(next instanceof DeltaFrame) || next.#count !== this.#count || !areNeighbours(this.#increment, next.#increment)) return undefined;
    // The list is handed on: this frame is never rendered again.
    this.#deltas.push(...next.#deltas);
    return new DeltaFrame(this.#increment, next.#partial, this.#count, this.#deltas, this.size + (next.#increment.delta?.length ?? 0));
  }

  render(): string {
    const delta = this.#deltas.length > 0 ? { delta: this.#deltas.join("") } : {};
    return `${toJson({ type: "message_update", usage: this.#partial.usage, assistantMessageEvent: { ...this.#increment, ...delta } })}\n`;
  }
}
