/**
 * Watches directories, each once and not what is below, and of their entries only those that somebody asked for. A file is watched by
 * its directory, since editors replace files; what does not exist yet by the nearest directory above that does. chokidar watches where
 * files of a kind may come and go. It reads a directory again at each change, so where only some names count, as in the home or the
 * directory for temporary files, Node's own notices do, which tell the name.
 */
import { existsSync, lstatSync, watch as nodeWatch, readdirSync, realpathSync, statfsSync, statSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import type { watch } from "chokidar";
import type { Place, Watch } from "./contract.ts";

/** A place that holds more directories was hardly meant to be watched. */
const MOST_DIRECTORIES = 2000;

/** File systems that tell nobody what others change: NFS, SMB, 9P, FUSE and shared folders of virtual machines. */
const SILENT = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x65735546, 0x786f4256]);
/** How often those are looked at. */
const POLL_MS = 500;
/** What is said where no more can be watched, or nothing at all. */
const UNWATCHABLE = new Set(["ENOSPC", "EMFILE", "ENFILE", "ENOSYS", "EOPNOTSUPP"]);

type Matches = (name: string) => boolean;

/** The entries of a directory that somebody cares for. */
interface Interest {
  names: Set<string>;
  filters: Set<Matches>;
}

interface Watcher {
  close(): unknown;
}

interface Directory<W> {
  /** absent until all interests are known */
  watcher?: Watcher;
  interests: Map<W, Interest>;
}

const everything: Matches = () => true;

export interface DirectoriesOptions {
  /** chokidar's, which is read when watching begins */
  watch: typeof watch;
  /** Look at files instead of waiting for notices, everywhere. */
  polls: boolean;
}

export class Directories<W extends Watch> {
  readonly #options: DirectoriesOptions;
  readonly #onChange: (who: W) => void;
  #open = new Map<string, Directory<W>>();

  constructor(options: DirectoriesOptions, onChange: (who: W) => void) {
    this.#options = options;
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
      const newcomers = [...directory.interests].filter(([who, interest]) => isWider(interest, known?.interests.get(who)));
      for (const [who] of newcomers) news.add(who);
      if (!known?.watcher || newcomers.length > 0) directory.watcher = this.#watchDirectory(path);
      else {
        directory.watcher = known.watcher;
        before.delete(path);
      }
    }
    for (const { watcher } of before.values()) void watcher?.close();
    return news;
  }

  /** Who watches something that changed after that time. */
  youngerThan(time: number): Set<W> {
    const found = new Set<W>();
    for (const path of this.#open.keys()) for (const who of this.#youngIn(path, time)) found.add(who);
    return found;
  }

  close(): void {
    for (const { watcher } of this.#open.values()) void watcher?.close();
    this.#open.clear();
  }

  /** Entries count, and not the directory's own time: most of what comes and goes in it is for nobody. */
  #youngIn(path: string, time: number): W[] {
    // The clock of file systems may be a little behind.
    const isYounger = (name: string) => (look(join(path, name))?.ctimeMs ?? 0) >= time - 10;
    return [...(this.#open.get(path)?.interests ?? [])].flatMap(([who, { names, filters }]) => {
      const others = filters.size > 0 ? entriesOf(path).map(({ name }) => name) : [];
      const all = [...names, ...others.filter((name) => matchesAny(filters, name))];
      return all.some(isYounger) ? [who] : [];
    });
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
    const directory = this.#open.get(path) ?? { interests: new Map<W, Interest>() };
    this.#open.set(path, directory);
    const interest = directory.interests.get(who) ?? { names: new Set(), filters: new Set() };
    directory.interests.set(who, interest);
    return interest;
  }

  // ------------------------------------------------------------ events

  #watchDirectory(path: string, isPolled = this.#options.polls || isSilent(path)): Watcher {
    if (isPolled) return this.#poll(path);
    const interests = [...(this.#open.get(path)?.interests.values() ?? [])];
    return interests.some(({ filters }) => filters.size > 0) ? this.#watchEntries(path) : this.#watchNames(path);
  }

  #watchEntries(path: string): Watcher {
    const since = Date.now();
    const entries = this.#options.watch(path, {
      depth: 0,
      ignoreInitial: true,
      persistent: false,
      ignored: (entry) => entry !== path && !this.#isWanted(path, basename(entry)),
    });
    // It says nothing of a link that leads elsewhere now.
    const links = this.#watchNames(path, (name) => name !== null && isLink(join(path, name)));
    const watcher: Watcher = { close: () => Promise.all([entries.close(), links.close()]) };
    entries.on("all", (_, entry) => this.#event(path, entry === path ? null : basename(entry)));
    // What changed while it looked around for the first time.
    entries.on("ready", () => this.#open.get(path)?.watcher === watcher && this.#youngIn(path, since).forEach(this.#onChange));
    entries.on("error", (error) => this.#failed(path, watcher, error));
    return watcher;
  }

  #watchNames(path: string, counts: (name: string | null) => boolean = () => true): Watcher {
    try {
      const watcher = nodeWatch(path, { persistent: false }, (_, said) => {
        // A directory that goes says its own name.
        const name = said === basename(path) ? null : said;
        if (counts(name)) this.#event(path, name);
      });
      watcher.on("error", (error) => this.#failed(path, watcher, error));
      return watcher;
    } catch (error) {
      if (isUnwatchable(error)) return this.#watchDirectory(path, true);
      // It went, or is not for us: then nothing is to be seen there.
      return { close() {} };
    }
  }

  /** By ourselves: chokidar's own polling ends the process when a file that it watches twice is closed once. */
  #poll(path: string): Watcher {
    let known = this.#looksOf(path);
    const timer = setInterval(() => {
      const before = known;
      known = this.#looksOf(path);
      const changed = [...new Set([...before.keys(), ...known.keys()])].filter((name) => before.get(name) !== known.get(name));
      for (const name of changed) this.#event(path, name);
      if (!existsSync(path)) this.#event(path, null);
    }, POLL_MS);
    timer.unref();
    return { close: () => clearInterval(timer) };
  }

  /** How the wanted entries look: another look is a change. */
  #looksOf(path: string): Map<string, string> {
    const interests = [...(this.#open.get(path)?.interests.values() ?? [])];
    const listed = interests.some(({ filters }) => filters.size > 0) ? entriesOf(path).map(({ name }) => name) : [];
    const names = new Set([...interests.flatMap(({ names }) => [...names]), ...listed.filter((name) => this.#isWanted(path, name))]);
    const looks = new Map<string, string>();
    for (const name of names) {
      const stats = look(join(path, name));
      if (stats) looks.set(name, `${stats.ino} ${stats.size} ${stats.mtimeMs}`);
    }
    return looks;
  }

  #failed(path: string, watcher: Watcher, error: unknown): void {
    const directory = this.#open.get(path);
    if (directory?.watcher !== watcher) return;
    if (!existsSync(path)) this.#forget(path);
    else if (isUnwatchable(error)) {
      void watcher.close();
      directory.watcher = this.#watchDirectory(path, true);
    }
  }

  #isWanted(path: string, name: string): boolean {
    for (const { names, filters } of this.#open.get(path)?.interests.values() ?? []) if (names.has(name) || matchesAny(filters, name)) return true;
    return false;
  }

  #event(path: string, name: string | null): void {
    const directory = this.#open.get(path);
    if (!directory) return;
    for (const [who, { names, filters }] of directory.interests) {
      if (name === null || names.has(name) || matchesAny(filters, name)) this.#onChange(who);
    }
    // A directory that went, or whose place another has taken, is watched anew.
    if (name === null && !existsSync(path)) this.#forget(path);
    if (name !== null && this.#open.has(join(path, name))) this.#forget(join(path, name));
  }

  /** With all that is below. */
  #forget(path: string): void {
    for (const [other, { watcher, interests }] of this.#open) {
      if (other !== path && !other.startsWith(path + sep)) continue;
      void watcher?.close();
      this.#open.delete(other);
      for (const who of interests.keys()) this.#onChange(who);
    }
  }
}

function matchesAny(filters: ReadonlySet<Matches>, name: string): boolean {
  for (const matches of filters) if (matches(name)) return true;
  return false;
}

/** Filters are of one kind for one who asks, so that their number tells. */
function isWider({ names, filters }: Interest, before: Interest | undefined): boolean {
  return !before || filters.size > before.filters.size || [...names].some((name) => !before.names.has(name));
}

function isUnwatchable(error: unknown): boolean {
  return UNWATCHABLE.has((error as NodeJS.ErrnoException | undefined)?.code ?? "");
}

function isSilent(path: string): boolean {
  try {
    return SILENT.has(statfsSync(path).type);
  } catch {
    return false;
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

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
