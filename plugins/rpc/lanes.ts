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
   * was ready. What comes after it starts after it: an abort is not for the prompt behind it.
   */
  immediate(work: () => Promise<void> | undefined, isAnswer: boolean): void {
    if (isAnswer) {
      const running = work();
      if (running) this.#track(running);
      return;
    }
    const begun = this.#opening ?? nextTurn();
    this.#track(begun.then(work));
    const earlier = this.#ordered;
    this.#await(begun.then(() => earlier));
  }

  /** Whether a command that comes now has nothing to wait for. */
  get isFree(): boolean {
    return this.#unanswered === 0;
  }

  /** A command was started because the way was free. One that is answered already leaves nothing behind. */
  started(running: Promise<void> | undefined, lane: Lane): void {
    if (!running) return;
    this.#track(running);
    if (lane !== "background") this.#await(running);
  }

  /** `lane` is asked when its turn has come: it may depend on what earlier commands changed. */
  inOrder(lane: () => Lane, work: () => Promise<void> | undefined): void {
    const start = () => {
      const isAwaited = lane() !== "background";
      const running = work();
      if (running) this.#track(running);
      return isAwaited ? running : undefined;
    };
    const awaited = this.isFree ? start() : this.#ordered.then(start);
    if (awaited) this.#await(awaited);
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

  /** Later ordered commands wait for this one. */
  #await(running: Promise<void>): void {
    this.#unanswered++;
    this.#ordered = this.#answered(running);
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
