/** When a command may start: at once, or when all earlier ordered commands are answered; background ones are not waited for. */
import type { Lane } from "../../core/index.ts";

/** Not by `node:timers/promises`, which would be read for this alone. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Records started in one turn of the event loop: others want to be heard too. */
const AT_ONCE = 1000;

/** A record as it came, or undefined for one that was too long. */
export type Waiting = string | undefined;

/** What is done with records whose turn has come. */
export interface Turn {
  /** Starts one. */
  start(record: Waiting): void;
  /** A client that sends and does not read must not make us pile up answers; undefined: there is room for more. */
  room(): Promise<void> | undefined;
  /** Around all that are started together. */
  together(work: () => void): void;
}

export class Lanes {
  readonly #turn: Turn;
  readonly #running = new Set<Promise<void>>();
  /** As they came, because that is small: a client may send a great many. In between stands what those behind an immediate command wait for. */
  #waiting: (Waiting | Promise<void>)[] = [];
  #head = 0;
  /** something is under way that whoever comes now has to wait for */
  #isHeld = false;
  #opening: Promise<void> | undefined;
  #onFree: (() => void)[] = [];

  /** Nothing but answers starts before `opening`. */
  constructor(opening: Promise<void>, turn: Turn) {
    this.#turn = turn;
    this.#hold(opening);
    this.#opening = opening
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
    if (this.isFree) this.#hold(begun);
    else this.#waiting.push(begun);
  }

  /** Whether a command that comes now has nothing to wait for. */
  get isFree(): boolean {
    return !this.#isHeld && this.#head === this.#waiting.length;
  }

  /** A command was started because its turn had come. One that is answered already leaves nothing behind. */
  started(running: Promise<void> | undefined, lane: Lane): void {
    if (!running) return;
    this.#track(running);
    if (lane !== "background") this.#hold(running);
  }

  /** A record starts when its turn has come. */
  wait(record: Waiting): void {
    this.#waiting.push(record);
    if (!this.#isHeld) this.#hold(this.#turn.room() ?? nextTurn());
  }

  /** Resolves when the ordered commands are answered. */
  ordered(): Promise<void> {
    return this.isFree ? Promise.resolve() : new Promise((resolve) => this.#onFree.push(resolve));
  }

  /** Resolves when everything that is running is answered. */
  async all(): Promise<void> {
    await this.ordered();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Whoever comes later waits for this. */
  #hold(work: Promise<void>): void {
    this.#isHeld = true;
    const goOn = () => {
      this.#isHeld = false;
      if (!this.isFree) this.#turn.together(() => this.#startNext());
      if (this.isFree) for (const resolve of this.#onFree.splice(0)) resolve();
    };
    work.then(goOn, goOn);
  }

  #startNext(): void {
    for (let count = 0; !this.isFree && !this.#isHeld; count++) {
      const obstacle = count < AT_ONCE ? this.#turn.room() : nextTurn();
      if (obstacle) {
        this.#hold(obstacle);
        return;
      }
      const next = this.#next();
      if (next instanceof Promise) this.#hold(next);
      else this.#turn.start(next);
    }
  }

  #next(): Waiting | Promise<void> {
    const next = this.#waiting[this.#head];
    this.#waiting[this.#head++] = undefined;
    // A moving index instead of shift(), and half of the list at a time: n records that wait cost n, not n².
    if (this.#head * 2 >= this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    return next;
  }

  #track(running: Promise<void>): void {
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }
}
