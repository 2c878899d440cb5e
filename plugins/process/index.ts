/** The one owner of what is global to the process: streams, signals, uncaught errors, who started what. */
import type { EventEmitter } from "node:events";
import { definePlugin, type Io, type Plugin } from "../../core/index.ts";
import type { ProcessHost, ResourceOwner } from "./contract.ts";
import { createOwnership, ownerOfError } from "./ownership.ts";
import { takeStdout } from "./stdout.ts";

/** Here a listener that throws would be the end at once, or keep the process for ever. */
const delicate: ReadonlySet<unknown> = new Set(["uncaughtException", "exit"]);

const signals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** A host, made before foreign code is loaded. */
export interface ProcessGuard {
  readonly io: Io;
  /** To be called before foreign code is loaded: its children inherit neither stdout nor the client's stdin. */
  guardChildren(): void;
  readonly plugin: Plugin;
  /** resolves with the status once somebody asked for the end */
  readonly ended: Promise<number>;
  /** Called for errors that nobody owns: the process must end. */
  onFatal(handler: (error: unknown) => void): void;
  /** Puts everything back. */
  dispose(): void;
}

/** Takes stdout, signals and uncaught errors. `exitNow` serves a second signal. */
export function guardProcess(exitNow: (status: number) => void): ProcessGuard {
  const { io, guardChildren, giveBack } = takeStdout();
  const finders = new Set<(error: unknown) => ResourceOwner | undefined>();
  const find = (error: unknown): ResourceOwner | undefined => {
    for (const ask of finders) {
      const owner = ask(error);
      if (owner) return owner;
    }
    return undefined;
  };
  const ownership = createOwnership(find);
  const handlers = new Set<(error: unknown, owner: ResourceOwner) => boolean>();
  let onFatal: (error: unknown) => void = () => exitNow(1);
  let end: (status: number) => void = () => {};
  let announced: number | undefined;
  const ended = new Promise<number>((resolve) => {
    end = resolve;
  });

  const undo: (() => void)[] = [giveBack, () => ownership.uninstall()];
  const emitter: EventEmitter = process;
  const listeners = new Map<string, (...args: any[]) => void>();
  // By these Node begins to listen for a signal.
  const native = emitter.listeners("newListener") as (() => void)[];
  const listen = (event: string, listener: (...args: any[]) => void) => {
    process.on(event, listener);
    listeners.set(event, listener);
  };
  const stay = () => {
    for (const [event, listener] of [...native.map((own) => ["newListener", own] as const), ...listeners]) {
      if (!emitter.listeners(event).includes(listener)) emitter.on(event, listener);
    }
  };
  undo.push(() => {
    const all = [...listeners];
    listeners.clear();
    for (const [event, listener] of all) process.off(event, listener);
  });
  // Foreign code that tidies up with `removeAllListeners` takes ours with its own; without them an error or a signal is the end.
  listen("removeListener", (event, listener) => listeners.get(event) === listener && process.nextTick(stay));
  for (const [signal, status] of Object.entries(signals)) {
    listen(signal, () => {
      // Whoever escalates to another signal still learns which one ended the process.
      if (announced !== undefined) exitNow(announced);
      announced = status;
      end(status);
    });
  }
  listen("SIGPIPE", () => {});
  // A reader that went away (`| head`) is nobody's mistake; a transport that cares listens itself.
  io.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && io.stdout.listenerCount("error") === 1) onFatal(error);
  });
  const uncaught = (error: unknown) => {
    const owner = ownerOfError(error) ?? ownership.current() ?? find(error);
    if (owner && [...handlers].some((handler) => handler(error, owner))) return;
    onFatal(error);
  };
  const { emit } = emitter;
  emitter.emit = (event, ...rest) => {
    if (!delicate.has(event)) return emit.call(emitter, event, ...rest);
    try {
      return emit.call(emitter, event, ...rest);
    } catch (error) {
      uncaught(error);
      return true;
    }
  };
  undo.push(() => {
    emitter.emit = emit;
  });
  listen("uncaughtException", uncaught);
  listen("unhandledRejection", uncaught);

  const host: ProcessHost = {
    io,
    guardChildren,
    runAs: (owner, work) => ownership.runAs(owner, work),
    currentOwner: () => ownership.current(),
    releaseOwner: (owner, options) => ownership.release(owner, options),
    onUncaught(handler) {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    onUnowned(ask) {
      finders.add(ask);
      return () => finders.delete(ask);
    },
    end: (status) => end(status),
  };
  return {
    io,
    guardChildren,
    ended,
    plugin: definePlugin({ name: "process", apply: (kernel) => void kernel.provide("process", host) }),
    onFatal: (handler) => {
      onFatal = handler;
    },
    dispose: () => {
      for (const back of undo.reverse()) back();
    },
  };
}
