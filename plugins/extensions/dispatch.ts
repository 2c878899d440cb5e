/** Calls extension handlers: in load order, one at a time, each with a deadline, and none can harm another. */
import { now } from "../shared/clock.ts";
import { type Handler, type Instance, StaleError } from "./instance.ts";
import type { ExtensionContext } from "./types.ts";

const DEADLINE_MS = 30_000;
/** For handlers that may call a model. */
const LONG_DEADLINE_MS = 600_000;
/** How long a handler of an instance that is gone is waited for: what it waits for itself may be gone too. */
const GOODBYE_MS = 200;
const longOnes = new Set([
  "session_start",
  "session_before_compact",
  "session_before_tree",
  "before_agent_start",
  "input",
  "agent_end",
  "turn_end",
  "agent_before_settle",
  "project_trust",
]);

export interface Dispatch {
  event: string;
  payload: object;
  /** Takes a handler's answer (never undefined or null); true ends the dispatch. A throw counts as the handler's. */
  take?(answer: any, instance: Instance): boolean | void;
  /** What a failure means beyond its report; true ends the dispatch. */
  failed?(error: unknown, instance: Instance): boolean | void;
  /** false: the failure is somebody else's to report */
  report?: boolean;
  /** some instances instead of all */
  only?: readonly Instance[];
  deadlineMs?: number;
  /** another context than the usual */
  context?(instance: Instance): object;
}

export interface Surroundings {
  /** in load order */
  instances(): readonly Instance[];
  contextOf(instance: Instance): ExtensionContext;
  /** Runs code as the instance's: what it starts belongs to it. */
  runAs<T>(instance: Instance, work: () => T): T;
  report(instance: Instance, event: string, error: unknown): void;
  /** Begins to watch one call; the answer is told its end. */
  watch?(instance: Instance, event: string): ((error?: unknown) => void) | undefined;
  /** as configured, for tests and impatient users */
  deadlineMs(): number | undefined;
}

interface Listener {
  instance: Instance;
  handler: Handler;
}

const isThenable = (value: unknown): value is PromiseLike<unknown> => typeof (value as PromiseLike<unknown> | undefined)?.then === "function";

export class Dispatcher {
  readonly #around: Surroundings;
  /** dispatches under way */
  readonly #running = new Set<object>();
  #onQuiet: (() => void)[] = [];

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** Resolves when no dispatch is under way; undefined: none is. */
  quiet(): Promise<void> | undefined {
    if (this.#running.size === 0) return undefined;
    return new Promise((resolve) => this.#onQuiet.push(resolve));
  }

  /** Nobody waits any more for what is under way: it ends in its own time, on the instances that began it. */
  passOver(): void {
    this.#running.clear();
    this.#announceQuiet();
  }

  /** Calls all handlers of an event. No promise unless a handler makes one. */
  dispatch(dispatch: Dispatch): Promise<void> | undefined {
    const listeners = this.#listeners(dispatch);
    if (listeners.length === 0) return undefined;
    const running = {};
    this.#running.add(running);
    const pending = this.#from(0, listeners, dispatch);
    if (!pending) {
      this.#ended(running);
      return undefined;
    }
    return pending.finally(() => this.#ended(running));
  }

  /** The list is copied here: what registers during the dispatch is not called by it. */
  #listeners({ event, only }: Dispatch): Listener[] {
    const instances = only ?? this.#around.instances();
    return instances.flatMap((instance) => (instance.isLive ? (instance.handlers.get(event) ?? []).map((handler) => ({ instance, handler })) : []));
  }

  #from(start: number, listeners: readonly Listener[], dispatch: Dispatch): Promise<void> | undefined {
    for (let index = start; index < listeners.length; index++) {
      const step = this.#call(listeners[index] as Listener, dispatch);
      if (step === true) return undefined;
      if (step) return step.then((ends) => (ends ? undefined : this.#from(index + 1, listeners, dispatch)));
    }
    return undefined;
  }

  /** One handler; the answer says whether the dispatch ends here. */
  #call({ instance, handler }: Listener, dispatch: Dispatch): boolean | Promise<boolean> {
    // It may have gone stale or into quarantine while earlier handlers ran.
    if (!instance.isLive && instance.state !== "draining") return false;
    const leave = instance.enter();
    const watched = this.#around.watch?.(instance, dispatch.event);
    const settle = (answer: unknown): boolean => {
      watched?.();
      try {
        const ends = answer === undefined || answer === null ? false : dispatch.take?.(answer, instance) === true;
        instance.countSuccess(dispatch.event);
        return ends;
      } catch (error) {
        return this.#failed(instance, dispatch, error);
      }
    };
    try {
      const context = dispatch.context?.(instance) ?? this.#around.contextOf(instance);
      const answer = this.#around.runAs(instance, () => handler(dispatch.payload, context as ExtensionContext));
      if (!isThenable(answer)) {
        const ends = settle(answer);
        leave();
        return ends;
      }
      return withDeadline(instance, Promise.resolve(answer), this.#limit(dispatch), dispatch.event)
        .then(settle, (error) => {
          watched?.(error);
          return this.#failed(instance, dispatch, error);
        })
        .finally(leave);
    } catch (error) {
      watched?.(error);
      leave();
      return this.#failed(instance, dispatch, error);
    }
  }

  #limit({ event, deadlineMs }: Dispatch): number {
    return deadlineMs ?? this.#around.deadlineMs() ?? (longOnes.has(event) ? LONG_DEADLINE_MS : DEADLINE_MS);
  }

  #failed(instance: Instance, dispatch: Dispatch, error: unknown): boolean {
    if (dispatch.report !== false) this.#around.report(instance, error instanceof StaleError ? "stale" : dispatch.event, error);
    return dispatch.failed?.(error, instance) === true;
  }

  #ended(running: object): void {
    this.#running.delete(running);
    if (this.#running.size === 0) this.#announceQuiet();
  }

  #announceQuiet(): void {
    for (const resolve of this.#onQuiet.splice(0)) resolve();
  }
}

/** A handler that took too long. */
export class DeadlineError extends Error {}

/** `work`, or a DeadlineError after `limitMs` of time in which no dialog of the instance was open. Nothing, once the instance is gone. */
export function withDeadline<T>(instance: Instance, work: Promise<T>, limitMs: number, what: string): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    let remaining = limitMs;
    let since = 0;
    let timer: NodeJS.Timeout | undefined;
    const stop = () => {
      if (!timer) return;
      clearTimeout(timer);
      timer = undefined;
      remaining -= now() - since;
    };
    const miss = () =>
      finish(() => reject(new DeadlineError(`The handler of ${what} did not finish within ${seconds(limitMs)}; the agent went on without it.`)));
    const start = () => {
      if (timer || instance.dialogs > 0) return;
      since = now();
      timer = setTimeout(miss, Math.max(remaining, 0));
    };
    const forget = instance.onDialogs(() => (instance.dialogs > 0 ? stop() : start()));
    let goodbye: NodeJS.Timeout | undefined;
    const stay = instance.onRetired(() => {
      goodbye = setTimeout(() => finish(() => resolve(undefined)), GOODBYE_MS);
    });
    const finish = (settle: () => void) => {
      stop();
      clearTimeout(goodbye);
      forget();
      stay();
      settle();
    };
    start();
    work.then(
      (value) => finish(() => resolve(value)),
      (error) => finish(() => reject(error)),
    );
  });
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`;
}
