/**
 * Compiles extension sources, remembering the results: private, atomic, and never able to break a load. A result is kept with its source
 * and counts only for exactly that: comparing costs less than Node's module for checksums.
 */
import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile as compileTypeScript, type Transform } from "../shared/compiler.ts";
import { makeDirectory } from "../shared/directories.ts";

/** Changes with whatever changes the output for the same input. */
const SALT = "jiti-2.7.0/2";
/** A file ends with the time that it was given when it was written: whoever touches it changes that, and what was not written to its end lacks it. */
const endOf = (seconds: number) => `\n//end ${seconds}`;
/** Files kept; the oldest go first. */
const MAX_FILES = 4000;

/** A transform that looks into `directory` first. Without a usable directory it only compiles. */
export function cachedTransform(directory: string | undefined, compile: Transform = compileTypeScript): Transform {
  if (directory === undefined || !isPrivate(directory)) return compile;
  return (input) => {
    const { source, filename, ts, async, jsx, interopDefault } = input;
    const place = JSON.stringify([SALT, filename, ts, async, jsx, interopDefault]);
    const file = join(directory, `${nameFor(place)}.js`);
    const head = `${place}\n${source.length}\n${source}`;
    const known = readKnown(file, head);
    if (known !== undefined) return { code: known };
    const output = compile(input);
    if (!output.error) writeKnown(file, head + output.code);
    return output;
  };
}

/** Removes the oldest files past the bound. */
export function pruneCache(directory: string): void {
  try {
    const names = readdirSync(directory);
    if (names.length <= MAX_FILES) return;
    const aged = names.map((name) => ({ name, time: statSync(join(directory, name)).ctimeMs })).sort((a, b) => a.time - b.time);
    for (const { name } of aged.slice(0, names.length - MAX_FILES / 2)) rmSync(join(directory, name), { force: true });
  } catch {
    // Somebody else prunes at the same time, or the directory is gone: nothing is lost.
  }
}

/** Two places that share a name, which hardly ever happens, take turns. */
function nameFor(place: string): string {
  let [one, other] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < place.length; index++) {
    const code = place.charCodeAt(index);
    one = Math.imul(one ^ code, 0x9e3779b1);
    other = Math.imul(other ^ code, 0x5f356495);
  }
  return [one, other].map((half) => ((half ^ (half >>> 15)) >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Only a directory that nobody else can write to is trusted: what is in it is run. */
function isPrivate(directory: string): boolean {
  try {
    makeDirectory(directory, 0o700);
    const { mode, uid } = statSync(directory);
    if (process.getuid === undefined) return true;
    if (uid !== process.getuid()) return false;
    if ((mode & 0o077) !== 0) chmodSync(directory, 0o700);
    return true;
  } catch {
    return false;
  }
}

/** The code, if the file is whole and made of the same. */
function readKnown(file: string, head: string): string | undefined {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    const text = found ? readFileSync(file, "utf8") : "";
    const end = endOf((found?.mtimeMs ?? 0) / 1000);
    return text.startsWith(head) && text.endsWith(end) ? text.slice(head.length, -end.length) : undefined;
  } catch {
    return undefined;
  }
}

function writeKnown(file: string, text: string): void {
  const temporary = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  // Some time long ago, in seconds that every file system keeps.
  const time = 1e9 + 2 * Math.floor(Math.random() * 1e8);
  try {
    writeFileSync(temporary, text + endOf(time), { mode: 0o600 });
    utimesSync(temporary, time, time);
    renameSync(temporary, file);
  } catch {
    try {
      rmSync(temporary, { force: true });
    } catch {
      // The cache is a convenience: the code is there without it.
    }
  }
}
