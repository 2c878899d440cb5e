/** One plugin's registrations. Closing it takes them all back; staging it keeps them out of sight until it is shown. */
import type { Undo } from "./contracts.ts";
import { KernelError } from "./errors.ts";
import { type Taps, tapsOf } from "./taps.ts";

export interface Rank {
  /** position among taps: lower runs first */
  order: number;
  /** who wins a name in a registry: higher wins, ties go to the later one */
  precedence: number;
}

export class Scope implements Rank {
  readonly name: string;
  readonly order: number;
  readonly precedence: number;
  readonly #onThrow: (scope: Scope, error: unknown) => void;
  #touched: Taps[] = [];
  #undo: Undo[] = [];
  #visible: boolean;
  #closed = false;

  constructor(name: string, rank: Rank, onThrow: (scope: Scope, error: unknown) => void, staged = false) {
    this.name = name;
    this.order = rank.order;
    this.precedence = rank.precedence;
    this.#onThrow = onThrow;
    this.#visible = !staged;
  }

  get visible(): boolean {
    return this.#visible;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Remembers how to take something back; the answer takes it back now, once. */
  defer(undo: Undo): () => unknown {
    if (this.#closed) throw new KernelError("E_UNLOADED", `${this.name} registered something after it was unloaded`);
    this.#undo.push(undo);
    return () => {
      const index = this.#undo.indexOf(undo);
      if (index < 0) return undefined;
      this.#undo.splice(index, 1);
      return undo();
    };
  }

  tap(hook: object, fn: (...args: any[]) => unknown, stage: number): () => void {
    const taps = tapsOf(hook);
    if (!this.#touched.includes(taps)) this.#touched.push(taps);
    return this.defer(taps.add(this, fn, stage)) as () => void;
  }

  /** Makes what was staged visible. */
  show(): void {
    this.#setVisible(true);
  }

  /** First phase of leaving: nothing new sees this scope; what is under way goes on. */
  withdraw(): void {
    this.#setVisible(false);
  }

  /** Second phase: undoes everything in reverse. A failing undo does not stop the rest. */
  async close(onError: (error: unknown) => void): Promise<void> {
    this.withdraw();
    this.#closed = true;
    for (const undo of this.#undo.splice(0).reverse()) {
      try {
        await undo();
      } catch (error) {
        onError(error);
      }
    }
    this.#touched = [];
  }

  threw(error: unknown): void {
    this.#onThrow(this, error);
  }

  #setVisible(visible: boolean): void {
    if (this.#visible === visible) return;
    this.#visible = visible;
    for (const taps of this.#touched) taps.changed();
  }
}

/** Changes one scope for another: no reader ever sees neither or both. */
export function swap(old: Scope | undefined, fresh: Scope): void {
  old?.withdraw();
  fresh.show();
}
