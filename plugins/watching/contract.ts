/** Noticing changes of files while the agent runs, as other features see it: each says where its files are and reads them again itself. */

/** A file or directory, which need not exist yet. */
export interface Place {
  path: string;
  /** how many levels of directories below a directory count as well; none otherwise */
  depth?: number;
  /** which names in a directory count; all otherwise */
  matches?(name: string): boolean;
  /** whether directories below one with these entries count; they do otherwise */
  descends?(names: readonly string[]): boolean;
}

export interface Watch {
  /** Where to look; asked again after every change. */
  places(): readonly Place[];
  /** Something there may have changed. Called once it has been quiet for a moment, and never while an earlier call is under way. */
  changed(): unknown;
}

export interface WatchHandle {
  /** The places are others now. */
  moved(): void;
  /** Something may have changed that is not in the places. */
  touched(): void;
  stop(): void;
}

export interface Watching {
  /** false: nothing is ever noticed in this process */
  readonly isOn: boolean;
  /** Begins once the agent has answered for the first time; never if hot reload is off. The scope that asked should stop it. */
  watch(watch: Watch): WatchHandle;
}

declare module "../../core/index.ts" {
  interface Services {
    watching: Watching;
  }
  interface Options {
    "no-hot-reload"?: boolean;
  }
}
