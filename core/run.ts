/** Running or idle, the abort signal, and passes of the loop until nobody continues. */
import { setMaxListeners } from "node:events";
import type { RunDraft, RunOutcome } from "./contracts.ts";
import { KernelError } from "./errors.ts";
import type { Kernel } from "./kernel.ts";
import { type Beginning, runLoop } from "./loop.ts";
import { passedOver, patiently } from "./patience.ts";

const CLOSED = "The agent is shutting down.";
export const BUSY = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";

/** Something besides a run that keeps the session from being idle, e.g. a compaction. */
export interface Occupation {
  name: string;
  abort(): void;
}

export class Run {
  readonly #kernel: Kernel;
  #controller: AbortController | undefined;
  #hasBegun = false;
  /** of the run that is over, until all have heard of it */
  #ended: AbortController | undefined;
  readonly #occupations = new Set<Occupation>();
  #waiting: { isDue(): boolean; resolve(): void }[] = [];
  #isClosed = false;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** A session-level run is active, from acceptance until it has settled. */
  get active(): boolean {
    return this.#controller !== undefined;
  }

  get idle(): boolean {
    return !this.active && this.#occupations.size === 0;
  }

  /** Claimed by a prompt that is still looked at, and may come to no run. */
  get reserved(): boolean {
    return this.active && !this.#hasBegun;
  }

  /** The agent is being stopped: no run begins any more. */
  get closed(): boolean {
    return this.#isClosed;
  }

  /** of the active run */
  get signal(): AbortSignal | undefined {
    return this.#controller?.signal;
  }

  /** Claims the run before anything is awaited, so that two prompts cannot race. */
  reserve(): void {
    if (this.#isClosed) throw new KernelError("E_REFUSED", CLOSED);
    if (this.active) throw new KernelError("E_BUSY", BUSY);
    this.#controller = new AbortController();
    // As many tools may run at once as the model calls; Node warns of a leak from the eleventh on.
    setMaxListeners(0, this.#controller.signal);
  }

  /** Gives a reserved run back: it was refused. */
  release(): void {
    this.#controller = undefined;
    this.#wake();
  }

  /** Runs the reserved run. Never rejects. */
  async begin(draft: RunDraft): Promise<void> {
    const controller = this.#controller;
    if (!controller) return;
    this.#hasBegun = true;
    this.#kernel.bus.hurryOn(controller.signal);
    try {
      await this.#passes(draft, controller.signal);
      const delivered = this.#kernel.bus.flush();
      if (delivered) await patiently(delivered, controller.signal);
    } catch (error) {
      this.#kernel.fault({ from: "kernel", during: "run", error });
    } finally {
      // The bus keeps the signal: after an abort not even an observer of agent_settled is waited for.
      this.#controller = undefined;
      this.#hasBegun = false;
      this.#kernel.emit({ type: "agent_settled" });
      this.#ended = controller;
      const forget = () => {
        if (this.#ended === controller) this.#ended = undefined;
      };
      void (this.#kernel.bus.flush()?.then(forget) ?? forget());
      this.#wake();
    }
  }

  /** Keeps the session busy with something that `abort` cancels; the answer ends it. */
  occupy(occupation: Occupation): () => void {
    this.#occupations.add(occupation);
    if (this.#isClosed) occupation.abort();
    return () => {
      this.#occupations.delete(occupation);
      this.#wake();
    };
  }

  /** Cancels what is going on and keeps the session busy from now on; `ready` when that has ended. There is no gap in which others find it idle. */
  takeOver(occupation: Occupation): { ready: Promise<void>; free: () => void } {
    this.#cancelAll();
    const before = [...this.#occupations];
    const ready = this.#when(() => !this.active && before.every((other) => !this.#occupations.has(other)));
    return { ready, free: this.occupy(occupation) };
  }

  /** Cancels whatever the session is doing and resolves when it is idle. */
  abort(): Promise<void> {
    this.#cancelAll();
    return this.whenIdle();
  }

  /** Cancels what is going on, and nothing begins any more. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.abort();
  }

  whenIdle(): Promise<void> {
    return this.#when(() => this.idle);
  }

  #cancelAll(): void {
    this.#ended?.abort();
    this.#controller?.abort();
    for (const occupation of this.#occupations) occupation.abort();
  }

  #when(isDue: () => boolean): Promise<void> {
    if (isDue()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ isDue, resolve }));
  }

  #wake(): void {
    const due = this.#waiting.filter(({ isDue }) => isDue());
    this.#waiting = this.#waiting.filter((waiting) => !due.includes(waiting));
    for (const { resolve } of due) resolve();
  }

  async #passes(draft: RunDraft, signal: AbortSignal): Promise<void> {
    let first: Beginning = { messages: draft.messages, queue: "steer" };
    await this.#boundary("start", "completed", signal);
    for (;;) {
      const outcome = await runLoop(this.#kernel, draft, first, signal);
      if (signal.aborted || !(await this.#goesOn(outcome, signal))) return;
      const hasOnlyFollowUps = outcome.status === "completed" && this.#kernel.queue.isEmpty("steer");
      first = { messages: [], queue: hasOnlyFollowUps ? "followUp" : "steer" };
    }
  }

  async #goesOn(outcome: RunOutcome, signal: AbortSignal): Promise<boolean> {
    const answer = await patiently(this.#kernel.hooks.afterRun.promise(outcome, signal), signal);
    if (answer === passedOver || signal.aborted) return false;
    if (answer === "continue") return true;
    // Handlers of agent_end may have queued messages.
    if (outcome.status === "completed" && !this.#kernel.queue.isEmpty()) return true;
    return (await this.#boundary("settle", outcome.status, signal)) === "continue";
  }

  async #boundary(at: "start" | "settle", status: RunOutcome["status"], signal: AbortSignal): Promise<"continue" | undefined> {
    const answer = await patiently(this.#kernel.hooks.boundary.promise({ at, signal, status, joining: [] }), signal);
    return answer === "continue" ? answer : undefined;
  }
}
