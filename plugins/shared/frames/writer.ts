/** The one writer of an output stream: records of one tick in one write, merged while the reader is behind, with a bound on what waits. */
import type { Io } from "../../../core/index.ts";

/** A record on its way out. */
export interface Frame {
  /** bytes when written, or a good guess */
  readonly size: number;
  /** The whole line with its LF. Called once, when the stream can take it. */
  render(): string | Buffer;
  /** One frame in place of this one and the next, or nothing if both must be written. */
  merge?(next: Frame): Frame | undefined;
  /** Takes the next record's line behind its own, if it can: what waits long is better kept as few bytes than as many objects. */
  join?(next: Frame): boolean;
  /** written as it is: it has its number already */
  readonly isStamped?: boolean;
}

export interface FrameWriterOptions {
  /** the reader is gone; what is written from now on is discarded */
  onGone?(error: Error): void;
  /** Puts a number into each line at the moment it is written. */
  stamp?(line: string | Buffer): string | Buffer;
}

/** Where it writes: a stream, and the short way past it. */
export type Output = Pick<Io, "stdout" | "writeNow">;

const KIB = 1024;
/** Bytes per write: the rest stays in the queue, where it can still be merged. */
const BATCH = 256 * KIB;
/** Bytes that do not wait for the end of the tick: what is kept for long is copied by the collector. */
const ENOUGH = 32 * KIB;
/** Bytes that may wait before whoever sends much is held back. */
const BULK = 512 * KIB;
const RETRY_MS = 10;
/** Characters up to which a text need not become bytes before it is written. */
const SHORT = 2 * KIB;
const SCRATCH = 3 * 2 * ENOUGH;

export class FrameWriter {
  readonly #options: FrameWriterOptions;
  #out: NodeJS.WritableStream | undefined;
  #writeNow: Output["writeNow"];
  #queue: Frame[] = [];
  #head = 0;
  #waitingBytes = 0;
  #isScheduled = false;
  #isHeld = false;
  #isWriting = false;
  #isGone = false;
  /** waiting bytes past which a write is tried at once */
  #enough = ENOUGH;
  /** where lines become bytes, again and again */
  #scratch: Buffer | undefined;
  readonly #gate = new Gate(8192 * KIB, 4096 * KIB);
  /** for whoever produces faster than anybody reads: what waits long survives, and costs memory many times over */
  readonly #bulkGate = new Gate(BULK, BULK / 2);
  #onEmpty: (() => void)[] = [];

  /** Frames wait until `attach` brings a stream. */
  constructor(options: FrameWriterOptions = {}) {
    this.#options = options;
  }

  attach({ stdout: out, writeNow }: Output): void {
    if (this.#out) return;
    this.#out = out;
    this.#writeNow = writeNow;
    // For good: an error after the last write must not become an uncaught one.
    out.on("error", (error: NodeJS.ErrnoException) => this.#onError(error));
    this.#schedule();
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  write(frame: Frame): void {
    if (this.#isGone) return;
    if (!this.#takenByLast(frame)) {
      this.#queue.push(frame);
      this.#waitingBytes += frame.size;
    }
    this.#updateGates();
    if (this.#waitingBytes > this.#enough && this.#out && !this.#isWriting) this.#writeBatch();
    else if (!this.#isScheduled) this.#schedule();
  }

  /** What is written from now on waits for `release`: commands that came together are answered together, and nothing has to be scheduled. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#enough = ENOUGH;
    if (this.#head < this.#queue.length && this.#out) this.#writeBatch();
  }

  /** Undefined while the reader keeps up; else resolves when it has caught up. */
  ready(): Promise<void> | undefined {
    return this.#gate.closed;
  }

  /** The same for bulk output, which is held back much sooner. */
  readyForBulk(): Promise<void> | undefined {
    return this.#bulkGate.closed;
  }

  /** Gives all that waits to the stream, where it is no longer merged: the end is near. */
  handOver(): void {
    while (this.#out && this.#head < this.#queue.length) {
      const frame = this.#queue[this.#head++] as Frame;
      this.#out.write(this.#line(frame) as Buffer);
    }
  }

  /** Resolves when everything is written or the reader is gone. */
  flush(): Promise<void> {
    if (this.#isEmpty() || !this.#out) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty.push(resolve));
  }

  #takenByLast(frame: Frame): boolean {
    const at = this.#queue.length - 1;
    if (at < this.#head) return false;
    const last = this.#queue[at] as Frame;
    const before = last.size;
    // Only if the reader is behind: a reader that keeps up sees every increment.
    const merged = this.#isWriting ? last.merge?.(frame) : undefined;
    if (merged) this.#queue[at] = merged;
    // Lines that get numbers get them one by one.
    else if (this.#options.stamp || !last.join?.(frame)) return false;
    this.#waitingBytes += (merged ?? last).size - before;
    return true;
  }

  #isEmpty(): boolean {
    return this.#isGone || (this.#head >= this.#queue.length && !this.#isWriting);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isHeld || this.#isWriting || !this.#out || this.#isGone || this.#head >= this.#queue.length) return;
    this.#isScheduled = true;
    // After the promises of this turn of the event loop: increments that arrived together leave together, and nothing waits for a turn more.
    process.nextTick(() => {
      this.#isScheduled = false;
      this.#writeBatch();
    });
  }

  #writeBatch(): void {
    if (this.#isWriting || this.#isGone || this.#head >= this.#queue.length) return;
    this.#isWriting = true;
    let line = this.#line(this.#queue[this.#head] as Frame);
    let taken = (this.#queue[this.#head++] as Frame).size;
    if (taken < ENOUGH && this.#head < this.#queue.length) [line, taken] = this.#with(line, taken);
    // A moving index instead of shift(): a backlog of n frames costs n, not n².
    if (this.#head === this.#queue.length) {
      this.#queue.length = 0;
      this.#head = 0;
    } else if (this.#head > 1024) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    this.#send(line, taken);
  }

  /** A short line and those that follow it. */
  #with(line: string | Buffer, size: number): [lines: string | Buffer, size: number] {
    const lines = [line];
    let taken = size;
    while (this.#head < this.#queue.length && taken < BATCH) {
      const frame = this.#queue[this.#head++] as Frame;
      lines.push(this.#line(frame));
      taken += frame.size;
    }
    const isText = lines.every((each) => typeof each === "string");
    return [isText ? lines.join("") : Buffer.concat(lines.map(bytesOf)), taken];
  }

  #line(frame: Frame): string | Buffer {
    const line = frame.render();
    return this.#options.stamp && !frame.isStamped ? this.#options.stamp(line) : line;
  }

  #send(line: string | Buffer, taken: number): void {
    // A short text is encoded on its way.
    const isShort = typeof line === "string" && line.length < SHORT;
    const all = isShort ? line : this.#encoded(line);
    const now = this.#writeNow?.(all) ?? 0;
    if (now === Buffer.byteLength(all)) {
      this.#sent(taken);
      return;
    }
    const bytes = bytesOf(all);
    const left = bytes.subarray(now);
    const rest = bytes.buffer === this.#scratch?.buffer ? Buffer.from(left) : left;
    if (this.#isHeld && this.#writeNow) this.#putBack(rest, taken);
    else this.#sendLater(rest, taken);
  }

  /** Good until the next call, unless it was bytes already. */
  #encoded(line: string | Buffer): Buffer {
    if (typeof line !== "string") return line;
    // At most three bytes for each of its units.
    if (line.length * 3 > SCRATCH) return Buffer.from(line);
    this.#scratch ??= Buffer.allocUnsafeSlow(SCRATCH);
    return this.#scratch.subarray(0, this.#scratch.write(line));
  }

  /** While more is being made the reader has time to take some: the stream, which would find out at the end of the turn only, is not asked yet. */
  #putBack(rest: Buffer, taken: number): void {
    this.#isWriting = false;
    const frame: Frame = { size: rest.length, isStamped: true, render: () => rest };
    if (this.#head > 0) this.#queue[--this.#head] = frame;
    else this.#queue.unshift(frame);
    this.#waitingBytes += rest.length - taken;
    this.#enough = this.#waitingBytes + ENOUGH;
  }

  #sendLater(bytes: Buffer, taken: number): void {
    this.#out?.write(bytes, (error?: NodeJS.ErrnoException | null) => {
      if (error?.code === "EAGAIN") setTimeout(() => this.#send(bytes, taken), RETRY_MS);
      else if (error) this.#onError(error);
      else this.#sent(taken);
    });
  }

  #sent(taken: number): void {
    this.#isWriting = false;
    this.#waitingBytes -= taken;
    this.#updateGates();
    if (this.#isEmpty()) this.#tellEmpty();
    else this.#writeBatch();
  }

  #onError(error: NodeJS.ErrnoException): void {
    if (this.#isGone || error.code === "EAGAIN") return;
    this.#isGone = true;
    this.#queue = [];
    this.#head = 0;
    this.#waitingBytes = 0;
    this.#updateGates();
    this.#tellEmpty();
    this.#options.onGone?.(error);
  }

  #tellEmpty(): void {
    if (this.#onEmpty.length > 0) for (const resolve of this.#onEmpty.splice(0)) resolve();
  }

  #updateGates(): void {
    // The bulk gate is the first to close and the last to open.
    if (this.#waitingBytes <= BULK && !this.#bulkGate.closed) return;
    this.#gate.update(this.#waitingBytes);
    this.#bulkGate.update(this.#waitingBytes);
  }
}

/** Closes above `high` waiting bytes and opens below `low`. */
class Gate {
  readonly #high: number;
  readonly #low: number;
  closed: Promise<void> | undefined;
  #open: (() => void) | undefined;

  constructor(high: number, low: number) {
    this.#high = high;
    this.#low = low;
  }

  update(waiting: number): void {
    if (waiting > this.#high) {
      this.closed ??= new Promise((resolve) => {
        this.#open = resolve;
      });
    } else if (waiting < this.#low && this.closed) {
      this.#open?.();
      this.closed = undefined;
    }
  }
}

function bytesOf(line: string | Buffer): Buffer {
  return typeof line === "string" ? Buffer.from(line) : line;
}
