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

/** Adds what becomes of the messages from `from` to `to`, which both are answers or ends of the conversation. */
type Make<Made> = (from: number, to: number, made: Made[]) => void;

interface Settled<Made> {
  key: string;
  messages: readonly LlmMessage[];
  /** how many of the messages are behind us: those before the last answer */
  count: number;
  made: Made[];
}

/**
 * Makes a list of the messages of a conversation, and the next time only of those that came since. What becomes of a message may depend on
 * what follows it up to the next answer, and not on more.
 */
export class Conversations<Made> {
  /** by the first message, which is all that two requests of a conversation surely share */
  readonly #settled = new WeakMap<LlmMessage, Settled<Made>>();

  /** `key` names all else that the outcome depends on. */
  of(messages: readonly LlmMessage[], key: string, make: Make<Made>): Made[] {
    const [first] = messages;
    if (!first) return [];
    let settled = this.#settled.get(first);
    if (!settled || settled.key !== key || !beginsWith(messages, settled)) {
      settled = { key, messages, count: 0, made: [] };
      this.#settled.set(first, settled);
    }
    const last = messages.findLastIndex(({ role }) => role === "assistant");
    if (last > settled.count) {
      make(settled.count, last, settled.made);
      settled.count = last;
      settled.messages = messages;
    }
    const made = settled.made.slice();
    make(settled.count, messages.length, made);
    return made;
  }
}

function beginsWith(messages: readonly LlmMessage[], { messages: before, count }: Settled<unknown>): boolean {
  if (messages.length < count) return false;
  for (let index = 0; index < count; index++) if (messages[index] !== before[index]) return false;
  return true;
}

/** Longer ones are encoded again each time: nothing big is held twice. */
const LONGEST = 64 * 1024;

/**
 * The JSON of a list whose items come again, all but the first, which may be made anew each time as system prompts are. Bytes, because
 * sending them is all that is left to do.
 */
class EncodedList {
  #items: unknown[] = [];
  /** where the bytes of each item end; a long one has none */
  #ends: number[] = [];
  #long: number[] = [];
  #bytes = Buffer.allocUnsafe(4096);

  /** The bytes of all items but the first. */
  rest(items: readonly unknown[]): Buffer[] {
    let same = 0;
    while (same < this.#items.length && items[same + 1] === this.#items[same]) same++;
    if (same < this.#items.length) this.#forget(same);
    for (let index = same + 1; index < items.length; index++) this.#add(items[index]);
    return this.#parts();
  }

  /** Bytes that were handed out may still be on their way to a socket, so they are never written over. */
  #forget(from: number): void {
    this.#items.length = from;
    this.#ends.length = from;
    this.#long = this.#long.filter((index) => index < from);
    this.#bytes = Buffer.from(this.#bytes.subarray(0, this.#end));
  }

  #add(item: unknown): void {
    const json = `,${encoded(item)}`;
    const start = this.#end;
    const size = Buffer.byteLength(json);
    const isLong = size > LONGEST;
    if (isLong) this.#long.push(this.#items.length);
    else {
      this.#makeRoom(start + size);
      this.#bytes.write(json, start);
    }
    this.#items.push(item);
    this.#ends.push(isLong ? start : start + size);
  }

  #makeRoom(size: number): void {
    if (size <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(size, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }

  #parts(): Buffer[] {
    const parts: Buffer[] = [];
    let from = 0;
    for (const index of this.#long) {
      const to = this.#ends[index] as number;
      parts.push(this.#bytes.subarray(from, to), Buffer.from(`,${encoded(this.#items[index])}`));
      from = to;
    }
    parts.push(this.#bytes.subarray(from, this.#end));
    return parts;
  }

  get #end(): number {
    return this.#ends.at(-1) ?? 0;
  }
}

function encoded(item: unknown): string {
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
    text += `[${value.length > 0 ? encoded(value[0]) : ""}`;
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
