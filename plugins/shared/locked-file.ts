/** Files that several processes write: a lock directory beside the file, and replacement by rename so that no reader sees half a file. */
import { randomBytes } from "node:crypto";
import { mkdir, realpath, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { makeDirectory } from "./directories.ts";

export interface LockPatience {
  tries?: number;
  /** ms before each further try; may grow */
  pauseMs?: number | ((attempt: number) => number);
  /** a lock older than this belongs to nobody any more */
  staleMs?: number;
}

/** Runs `work` while `FILE.lock` is ours; throws if somebody else keeps it. */
export async function withFileLock<T>(file: string, work: () => Promise<T>, patience: LockPatience = {}): Promise<T> {
  const { tries = 10, pauseMs = 20, staleMs = 30_000 } = patience;
  const lock = `${file}.lock`;
  makeDirectory(dirname(file), 0o700);
  for (let attempt = 1; !(await acquired(lock)); attempt++) {
    if (await removedStale(lock, staleMs)) continue;
    if (attempt >= tries) throw new Error(`${file} is locked by another process (remove ${lock} if none is running)`);
    await pause(typeof pauseMs === "function" ? pauseMs(attempt) : pauseMs);
  }
  try {
    return await work();
  } finally {
    await rmdir(lock).catch(() => {});
  }
}

async function acquired(lock: string): Promise<boolean> {
  try {
    await mkdir(lock, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function removedStale(lock: string, staleMs: number): Promise<boolean> {
  const age = async (path: string) => Date.now() - (await stat(path)).mtimeMs;
  try {
    if ((await age(lock)) < staleMs) return false;
    // Moved away first: of two processes that both find it stale, only one succeeds.
    const aside = `${lock}.${randomBytes(4).toString("hex")}`;
    await rename(lock, aside);
    await rm(aside, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}

/** Replaces the contents of a file at once. A link stays a link; an existing file keeps its mode, a new one gets `mode`. */
export async function replaceFile(file: string, text: string, mode = 0o600): Promise<void> {
  const target = await realpath(file).catch(() => file);
  makeDirectory(dirname(target), 0o700);
  const kept = await stat(target).then(
    (found) => found.mode & 0o777,
    () => mode,
  );
  const fresh = `${target}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    await writeFile(fresh, text, { mode: kept });
    await rename(fresh, target);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
