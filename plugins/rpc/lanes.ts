/** When a command may start: at once, or when all earlier ordered commands are answered; background ones are not waited for. */
import type { Lane } from "../../core/index.ts";

/** Not by `node:timers/promises`, which would be read for this alone. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

export class Lanes {
  readonly #running = new Set<Promise<void>>();
  #ordered: Promise<void>;
  /** ordered commands that are not answered, and the opening */
  #unanswered = 1;
  #opening: Promise<void> | undefined;

  /** Nothing but answers starts before `opening`. */
  constructor(opening: Promise<void>) {
    this.#ordered = this.#answered(opening);
    this.#opening = this.#ordered
      .then(() => nextTurn())
      .then(() => {
        this.#opening = undefined;
      });
  }

  /**
   * Answers to questions of ours are taken at once. A command lets what came before it start: in the same chunk, and before the agent
   * was ready.
   */
  immediate(work: () => Promise<void> | undefined, isAnswer: boolean): void {
    const running = isAnswer ? work() : (this.#opening ?? nextTurn()).then(work);
    if (running) this.#track(running);
  }

  /**
   * `lane` is asked when its turn has come: it may depend on what earlier commands changed. With nothing to wait for it starts
   * inside this call, and work that is done when it returns leaves nothing behind.
   */
  inOrder(lane: () => Lane, work: () => Promise<void> | undefined): void {
    const start = () => {
      const isAwaited = lane() !== "background";
      const running = work();
      if (running) this.#track(running);
      return isAwaited ? running : undefined;
    };
    const awaited = this.#unanswered === 0 ? start() : this.#ordered.then(start);
    if (!awaited) return;
    this.#unanswered++;
    this.#ordered = this.#answered(awaited);
  }

  /** Resolves when the ordered commands so far are answered. */
  ordered(): Promise<void> {
    return this.#ordered;
  }

  /** Resolves when everything that is running is answered. */
  async all(): Promise<void> {
    await this.#ordered;
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #answered(work: Promise<unknown>): Promise<void> {
    await work;
    this.#unanswered--;
  }

  #track(running: Promise<void>): void {
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }
}
