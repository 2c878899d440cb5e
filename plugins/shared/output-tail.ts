/** What a command printed: its end in memory, and all of it in a file once it is too long to be shown. */
import { randomBytes } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, type TruncationResult, truncateTail } from "./truncate.ts";

export interface OutputSnapshot {
  /** what is shown */
  text: string;
  truncation: TruncationResult;
  /** bytes of the last line, whole */
  lastLineBytes: number;
  /** absent if nothing was cut, or if the file cannot be written */
  fullOutputPath?: string;
  /** the random part of the file's name */
  artifactId?: string;
}

const LF = 10;
/** What may wait for the disk, in bytes. */
const MOST_UNWRITTEN = 1024 * 1024;

export class OutputTail {
  readonly #maxLines: number;
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #held = 0;
  #totalBytes = 0;
  #feeds = 0;
  /** bytes since the last line feed, and of the line before it */
  #openLineBytes = 0;
  #endedLineBytes = 0;
  #artifactId: string | undefined;
  #path: string | undefined;
  #file: Promise<FileHandle> | undefined;
  #writing: Promise<void> | undefined;
  /** on their way into the file */
  #unwritten: Buffer[] = [];
  #unwrittenBytes = 0;
  #isLost = false;

  constructor({ maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES }: { maxLines?: number; maxBytes?: number } = {}) {
    this.#maxLines = maxLines;
    this.#maxBytes = maxBytes;
  }

  /** Takes more output. The answer, if any, is to be awaited before the next: the file is behind. */
  push(chunk: Buffer): Promise<void> | undefined {
    if (chunk.length === 0) return undefined;
    this.#count(chunk);
    const hadFile = this.#path !== undefined;
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    if (hadFile && !this.#isLost) this.#spill([chunk]);
    else if (!hadFile && (this.#totalBytes > this.#maxBytes || this.#totalLines() > this.#maxLines)) this.#spill([...this.#chunks]);
    if (this.#path !== undefined) this.#forget();
    return this.#unwrittenBytes > MOST_UNWRITTEN ? this.#writing : undefined;
  }

  snapshot(): OutputSnapshot {
    const text = this.#decode();
    const tail = truncateTail(text, { maxLines: this.#maxLines, maxBytes: this.#maxBytes });
    // Undecodable bytes grow when they are shown: such text can be too long although the output was not.
    if (tail.truncated && this.#path === undefined) this.#spill([...this.#chunks]);
    return {
      text: tail.content,
      truncation: {
        ...tail,
        totalLines: Math.max(this.#totalLines(), tail.totalLines),
        totalBytes: tail.truncated ? Math.max(this.#totalBytes, tail.totalBytes) : tail.totalBytes,
      },
      lastLineBytes: this.#openLineBytes || this.#endedLineBytes,
      ...(this.#path !== undefined && !this.#isLost && { fullOutputPath: this.#path, artifactId: this.#artifactId }),
    };
  }

  /** The end: resolves when the file, if there is one, holds everything, or is known not to. */
  async finish(): Promise<OutputSnapshot> {
    // Looking may be what makes the file necessary.
    this.snapshot();
    await this.#writing;
    const file = await this.#file?.catch(() => undefined);
    await file?.close();
    this.#file = undefined;
    return this.snapshot();
  }

  #totalLines(): number {
    return this.#openLineBytes === 0 ? this.#feeds : this.#feeds + 1;
  }

  #count(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
      this.#endedLineBytes = this.#openLineBytes + at - from;
      this.#openLineBytes = 0;
      this.#feeds++;
      from = at + 1;
    }
    this.#openLineBytes += chunk.length - from;
    this.#totalBytes += chunk.length;
  }

  #decode(): string {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    const held = this.#chunks[0] ?? Buffer.alloc(0);
    if (this.#totalBytes === this.#held) return held.toString("utf8");
    // Cut from the front: begin at a character.
    let from = 0;
    while (from < 4 && from < held.length && ((held[from] as number) & 0xc0) === 0x80) from++;
    return held.toString("utf8", from);
  }

  /** Keeps a little more than can be shown, so that the cut falls on our side. Whole chunks go, so that nothing is copied. */
  #forget(): void {
    const enough = this.#maxBytes + 8;
    for (let [first] = this.#chunks; first && this.#held - first.length >= enough; [first] = this.#chunks) {
      this.#chunks.shift();
      this.#held -= first.length;
    }
    const [first] = this.#chunks;
    if (!first || this.#held <= enough * 4) return;
    // One that is much too long. Copied: a slice would keep all of it alive.
    this.#chunks[0] = Buffer.from(first.subarray(this.#held - enough));
    this.#held = enough;
  }

  #spill(chunks: Buffer[]): void {
    if (this.#path === undefined) {
      this.#artifactId = randomBytes(8).toString("hex");
      this.#path = join(tmpdir(), `pi-bash-${this.#artifactId}.log`);
      this.#file = open(this.#path, "wx", 0o600);
    }
    for (const chunk of chunks) {
      this.#unwritten.push(chunk);
      this.#unwrittenBytes += chunk.length;
    }
    this.#writing ??= this.#write();
  }

  /** Until nothing is left. A full disk must not lose the result: what is shown is in memory. */
  async #write(): Promise<void> {
    try {
      const file = await (this.#file as Promise<FileHandle>);
      while (this.#unwritten.length > 0) {
        const chunks = this.#unwritten.splice(0);
        const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
        const { bytesWritten } = await file.writev(chunks);
        if (bytesWritten < size) await file.appendFile(Buffer.concat(chunks).subarray(bytesWritten));
        this.#unwrittenBytes -= size;
      }
    } catch {
      this.#isLost = true;
      this.#unwritten = [];
      this.#unwrittenBytes = 0;
    } finally {
      this.#writing = undefined;
    }
  }
}
