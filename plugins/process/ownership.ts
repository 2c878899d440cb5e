/** Remembers which extension started a timer, a child process, a server or a watcher of files, or listens to the process. Installed with the first owner, so that nobody else pays. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ChildProcess } from "node:child_process";
import { type EventEmitter, errorMonitor } from "node:events";
import fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { Server } from "node:net";
import timers from "node:timers";
import { signalTree } from "../shared/process-tree.ts";
import type { ResourceOwner } from "./contract.ts";

type AnyFunction = (...args: any[]) => any;
type Storage = AsyncLocalStorage<ResourceOwner | undefined>;

export interface Ownership {
  runAs<T>(owner: ResourceOwner | undefined, work: () => T): T;
  current(): ResourceOwner | undefined;
  release(owner: ResourceOwner, options?: { keepsTimeouts?: boolean }): void;
  uninstall(): void;
}

/** Timers that come again and again. */
const intervals = new WeakSet<object>();

/** Errors that carry their owner from where they were thrown. */
const owners = new WeakMap<object, ResourceOwner>();

export function ownerOfError(error: unknown): ResourceOwner | undefined {
  return typeof error === "object" && error !== null ? owners.get(error) : undefined;
}

/** `find` knows the owner of some errors by where they come from. */
export function createOwnership(find: (error: unknown) => ResourceOwner | undefined): Ownership {
  const storage: Storage = new AsyncLocalStorage();
  let undo: (() => void)[] = [];

  const install = () => {
    if (undo.length > 0) return;
    undo = [ownTimers(storage), ownMicrotasks(storage), ownChildren(storage), ownListeners(storage), ownProcessListeners(storage), refuseExit(storage, find)];
    syncBuiltinESMExports();
  };

  return {
    runAs(owner, work) {
      if (owner) install();
      // Without owners nothing has to be remembered, which would make every promise dearer.
      return undo.length === 0 ? work() : storage.run(owner, work);
    },
    current: () => (undo.length === 0 ? undefined : storage.getStore()),
    release(owner, { keepsTimeouts = false } = {}) {
      for (const timer of [...owner.timers]) {
        if (keepsTimeouts && !intervals.has(timer as object)) continue;
        timers.clearTimeout(timer as NodeJS.Timeout);
        owner.timers.delete(timer);
      }
      for (const child of owner.children) signalTree(child, "SIGTERM");
      owner.children.clear();
      for (const listener of owner.listeners) close(listener);
      owner.listeners.clear();
    },
    uninstall() {
      if (undo.length === 0) return;
      for (const back of undo.reverse()) back();
      undo = [];
      syncBuiltinESMExports();
    },
  };
}

/** Timers of the global object and of `node:timers`; both are the same functions. */
function ownTimers(storage: Storage): () => void {
  const undo: (() => void)[] = [];
  const starting = (name: "setTimeout" | "setInterval" | "setImmediate", repeats: boolean) => {
    const original = globalThis[name] as AnyFunction;
    const wrapped = (callback: AnyFunction, ...rest: unknown[]) => {
      const owner = storage.getStore();
      if (!owner || typeof callback !== "function") return original(callback, ...rest);
      const timer = original(
        (...args: unknown[]) => {
          if (!repeats) owner.timers.delete(timer);
          return attributed(owner, () => callback(...args));
        },
        ...rest,
      );
      owner.timers.add(timer);
      if (repeats) intervals.add(timer);
      return timer;
    };
    // util.promisify(setTimeout) reads a symbol of the original.
    Object.defineProperties(wrapped, Object.getOwnPropertyDescriptors(original));
    undo.push(replace(globalThis as never, name, wrapped), replace(timers as never, name, wrapped));
  };
  const clearing = (name: "clearTimeout" | "clearInterval" | "clearImmediate") => {
    const original = globalThis[name] as AnyFunction;
    const wrapped = (timer: unknown) => {
      storage.getStore()?.timers.delete(timer);
      return original(timer);
    };
    undo.push(replace(globalThis as never, name, wrapped), replace(timers as never, name, wrapped));
  };
  starting("setTimeout", false);
  starting("setInterval", true);
  starting("setImmediate", false);
  clearing("clearTimeout");
  clearing("clearInterval");
  clearing("clearImmediate");
  return () => {
    for (const back of undo.reverse()) back();
  };
}

/** What a microtask throws arrives without any context; so the owner is attached on the way. */
function ownMicrotasks(storage: AsyncLocalStorage<ResourceOwner | undefined>): () => void {
  const original = globalThis.queueMicrotask;
  return replace(globalThis as never, "queueMicrotask", (callback: AnyFunction) => {
    const owner = storage.getStore();
    original(owner && typeof callback === "function" ? () => attributed(owner, callback) : (callback as () => void));
  });
}

function ownChildren(storage: Storage): () => void {
  const { ChildProcess: Children } = createRequire(import.meta.url)("node:child_process");
  const original = Children.prototype.spawn as AnyFunction;
  return replace(Children.prototype, "spawn", function spawn(this: ChildProcess, ...args: unknown[]) {
    const owner = storage.getStore();
    if (owner) {
      owner.children.add(this);
      this.once("exit", () => owner.children.delete(this));
      // Only seen: with a listener of ours an error that nobody else hears of would be taken for handled.
      (this as EventEmitter).once(errorMonitor, () => owner.children.delete(this));
    }
    return original.apply(this, args);
  });
}

/** Servers once they listen, those of HTTP included, and what `fs.watch` answers. */
function ownListeners(storage: Storage): () => void {
  const own = <T extends EventEmitter & { close(): unknown }>(listener: T): T => {
    const owner = storage.getStore();
    if (!owner) return listener;
    owner.listeners.add(listener);
    listener.once("close", () => owner.listeners.delete(listener));
    return listener;
  };
  const { listen } = Server.prototype as unknown as Record<string, AnyFunction>;
  const { watch } = fs as unknown as Record<string, AnyFunction>;
  const undo = [
    replace(Server.prototype as never, "listen", function owned(this: Server, ...args: unknown[]) {
      return listen?.apply(own(this), args);
    }),
    replace(fs as never, "watch", (...args: unknown[]) => own(watch?.(...args))),
  ];
  return () => {
    for (const back of undo.reverse()) back();
  };
}

/** Listeners of the process, for signals say. What is to be done at the very end stays: nothing else would do it. */
function ownProcessListeners(storage: Storage): () => void {
  const emitter: EventEmitter = process;
  const held: { event: string | symbol; listener: AnyFunction; owner: ResourceOwner; close(): void }[] = [];
  const added = (event: string | symbol, listener: AnyFunction) => {
    const owner = storage.getStore();
    if (!owner || event === "exit" || event === "beforeExit") return;
    const entry = { event, listener, owner, close: () => void emitter.off(event, listener) };
    held.push(entry);
    owner.listeners.add(entry);
  };
  const removed = (event: string | symbol, listener: AnyFunction) => {
    const index = held.findIndex((entry) => entry.event === event && entry.listener === listener);
    for (const entry of index < 0 ? [] : held.splice(index, 1)) entry.owner.listeners.delete(entry);
  };
  emitter.on("newListener", added).on("removeListener", removed);
  return () => {
    emitter.off("newListener", added).off("removeListener", removed);
  };
}

function close(listener: { close(): unknown; closeAllConnections?(): void }): void {
  try {
    listener.close();
    listener.closeAllConnections?.();
  } catch {
    // It is closed already, in a way that nobody heard of.
  }
}

/** An extension must not end the process: the call is thrown back at it. */
function refuseExit(storage: Storage, find: (error: unknown) => ResourceOwner | undefined): () => void {
  const refusing = (name: "exit" | "abort") => {
    const original = process[name] as AnyFunction;
    return replace(process as never, name, (code?: number) => {
      // Listeners for signals run in nobody's name.
      const owner = storage.getStore() ?? find(new Error(`process.${name}`));
      if (!owner) return original(code);
      throw attach(owner, new Error(`process.${name}(${code ?? ""}) was called by the extension ${owner.id}; extensions end the agent with ctx.shutdown().`));
    });
  };
  const undo = [refusing("exit"), refusing("abort")];
  return () => {
    for (const back of undo) back();
  };
}

/** Runs an owner's callback; what it throws is known to be the owner's. */
function attributed<T>(owner: ResourceOwner, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw attach(owner, error);
  }
}

function attach(owner: ResourceOwner, error: unknown): unknown {
  const object = typeof error === "object" && error !== null ? error : new Error(String(error));
  owners.set(object, owner);
  return object;
}

function replace(target: Record<string, AnyFunction>, name: string, value: AnyFunction): () => void {
  const original = target[name] as AnyFunction;
  target[name] = value;
  return () => {
    target[name] = original;
  };
}
