/** Events of the agent and the bus that delivers them in order. */
import type { ToolResult } from "./contracts.ts";
import type { KernelHooks } from "./hooks.ts";
import type { AgentMessage, AssistantMessage, BlockEvent, ToolResultMessage } from "./messages.ts";
import { tapsOf } from "./taps.ts";

/** Event payloads by type; features merge their own. */
export interface AgentEvents {
  agent_start: object;
  agent_end: { messages: AgentMessage[]; willRetry: boolean };
  agent_settled: object;
  turn_start: object;
  turn_end: { message: AssistantMessage; toolResults: ToolResultMessage[] };
  message_start: { message: AgentMessage };
  message_update: { message: AssistantMessage; assistantMessageEvent: BlockEvent };
  message_end: { message: AgentMessage };
  tool_execution_start: { toolCallId: string; toolName: string; args: Record<string, unknown> };
  tool_execution_update: { toolCallId: string; toolName: string; args: Record<string, unknown>; partialResult: ToolResult };
  tool_execution_end: { toolCallId: string; toolName: string; result: ToolResult; isError: boolean };
  queue_update: { steering: string[]; followUp: string[] };
}

export type EventOf<K extends keyof AgentEvents> = { type: K } & AgentEvents[K];
export type AgentEvent = { [K in keyof AgentEvents]: EventOf<K> }[keyof AgentEvents];

/** How long an aborted run waits for one slow observer. */
const HURRY_MS = 200;
/** Undelivered events past which sources wait. */
const BACKLOG = 1000;

type Item = AgentEvent | (() => void);

/**
 * Delivers events strictly in emission order, even with slow observers.
 * While all observers are synchronous, delivery happens inside `emit`: no promise is made.
 * One law: a tap never awaits the bus.
 */
export class Bus {
  readonly #hook: KernelHooks["event"];
  readonly #onError: (error: unknown) => void;
  #waiting: Item[] = [];
  #next = 0;
  #busy = false;
  #position = 0;
  #gates: readonly (() => Promise<void> | undefined)[] = [];
  #hurry: AbortSignal | undefined;

  constructor(hook: KernelHooks["event"], onError: (error: unknown) => void) {
    this.#hook = hook;
    this.#onError = onError;
    // One by one: those behind an observer that is passed over, the wire among them, get each event in its turn.
    tapsOf(hook).patience = (answer) => this.#patiently(answer);
  }

  emit(event: AgentEvent): void {
    this.#position++;
    this.#put(event);
  }

  /** Grows with all that has to be delivered. */
  readonly position = (): number => this.#position;

  /**
   * Runs `work` once everything emitted before has been delivered. Replies use it, so they share the events' order: those of what they answer.
   * If nothing was emitted since the position `since`, there is nothing to wait for: an observer that asks the client must not hold up its answers.
   */
  readonly enqueue = (work: () => void, since?: number): void => {
    if (this.#busy && since === this.#position) {
      this.#do(work);
      return;
    }
    if (this.#busy) {
      this.#position++;
      this.#waiting.push(work);
      return;
    }
    this.#busy = true;
    this.#do(work);
    // What it caused was emitted in the meantime.
    if (this.#waiting.length > 0) this.#pump();
    else this.#busy = false;
  };

  /** Resolves when all that was emitted before has been delivered; undefined if it has been already. */
  flush(): Promise<void> | undefined {
    if (!this.#busy) return undefined;
    return new Promise((resolve) => this.#put(resolve));
  }

  /** While `signal` is aborted no observer is waited for longer than a moment. */
  hurryOn(signal: AbortSignal | undefined): void {
    this.#hurry = signal;
  }

  /** A transport's word on whether the wire can take more. */
  addGate(gate: () => Promise<void> | undefined): () => void {
    this.#gates = [...this.#gates, gate];
    return () => {
      this.#gates = this.#gates.filter((other) => other !== gate);
    };
  }

  /** Sources of data await this before they pull more. Undefined: go on at once. */
  ready(): Promise<void> | undefined {
    if (this.#waiting.length - this.#next > BACKLOG) return this.flush();
    for (const gate of this.#gates) {
      const closed = gate();
      if (closed) return closed.then(() => this.ready());
    }
    return undefined;
  }

  #put(item: Item): void {
    this.#waiting.push(item);
    if (this.#busy) return;
    this.#busy = true;
    this.#pump();
  }

  #pump(): void {
    while (this.#next < this.#waiting.length) {
      const item = this.#waiting[this.#next++] as Item;
      // A moving index instead of shift(): a backlog of n items costs n, not n².
      if (this.#next > 1024) {
        this.#waiting = this.#waiting.slice(this.#next);
        this.#next = 0;
      }
      const pending = this.#deliver(item);
      if (pending) {
        void pending.then(() => this.#pump());
        return;
      }
    }
    this.#waiting = [];
    this.#next = 0;
    this.#busy = false;
  }

  #deliver(item: Item): Promise<void> | undefined {
    if (typeof item === "function") {
      this.#do(item);
      return undefined;
    }
    let done = false;
    let resolve: (() => void) | undefined;
    this.#hook.callAsync(item, () => {
      done = true;
      resolve?.();
    });
    if (done) return undefined;
    return new Promise((settled) => {
      resolve = settled;
    });
  }

  #do(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#onError(error);
    }
  }

  /** Waits for an observer, but only a moment once the run is being aborted. */
  #patiently(answer: PromiseLike<unknown>): PromiseLike<unknown> {
    const signal = this.#hurry;
    if (!signal) return answer;
    return new Promise<void>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const hurry = () => {
        timer = setTimeout(() => finish(resolve), HURRY_MS);
      };
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", hurry);
        settle();
      };
      if (signal.aborted) hurry();
      else signal.addEventListener("abort", hurry, { once: true });
      answer.then(
        () => finish(resolve),
        (error) => finish(() => reject(error)),
      );
    });
  }
}
