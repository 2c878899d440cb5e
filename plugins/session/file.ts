/** Writing a session file: created whole, then appended to line by line; what the disk refuses is kept and tried again. */
import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { makeDirectory } from "../shared/directories.ts";
import { Lease, LeaseError } from "./lease.ts";
import { parseObject } from "./lines.ts";
import { peekHeader } from "./read.ts";

const BATCH_CHARACTERS = 1 << 20;

/** All lines of the session as they are now, each with its line end. */
export type Dump = () => Iterable<string>;

/**
 * - "unborn": nothing was asked to be written yet
 * - "absent": to be created whole
 * - "outdated": to be replaced whole, by rename
 * - "current": lines are appended
 */
type State = "unborn" | "absent" | "outdated" | "current";

export interface FileCondition {
  isMigrated: boolean;
  keepsOriginal: boolean;
  lacksNewline: boolean;
  /** opened to be looked at: the lease waits for the first line */
  isVisited: boolean;
}

export class SessionFile {
  readonly path: string;
  readonly #dump: Dump;
  #state: State;
  #lease: Lease | undefined;
  #fd: number | undefined;
  /** the file as we wrote it last: which one, and how long */
  #written: { ino: number; size: number } | undefined;
  #pending: Buffer = Buffer.alloc(0);
  /** something waits to be written, besides a missing line end */
  #isBehind = false;
  /** the original is kept before it is replaced */
  #keepsOriginal = false;

  private constructor(path: string, dump: Dump, state: State) {
    this.path = path;
    this.#dump = dump;
    this.#state = state;
  }

  /** A file that does not exist; nothing is written before `create`. */
  static unborn(path: string, dump: Dump): SessionFile {
    return new SessionFile(path, dump, "unborn");
  }

  /** An existing file. Throws `LeaseError` if somebody else writes it; a visitor finds that out when it writes itself. */
  static existing(path: string, dump: Dump, condition: FileCondition): SessionFile {
    const file = new SessionFile(path, dump, condition.isMigrated ? "outdated" : "current");
    file.#keepsOriginal = condition.keepsOriginal;
    // Written together with the first line, so that opening a file does not change it.
    if (condition.lacksNewline) file.#pending = Buffer.from("\n");
    if (condition.isVisited) return file;
    file.#isBehind = condition.isMigrated;
    try {
      file.#lease = Lease.acquire(path);
    } catch (error) {
      if (error instanceof LeaseError) throw error;
      // A directory that cannot be written to has no second writer either; the first line that is refused tells.
    }
    return file;
  }

  /** The file is on disk with everything but what waits to be written. */
  get isSaved(): boolean {
    return this.#state === "current";
  }

  get isUnborn(): boolean {
    return this.#state === "unborn";
  }

  /** From now on the file is wanted; `flush` creates it. */
  create(): void {
    if (this.#state !== "unborn") return;
    this.#state = "absent";
    this.#isBehind = true;
  }

  /** Adds a line to what is to be written. A file that is yet to be written whole takes it from the dump. */
  add(line: string): void {
    if (this.#state === "unborn") return;
    this.#isBehind = true;
    if (this.#state !== "current") return;
    const bytes = Buffer.from(line);
    this.#pending = this.#pending.length > 0 ? Buffer.concat([this.#pending, bytes]) : bytes;
  }

  /** Hands everything to the operating system, or throws what it says; the rest is kept for the next try. */
  flush(): void {
    if (this.#state === "unborn" || !this.#isBehind) return;
    if (this.#state === "current") this.#lookAgain();
    if (this.#state === "absent") makeDirectory(dirname(this.path), 0o700);
    this.#lease ??= Lease.acquire(this.path);
    if (this.#state === "current") this.#append();
    else this.#writeWhole(this.#state);
    this.#isBehind = false;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.#lease?.release();
    this.#lease = undefined;
    this.#written = undefined;
  }

  /** Others may have removed, replaced or emptied the file under us. What we have goes there again, and what they put there is kept. */
  #lookAgain(): void {
    const found = statSync(this.path, { throwIfNoEntry: false });
    const isReplaced = this.#written !== undefined && found?.ino !== this.#written.ino;
    const isEmptied = this.#written !== undefined && found !== undefined && found.size < this.#written.size;
    if (found && !isReplaced && !isEmptied) return;
    this.close();
    if (!found?.isFile()) this.#state = "absent";
    else if (!isReplaced || !this.#isOurs()) {
      this.#state = "outdated";
      this.#keepsOriginal = found.size > 0;
    } else if (!endsWithNewline(this.path)) this.#pending = Buffer.concat([Buffer.from("\n"), this.#pending]);
  }

  /** Whether another program has written the same session in its own way, as editors do. */
  #isOurs(): boolean {
    const [header = ""] = this.#dump();
    try {
      return peekHeader(this.path)?.id === parseObject(header)?.id;
    } catch {
      return false;
    }
  }

  #append(): void {
    this.#fd ??= openSync(this.path, constants.O_WRONLY | constants.O_APPEND);
    try {
      while (this.#pending.length > 0) this.#pending = this.#pending.subarray(writeSync(this.#fd, this.#pending));
    } finally {
      this.#written = fstatSync(this.#fd);
    }
  }

  /** Writes all lines beside the place and then puts them there at once, so that no reader and no crash sees a part. */
  #writeWhole(state: "absent" | "outdated"): void {
    const draft = `${this.path}.${process.pid}.tmp`;
    try {
      // Synced only where an original goes: a power cut must not leave its name with nothing behind it.
      writeLines(draft, this.#dump(), state === "outdated");
      if (state === "absent") publishNew(draft, this.path);
      else this.#replace(draft);
    } catch (error) {
      removeQuietly(draft);
      throw error;
    }
    this.#pending = Buffer.alloc(0);
    this.#written = statSync(this.path);
    this.#state = "current";
  }

  #replace(draft: string): void {
    const path = realpathSync(this.path);
    if (this.#keepsOriginal) keepCopy(path);
    this.#keepsOriginal = false;
    renameSync(draft, path);
  }
}

/** Gives the draft its name unless the name is taken. */
function publishNew(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" || statSync(path, { throwIfNoEntry: false })) throw error;
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP" && code !== "ENOSYS" && code !== "EMLINK") throw error;
    // A file system without hard links: the name was free a moment ago.
    renameSync(draft, path);
    return;
  }
  removeQuietly(draft);
}

function endsWithNewline(path: string): boolean {
  const fd = openSync(path, "r");
  try {
    const last = Buffer.alloc(1);
    return readSync(fd, last, 0, 1, Math.max(fstatSync(fd).size - 1, 0)) === 1 && last[0] === 0x0a;
  } finally {
    closeSync(fd);
  }
}

function writeLines(path: string, lines: Iterable<string>, isSynced: boolean): void {
  const fd = openSync(path, "w", 0o600);
  try {
    let batch = "";
    for (const line of lines) {
      batch += line;
      if (batch.length < BATCH_CHARACTERS) continue;
      writeAll(fd, batch);
      batch = "";
    }
    writeAll(fd, batch);
    if (isSynced) fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function writeAll(fd: number, text: string): void {
  let bytes = Buffer.from(text);
  while (bytes.length > 0) bytes = bytes.subarray(writeSync(fd, bytes));
}

/** Keeps the file as `<name>.bak`, or under the next free number. */
function keepCopy(path: string): void {
  for (let number = 0; ; number++) {
    try {
      copyFileSync(path, `${path}.bak${number || ""}`, constants.COPYFILE_EXCL);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // it is not there, which is what was wanted
  }
}
