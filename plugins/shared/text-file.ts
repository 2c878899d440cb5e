/** Reading a text that lies in a project: whatever somebody put in its place must neither hold the program up nor fill its memory. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

const MAX_BYTES = 16 * 1024 * 1024;

/** UTF-8 without a byte order mark. Throws the system's errors, and a sentence for pipes, devices and files of an absurd size. */
export function readTextFile(path: string): string {
  // Opening a pipe would wait for somebody who writes into it.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stat = fstatSync(file);
    if (!stat.isFile() && !stat.isDirectory()) throw new Error("it is not a regular file");
    if (stat.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES / 1024 / 1024} MB`);
    return readFileSync(file, "utf8").replace(/^\uFEFF/, "");
  } finally {
    closeSync(file);
  }
}
