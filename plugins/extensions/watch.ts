/** Notices changes to extension files: compared by content, and mapped to the extensions that use them. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import type {} from "../settings/contract.ts";
import type { Place } from "../watching/contract.ts";
import type { ExtensionHost } from "./host.ts";
import type { Reloader } from "./reload.ts";
import { realPathOf, type Slot } from "./slots.ts";

/** What may make an extension come or go: files of these kinds, and directories. */
const telling = new Set([".ts", ".js", ".json", ""]);
const isTelling = (name: string) => telling.has(extname(name));

/** Answers how to stop it. */
export function watch(host: ExtensionHost, reloader: Reloader): () => void {
  const { kernel } = host;
  const changes = new Changes(host, (slot) => reloader.isLeaving(slot));
  const read = new Set<string>();
  const watching = kernel.tryService("watching")?.watch({
    places() {
      // What went before anybody watched is noticed when watching begins.
      if (host.slots.some(({ path, live }) => live && !path.startsWith("<") && !existsSync(path))) queueMicrotask(() => watching?.touched());
      return places(host, read);
    },
    async changed() {
      const changed = new Map<Slot, readonly string[]>();
      for (const slot of host.slots) {
        const files = await changes.in(slot);
        if (files.length > 0) changed.set(slot, files);
      }
      const isListChanged = await changes.inList();
      if (changed.size === 0 && !isListChanged) return;
      await reloader.changed(changed, isListChanged);
      // It may have changed again while it was read.
      watching?.touched();
    },
  });
  if (!watching) return () => {};
  host.onFile = (file) => {
    if (read.has(file)) return;
    read.add(file);
    watching.moved();
  };
  host.onMoved = () => watching.moved();
  // Settings may name others now.
  const settings = kernel.tryService("settings");
  if (settings) kernel.own(settings.hooks).changed.tap("extensions", () => watching.touched());
  return () => {
    host.onFile = () => {};
    host.onMoved = () => {};
    watching.stop();
  };
}

/** Where extensions may come and go, and the files of those that are there. */
function places({ kernel, slots }: ExtensionHost, read: ReadonlySet<string>): Place[] {
  const roots = kernel.tryService("resources")?.places("extensions") ?? [];
  const files = new Set([...slots.flatMap(filesOf), ...read]);
  return [...roots.map((place) => ({ ...place, matches: isTelling })), ...[...files].map((path) => ({ path }))];
}

/** What belongs to an extension: its own files and the manifest beside it. */
function filesOf(slot: Slot): string[] {
  if (slot.path.startsWith("<")) return [];
  return [slot.path, ...slot.files.keys(), join(dirname(slot.path), "package.json")];
}

class Changes {
  readonly #host: ExtensionHost;
  readonly #isLeaving: (slot: Slot) => boolean;
  /** changes that were handed on, so that one change is one attempt */
  readonly #seen = new Map<string, string>();

  constructor(host: ExtensionHost, isLeaving: (slot: Slot) => boolean) {
    this.#host = host;
    this.#isLeaving = isLeaving;
  }

  /** The files that changed, by content: a touched file is no change. An entry that is gone leaves the list, and is told there. */
  async in(slot: Slot): Promise<readonly string[]> {
    const differences = new Map<string, string | undefined>();
    for (const [file, known] of slot.files) {
      const text = await readFile(file, "utf8").catch(() => undefined);
      if (text !== known && !(text === undefined && file === slot.path)) differences.set(file, text);
    }
    // Where a link leads now there are other files, though the one that is named may look the same.
    const target = realPathOf(slot.path);
    if (target !== undefined && slot.target !== undefined && target !== slot.target) differences.set(slot.path, `-> ${target}`);
    const state = [...differences].map((difference) => difference.join("\n")).join("\n");
    if (state === "") this.#seen.delete(slot.path);
    if (state === "" || this.#seen.get(slot.path) === state) return [];
    this.#seen.set(slot.path, state);
    return [...differences.keys()];
  }

  async inList(): Promise<boolean> {
    const found = new Set((await this.#host.discoverPresent()).map(({ path }) => path));
    const slots = this.#host.slots.filter((slot) => !this.#isLeaving(slot));
    return found.size !== slots.length || slots.some(({ path }) => !found.has(path));
  }
}
