/** Notices changes to extension files: gathered, compared by content, and mapped to the extensions that use them. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import type { FSWatcher } from "chokidar";
import type { ExtensionHost } from "./host.ts";
import { hashOf } from "./load.ts";
import type { Reloader } from "./reload.ts";
import type { Slot } from "./slots.ts";

/** Changes are gathered until nothing has happened for this long. */
const QUIET_MS = 80;

export class Watcher {
  readonly #host: ExtensionHost;
  readonly #reloader: Reloader;
  readonly #watchers = new Map<string, FSWatcher>();
  #chokidar: typeof import("chokidar") | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #list = "";
  /** hashes of changes that were handed on, so that one change is one reload */
  readonly #seen = new Map<string, string>();

  constructor(host: ExtensionHost, reloader: Reloader) {
    this.#host = host;
    this.#reloader = reloader;
  }

  async start(): Promise<void> {
    this.#chokidar = await import("chokidar");
    if (this.#isStopped) return;
    this.#list = await this.#listing();
    this.#host.onFile = (file) => this.#watch(file);
    this.#watchAll();
    // What changed between loading and watching.
    this.#gather();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#host.onFile = () => {};
    const watchers = [...this.#watchers.values()];
    this.#watchers.clear();
    await Promise.all(watchers.map((watcher) => watcher.close()));
  }

  // ------------------------------------------------------------ what is watched

  #watchAll(): void {
    const { kernel, slots } = this.#host;
    for (const root of kernel.tryService("resources")?.roots("extensions") ?? []) this.#watch(root);
    for (const slot of slots) for (const file of filesOf(slot)) this.#watch(file);
  }

  /** Watches a file or directory, also one that does not exist yet: its nearest ancestor that does, and nothing else in there. */
  #watch(target: string): void {
    if (this.#isStopped || !this.#chokidar || target.startsWith("<") || this.#watchers.has(target)) return;
    let anchor = target;
    while (!existsSync(anchor) && dirname(anchor) !== anchor) anchor = dirname(anchor);
    const watcher = this.#chokidar.watch(anchor, {
      ignoreInitial: true,
      depth: anchor === target ? 1 : 99,
      ignored: (path) => {
        if (path === target || target.startsWith(path + sep) || anchor === path) return false;
        return !path.startsWith(target + sep) || path.slice(target.length).includes(`${sep}node_modules`);
      },
    });
    watcher.on("all", () => this.#gather());
    // A watcher that fails only means that a change is noticed later, or by hand.
    watcher.on("error", () => {});
    this.#watchers.set(target, watcher);
  }

  // ------------------------------------------------------------ what changed

  #gather(): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), QUIET_MS);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    try {
      const changed: Slot[] = [];
      for (const slot of this.#host.slots) if (await this.#isChanged(slot)) changed.push(slot);
      // They list extensions and packages; skills and templates follow them too.
      await this.#host.kernel.tryService("settings")?.reload();
      const list = await this.#listing();
      const isListChanged = list !== this.#list;
      this.#list = list;
      if (changed.length === 0 && !isListChanged) return;
      await this.#reloader.changed(changed, isListChanged);
      this.#watchAll();
      this.#gather();
    } catch (error) {
      this.#host.kernel.fault({ during: "reload", error });
    }
  }

  /** By content: a touched file is no change. A file that is gone is one only if it is not the entry, whose leaving the list tells. */
  async #isChanged(slot: Slot): Promise<boolean> {
    const now: string[] = [];
    for (const [file, known] of slot.files) {
      const hash = await readFile(file).then(hashOf, () => "");
      if (hash !== known && !(hash === "" && file === slot.path)) now.push(`${file}\n${hash}`);
    }
    const state = now.join("\n");
    if (state === "" || this.#seen.get(slot.path) === state) {
      if (state === "") this.#seen.delete(slot.path);
      return false;
    }
    this.#seen.set(slot.path, state);
    return true;
  }

  async #listing(): Promise<string> {
    const files = await this.#host.discover();
    return files.map(({ path }) => path).join("\n");
  }
}

/** What belongs to an extension: its own files and the manifest beside it. */
function filesOf(slot: Slot): string[] {
  if (slot.path.startsWith("<")) return [];
  return [slot.path, ...slot.files.keys(), join(dirname(slot.path), "package.json")];
}
