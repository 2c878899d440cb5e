/** Loaded extensions, as other features see them. */
import type { SyncHook } from "tapable";
import type { ExtensionFactory } from "./types.ts";

export interface ExtensionInfo {
  path: string;
  name: string;
  state: "active" | "failed" | "quarantined";
  generation: number;
  loadMs: number;
  error?: string;
  faults: number;
  owns: { tools: string[]; commands: string[]; events: string[]; providers: string[]; flags: string[]; timers: number; children: number; dialogs: number };
}

export interface Extensions {
  list(): ExtensionInfo[];
  /** Stages everything (or one path) and swaps what loads. */
  reload(path?: string): Promise<{ reloaded: string[]; failed: { path: string; error: string }[] }>;
  /** Names that a module of ours has for extensions; undefined if we do not serve it. */
  exportsOf(specifier: string): Promise<readonly string[] | undefined>;
  /** a handler has been called; costs nothing while nobody listens */
  readonly hooks: { called: SyncHook<[call: HandlerCall]> };
}

export interface HandlerCall {
  path: string;
  event: string;
  ms: number;
  error?: unknown;
}

export type { ResourceFile, Resources } from "../resources/contract.ts";
export type { ExtensionEvents } from "./types.ts";

/** An extension that was compiled into the program: it gets the modules it imports, and answers its exports. */
export interface CompiledExtension {
  name: string;
  /** package names that we serve */
  imports: readonly string[];
  evaluate(load: (specifier: string) => unknown): unknown;
}

declare module "../../core/index.ts" {
  interface Services {
    extensions: Extensions;
  }
  interface Options {
    /** factories of the program that embeds us, loaded after all files */
    extensionFactories?: readonly (ExtensionFactory | { name: string; factory: ExtensionFactory } | CompiledExtension)[];
  }
  interface AgentEvents {
    extension_reload: { extensionPath: string; success: boolean; durationMs: number; generation: number; error?: string };
    extension_quarantined: { extensionPath: string; faults: number; lastError: string };
  }
}
