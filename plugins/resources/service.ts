/** The service `resources`: the order in which places count, and what each holds. */
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { AsyncSeriesHook } from "tapable";
import type { PluginKernel, SourceInfo } from "../../core/index.ts";
import type {} from "../packages/contract.ts";
import type {} from "../settings/contract.ts";
import { type Complain, complainer } from "../shared/complaints.ts";
import { isRemoteSource } from "../shared/package-source.ts";
import { expandPath } from "../shared/paths.ts";
import type {} from "../system-prompt/contract.ts";
import type { Place } from "../watching/contract.ts";
import { builtinExtension, isBuiltin } from "./builtin.ts";
import type { FilesOptions, ResourceFile, ResourceKind, Resources } from "./contract.ts";
import { readManifest } from "./manifest.ts";
import { type DeclaredPackage, declaredPackages, filterPackage } from "./packages.ts";
import { adjust, type Base, isAdjustment, isGlob } from "./patterns.ts";
import { isDirectory, isFile, realPath, Scanner, statOf } from "./scan.ts";

type Scope = "user" | "project";

const switches = { extensions: "no-extensions", skills: "no-skills", prompts: "no-prompt-templates" } as const;
const explicit = { extensions: undefined, skills: "skill", prompts: "prompt-template" } as const;

/** How far below their places files of a kind may be. What is beside a SKILL.md belongs to that skill. */
const reach: Record<ResourceKind, Pick<Place, "depth" | "descends">> = {
  extensions: { depth: 1 },
  skills: { depth: 8, descends: (names) => !names.includes("SKILL.md") },
  prompts: { depth: 8 },
};

export class ResourcesService implements Resources {
  readonly hooks = { changed: new AsyncSeriesHook<[]>() };
  readonly #kernel: PluginKernel;
  readonly #complain: Complain;
  readonly #scanner: Scanner;
  readonly #discovered: { kind: ResourceKind; paths: string[]; sourceInfo: SourceInfo }[] = [];
  /** directories of remote packages, by scope and source, until the next reload */
  #directories = new Map<string, Promise<string | undefined>>();
  #packageRoots = new Set<string>();
  /** the last answers: links lead out of the places */
  readonly #found = new Map<ResourceKind, string[]>();
  /** told when places may have moved, for the watcher */
  onReloaded: () => void = () => {};
  #isReloadDue = false;
  #isStopped = false;

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
    this.#complain = complainer(kernel, "resources");
    this.#scanner = new Scanner(this.#complain);
  }

  async files(kind: ResourceKind, { withProject = this.#isTrusted(), everything = false }: FilesOptions = {}): Promise<ResourceFile[]> {
    const found = await this.#fromCommandLine(kind);
    if (!this.#isOff(kind)) {
      if (withProject) found.push(...(await this.#fromScope("project", kind, everything)));
      found.push(...(await this.#fromScope("user", kind, everything)));
      found.push(...(await this.#fromPackages(kind, withProject, everything)));
    }
    found.push(...(await this.#explicit(kind)), ...(await this.#fromExtensions(kind)));
    const files = withoutDuplicates(found);
    // What is switched off is listed by some and used by nobody.
    if (!everything) {
      this.#found.set(
        kind,
        files.map(({ path }) => path),
      );
    }
    return files;
  }

  places(kind: ResourceKind): Place[] {
    const sources = this.#kernel.options.extension ?? [];
    const given = sources.filter((source) => !isRemoteSource(source) && !isBuiltin(source)).map((source) => this.#fromCwd(source));
    const named = explicit[kind] ? (this.#kernel.options[explicit[kind]] ?? []).map((path) => this.#fromCwd(path)) : [];
    const added = this.#discovered.filter((item) => item.kind === kind).flatMap(({ paths }) => paths.map((path) => this.#fromCwd(path)));
    const found = [...given.flatMap((path) => [path, ...packagePlaces(path, kind)]), ...named, ...added, ...(this.#found.get(kind) ?? [])];
    if (!this.#isOff(kind)) {
      const scopes: Scope[] = this.#isTrusted() ? ["project", "user"] : ["user"];
      for (const scope of scopes) {
        const listed = this.#listed(scope, kind).map(({ path }) => path);
        found.push(...this.#discoveryDirs(scope, kind).map(({ dir }) => dir), ...listed);
      }
      for (const root of this.#packageRoots) found.push(...packagePlaces(root, kind));
    }
    // Of a package, which may be a whole repository, and of the directory of settings only the entries count.
    const shallow = new Set([...(kind === "extensions" ? [] : given), this.#base("user").dir, this.#base("project").dir, ...this.#packageRoots]);
    return [...new Set(found)].map((path) => (shallow.has(path) ? { path } : { path, ...reach[kind] }));
  }

  addDiscovered(kind: "skills" | "prompts", paths: string[], sourceInfo: SourceInfo): () => void {
    const item = { kind, paths, sourceInfo };
    this.#discovered.push(item);
    return () => {
      const index = this.#discovered.indexOf(item);
      if (index < 0) return;
      this.#discovered.splice(index, 1);
      this.#reloadSoon();
    };
  }

  /** No more reloads by itself. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Several extensions may go at once. */
  #reloadSoon(): void {
    if (this.#isStopped || this.#isReloadDue) return;
    this.#isReloadDue = true;
    setImmediate(() => {
      this.#isReloadDue = false;
      if (!this.#isStopped) this.reload().catch((error) => this.#kernel.fault({ during: "resources", error }));
    });
  }

  async reload(): Promise<void> {
    this.#directories = new Map();
    this.#packageRoots = new Set();
    await this.hooks.changed.promise();
    await this.#kernel.tryService("systemPrompt")?.reload();
    this.onReloaded();
  }

  // ------------------------------------------------------------ the ranks

  /** Rank 1: what `-e` names; a directory or package brings all its kinds. */
  async #fromCommandLine(kind: ResourceKind): Promise<ResourceFile[]> {
    const found: ResourceFile[] = [];
    for (const source of this.#kernel.options.extension ?? []) {
      const path = await this.#commandLinePath(source);
      if (path === undefined) continue;
      const isPackage = isDirectory(path) && holdsResources(path);
      const baseDir = isDirectory(path) ? path : dirname(path);
      const info = { source: "cli", scope: "temporary", origin: isPackage ? "package" : "top-level", baseDir } as const;
      const files = await this.packaged(kind, path);
      // An extension that is not there is the loader's to report.
      const named = files.length === 0 && kind === "extensions" && !isPackage ? [path] : files;
      found.push(...named.map((file) => ({ path: file, sourceInfo: { path: file, ...info } })));
    }
    return found;
  }

  /** Ranks 2 and 3, or 4 and 5: the scope's list, then its directories. */
  async #fromScope(scope: Scope, kind: ResourceKind, everything: boolean): Promise<ResourceFile[]> {
    const base = this.#base(scope);
    const adjustments = everything ? [] : this.#list(scope, kind).filter(isAdjustment);
    const listed: string[] = [];
    for (const { path, glob } of this.#listed(scope, kind)) {
      if (statOf(path)) listed.push(...(glob === undefined ? await this.#scanner.path(kind, path) : await this.#scanner.listed(path, kind, [glob])));
      else this.#complain(`${this.#settings.file(scope)}: "${kind}" names ${path}, which does not exist`);
    }
    const label = async (files: string[], source: string, baseDir: string): Promise<ResourceFile[]> =>
      (await adjust(files, new Set(files), adjustments, base)).map((path) => ({ path, sourceInfo: { path, source, scope, origin: "top-level", baseDir } }));
    const found = await label(listed, "local", base.dir);
    for (const { dir, baseDir, scan } of this.#discoveryDirs(scope, kind)) found.push(...(await label(await scan(dir), "auto", baseDir)));
    return found;
  }

  /** Rank 6. */
  async #fromPackages(kind: ResourceKind, withProject: boolean, everything: boolean): Promise<ResourceFile[]> {
    const lists = { project: withProject ? this.#settings.project().packages : [], user: this.#settings.user().packages };
    const found: ResourceFile[] = [];
    for (const declared of declaredPackages(lists, { project: this.#base("project"), user: this.#base("user") }, this.#complain)) {
      const root = await this.#packageRoot(declared);
      if (root === undefined) continue;
      this.#packageRoots.add(root);
      const baseDir = isDirectory(root) ? root : dirname(root);
      const all = await this.packaged(kind, root);
      const files = everything ? all : await filterPackage(all, kind, declared, { dir: baseDir, home: this.#settings.home() });
      const info = { source: declared.entry.source, scope: declared.scope, origin: "package", baseDir } as const;
      found.push(...files.map((path) => ({ path, sourceInfo: { path, ...info } })));
    }
    return found;
  }

  /** Rank 7: `--skill` and `--prompt-template`, last because they add and do not replace. */
  async #explicit(kind: ResourceKind): Promise<ResourceFile[]> {
    const flag = explicit[kind];
    const found: ResourceFile[] = [];
    for (const path of flag ? (this.#kernel.options[flag] ?? []).map((given) => this.#fromCwd(given)) : []) {
      if (!statOf(path)) {
        this.#complain(`--${flag} ${path} does not exist`);
        continue;
      }
      const baseDir = isDirectory(path) ? path : dirname(path);
      const info = { source: "cli", scope: "temporary", origin: "top-level", baseDir } as const;
      for (const file of await this.#scanner.path(kind, path)) found.push({ path: file, sourceInfo: { path: file, ...info } });
    }
    return found;
  }

  /** Rank 8. */
  async #fromExtensions(kind: ResourceKind): Promise<ResourceFile[]> {
    const found: ResourceFile[] = [];
    for (const { paths, sourceInfo } of this.#discovered.filter((item) => item.kind === kind)) {
      for (const path of paths.map((given) => this.#fromCwd(given))) {
        if (!statOf(path)) this.#complain(`${path}, named by ${sourceInfo.source}, does not exist`);
        const files = statOf(path) ? await this.#scanner.path(kind, path) : [];
        found.push(...files.map((file) => ({ path: file, sourceInfo: { ...sourceInfo, path: file } })));
      }
    }
    return found;
  }

  // ------------------------------------------------------------ places

  get #settings() {
    return this.#kernel.service("settings");
  }

  #isTrusted(): boolean {
    return this.#kernel.tryService("trust")?.isTrusted() ?? false;
  }

  #isOff(kind: ResourceKind): boolean {
    return this.#kernel.options[switches[kind]] === true;
  }

  #fromCwd(path: string): string {
    return expandPath(path, this.#settings.cwd(), this.#settings.home());
  }

  #base(scope: Scope): Base {
    return { dir: scope === "user" ? this.#settings.agentDir() : this.#settings.projectDir(), home: this.#settings.home() };
  }

  #list(scope: Scope, kind: ResourceKind): string[] {
    return (this.#settings[scope]()[kind] ?? []) as string[];
  }

  /** Absolute paths; a glob with the directory below which all its matches are. */
  #listed(scope: Scope, kind: ResourceKind): { path: string; glob?: string }[] {
    const { dir, home } = this.#base(scope);
    const plain = this.#list(scope, kind).filter((entry) => !isAdjustment(entry));
    return plain.flatMap((entry) => {
      const path = isBuiltin(entry) ? this.#builtin(entry) : expandPath(fixedPart(entry), dir, home);
      return path === undefined ? [] : [{ path, ...(isGlob(entry) && { glob: entry.slice(fixedPart(entry).length).replace(/^\//, "") }) }];
    });
  }

  #discoveryDirs(scope: Scope, kind: ResourceKind): { dir: string; baseDir: string; scan(dir: string): Promise<string[]> }[] {
    const baseDir = this.#base(scope).dir;
    const own = (scan: (dir: string) => Promise<string[]>) => ({ dir: join(baseDir, kind), baseDir, scan });
    if (kind === "extensions") return [own((dir) => this.#scanner.extensions(dir))];
    if (kind === "prompts") return [own((dir) => this.#scanner.prompts(dir, { deep: false }))];
    const shared = scope === "user" ? [this.#settings.home()] : this.#projectDirs();
    const scanShared = (dir: string) => this.#scanner.skills(dir, "agents");
    return [
      own((dir) => this.#scanner.skills(dir)),
      ...shared.map((dir) => ({ dir: join(dir, ".agents", "skills"), baseDir: join(dir, ".agents"), scan: scanShared })),
    ];
  }

  /** The cwd and the directories above it up to the root of its repository; the user's home is the user's. */
  #projectDirs(): string[] {
    const dirs: string[] = [];
    for (let dir = this.#settings.cwd(); ; dir = dirname(dir)) {
      if (realPath(dir) !== realPath(this.#settings.home())) dirs.push(dir);
      if (statOf(join(dir, ".git")) || dir === dirname(dir)) return dirs;
    }
  }

  // ------------------------------------------------------------ packages

  /** A file is an extension; a directory is a package if it looks like one, else an extension. */
  async packaged(kind: ResourceKind, path: string): Promise<string[]> {
    if (!isDirectory(path)) return kind === "extensions" && isFile(path) ? [path] : [];
    if (holdsResources(path)) return this.#scanner.packaged(path, kind);
    return kind === "extensions" ? this.#scanner.extensions(path) : [];
  }

  async #commandLinePath(source: string): Promise<string | undefined> {
    if (isBuiltin(source)) return this.#builtin(source);
    return isRemoteSource(source) ? this.#directory(source, "temporary") : this.#fromCwd(source);
  }

  async #packageRoot({ entry, scope, localPath }: DeclaredPackage): Promise<string | undefined> {
    if (localPath === undefined) return this.#directory(entry.source, scope);
    if (statOf(localPath)) return localPath;
    this.#complain(`${this.#settings.file(scope)}: the package ${localPath} does not exist`);
    return undefined;
  }

  #directory(source: string, scope: Scope | "temporary"): Promise<string | undefined> {
    const packages = this.#kernel.tryService("packages");
    if (!packages) {
      this.#complain(`${source} is not loaded: this distribution does not install packages`);
      return Promise.resolve(undefined);
    }
    const key = `${scope} ${source}`;
    const known = this.#directories.get(key) ?? packages.directory(source, scope);
    this.#directories.set(key, known);
    return known;
  }

  #builtin(source: string): string | undefined {
    return builtinExtension(source, this.#kernel.options.packageDir ?? dirname(fileURLToPath(import.meta.url)), this.#complain);
  }
}

/** Where a package may have files of a kind. */
function packagePlaces(root: string, kind: ResourceKind): string[] {
  const listed = readManifest(root)?.[kind]?.filter((entry) => !isAdjustment(entry));
  return [join(root, "package.json"), ...(listed?.map((entry) => resolve(root, fixedPart(entry))) ?? [join(root, kind)])];
}

/** What a path names, or the directory below which a glob finds all its matches. */
function fixedPart(entry: string): string {
  const segments = entry.split("/");
  const first = segments.findIndex(isGlob);
  const fixed = segments.slice(0, first < 0 ? undefined : first).join("/");
  return fixed === "" && entry.startsWith("/") ? "/" : fixed;
}

/** Whether `-e DIR` or a local package means a package and not one extension. */
function holdsResources(dir: string): boolean {
  return readManifest(dir) !== undefined || ["extensions", "skills", "prompts", "themes"].some((name) => isDirectory(join(dir, name)));
}

/** The same file reached twice is silently one: the first. */
function withoutDuplicates(files: ResourceFile[]): ResourceFile[] {
  const seen = new Set<string>();
  return files.filter(({ path }) => {
    const real = realPath(path);
    return !seen.has(real) && seen.add(real);
  });
}
