/** Finding extensions, skills and prompts in directories. What cannot be read is reported and passed over. */
import { readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { messageOf } from "../../core/index.ts";
import type { Complain } from "../shared/complaints.ts";
import type { ResourceKind } from "./contract.ts";
import { type IgnoreRules, isIgnored, withRulesOf } from "./ignore-files.ts";
import { readManifest } from "./manifest.ts";
import { globMatcher, isGlob } from "./patterns.ts";

export type SkillPlaces = "root" | "agents";

/** undefined if nothing is there, also behind a dangling link */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

export const isFile = (path: string): boolean => statOf(path)?.isFile() ?? false;
export const isDirectory = (path: string): boolean => statOf(path)?.isDirectory() ?? false;

export function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

export class Scanner {
  readonly #complain: Complain;

  constructor(complain: Complain) {
    this.#complain = complain;
  }

  /** The files of one kind that a path stands for: itself, or what is in the directory. */
  async path(kind: ResourceKind, path: string, passed: ReadonlySet<string> = new Set()): Promise<string[]> {
    if (!isDirectory(path)) return [path];
    if (kind === "extensions") return this.extensions(path, passed);
    return kind === "skills" ? this.skills(path) : this.prompts(path, { deep: true });
  }

  // ------------------------------------------------------------ extensions

  /** A directory is one set by manifest or index file, or else holds files and such directories. */
  async extensions(dir: string, passed: ReadonlySet<string> = new Set()): Promise<string[]> {
    const set = await this.#extensionSet(dir, passed);
    if (set.length > 0) return set;
    const found: string[] = [];
    for (const { path, stats } of await this.#entries(dir)) {
      if (stats.isDirectory()) found.push(...(await this.#extensionSet(path, passed)));
      else if (isExtension(path)) found.push(path);
    }
    return found;
  }

  async #extensionSet(dir: string, passed: ReadonlySet<string>): Promise<string[]> {
    // A manifest may name its own directory.
    const real = realPath(dir);
    const listed = passed.has(real) ? undefined : readManifest(dir, this.#complain)?.extensions;
    const files = listed ? await this.listed(dir, "extensions", listed, new Set([...passed, real])) : [];
    if (files.length > 0) return files;
    const index = ["index.ts", "index.js"].map((name) => join(dir, name)).find(isFile);
    return index ? [index] : [];
  }

  // ------------------------------------------------------------ prompts

  async prompts(dir: string, { deep }: { deep: boolean }): Promise<string[]> {
    return this.#markdown(dir, deep, [], new Set());
  }

  async #markdown(dir: string, deep: boolean, outer: IgnoreRules, passed: Set<string>): Promise<string[]> {
    if (!enter(dir, passed)) return [];
    const found: string[] = [];
    for (const { path, stats, rules } of await this.#entries(dir, outer)) {
      if (stats.isFile() && path.endsWith(".md")) found.push(path);
      else if (deep && stats.isDirectory()) found.push(...(await this.#markdown(path, deep, rules, passed)));
    }
    return found;
  }

  // ------------------------------------------------------------ skills

  /** `SKILL.md` at any depth; besides, loose `.md` files: in our own places beside the root's directories, in shared ones only below them. */
  skills(root: string, places: SkillPlaces = "root"): Promise<string[]> {
    return this.#skills(root, (depth) => (places === "root" ? depth === 0 : depth > 0), 0, [], new Set());
  }

  async #skills(dir: string, takesLoose: (depth: number) => boolean, depth: number, outer: IgnoreRules, passed: Set<string>): Promise<string[]> {
    if (!enter(dir, passed)) return [];
    const entries = await this.#entries(dir, outer);
    const skill = entries.find(({ path, stats }) => path === join(dir, "SKILL.md") && stats.isFile());
    if (skill) return [skill.path];
    const found: string[] = [];
    for (const { path, stats, rules } of entries) {
      if (stats.isDirectory()) found.push(...(await this.#skills(path, takesLoose, depth + 1, rules, passed)));
      else if (path.endsWith(".md") && takesLoose(depth)) found.push(path);
    }
    return found;
  }

  // ------------------------------------------------------------ packages

  /** The files that a manifest's list names: paths and globs, without what `!` excludes. */
  async listed(root: string, kind: ResourceKind, list: readonly string[], passed: ReadonlySet<string> = new Set()): Promise<string[]> {
    const found: string[] = [];
    for (const entry of list.filter((item) => !item.startsWith("!"))) {
      const paths = isGlob(entry) ? await this.#glob(root, entry) : this.#present(root, kind, entry);
      for (const path of paths) {
        const files = await this.path(kind, path, passed);
        found.push(...(isGlob(entry) ? files.filter((file) => fits(kind, file)) : files));
      }
    }
    const globs = list.filter((entry) => entry.startsWith("!")).map((entry) => entry.slice(1));
    const excluded = await Promise.all(globs.map((glob) => globMatcher(glob, { dir: root, home: root })));
    return [...new Set(found)].filter((file) => !excluded.some((matches) => matches(file)));
  }

  #present(root: string, kind: ResourceKind, entry: string): string[] {
    const path = resolve(root, entry);
    if (statOf(path)) return [path];
    this.#complain(`${join(root, "package.json")}: "pi.${kind}" names ${entry}, which does not exist`);
    return [];
  }

  /** What a package directory holds of a kind. */
  async packaged(root: string, kind: ResourceKind): Promise<string[]> {
    const manifest = readManifest(root, this.#complain);
    if (manifest?.[kind]) return kind === "extensions" ? this.#extensionSet(root, new Set()) : this.listed(root, kind, manifest[kind]);
    if (manifest) return [];
    const dir = join(root, kind);
    return isDirectory(dir) ? this.path(kind, dir) : [];
  }

  /** Files and directories below `root` that match; those whose names begin with a dot only if the glob names them. */
  async #glob(root: string, glob: string): Promise<string[]> {
    const { default: picomatch } = await import("picomatch");
    const pattern = glob.replace(/^\.\//, "");
    const matches = picomatch(pattern);
    const namesDots = /(^|\/)\./.test(pattern);
    const found: string[] = [];
    const passed = new Set<string>();
    const walk = (dir: string) => {
      if (!enter(dir, passed)) return;
      for (const name of this.#names(dir)) {
        if (name === "node_modules" || (name.startsWith(".") && !namesDots)) continue;
        const path = join(dir, name);
        if (matches(relative(root, path).split(sep).join("/"))) found.push(path);
        else if (isDirectory(path)) walk(path);
      }
    };
    walk(root);
    return found;
  }

  // ------------------------------------------------------------ directories

  /** What discovery may take: no dot names, no node_modules, nothing ignored, nothing dangling. */
  async #entries(dir: string, outer: IgnoreRules = []): Promise<{ path: string; stats: Stats; rules: IgnoreRules }[]> {
    const names = this.#names(dir);
    const rules = await withRulesOf(dir, names, outer);
    return names.flatMap((name) => {
      if (name.startsWith(".") || name === "node_modules") return [];
      const path = join(dir, name);
      const stats = statOf(path);
      if (!stats || isIgnored(rules, path, stats.isDirectory())) return [];
      return [{ path, stats, rules }];
    });
  }

  /** Names in ascending byte order. */
  #names(dir: string): string[] {
    try {
      return readdirSync(dir).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "ENOTDIR") this.#complain(`${dir} is passed over: ${messageOf(error)}`);
      return [];
    }
  }
}

/** Declarations are no programs. */
function isExtension(file: string): boolean {
  return /\.(ts|js)$/.test(file) && !file.endsWith(".d.ts");
}

function fits(kind: ResourceKind, file: string): boolean {
  return kind === "extensions" ? isExtension(file) : file.endsWith(".md");
}

/** False for a directory that links lead back to. */
function enter(dir: string, passed: Set<string>): boolean {
  const real = realPath(dir);
  if (passed.has(real)) return false;
  passed.add(real);
  return true;
}
