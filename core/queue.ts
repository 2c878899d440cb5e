/** Steering and follow-up messages and their modes: the only copy. */
import type { Behaviour } from "./contracts.ts";
import type { AgentEvent } from "./events.ts";
import type { AgentMessage } from "./messages.ts";

export type QueueMode = "all" | "one-at-a-time";
export type InterruptMode = "wait" | "immediate";

export interface Queued {
  message: AgentMessage;
  /** what clients see of it; a plugin's own message is not listed */
  text?: string;
}

export interface QueueTexts {
  steering: string[];
  followUp: string[];
}

export class Queue {
  steeringMode: QueueMode = "one-at-a-time";
  followUpMode: QueueMode = "one-at-a-time";
  interruptMode: InterruptMode = "wait";
  readonly #emit: (event: AgentEvent) => void;
  readonly #waiting: Record<Behaviour, Queued[]> = { steer: [], followUp: [] };

  constructor(emit: (event: AgentEvent) => void) {
    this.#emit = emit;
  }

  add(kind: Behaviour, queued: Queued): void {
    this.#waiting[kind].push(queued);
    if (queued.text !== undefined) this.#announce();
  }

  /** Puts a message before all others: what a plugin injects must be in the very next turn. */
  addFirst(kind: Behaviour, queued: Queued): void {
    this.#waiting[kind].unshift(queued);
    if (queued.text !== undefined) this.#announce();
  }

  isEmpty(kind?: Behaviour): boolean {
    if (kind) return this.#waiting[kind].length === 0;
    return this.#waiting.steer.length === 0 && this.#waiting.followUp.length === 0;
  }

  /** How many messages the next check point delivers. */
  due(kind: Behaviour): number {
    const waiting = this.#waiting[kind].length;
    const mode = kind === "steer" ? this.steeringMode : this.followUpMode;
    return mode === "all" ? waiting : Math.min(waiting, 1);
  }

  /** Takes the oldest message out, at the moment of its delivery. */
  shift(kind: Behaviour): AgentMessage | undefined {
    const taken = this.#waiting[kind].shift();
    if (taken?.text !== undefined) this.#announce();
    return taken?.message;
  }

  texts(): QueueTexts {
    return { steering: listed(this.#waiting.steer), followUp: listed(this.#waiting.followUp) };
  }

  /** Number of listed messages in both queues. */
  get length(): number {
    return this.isEmpty() ? 0 : listed(this.#waiting.steer).length + listed(this.#waiting.followUp).length;
  }

  /** Empties both queues and returns the removed texts. */
  clear(): QueueTexts {
    const removed = this.texts();
    this.#waiting.steer = [];
    this.#waiting.followUp = [];
    if (removed.steering.length + removed.followUp.length > 0) this.#announce();
    return removed;
  }

  #announce(): void {
    this.#emit({ type: "queue_update", ...this.texts() });
  }
}

function listed(waiting: readonly Queued[]): string[] {
  return waiting.flatMap(({ text }) => (text === undefined ? [] : [text]));
}
