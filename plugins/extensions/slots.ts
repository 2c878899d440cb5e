/** One slot per extension file: its place in the order, the module as last read, the instance that runs, and what went wrong. */
import { realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { Kinds, PluginKernel } from "../../core/index.ts";
import type { ResourceFile } from "../resources/contract.ts";
import type { ExtensionInfo } from "./contract.ts";
import type { Instance } from "./instance.ts";
import type { EvaluatedModule } from "./load.ts";

/** Extensions come after all built-in plugins; a lower order runs first and wins names. */
const FIRST_ORDER = 1_000_000;
const LAST_ORDER = 2_000_000;

export interface Slot extends ResourceFile {
  /** position among all taps; a new file gets a place between its neighbours */
  order: number;
  generation: number;
  module?: EvaluatedModule;
  live?: Instance;
  /** why the last attempt failed */
  error?: string;
  /** own files of the last attempt, with what was read */
  files: ReadonlyMap<string, string | undefined>;
  /** the real file of the last attempt, where there are links on the way */
  target?: string;
  loadMs: number;
  /** times of recent hot reloads, by the file that had changed */
  recent: Map<string, number[]>;
}

/** The rank of a slot: who comes earlier wins, and all win over built-ins. */
export function rankOf({ order }: Slot): { order: number; precedence: number } {
  return { order, precedence: FIRST_ORDER + LAST_ORDER - order };
}

/** The slots for `files` in their order; known ones are kept, new ones find their place. */
export function arrange(known: readonly Slot[], files: readonly ResourceFile[]): Slot[] {
  const byPath = new Map(known.map((slot) => [slot.path, slot]));
  const slots = files.map(
    (file): Slot => byPath.get(file.path) ?? { ...file, order: Number.NaN, generation: 0, files: new Map(), loadMs: 0, recent: new Map() },
  );
  let previous = FIRST_ORDER;
  for (const [index, slot] of slots.entries()) {
    if (Number.isNaN(slot.order)) {
      const next = slots.slice(index + 1).find(({ order }) => order > previous)?.order ?? LAST_ORDER;
      slot.order = previous + (next - previous) / 16;
    }
    previous = Math.max(previous, slot.order);
  }
  return slots;
}

export function describe(slot: Slot, kernel: PluginKernel): ExtensionInfo {
  const { live } = slot;
  // A plugin of the kernel contributes to the registries itself.
  const isPlugin = live && typeof live.module.exported !== "function";
  const held = (kind: keyof Kinds) => (isPlugin ? heldBy(kernel, kind, scopeNameOf(live.path)) : []);
  return {
    path: slot.path,
    name: nameOf(slot.path),
    state: live ? (live.isQuarantined ? "quarantined" : "active") : "failed",
    generation: slot.generation,
    loadMs: Math.round(slot.loadMs),
    ...(slot.error !== undefined && { error: slot.error }),
    faults: live?.faults ?? 0,
    owns: {
      tools: distinct(live?.tools.keys(), held("tools")),
      commands: distinct(live?.commands.keys(), held("slashCommands")),
      events: [...(live?.handlers.keys() ?? [])],
      providers: distinct(live?.providers.keys(), held("modelSources"), held("providers")),
      flags: distinct(live?.flags.keys(), held("flags")),
      timers: live?.timers.size ?? 0,
      children: live?.children.size ?? 0,
      dialogs: live?.dialogs ?? 0,
    },
  };
}

/** What an instance is called among the plugins. */
export function scopeNameOf(path: string): string {
  return `extension:${path}`;
}

function heldBy(kernel: PluginKernel, kind: keyof Kinds, owner: string): string[] {
  const registry = kernel.registry(kind);
  return registry.all().flatMap(({ name }) => (registry.ownerOf(name) === owner ? [name] : []));
}

function distinct(...lists: (Iterable<string> | undefined)[]): string[] {
  return [...new Set(lists.flatMap((list) => [...(list ?? [])]))];
}

/** The file's name without its ending; an index file is called like its directory. */
export function nameOf(path: string): string {
  const name = basename(path).replace(/\.[cm]?[jt]sx?$/, "");
  return name === "index" ? basename(dirname(path)) : name;
}

/** undefined for a file that is not there, or has none */
export function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
