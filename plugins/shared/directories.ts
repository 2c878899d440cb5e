/**
 * Making a directory and those above it. Node's own `recursive` tries for ever where nothing can be made and the system calls that
 * "no such file", as in /proc; here a missing entry below an existing directory is the error it is.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

export function makeDirectory(path: string, mode = 0o777): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (isDirectory(path)) return;
    const parent = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || parent === path || isDirectory(parent)) throw error;
    makeDirectory(parent, mode);
    makeDirectory(path, mode);
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
