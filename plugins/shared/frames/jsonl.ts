/** Cuts a byte stream into records at LF and nowhere else. Not readline: it also splits on a lone CR and on U+2028. */

const LF = 0x0a;
const CR = 0x0d;
const BOM = [0xef, 0xbb, 0xbf];

/** The longest record that is accepted, in bytes without its line end. */
export const MAX_RECORD_BYTES = 64 * 1024 * 1024;
/** What a record may have besides: a byte order mark and a CR. */
const SLACK = BOM.length + 1;

export interface RecordHandlers {
  /** one record that is not blank, decoded; malformed UTF-8 became U+FFFD */
  onRecord(text: string): void;
  /** A record was longer than the limit; it is skipped up to its LF. */
  onTooLong(): void;
}

/** Takes chunks in any size, cut anywhere. Only the new chunk is searched, so a long record costs its length and not its square. */
export class RecordSplitter {
  readonly #handlers: RecordHandlers;
  readonly #limit: number;
  #parts: Buffer[] = [];
  #length = 0;
  #isSkipping = false;
  #isFirst = true;

  constructor(handlers: RecordHandlers, limit = MAX_RECORD_BYTES) {
    this.#handlers = handlers;
    this.#limit = limit;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      if (this.#isWhole(end - start)) this.#hand(chunk.toString("utf8", start, chunk[end - 1] === CR ? end - 1 : end));
      else {
        this.#keep(chunk.subarray(start, end));
        this.#cut();
      }
      start = end + 1;
    }
    // A copy, because the chunk's memory may be used again.
    if (start < chunk.length) this.#keep(Buffer.from(chunk.subarray(start)));
  }

  /** Bytes after the last LF count as a record. */
  end(): void {
    if (this.#length > 0 || this.#isSkipping) this.#cut();
  }

  /** Whether a record of this length lies in one chunk, as nearly all do, and needs no second look. */
  #isWhole(length: number): boolean {
    return length > 0 && length <= this.#limit && this.#length === 0 && !this.#isSkipping && !this.#isFirst;
  }

  #keep(bytes: Buffer): void {
    if (this.#isSkipping) return;
    this.#parts.push(bytes);
    this.#length += bytes.length;
    if (this.#length <= this.#limit + SLACK) return;
    // Said at once and not at its LF: the sender may never send one.
    this.#isSkipping = true;
    this.#parts = [];
    this.#length = 0;
    this.#handlers.onTooLong();
  }

  #cut(): void {
    if (this.#isSkipping) {
      this.#isSkipping = false;
      this.#isFirst = false;
      return;
    }
    const record = this.#trimmed();
    this.#parts = [];
    this.#length = 0;
    this.#isFirst = false;
    if (record.length > this.#limit) {
      this.#handlers.onTooLong();
      return;
    }
    this.#hand(record.toString("utf8"));
  }

  #hand(text: string): void {
    if (text.startsWith("{") || text.trim() !== "") this.#handlers.onRecord(text);
  }

  #trimmed(): Buffer {
    const whole = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts, this.#length);
    const start = this.#isFirst && BOM.every((byte, index) => whole[index] === byte) ? BOM.length : 0;
    const end = whole.at(-1) === CR ? whole.length - 1 : whole.length;
    return whole.subarray(start, Math.max(start, end));
  }
}
