/** Reads JSON that arrives in pieces: each piece is looked at once, and a snapshot shares all that is complete with the one before. */

export type Json = string | number | boolean | null | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

/** An array or object that is not closed yet. */
interface Open {
  value: Json[] | JsonObject;
  /** name of the member being read */
  key: string | undefined;
  /** part of a snapshot: a change needs a copy first */
  isShared: boolean;
}

/** No tool takes more, and what is deeper could neither be checked nor sent again. */
const DEEPEST = 500;
const QUOTE = 34;
const BACKSLASH = 92;
const escapes: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const endOfLiteral = /[\s,:{}[\]"]/;

/**
 * A lenient reader of one JSON object: what is not JSON is passed over, and a text that breaks off leaves what was understood.
 * Strings show as they grow; numbers and words once they are complete.
 */
export class PartialJson {
  readonly #open: Open[] = [];
  #root: JsonObject = {};
  #isOver = false;
  #reading: "marks" | "string" | "literal" = "marks";
  #expectsKey = false;
  #isKey = false;
  /** of the string or literal being read */
  #text = "";
  /** an escape that is not complete, without its backslash */
  #escape: string | undefined;
  /** a high surrogate that waits for its other half */
  #half = "";

  /** Takes the next piece and answers the object as far as it is known. Earlier answers never change. Throws at what is nested without end. */
  feed(piece: string): JsonObject {
    let at = 0;
    while (at < piece.length) {
      if (this.#reading === "string") at = this.#readString(piece, at);
      else if (this.#reading === "literal") at = this.#readLiteral(piece, at);
      else this.#readMark(piece[at++] as string);
    }
    return this.#snapshot();
  }

  /** No more will come: a number at the very end counts. */
  end(): JsonObject {
    if (this.#reading === "literal") this.#finishLiteral();
    return this.#snapshot();
  }

  /** whether the object was closed */
  get isComplete(): boolean {
    return this.#isOver;
  }

  /** whether the text broke off inside of the object */
  get isCut(): boolean {
    return this.#open.length > 0;
  }

  #readMark(mark: string): void {
    if (this.#isOver || /\s/.test(mark)) return;
    if (mark === "{") this.#enter({});
    else if (mark === "[") this.#enter([]);
    else if (mark === "}" || mark === "]") {
      this.#open.pop();
      this.#expectsKey = false;
      this.#isOver = this.#open.length === 0;
    } else if (mark === ",") this.#expectsKey = !Array.isArray(this.#open.at(-1)?.value);
    else if (mark === ":") this.#expectsKey = false;
    else if (mark === '"') {
      this.#reading = "string";
      this.#text = "";
      this.#isKey = this.#expectsKey;
      if (!this.#isKey) this.#add("");
    } else {
      this.#reading = "literal";
      this.#text = mark;
    }
  }

  /** Takes whole runs; only quotes and backslashes are looked at. */
  #readString(piece: string, start: number): number {
    if (this.#escape !== undefined) return this.#readEscape(this.#escape, piece, start);
    let at = start;
    for (; at < piece.length; at++) {
      const unit = piece.charCodeAt(at);
      if (unit === QUOTE || unit === BACKSLASH) break;
    }
    if (at > start) this.#grow(piece.slice(start, at));
    if (at === piece.length) return at;
    if (piece.charCodeAt(at) === BACKSLASH) this.#escape = "";
    else this.#finishString();
    return at + 1;
  }

  #readEscape(begun: string, piece: string, start: number): number {
    let at = start;
    let sequence = begun;
    if (sequence === "") sequence = piece[at++] as string;
    if (sequence[0] === "u") {
      const more = piece.slice(at, at + 5 - sequence.length);
      sequence += more;
      at += more.length;
    }
    if (sequence[0] === "u" && sequence.length < 5) this.#escape = sequence;
    else {
      this.#escape = undefined;
      this.#grow(unescaped(sequence));
    }
    return at;
  }

  #grow(text: string): void {
    const whole = this.#half + text;
    const isCut = isHighSurrogate(whole.charCodeAt(whole.length - 1));
    this.#half = isCut ? whole.slice(-1) : "";
    this.#text += isCut ? whole.slice(0, -1) : whole;
  }

  #finishString(): void {
    const text = this.#text + this.#half;
    this.#half = "";
    this.#text = "";
    this.#reading = "marks";
    const innermost = this.#open.at(-1);
    if (!this.#isKey) this.#set(this.#open.length - 1, text);
    else if (innermost) innermost.key = text;
  }

  #readLiteral(piece: string, start: number): number {
    let at = start;
    while (at < piece.length && !endOfLiteral.test(piece[at] as string)) at++;
    this.#text += piece.slice(start, at);
    if (at < piece.length) this.#finishLiteral();
    return at;
  }

  #finishLiteral(): void {
    const text = this.#text;
    this.#text = "";
    this.#reading = "marks";
    if (text === "true" || text === "false") this.#add(text === "true");
    else if (text === "null") this.#add(null);
    else if (Number.isFinite(Number(text))) this.#add(Number(text));
  }

  #enter(value: Json[] | JsonObject): void {
    if (this.#open.length === DEEPEST) throw new Error(`The arguments of a tool call are nested more than ${DEEPEST} levels deep.`);
    if (this.#open.length > 0) this.#add(value);
    else if (!Array.isArray(value)) this.#root = value;
    this.#open.push({ value, key: undefined, isShared: false });
    this.#expectsKey = !Array.isArray(value);
  }

  /** Gives the innermost container its next element or member. */
  #add(value: Json): void {
    const innermost = this.#owned(this.#open.length - 1);
    if (Array.isArray(innermost?.value)) innermost.value.push(value);
    else if (innermost?.key !== undefined) setMember(innermost.value, innermost.key, value);
  }

  /** Replaces the newest element or member of a container. */
  #set(depth: number, value: Json): void {
    const container = this.#owned(depth);
    if (Array.isArray(container?.value)) container.value[container.value.length - 1] = value;
    else if (container?.key !== undefined) setMember(container.value, container.key, value);
  }

  /** The container, holding a value that no snapshot has. */
  #owned(depth: number): Open | undefined {
    const container = this.#open[depth];
    if (!container?.isShared) return container;
    container.value = Array.isArray(container.value) ? [...container.value] : { ...container.value };
    container.isShared = false;
    if (depth > 0) this.#set(depth - 1, container.value);
    else if (!Array.isArray(container.value)) this.#root = container.value;
    return container;
  }

  #snapshot(): JsonObject {
    if (this.#reading === "string" && !this.#isKey) this.#set(this.#open.length - 1, this.#text);
    for (const container of this.#open) container.isShared = true;
    return this.#root;
  }
}

function unescaped(sequence: string): string {
  if (sequence[0] !== "u") return escapes[sequence] ?? sequence;
  const unit = Number.parseInt(sequence.slice(1), 16);
  return Number.isNaN(unit) ? "\ufffd" : String.fromCharCode(unit);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function setMember(object: JsonObject, key: string, value: Json): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
