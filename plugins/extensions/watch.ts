/** Notices changes to extension files: gathered, compared by content, and mapped to the extensions that use them. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, extname, join, sep } from "node:path";
import type { FSWatcher } from "chokidar";
import type { ExtensionHost } from "./host.ts";
import { hashOf } from "./load.ts";
import type { Reloader } from "./reload.ts";
import type { Slot } from "./slots.ts";

/** Changes are gathered until nothing has happened for this long… */
const QUIET_MS = 80;
/** …but not for ever. */
const LONGEST_MS = 1000;
/** What may make an extension come or go: files of these kinds, and directories. */
const telling = new Set([".ts", ".js", ".json", ""]);

export class Watcher {
  readonly #host: ExtensionHost;
  readonly #reloader: Reloader;
  #watch: typeof import("chokidar").watch | undefined;
  /** places where extensions may come and go */
  readonly #roots = new Map<string, FSWatcher>();
  /** directories of the files in use */
  #directories: FSWatcher | undefined;
  readonly #watched = new Set<string>();
  readonly #files = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #since: number | undefined;
  #isStopped = false;
  /** changes that were handed on, so that one change is one attempt */
  readonly #seen = new Map<string, string>();

  constructor(host: ExtensionHost, reloader: Reloader) {
    this.#host = host;
    this.#reloader = reloader;
  }

  async start(): Promise<void> {
    this.#watch = (await import("chokidar")).watch;
    if (this.#isStopped) return;
    this.#host.onFile = (file) => this.#watchFile(file);
    this.#host.onMoved = () => this.#watchAll();
    this.#watchAll();
    // What changed between loading and watching.
    this.#gather();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#host.onFile = () => {};
    this.#host.onMoved = () => {};
    await Promise.all([...this.#roots.values(), this.#directories].map((watcher) => watcher?.close()));
    this.#roots.clear();
  }

  // ------------------------------------------------------------ what is watched

  #watchAll(): void {
    const { kernel, slots } = this.#host;
    for (const root of kernel.tryService("resources")?.roots("extensions") ?? []) this.#watchRoot(root);
    for (const slot of slots) for (const file of filesOf(slot)) this.#watchFile(file);
  }

  /** A file or directory, also one that does not exist yet: its nearest ancestor that does, and nothing else in there. */
  #watchRoot(root: string): void {
    if (this.#isStopped || !this.#watch || this.#roots.has(root)) return;
    let anchor = root;
    while (!existsSync(anchor) && dirname(anchor) !== anchor) anchor = dirname(anchor);
    const watcher = this.#watch(anchor, {
      ignoreInitial: true,
      ...(anchor === root && { depth: 1 }),
      ignored: (path) => {
        if (path === anchor || path === root || root.startsWith(path + sep)) return false;
        if (!path.startsWith(root + sep)) return true;
        const below = path.slice(root.length + 1).split(sep);
        return below.length > 2 || below.includes("node_modules");
      },
    });
    watcher.on("all", (_, path) => {
      if (telling.has(extname(path))) this.#gather();
    });
    this.#forgive(watcher);
    this.#roots.set(root, watcher);
  }

  /** By its directory: a file that goes and comes again is still the same file. */
  #watchFile(file: string): void {
    if (this.#isStopped || !this.#watch) return;
    this.#files.add(file);
    const directory = dirname(file);
    if (this.#watched.has(directory)) return;
    this.#watched.add(directory);
    if (!existsSync(directory)) {
      this.#watchRoot(directory);
      return;
    }
    if (this.#directories) {
      this.#directories.add(directory);
      return;
    }
    this.#directories = this.#watch(directory, { ignoreInitial: true, depth: 0 });
    this.#directories.on("all", (_, path) => {
      if (this.#files.has(path)) this.#gather();
    });
    this.#forgive(this.#directories);
  }

  /** A watcher that fails only means that a change is noticed later, or by hand. */
  #forgive(watcher: FSWatcher): void {
    watcher.on("error", () => {});
  }

  // ------------------------------------------------------------ what changed

  #gather(): void {
    if (this.#isStopped) return;
    this.#since ??= Date.now();
    clearTimeout(this.#timer);
    const left = this.#since + LONGEST_MS - Date.now();
    this.#timer = setTimeout(() => void this.#look(), Math.max(0, Math.min(QUIET_MS, left)));
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    this.#since = undefined;
    try {
      await this.#followSettings();
      const changed: Slot[] = [];
      for (const slot of this.#host.slots) if (await this.#isChanged(slot)) changed.push(slot);
      const isListChanged = await this.#isListChanged();
      if (changed.length === 0 && !isListChanged) return;
      await this.#reloader.changed(changed, isListChanged);
      this.#watchAll();
      this.#gather();
    } catch (error) {
      this.#host.kernel.fault({ during: "reload", error });
    }
  }

  /** By content: a touched file is no change. An entry that is gone leaves the list, and is told there. */
  async #isChanged(slot: Slot): Promise<boolean> {
    const differences: string[] = [];
    for (const [file, known] of slot.files) {
      const hash = await readFile(file).then(hashOf, () => "");
      if (hash !== known && !(hash === "" && file === slot.path)) differences.push(`${file}\n${hash}`);
    }
    const state = differences.join("\n");
    if (state === "") this.#seen.delete(slot.path);
    if (state === "" || this.#seen.get(slot.path) === state) return false;
    this.#seen.set(slot.path, state);
    return true;
  }

  /** Lists of resources and packages in settings files count at once; other settings wait for a reload by hand. */
  async #followSettings(): Promise<void> {
    const settings = this.#host.kernel.tryService("settings");
    if (!settings) return;
    const listed = async (scope: "user" | "project", known: Readonly<Record<string, unknown>>) => {
      const now = listsIn(await readFile(settings.file(scope), "utf8").catch(() => "{}"));
      return now !== undefined && now !== listsOf(known);
    };
    const isTrusted = this.#host.kernel.tryService("trust")?.isTrusted() ?? true;
    if ((await listed("user", settings.user())) || (isTrusted && (await listed("project", settings.project())))) await settings.reload();
  }

  async #isListChanged(): Promise<boolean> {
    const found = new Set((await this.#host.discover()).map(({ path }) => path));
    const { slots } = this.#host;
    return found.size !== slots.length || slots.some(({ path }) => !found.has(path));
  }
}

/** What a settings file lists, comparable; undefined while it cannot be read. */
function listsIn(text: string): string | undefined {
  try {
    return listsOf(JSON.parse(text.replace(/^\uFEFF/, "")));
  } catch {
    return undefined;
  }
}

function listsOf(settings: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(["extensions", "packages", "skills", "prompts"].map((kind) => settings[kind] ?? []));
}

/** What belongs to an extension: its own files and the manifest beside it. */
function filesOf(slot: Slot): string[] {
  if (slot.path.startsWith("<")) return [];
  return [slot.path, ...slot.files.keys(), join(dirname(slot.path), "package.json")];
}
