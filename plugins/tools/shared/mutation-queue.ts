/** Changes of one file, one after another, in the whole process. */
import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** The end of the line for each real path. Process-wide on purpose: two agents in one process may edit the same file. */
const lines = new Map<string, Promise<unknown>>();

/** Runs `change` when all earlier changes of the same real file are done. */
export async function withFileMutationQueue<T>(path: string, change: () => Promise<T>): Promise<T> {
  const key = realPath(resolve(path));
  const before = lines.get(key) ?? Promise.resolve();
  const mine = before.then(change, change);
  const settled = mine.catch(() => undefined);
  lines.set(key, settled);
  try {
    return await mine;
  } finally {
    if (lines.get(key) === settled) lines.delete(key);
  }
}

/** Synchronous, so that the order of calls is the order of changes. A part that does not exist yet stays as written. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}
