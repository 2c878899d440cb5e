/** Cuts a byte stream into records at LF and nowhere else. Not readline: it also splits on a lone CR and on U+2028. */

const LF = 0x0a;
const CR = 0x0d;
const OPENING = 0x7b;
const BOM = [0xef, 0xbb, 0xbf];

/** The longest record that is accepted, in bytes without its line end. */
export const MAX_RECORD_BYTES = 64 * 1024 * 1024;
/** What a record may have besides: a byte order mark and a CR. */
const SLACK = BOM.length + 1;

export interface RecordHandlers {
  /** one record that is not blank, decoded; malformed UTF-8 became U+FFFD */
  readonly onRecord: (text: string) => void;
  /** A record was longer than the limit; it is skipped up to its LF. */
  readonly onTooLong: () => void;
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

  /** `count`: how many of the bytes are the chunk, whose memory may be used again. */
  push(bytes: Buffer, count = bytes.length): void {
    if (count === 0) return;
    // Nearly always a chunk ends with a record.
    const last = bytes[count - 1] === LF ? count - 1 : bytes.lastIndexOf(LF, count - 1);
    let start = 0;
    while (start <= last && this.#needsCare(count - start)) {
      const end = bytes.indexOf(LF, start);
      this.#keep(bytes.subarray(start, end));
      this.#cut();
      start = end + 1;
    }
    if (start <= last) this.#handAll(bytes.toString("utf8", start, last));
    if (last + 1 < count) this.#keep(Buffer.from(bytes.subarray(last + 1, count)));
  }

  /** Bytes after the last LF count as a record. */
  end(): void {
    if (this.#length > 0 || this.#isSkipping) this.#cut();
  }

  /** Whether the next record began earlier, may begin with a byte order mark, or may be too long. */
  #needsCare(length: number): boolean {
    return this.#length > 0 || this.#isSkipping || this.#isFirst || length > this.#limit;
  }

  /** Whole records, as nearly all are, decoded together. */
  #handAll(text: string): void {
    if (!text.includes("\n")) {
      this.#handLine(text);
      return;
    }
    const lines = text.split("\n");
    for (let index = 0; index < lines.length; index++) this.#handLine(lines[index] as string);
  }

  #handLine(line: string): void {
    if (line.charCodeAt(0) === OPENING && line.charCodeAt(line.length - 1) !== CR) this.#handlers.onRecord(line);
    else this.#hand(line.endsWith("\r") ? line.slice(0, -1) : line);
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
    if (text.trim() !== "") this.#handlers.onRecord(text);
  }

  #trimmed(): Buffer {
    const whole = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts, this.#length);
    const start = this.#isFirst && BOM.every((byte, index) => whole[index] === byte) ? BOM.length : 0;
    const end = whole.at(-1) === CR ? whole.length - 1 : whole.length;
    return whole.subarray(start, Math.max(start, end));
  }
}
