/**
 * Who listens to a hook. tapable offers typed hooks and no untap, and a throwing tap aborts the rest; so each hook gets
 * one dispatcher tap over a list that scopes own and dispatches go through a copy of. Three promises: a dispatch in flight keeps its snapshot,
 * one observer's throw does not stop the others, and only thenables are awaited.
 */
import { AsyncSeriesBailHook, type AsyncSeriesHook, AsyncSeriesWaterfallHook, HookMap, SyncBailHook, SyncHook, SyncWaterfallHook } from "tapable";
import type { Scope } from "./scope.ts";

type Fn = (...args: any[]) => unknown;
type Done = (error: Error | null, result?: unknown) => void;

interface Entry {
  readonly scope: Scope;
  readonly stage: number;
  readonly order: number;
  readonly fn: Fn;
}

export interface TapOptions {
  name?: string;
  stage?: number;
}

type Combine = "series" | "bail" | "waterfall";

/** Hooks whose taps may refuse by throwing; in all other series hooks a throw is reported and the rest goes on. */
const refusing = new WeakSet<object>();
const lists = new WeakMap<object, Taps>();

/** Marks a hook whose taps refuse by throwing. */
export function mayRefuse<H extends object>(hook: H): H {
  refusing.add(hook);
  return hook;
}

/** The list behind a hook; made with its dispatcher at first use. */
export function tapsOf(hook: object): Taps {
  let taps = lists.get(hook);
  if (!taps) {
    taps = new Taps(hook);
    lists.set(hook, taps);
  }
  return taps;
}

/** Whether anybody listens; hot paths ask before they prepare an argument. */
export function isTapped(hook: object): boolean {
  return (lists.get(hook)?.count ?? 0) > 0;
}

export const isThenable = (value: unknown): value is PromiseLike<unknown> => typeof (value as PromiseLike<unknown> | undefined)?.then === "function";

export class Taps {
  readonly #all: Entry[] = [];
  /** what dispatches go through: a copy, so that one in flight keeps its snapshot */
  #live: readonly Entry[] | undefined;
  readonly #combine: Combine;
  readonly #refuses: boolean;
  /** grows with every change, so that readers know what they cached is old */
  version = 0;
  /** What is waited for instead of a tap's answer. The rest goes on from there, and what the tap still says is not heard. */
  patience: ((answer: PromiseLike<unknown>) => PromiseLike<unknown>) | undefined;

  constructor(hook: object) {
    this.#combine = combineOf(hook);
    this.#refuses = this.#combine !== "series" || refusing.has(hook);
    install(hook, this);
  }

  get count(): number {
    return this.#entries().length;
  }

  /** All entries, visible or not: what must be empty after unloading. */
  get registered(): number {
    return this.#all.length;
  }

  add(scope: Scope, fn: Fn, stage: number): () => void {
    const entry: Entry = { scope, stage, order: scope.order, fn };
    const isBehind = (other: Entry) => other.stage > stage || (other.stage === stage && other.order > entry.order);
    // Nearly always the new one is the last: plugins load in order.
    const last = this.#all.at(-1);
    if (last && isBehind(last)) this.#all.splice(this.#all.findIndex(isBehind), 0, entry);
    else this.#all.push(entry);
    this.changed();
    return () => {
      const index = this.#all.indexOf(entry);
      if (index >= 0) this.#all.splice(index, 1);
      this.changed();
    };
  }

  /** A scope became visible or invisible, or an entry came or went. */
  changed(): void {
    this.#live = undefined;
    this.version++;
  }

  #entries(): readonly Entry[] {
    this.#live ??= this.#all.filter((entry) => entry.scope.visible);
    return this.#live;
  }

  /** Runs synchronous taps. A waterfall's value travels as the first argument. Loops by index: this is where hot paths pass. */
  run(first: unknown, rest: readonly unknown[]): unknown {
    const entries = this.#entries();
    let value = first;
    for (let index = 0; index < entries.length; index++) {
      const entry = entries[index] as Entry;
      try {
        const answer = rest.length === 0 ? entry.fn(value) : entry.fn(value, ...rest);
        if (answer === undefined) continue;
        if (this.#combine === "bail") return answer;
        if (this.#combine === "waterfall") value = answer;
      } catch (error) {
        if (this.#failed(entry, error)) throw error;
      }
    }
    return this.#combine === "waterfall" ? value : undefined;
  }

  /** Runs taps that may be asynchronous; calls back synchronously while none is. */
  runAsync(first: unknown, rest: readonly unknown[], done: Done): void {
    this.#step(this.#entries(), 0, first, rest, done);
  }

  /** From one entry to the end, or to the first that has to be waited for. */
  #step(entries: readonly Entry[], from: number, first: unknown, rest: readonly unknown[], done: Done): void {
    let value = first;
    for (let index = from; index < entries.length; index++) {
      const entry = entries[index] as Entry;
      let answer: unknown;
      try {
        answer = rest.length === 0 ? entry.fn(value) : entry.fn(value, ...rest);
      } catch (error) {
        if (!this.#failed(entry, error)) continue;
        done(error as Error);
        return;
      }
      if (answer === undefined) continue;
      if (isThenable(answer)) {
        this.#wait(answer, entries, index, value, rest, done);
        return;
      }
      if (this.#combine === "bail") {
        done(null, answer);
        return;
      }
      if (this.#combine === "waterfall") value = answer;
    }
    done(null, this.#combine === "waterfall" ? value : undefined);
  }

  /** The rest of the entries, once one of them has answered. */
  #wait(answer: PromiseLike<unknown>, entries: readonly Entry[], index: number, given: unknown, rest: readonly unknown[], done: Done): void {
    (this.patience?.(answer) ?? answer).then(
      (result) => {
        if (result !== undefined && this.#combine === "bail") done(null, result);
        else this.#step(entries, index + 1, result !== undefined && this.#combine === "waterfall" ? result : given, rest, done);
      },
      (error) => (this.#failed(entries[index] as Entry, error) ? done(error) : this.#step(entries, index + 1, given, rest, done)),
    );
  }

  /** true: the dispatch is over */
  #failed(entry: Entry, error: unknown): boolean {
    if (!this.#refuses) entry.scope.threw(error);
    return this.#refuses;
  }
}

/** tapable's hooks are made by factories: `instanceof` says nothing about them, their constructor does. */
const isA = (hook: object, ...classes: unknown[]): boolean => classes.includes(hook.constructor);

function combineOf(hook: object): Combine {
  if (isA(hook, AsyncSeriesBailHook, SyncBailHook)) return "bail";
  if (isA(hook, AsyncSeriesWaterfallHook, SyncWaterfallHook)) return "waterfall";
  return "series";
}

/**
 * The dispatcher is a tap like any other, and also the whole hook: tapable writes and compiles a function for each hook that is called,
 * which is most of what the first call costs. Whoever taps the hook itself makes tapable go back to its own way.
 */
function install(hook: object, taps: Taps): void {
  if (isA(hook, SyncHook, SyncBailHook, SyncWaterfallHook)) {
    const dispatch = (first?: unknown, ...rest: unknown[]) => taps.run(first, rest) as undefined;
    const sync = hook as SyncHook<any>;
    sync.tap("dispatcher", dispatch);
    sync.call = dispatch;
    return;
  }
  const dispatch = (...args: any[]) => {
    const done = args.pop() as Done;
    const first = args.shift();
    taps.runAsync(first, args, done);
  };
  const async = hook as AsyncSeriesHook<any>;
  async.tapAsync("dispatcher", dispatch);
  async.callAsync = dispatch;
  async.promise = (...args: any[]) =>
    new Promise((resolve, reject) => dispatch(...args, (error: Error | null, result?: any) => (error ? reject(error) : resolve(result))));
}

/** The tap-only view of a hook: `tap` and `tapPromise`, remembered by the plugin's scope. */
export type OwnedHook<H> =
  H extends SyncHook<infer A>
    ? { tap(options: string | TapOptions, fn: (...args: Tuple<A>) => void): () => void }
    : H extends SyncBailHook<infer A, infer R>
      ? { tap(options: string | TapOptions, fn: (...args: Tuple<A>) => R | void): () => void }
      : H extends SyncWaterfallHook<infer A>
        ? { tap(options: string | TapOptions, fn: (...args: Tuple<A>) => Tuple<A>[0] | void): () => void }
        : H extends AsyncSeriesWaterfallHook<infer A>
          ? AsyncTap<Tuple<A>, Tuple<A>[0] | void>
          : H extends AsyncSeriesBailHook<infer A, infer R>
            ? AsyncTap<Tuple<A>, R | void>
            : H extends AsyncSeriesHook<infer A>
              ? AsyncTap<Tuple<A>, void>
              : H extends HookMap<infer I>
                ? { for(key: string): OwnedHook<I> }
                : never;

type Tuple<A> = A extends unknown[] ? A : [A];

interface AsyncTap<A extends unknown[], R> {
  tap(options: string | TapOptions, fn: (...args: A) => R | Promise<R>): () => void;
  tapPromise(options: string | TapOptions, fn: (...args: A) => Promise<R>): () => void;
}

export type Owned<T> = { readonly [K in keyof T]: OwnedHook<T[K]> };

/** One prototype of getters per table: a view costs one object, and a hook's own view is made when it is asked for. */
const prototypes = new WeakMap<object, object>();

/** Makes the tap-only view of a table of hooks for one scope. */
export function own<T extends object>(hooks: T, scope: Scope): Owned<T> {
  let prototype = prototypes.get(hooks);
  if (!prototype) {
    prototype = {};
    for (const [name, hook] of Object.entries(hooks)) {
      Object.defineProperty(prototype, name, {
        enumerable: true,
        get(this: { scope: Scope }) {
          return ownHook(hook as object, this.scope);
        },
      });
    }
    prototypes.set(hooks, prototype);
  }
  return Object.create(prototype, { scope: { value: scope } });
}

function ownHook(hook: object, scope: Scope): unknown {
  if (hook instanceof HookMap) return { for: (key: string) => ownHook(hook.for(key) as object, scope) };
  const tap = (options: string | TapOptions, fn: Fn) => scope.tap(hook, fn, typeof options === "string" ? 0 : (options.stage ?? 0));
  return { tap, tapPromise: tap };
}
