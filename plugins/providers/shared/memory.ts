/** What was made of a conversation the last time. Conversations grow at their end, so all but the newest of each request is as it was. */
import type { LlmMessage } from "../../../core/index.ts";

/** Remembers what was made of objects for as long as they live. What is remembered must not be changed. */
export class Memory<Source extends object, Made> {
  readonly #made = new WeakMap<Source, { key: string; made: Made }>();

  /** `key` names all else that the outcome depends on. */
  of(source: Source, key: string, make: () => Made): Made {
    const found = this.#made.get(source);
    if (found?.key === key) return found.made;
    const made = make();
    this.#made.set(source, { key, made });
    return made;
  }
}

interface Made<Out> {
  key: string;
  messages: readonly LlmMessage[];
  made: Out[];
}

/**
 * Makes a list of the messages of a conversation, and the next time only of those that came since. What becomes of a message may depend on
 * what follows it up to the next answer, and not on more.
 */
export class Conversations<Out> {
  /** by the first message, which is all that two requests of a conversation surely share */
  readonly #last = new WeakMap<LlmMessage, Made<Out>>();

  /** `key` names all else that the outcome depends on; `add` adds what becomes of the messages from an index on. */
  of(messages: readonly LlmMessage[], key: string, add: (made: Out[], from: number) => void): Out[] {
    const [first] = messages;
    if (!first) return [];
    const last = this.#last.get(first);
    const goesOn = last?.key === key && continues(messages, last.messages);
    const made = goesOn ? last.made.slice() : [];
    add(made, goesOn ? last.messages.length : 0);
    // The lists that go in and out are the caller's, who may change them.
    this.#last.set(first, { key, messages: messages.slice(), made });
    return made.slice();
  }
}

/** Whether a conversation is the one before and what followed it, which must begin with an answer. */
function continues(messages: readonly LlmMessage[], before: readonly LlmMessage[]): boolean {
  const { length } = before;
  if (messages.length < length || (messages.length > length && messages[length]?.role !== "assistant")) return false;
  for (let index = 0; index < length; index++) if (messages[index] !== before[index]) return false;
  return true;
}

/** Longer items are encoded again each time: nothing big is held twice. */
const LONGEST = 64 * 1024;
const [FIRST_CHUNK, CHUNK] = [8 * 1024, LONGEST];

/** Bytes of some items in a row, or one long item. */
type Chunk = { bytes: Buffer; end: number } | { item: unknown };

/**
 * The JSON of a list whose items come again, all but the first, which may be made anew each time as system prompts are. Bytes, because
 * sending them is all that is left to do.
 */
class EncodedList {
  #items: unknown[] = [];
  /** where the bytes of each item end: in which chunk, and where there */
  #ends: { chunk: number; end: number }[] = [];
  #chunks: Chunk[] = [];

  /** The bytes of all items but the first. */
  rest(items: readonly unknown[]): Buffer[] {
    let same = 0;
    while (same < this.#items.length && items[same + 1] === this.#items[same]) same++;
    if (same < this.#items.length) this.#forget(same);
    for (let index = same + 1; index < items.length; index++) this.#add(items[index]);
    return this.#chunks.map((chunk) => ("item" in chunk ? Buffer.from(encoded(chunk.item)) : chunk.bytes.subarray(0, chunk.end)));
  }

  #forget(from: number): void {
    this.#items.length = from;
    this.#ends.length = from;
    const { chunk: index, end } = this.#ends.at(-1) ?? { chunk: -1, end: 0 };
    this.#chunks.length = index + 1;
    const chunk = this.#chunks[index];
    if (!chunk || "item" in chunk || chunk.end === end) return;
    // Bytes that were handed out may still be on their way to a socket, so they are never written over.
    const bytes = Buffer.allocUnsafeSlow(chunk.bytes.length);
    chunk.bytes.copy(bytes, 0, 0, end);
    this.#chunks[index] = { bytes, end };
  }

  #add(item: unknown): void {
    const json = encoded(item);
    const size = Buffer.byteLength(json);
    this.#items.push(item);
    if (size > LONGEST) {
      this.#chunks.push({ item });
      this.#ends.push({ chunk: this.#chunks.length - 1, end: 0 });
      return;
    }
    const chunk = this.#withRoom(size);
    chunk.end += chunk.bytes.write(json, chunk.end);
    this.#ends.push({ chunk: this.#chunks.length - 1, end: chunk.end });
  }

  #withRoom(size: number): { bytes: Buffer; end: number } {
    const last = this.#chunks.at(-1);
    if (last && !("item" in last) && last.end + size <= last.bytes.length) return last;
    const chunk = { bytes: Buffer.allocUnsafeSlow(Math.max(size, last ? CHUNK : FIRST_CHUNK)), end: 0 };
    this.#chunks.push(chunk);
    return chunk;
  }
}

/** With the comma that stands before it. */
function encoded(item: unknown): string {
  return `,${json(item)}`;
}

function json(item: unknown): string {
  return JSON.stringify(item) ?? "null";
}

/** by the second item */
const lists = new WeakMap<object, EncodedList>();

function restOf(items: readonly unknown[]): Buffer[] {
  if (items.length < 2) return [];
  const second = items[1];
  if (typeof second !== "object" || second === null) return new EncodedList().rest(items);
  let list = lists.get(second);
  if (!list) {
    list = new EncodedList();
    lists.set(second, list);
  }
  return list.rest(items);
}

/** The JSON of a payload in parts, whose lists (messages, tools) are made of objects that come again. */
export function rememberedJson(payload: object): Buffer[] {
  const parts: Buffer[] = [];
  let text = "{";
  for (const [name, value] of Object.entries(payload)) {
    if (value === undefined) continue;
    text += `${text === "{" && parts.length === 0 ? "" : ","}${JSON.stringify(name)}:`;
    if (!Array.isArray(value)) {
      text += JSON.stringify(value);
      continue;
    }
    text += `[${value.length > 0 ? json(value[0]) : ""}`;
    parts.push(Buffer.from(text), ...restOf(value));
    text = "]";
  }
  parts.push(Buffer.from(`${text}}`));
  return parts;
}

/** The JSON of a payload that was in other hands. */
export function freshJson(payload: object): Buffer[] {
  return [Buffer.from(JSON.stringify(payload))];
}
