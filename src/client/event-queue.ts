/** One consumer's events as an async iterator, with a word on whether it keeps up. */
import type { ClientEvent } from "./messages.ts";

/** Events that may wait for a consumer, by their size on the wire. */
const FULL_BYTES = 4 * 1024 * 1024;

export class EventQueue implements AsyncIterableIterator<ClientEvent> {
  readonly #onRoom: () => void;
  readonly #onReturn: () => void;
  #waiting: { event: ClientEvent; size: number }[] = [];
  #bytes = 0;
  #readers: { resolve(result: IteratorResult<ClientEvent>): void; reject(error: Error): void }[] = [];
  #isRead = false;
  #isOver = false;
  #error: Error | undefined;

  constructor(onRoom: () => void, onReturn: () => void) {
    this.#onRoom = onRoom;
    this.#onReturn = onReturn;
  }

  /** Too much waits. A queue that nobody reads from yet holds nobody up: its reader may be waiting for the agent first. */
  get isFull(): boolean {
    return this.#isRead && this.#bytes > FULL_BYTES;
  }

  push(event: ClientEvent, size: number): void {
    if (this.#isOver) return;
    const reader = this.#readers.shift();
    if (reader) {
      reader.resolve({ value: event, done: false });
      return;
    }
    this.#waiting.push({ event, size });
    this.#bytes += size;
  }

  /** No more events; what waits is still handed out, then the error if there is one. */
  end(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#readers.length === 0) this.#error = error;
    for (const { resolve, reject } of this.#readers.splice(0)) error ? reject(error) : resolve({ value: undefined, done: true });
  }

  next(): Promise<IteratorResult<ClientEvent>> {
    this.#isRead = true;
    const first = this.#waiting.shift();
    if (first) {
      this.#bytes -= first.size;
      this.#onRoom();
      return Promise.resolve({ value: first.event, done: false });
    }
    if (!this.#isOver) return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
    const error = this.#error;
    this.#error = undefined;
    return error ? Promise.reject(error) : Promise.resolve({ value: undefined, done: true });
  }

  /** Called by `break`: the consumer is gone. */
  async return(): Promise<IteratorResult<ClientEvent>> {
    this.#waiting = [];
    this.#bytes = 0;
    this.end();
    this.#onReturn();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
