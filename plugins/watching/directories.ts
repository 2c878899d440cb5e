/**
 * Watches directories, each once and not what is below: an event names the entry, and most are for nobody. A file is watched by its
 * directory, since editors replace files; what does not exist yet by the nearest directory above that does.
 */
import { existsSync, type FSWatcher, readdirSync, realpathSync, statSync, watch } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import type { Place, Watch } from "./contract.ts";

/** A place that holds more directories was hardly meant to be watched. */
const MOST_DIRECTORIES = 2000;

type Matches = (name: string) => boolean;

/** The entries of a directory that somebody cares for. */
interface Interest {
  names: Set<string>;
  filters: Set<Matches>;
}

interface Directory<W> {
  /** absent: it cannot be watched */
  watcher: FSWatcher | undefined;
  interests: Map<W, Interest>;
}

const everything: Matches = () => true;

export class Directories<W extends Watch> {
  readonly #onChange: (who: W) => void;
  #open = new Map<string, Directory<W>>();

  constructor(onChange: (who: W) => void) {
    this.#onChange = onChange;
  }

  /** Watches what all of them ask for and nothing else; answers those for whom something is new. */
  arrange(watches: Iterable<W>): Set<W> {
    const wanted = [...watches].map((who) => [who, who.places()] as const);
    const before = this.#open;
    this.#open = new Map();
    for (const [who, places] of wanted) for (const place of places) this.#place(who, place);
    const news = new Set<W>();
    for (const [path, directory] of this.#open) {
      const known = before.get(path);
      before.delete(path);
      directory.watcher = known?.watcher ?? this.#watch(path);
      for (const [who, { names }] of directory.interests) {
        const had = known?.interests.get(who);
        if (!had || [...names].some((name) => !had.names.has(name))) news.add(who);
      }
    }
    for (const { watcher } of before.values()) watcher?.close();
    return news;
  }

  /** Who watches something that changed after that time. */
  youngerThan(time: number): Set<W> {
    const found = new Set<W>();
    // The clock of file systems may be a little behind.
    const isYounger = (path: string) => (look(path)?.ctimeMs ?? 0) >= time - 10;
    for (const [path, { interests }] of this.#open) {
      const isNew = isYounger(path);
      for (const [who, { names, filters }] of interests) {
        if (found.has(who)) continue;
        const others = filters.size > 0 ? entriesOf(path).map(({ name }) => name) : [];
        const all = [...names, ...others.filter((name) => [...filters].some((matches) => matches(name)))];
        if (isNew || all.some((name) => isYounger(join(path, name)))) found.add(who);
      }
    }
    return found;
  }

  close(): void {
    for (const { watcher } of this.#open.values()) watcher?.close();
    this.#open.clear();
  }

  // ------------------------------------------------------------ what is watched

  #place(who: W, place: Place): void {
    const { path } = place;
    const stats = look(path);
    if (!stats) {
      let [anchor, awaited] = [dirname(path), path];
      while (!existsSync(anchor) && dirname(anchor) !== anchor) [anchor, awaited] = [dirname(anchor), anchor];
      this.#interest(who, anchor).names.add(basename(awaited));
      return;
    }
    // By what it is called, also if it is a directory: another one may take its place.
    this.#interest(who, dirname(path)).names.add(basename(path));
    if (stats.isDirectory()) this.#tree(who, path, place, place.depth ?? 0, new Set());
    else this.#target(who, path);
  }

  /** A link is watched where it is and where it leads. */
  #target(who: W, file: string): void {
    const target = realPath(file);
    if (target !== file) this.#interest(who, dirname(target)).names.add(basename(target));
  }

  #tree(who: W, directory: string, place: Place, depth: number, passed: Set<string>): void {
    this.#interest(who, directory).filters.add(place.matches ?? everything);
    if (depth === 0 || this.#open.size > MOST_DIRECTORIES) return;
    const entries = entriesOf(directory);
    if (place.descends && !place.descends(entries.map(({ name }) => name))) return;
    for (const entry of entries) {
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const path = join(directory, entry.name);
      if (!entry.isDirectory() && !(entry.isSymbolicLink() && look(path)?.isDirectory())) continue;
      const real = entry.isSymbolicLink() ? realPath(path) : path;
      if (passed.has(real)) continue;
      passed.add(real);
      this.#tree(who, path, place, depth - 1, passed);
    }
  }

  #interest(who: W, path: string): Interest {
    const directory = this.#open.get(path) ?? { watcher: undefined, interests: new Map<W, Interest>() };
    this.#open.set(path, directory);
    const interest = directory.interests.get(who) ?? { names: new Set(), filters: new Set() };
    directory.interests.set(who, interest);
    return interest;
  }

  // ------------------------------------------------------------ events

  /** One that fails only means that a change is noticed later, or by hand. */
  #watch(path: string): FSWatcher | undefined {
    try {
      const watcher = watch(path, { persistent: false }, (_, name) => this.#event(path, name));
      watcher.on("error", () => this.#forget(path));
      return watcher;
    } catch {
      return undefined;
    }
  }

  #event(path: string, name: string | null): void {
    const directory = this.#open.get(path);
    if (!directory) return;
    const isOwn = name === null || name === basename(path);
    for (const [who, { names, filters }] of directory.interests) {
      if (isOwn || names.has(name) || [...filters].some((matches) => matches(name))) this.#onChange(who);
    }
    // A directory that went, or whose place another has taken, is watched anew.
    if (isOwn && !existsSync(path)) this.#forget(path);
    if (name !== null && this.#open.has(join(path, name))) this.#forget(join(path, name));
  }

  /** With all that is below. */
  #forget(path: string): void {
    for (const [other, { watcher, interests }] of this.#open) {
      if (other !== path && !other.startsWith(path + sep)) continue;
      watcher?.close();
      this.#open.delete(other);
      for (const who of interests.keys()) this.#onChange(who);
    }
  }
}

function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** undefined for what is not there or may not be looked at */
function look(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
