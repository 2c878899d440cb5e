/** Records as lines: JSON without U+2028 and U+2029, which careless readers take for line ends. */
import { ownJson } from "../../../core/index.ts";
import { deepJson } from "../deep-json.ts";
import type { Frame } from "./writer.ts";

const SEPARATORS = /[\u2028\u2029]/g;
/** Nesting past which a value that JSON cannot hold is cut off. */
const DEPTH = 100;

/** One JSON text for any value; never throws. What JSON cannot hold (cycles, big integers, getters that throw) is described instead. */
export function toJson(value: unknown): string {
  return escapeSeparators(spelled(value));
}

/** The same with separators as they are: for who looks for them in many lines at once. */
export function spelled(value: unknown): string {
  let json: string | undefined;
  try {
    json = ownJson.stringify(value);
  } catch (error) {
    // Too deep for the engine's own recursion: the tree of a long session is.
    json = error instanceof RangeError ? deepJson(value) : undefined;
    json ??= ownJson.stringify(describable(value, new Set(), DEPTH));
  }
  return json ?? "null";
}

/** The inside of a JSON string. */
export function escapeText(text: string): string {
  return escapeSeparators(ownJson.stringify(text).slice(1, -1));
}

export function escapeSeparators(json: string): string {
  // Two searches that plain text ends at once: cheaper than the pattern, and this is done with every record.
  if (!json.includes("\u2028") && !json.includes("\u2029")) return json;
  return json.replace(SEPARATORS, (character) => (character === "\u2028" ? "\\u2028" : "\\u2029"));
}

/** A copy that JSON can hold. */
function describable(value: unknown, above: Set<unknown>, depth: number): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return value;
  if (above.has(value)) return "[circular]";
  if (depth === 0) return "[too deep]";
  const within = new Set(above).add(value);
  if (Array.isArray(value)) return value.map((item) => describable(item, within, depth - 1));
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    try {
      copy[key] = describable((value as Record<string, unknown>)[key], within, depth - 1);
    } catch {
      copy[key] = "[unreadable]";
    }
  }
  return copy;
}

/** A record as it stands now: serialized at once, because whoever made it may go on to change it. */
export function recordFrame(record: object): Frame {
  return spelledFrame(spelled(record));
}

/** A record that is spelled already. */
export function spelledFrame(json: string): Frame {
  return new LineFrame(`${json}\n`);
}

/** Characters past which joined lines become bytes, outside of the heap. */
const JOINED = 64 * 1024;

/** One line, or several that nothing can come between. */
class LineFrame implements Frame {
  #line: string | Buffer;
  size: number;

  constructor(line: string) {
    this.#line = line;
    this.size = line.length;
  }

  /** Separators stand in strings only, so many lines are searched for them at once. */
  render(): string | Buffer {
    return typeof this.#line === "string" ? escapeSeparators(this.#line) : this.#line;
  }

  join(next: Frame): boolean {
    if (typeof this.#line !== "string" || !(next instanceof LineFrame) || typeof next.#line !== "string") return false;
    this.#line += next.#line;
    this.size = this.#line.length;
    if (this.size > JOINED) this.#line = Buffer.from(escapeSeparators(this.#line));
    return true;
  }
}

/** A record that replaces its neighbour with the same key: progress that is always complete. */
export function replaceableFrame(record: object, key: string): Frame {
  return new ReplaceableFrame(`${toJson(record)}\n`, key);
}

class ReplaceableFrame implements Frame {
  readonly #line: string;
  readonly #key: string;
  readonly size: number;

  constructor(line: string, key: string) {
    this.#line = line;
    this.#key = key;
    this.size = line.length;
  }

  render(): string {
    return this.#line;
  }

  merge(next: Frame): Frame | undefined {
    return next instanceof ReplaceableFrame && next.#key === this.#key ? next : undefined;
  }
}

/** A longer record is followed by another: what is made of it when it is written takes several times its size. */
const MOST_GROWN = 256 * 1024;

/** A record whose text is appended to by its neighbour with the same key. */
export function growingFrame(record: Record<string, unknown> & { delta: string }, key: string): Frame {
  return new GrowingFrame(record, [record.delta], record.delta.length, key);
}

class GrowingFrame implements Frame {
  readonly #record: Record<string, unknown>;
  /** kept apart until written: joining at each merge would cost the square */
  readonly #deltas: string[];
  readonly #length: number;
  readonly #key: string;
  readonly size: number;

  constructor(record: Record<string, unknown>, deltas: string[], length: number, key: string) {
    this.#record = record;
    this.#deltas = deltas;
    this.#length = length;
    this.#key = key;
    this.size = length + 100;
  }

  render(): string {
    return `${toJson({ ...this.#record, delta: this.#deltas.join("") })}\n`;
  }

  merge(next: Frame): Frame | undefined {
    if (!(next instanceof GrowingFrame) || next.#key !== this.#key || this.#length + next.#length > MOST_GROWN) return undefined;
    // The list is handed on: this frame is never rendered again.
    this.#deltas.push(...next.#deltas);
    return new GrowingFrame(this.#record, this.#deltas, this.#length + next.#length, this.#key);
  }
}
