/** What `.gitignore`, `.ignore` and `.fdignore` say about the entries of a directory and those below it. */
import { join, relative, sep } from "node:path";
import { readTextFile } from "../shared/text-file.ts";

const names = [".gitignore", ".ignore", ".fdignore"];

interface Rules {
  dir: string;
  test(path: string): { ignored: boolean; unignored: boolean };
}

/** Rules from the outermost directory inwards. */
export type IgnoreRules = readonly Rules[];

/** Adds the rules of one directory whose entries are known. */
export async function withRulesOf(dir: string, entries: readonly string[], outer: IgnoreRules): Promise<IgnoreRules> {
  const present = names.filter((name) => entries.includes(name));
  if (present.length === 0) return outer;
  const { default: ignore } = await import("ignore");
  const matcher = ignore();
  for (const name of present) {
    try {
      matcher.add(readTextFile(join(dir, name)));
    } catch {
      // An ignore file that cannot be read ignores nothing.
    }
  }
  return [...outer, { dir, test: (path) => matcher.test(path) }];
}

/** The innermost rule that has an opinion decides. */
export function isIgnored(rules: IgnoreRules, path: string, isDirectory: boolean): boolean {
  for (const { dir, test } of rules.toReversed()) {
    const below = relative(dir, path).split(sep).join("/");
    const { ignored, unignored } = test(isDirectory ? `${below}/` : below);
    if (ignored || unignored) return ignored;
  }
  return false;
}
