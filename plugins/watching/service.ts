/** The service `watching`: who watches what, and when each is told. */
import type { Watch, WatchHandle, Watching } from "./contract.ts";
import type { Directories } from "./directories.ts";

/** Changes are gathered until nothing has happened for this long… */
const QUIET_MS = 80;
/** …but not for ever. */
const LONGEST_MS = 1000;

interface Watcher extends Watch {
  timer?: NodeJS.Timeout;
  /** when the first change that it was not told of yet came */
  since?: number;
  isBusy: boolean;
}

export class WatchingService implements Watching {
  readonly #isOn: () => boolean;
  readonly #report: (error: unknown) => void;
  readonly #watchers = new Set<Watcher>();
  /** absent: not begun, or ended */
  #directories: Directories<Watcher> | undefined;
  #isRearranging = false;
  #hasEnded = false;
  /** what is younger may have changed after it was read */
  #started = Date.now();

  constructor(isOn: () => boolean, report: (error: unknown) => void) {
    this.#isOn = isOn;
    this.#report = report;
  }

  get isOn(): boolean {
    return this.#isOn();
  }

  /** From now on files are read. */
  note(): void {
    this.#started = Date.now();
  }

  watch(watch: Watch): WatchHandle {
    const watcher: Watcher = { places: () => watch.places(), changed: () => watch.changed(), isBusy: false };
    this.#watchers.add(watcher);
    this.#rearrange();
    return {
      moved: () => this.#rearrange(),
      touched: () => this.#gather(watcher),
      stop: () => {
        this.#watchers.delete(watcher);
        clearTimeout(watcher.timer);
        this.#rearrange();
      },
    };
  }

  async begin(polls: boolean): Promise<void> {
    const [{ watch }, { Directories }] = await Promise.all([import("chokidar"), import("./directories.ts")]);
    if (this.#hasEnded) return;
    this.#directories = new Directories({ watch, polls }, (watcher) => this.#gather(watcher));
    this.#arrange();
    for (const watcher of this.#directories.youngerThan(this.#started)) this.#gather(watcher);
  }

  end(): void {
    this.#hasEnded = true;
    this.#directories?.close();
    this.#directories = undefined;
    for (const { timer } of this.#watchers) clearTimeout(timer);
  }

  /** Soon: several places often move at once. What comes into sight may have changed before it did. */
  #rearrange(): void {
    if (!this.#directories || this.#isRearranging) return;
    this.#isRearranging = true;
    setImmediate(() => {
      this.#isRearranging = false;
      for (const watcher of this.#arrange()) this.#gather(watcher);
    });
  }

  /** Answers those for whom something has come into sight. */
  #arrange(): ReadonlySet<Watcher> {
    try {
      return this.#directories?.arrange(this.#watchers) ?? new Set();
    } catch (error) {
      this.#report(error);
      return new Set();
    }
  }

  #gather(watcher: Watcher): void {
    if (!this.#directories || !this.#watchers.has(watcher)) return;
    watcher.since ??= Date.now();
    if (watcher.isBusy) return;
    clearTimeout(watcher.timer);
    const left = watcher.since + LONGEST_MS - Date.now();
    watcher.timer = setTimeout(() => void this.#tell(watcher), Math.max(0, Math.min(QUIET_MS, left)));
    watcher.timer.unref();
  }

  async #tell(watcher: Watcher): Promise<void> {
    watcher.isBusy = true;
    watcher.since = undefined;
    // Before the files are read, so that what changes from here on is told again.
    const news = new Set(this.#arrange());
    news.delete(watcher);
    try {
      await watcher.changed();
    } catch (error) {
      this.#report(error);
    }
    watcher.isBusy = false;
    for (const other of this.#arrange()) news.add(other);
    if (watcher.since !== undefined) news.add(watcher);
    for (const other of news) this.#gather(other);
  }
}
