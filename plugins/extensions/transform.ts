/** Compiles extension sources, remembering the results: private, atomic, addressed by content, and never able to break a load. */
import { createHash } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile as compileTypeScript, type Transform, type TransformInput } from "../shared/compiler.ts";
import { makeDirectory } from "../shared/directories.ts";

/** Changes with whatever changes the output for the same input. */
const SALT = "jiti-2.7.0/1";
/** Files kept; the oldest go first. */
const MAX_FILES = 4000;

/** A transform that looks into `directory` first. Without a usable directory it only compiles. */
export function cachedTransform(directory: string | undefined, compile: Transform = compileTypeScript): Transform {
  if (directory === undefined || !isPrivate(directory)) return compile;
  return (input) => {
    const file = join(directory, `${keyOf(input)}.js`);
    const known = readChecked(file);
    if (known !== undefined) return { code: known };
    const output = compile(input);
    if (!output.error) writeChecked(file, output.code);
    return output;
  };
}

/** Removes the oldest files past the bound. */
export function pruneCache(directory: string): void {
  try {
    const names = readdirSync(directory);
    if (names.length <= MAX_FILES) return;
    const aged = names.map((name) => ({ name, time: statSync(join(directory, name)).mtimeMs })).sort((a, b) => a.time - b.time);
    for (const { name } of aged.slice(0, names.length - MAX_FILES / 2)) rmSync(join(directory, name), { force: true });
  } catch {
    // Somebody else prunes at the same time, or the directory is gone: nothing is lost.
  }
}

function keyOf({ source, filename, ts, async, jsx, interopDefault }: TransformInput): string {
  return createHash("sha256")
    .update(JSON.stringify([SALT, filename, ts, async, jsx, interopDefault]))
    .update(source)
    .digest("hex");
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

/** The code, if its checksum fits: a torn file counts as absent. */
function readChecked(file: string): string | undefined {
  try {
    const text = readFileSync(file, "utf8");
    const end = text.lastIndexOf("\n//");
    const code = text.slice(0, end);
    return end >= 0 && text.slice(end + 3) === checksum(code) ? code : undefined;
  } catch {
    return undefined;
  }
}

function writeChecked(file: string, code: string): void {
  const temporary = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  try {
    writeFileSync(temporary, `${code}\n//${checksum(code)}`, { mode: 0o600 });
    renameSync(temporary, file);
  } catch {
    try {
      rmSync(temporary, { force: true });
    } catch {
      // The cache is a convenience: the code is there without it.
    }
  }
}

function checksum(code: string): string {
  return createHash("sha1").update(code).digest("hex");
}
