/** Streams that extensions push into and read from. */
import type { AssistantMessage, AssistantMessageEvent } from "../../../core/index.ts";

/** A queue with an end and a result. Reading waits; the result is known at the final event, or given to `end`. */
export class EventStream<E, R = E> implements AsyncIterable<E> {
  readonly #isFinal: (event: E) => boolean;
  readonly #resultOf: (event: E) => R;
  readonly #events: E[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #result: Promise<R>;
  #resolve!: (result: R) => void;
  #isEnded = false;

  constructor(isFinal: (event: E) => boolean, resultOf: (event: E) => R) {
    this.#isFinal = isFinal;
    this.#resultOf = resultOf;
    this.#result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  push(event: E): void {
    if (this.#isEnded) return;
    if (this.#isFinal(event)) {
      this.#isEnded = true;
      this.#resolve(this.#resultOf(event));
    }
    this.#events.push(event);
    this.#wake();
  }

  end(result?: R): void {
    this.#isEnded = true;
    if (result !== undefined) this.#resolve(result);
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<E> {
    for (let index = 0; ; index++) {
      while (index >= this.#events.length) {
        if (this.#isEnded) return;
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
      yield this.#events[index] as E;
    }
  }

  result(): Promise<R> {
    return this.#result;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export class AssistantMessageEventStream extends EventStream<AssistantMessageEvent, AssistantMessage> {
  constructor() {
    super(
      (event) => event.type === "done" || event.type === "error",
      (event) => (event.type === "done" ? event.message : (event as { error: AssistantMessage }).error),
    );
  }
}

export function createAssistantMessageEventStream(): AssistantMessageEventStream {
  return new AssistantMessageEventStream();
}
