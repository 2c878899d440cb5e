/** What is global to the process has one owner; agents created in process do without it. */
import type { Io } from "../../core/index.ts";

/** Who started a timer, a child process and the like: an extension, by its own words. */
export interface ResourceOwner {
  /** path or name, for reports */
  readonly id: string;
  readonly timers: Set<unknown>;
  readonly children: Set<import("node:child_process").ChildProcess>;
  /** servers that listen, watchers of files, and what listens to the process */
  readonly listeners: Set<{ close(): unknown }>;
}

export interface ProcessHost {
  readonly io: Io;
  /** To be called before foreign code is loaded: its children inherit neither stdout nor the client's stdin. Our own never do, and Node's module for them is not read in vain. */
  guardChildren(): void;
  /** Runs `work` so that timers, children, servers and watchers it starts, also later, belong to `owner`; undefined: to nobody (the kernel). */
  runAs<T>(owner: ResourceOwner | undefined, work: () => T): T;
  /** the owner of the code that is running */
  currentOwner(): ResourceOwner | undefined;
  /** Clears timers, ends children and closes what `owner` left behind. `keepsTimeouts`: what fires once still does, for somebody waits for it. */
  releaseOwner(owner: ResourceOwner, options?: { keepsTimeouts?: boolean }): void;
  /** Called for uncaught errors whose owner is known; answers whether it took the error. */
  onUncaught(handler: (error: unknown, owner: ResourceOwner) => boolean): () => void;
  /** Asked whose code an error comes from where nothing else tells: callbacks may run in anybody's name, such as those of an abort signal. */
  onUnowned(find: (error: unknown) => ResourceOwner | undefined): () => void;
  /** Asks for the orderly end of the process with this status. */
  end(status: number): void;
}

declare module "../../core/index.ts" {
  interface Services {
    process: ProcessHost;
  }
}
