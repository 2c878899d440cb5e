/** Writes records one after the other, and no faster than the agent reads them. */
import { once } from "node:events";
import type { Writable } from "node:stream";

export class Outgoing {
  readonly #stream: Writable;
  #last: Promise<void> = Promise.resolve();
  #isOpen = true;

  constructor(stream: Writable) {
    this.#stream = stream;
    // That nobody reads any more is seen where the agent's output ends.
    stream.on("error", () => this.#close());
    stream.on("close", () => this.#close());
  }

  /** Resolves when the stream has taken the record and can take another. */
  write(record: object): Promise<void> {
    const line = `${JSON.stringify(record)}\n`;
    this.#last = this.#last.then(() => this.#write(line));
    return this.#last;
  }

  /** No more records; those that wait are still written. */
  end(): void {
    this.#last = this.#last.then(() => {
      if (this.#isOpen) this.#stream.end();
    });
  }

  async #write(line: string): Promise<void> {
    if (!this.#isOpen || this.#stream.write(line)) return;
    const over = new AbortController();
    const { signal } = over;
    // Rejections mean that the stream broke; the record is lost with it.
    await Promise.race([once(this.#stream, "drain", { signal }), once(this.#stream, "close", { signal })]).catch(() => {});
    over.abort();
  }

  #close(): void {
    this.#isOpen = false;
  }
}
