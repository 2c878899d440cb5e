/** When a command may start: at once, or when all earlier ordered commands are answered; background ones are not waited for. */
import type { Lane } from "../../core/index.ts";

export class Lanes {
  readonly #running = new Set<Promise<void>>();
  #ordered: Promise<void>;

  /** Nothing but immediate work starts before `opening`. */
  constructor(opening: Promise<void>) {
    this.#ordered = opening;
  }

  immediate(work: () => Promise<void>): void {
    this.#track(work());
  }

  /** `lane` is asked when its turn has come: it may depend on what earlier commands changed. */
  inOrder(lane: () => Lane, work: () => Promise<void>): void {
    this.#ordered = this.#ordered.then(() => {
      const isAwaited = lane() !== "background";
      const running = this.#track(work());
      return isAwaited ? running : undefined;
    });
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

  #track(running: Promise<void>): Promise<void> {
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
    return running;
  }
}
