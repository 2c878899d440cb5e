/** Patterns in lists of resources: `!glob` leaves out, `+path` takes in after all, `-path` leaves out for good. */
import { basename, dirname, relative, resolve, sep } from "node:path";
import { expandPath } from "../shared/paths.ts";

export interface Base {
  /** what paths and globs are relative to */
  dir: string;
  home: string;
}

export const isGlob = (entry: string): boolean => /[*?]/.test(entry);
/** Takes something out or back in, instead of adding it. */
export const isAdjustment = (entry: string): boolean => /^[!+-]/.test(entry);

/** What of `chosen` remains, and what of `all` comes back. Keeps the order of `all`. */
export async function adjust(all: readonly string[], chosen: ReadonlySet<string>, entries: readonly string[], base: Base): Promise<string[]> {
  const after = (sign: string) => entries.filter((entry) => entry.startsWith(sign)).map((entry) => entry.slice(1));
  const excluded = await Promise.all(after("!").map((glob) => globMatcher(glob, base)));
  const forcedIn = after("+").map((path) => exactMatcher(path, base));
  const forcedOut = after("-").map((path) => exactMatcher(path, base));
  return all.filter((file) => {
    if (forcedOut.some((matches) => matches(file))) return false;
    if (forcedIn.some((matches) => matches(file))) return true;
    return chosen.has(file) && !excluded.some((matches) => matches(file));
  });
}

/** Which of the files a filter names: by glob, by path, or by a directory they are in. */
export async function named(all: readonly string[], entries: readonly string[], base: Base): Promise<string[]> {
  const matchers = await Promise.all(entries.map((entry) => (isGlob(entry) ? globMatcher(entry, base) : pathMatcher(entry, base))));
  return all.filter((file) => matchers.some((matches) => matches(file)));
}

type Matcher = (file: string) => boolean;

/** The names by which a pattern may mean a file; a skill is also its directory. */
function namesOf(file: string, base: Base): string[] {
  const names = (path: string) => [relative(base.dir, path).split(sep).join("/"), basename(path), path];
  return basename(file) === "SKILL.md" ? [...names(file), ...names(dirname(file))] : names(file);
}

export async function globMatcher(glob: string, base: Base): Promise<Matcher> {
  const { default: picomatch } = await import("picomatch");
  const matches = picomatch(glob.startsWith("~") ? expandPath(glob, base.dir, base.home) : glob.replace(/^\.\//, ""), { dot: true });
  return (file) => namesOf(file, base).some((name) => matches(name));
}

function exactMatcher(path: string, base: Base): Matcher {
  const wanted = expandPath(path, base.dir, base.home);
  return (file) => file === wanted || (basename(file) === "SKILL.md" && dirname(file) === wanted);
}

function pathMatcher(path: string, base: Base): Matcher {
  const wanted = expandPath(path, base.dir, base.home);
  return (file) => file === wanted || file.startsWith(resolve(wanted) + sep);
}
