/** Puts numbered records into order: each once, none missing. Records without a number pass. */

interface Numbered {
  seq?: unknown;
}

export class Sequence<Item extends Numbered> {
  readonly #held = new Map<number, Item>();
  #last: number | undefined;

  /** `after`: number of the last record that was handled, by an earlier client perhaps. Undefined: whatever comes first is the first. */
  constructor(after?: number) {
    this.#last = after;
  }

  get last(): number | undefined {
    return this.#last;
  }

  /** Records came that cannot be handed on before others. */
  get isMissing(): boolean {
    return this.#held.size > 0;
  }

  /** What can be handed on now that this record is here. */
  take(record: Item): Item[] {
    const { seq } = record;
    if (typeof seq !== "number") return [record];
    this.#last ??= seq - 1;
    if (seq <= this.#last) return [];
    this.#held.set(seq, record);
    return this.#ready();
  }

  /** Gives up on everything up to this number, and goes on with what follows. */
  skipTo(seq: number): Item[] {
    this.#last = seq;
    for (const held of this.#held.keys()) if (held <= seq) this.#held.delete(held);
    return this.#ready();
  }

  #ready(): Item[] {
    const ready: Item[] = [];
    for (let next = (this.#last ?? 0) + 1; this.#held.has(next); next++) {
      ready.push(this.#held.get(next) as Item);
      this.#held.delete(next);
      this.#last = next;
    }
    return ready;
  }
}
