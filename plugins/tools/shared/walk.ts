/** Walking a tree as search programs do: hidden files too, ignore files respected, `.git` never, links not followed. */
import type { Dirent } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import type { Ignore } from "ignore";
import { checkAbort } from "./definition.ts";

export interface Found {
  /** relative to the root, with `/` */
  path: string;
  absolute: string;
  kind: "file" | "directory" | "link" | "other";
}

/** Patterns of one directory, which hold for everything below it. */
interface Rules {
  base: string;
  patterns: Ignore;
}

export interface WalkOptions {
  /** names of ignore files, weakest first */
  ignoreFiles: readonly string[];
  /** Leaves an entry out, with all below it. */
  skip?(found: Found): boolean;
  /** Takes an entry whatever ignore files say of it. */
  keep?(found: Found): boolean;
  signal?: AbortSignal;
}

/** Everything below `root`, each directory before its content, by name. */
export async function* walk(root: string, options: WalkOptions): AsyncGenerator<Found> {
  const { default: ignore } = await import("ignore");
  // Case counts, as it does for search programs.
  const make = () => ignore({ ignorecase: false });
  yield* below(root, "", await rulesAbove(root, options.ignoreFiles, make), options, make);
}

async function* below(root: string, path: string, above: readonly Rules[], options: WalkOptions, make: () => Ignore): AsyncGenerator<Found> {
  checkAbort(options.signal);
  const directory = join(root, path);
  const entries = await entriesOf(directory);
  const own = await rulesIn(directory, options.ignoreFiles, entries, make);
  const rules = own ? [...above, own] : above;
  for (const entry of entries) {
    if (entry.name === ".git") continue;
    const found: Found = { path: path ? `${path}/${entry.name}` : entry.name, absolute: join(directory, entry.name), kind: kindOf(entry) };
    if (options.skip?.(found) || (!options.keep?.(found) && isIgnored(found, rules))) continue;
    yield found;
    if (found.kind === "directory") yield* below(root, found.path, rules, options, make);
  }
}

/** What cannot be read is passed over, as search programs do. */
async function entriesOf(directory: string): Promise<Dirent[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function kindOf(entry: Dirent): Found["kind"] {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  return entry.isSymbolicLink() ? "link" : "other";
}

/** The nearest directory with an opinion decides. */
function isIgnored({ absolute, kind }: Found, rules: readonly Rules[]): boolean {
  for (let index = rules.length - 1; index >= 0; index--) {
    const { base, patterns } = rules[index] as Rules;
    const path = relative(base, absolute) + (kind === "directory" ? "/" : "");
    const { ignored, unignored } = patterns.test(path);
    if (ignored) return true;
    if (unignored) return false;
  }
  return false;
}

async function rulesIn(directory: string, names: readonly string[], entries: readonly Dirent[], make: () => Ignore): Promise<Rules | undefined> {
  const present = names.filter((name) => entries.some((entry) => entry.name === name && entry.isFile()));
  if (present.length === 0) return undefined;
  const patterns = make();
  for (const name of present) patterns.add(await readFile(join(directory, name), "utf8").catch(() => ""));
  return { base: directory, patterns };
}

/**
 * Inside a git repository, the rules from its root down to `root`, and those of `.git/info/exclude`.
 * Whoever names an ignored directory wants to see into it: the rules count for what is in there, not for the way.
 */
async function rulesAbove(root: string, names: readonly string[], make: () => Ignore): Promise<Rules[]> {
  const repository = await repositoryOf(root);
  if (repository === undefined) return [];
  const rules: Rules[] = [];
  const exclude = await readFile(join(repository, ".git", "info", "exclude"), "utf8").catch(() => "");
  if (exclude) rules.push({ base: repository, patterns: make().add(exclude) });
  const parents: string[] = [];
  for (let directory = root; directory !== repository; ) {
    directory = dirname(directory);
    parents.unshift(directory);
  }
  for (const directory of parents) {
    const found = await rulesIn(directory, names, await entriesOf(directory), make);
    if (found) rules.push(found);
  }
  for (const { base, patterns } of rules) {
    for (let directory = root; directory !== base; directory = dirname(directory)) patterns.add(`!/${literally(relative(base, directory))}/`);
  }
  return rules;
}

function literally(path: string): string {
  return path
    .split(sep)
    .join("/")
    .replace(/[\\*?[\]!# ]/g, "\\$&");
}

export async function repositoryOf(directory: string): Promise<string | undefined> {
  for (let at = directory; ; at = dirname(at)) {
    if (await stat(join(at, ".git")).catch(() => undefined)) return at;
    if (dirname(at) === at) return undefined;
  }
}
