/** Settings, places and environment: files of the user and of a trusted project, merged over defaults. */
import { join } from "node:path";
import { AsyncSeriesHook } from "tapable";
import { definePlugin, KernelError, type PluginKernel, type PluginList, Stage } from "../../core/index.ts";
import { type Complain, complainer } from "../shared/complaints.ts";
import { expandPath, homeDirectory } from "../shared/paths.ts";
import type { Place } from "../watching/contract.ts";
import type { Branding, Settings } from "./contract.ts";
import { readSettingsFile, type SettingsFile, writeSettingsKey } from "./file.ts";
import { builtinDefaults, userOnly } from "./known-keys.ts";
import { resolve, type Tree } from "./layers.ts";

const pi: Branding = { name: "pi", version: "0.0.0", configDir: ".pi", envPrefix: "PI" };

const settings = definePlugin({
  name: "settings",
  apply(kernel) {
    const service = new SettingsService(kernel);
    kernel.provide("settings", service);
    kernel.registry("flags").add({
      name: "offline",
      type: "boolean",
      description: "No automatic network access: no package installs, no catalogue refresh",
      group: "Resources",
    });
    // Read at start so that complaints about the files come before anything else happens.
    kernel.hooks.start.tap({ name: "settings", stage: Stage.open }, () => {
      service.open();
      const watching = kernel.tryService("watching")?.watch({ places: () => service.places(), changed: () => service.reload() });
      if (watching) kernel.defer(() => watching.stop());
    });
  },
});

export default [settings] satisfies PluginList;

/** Files are read at first use and again on `reload`; every answer is computed from the layers. */
class SettingsService implements Settings {
  readonly hooks = { changed: new AsyncSeriesHook<[]>() };
  readonly #kernel: PluginKernel;
  readonly #complain: Complain;
  readonly #defaults: Tree[] = [];
  readonly #managed: Tree[] = [];
  readonly #process: Record<string, unknown> = {};
  readonly #usualAgentDir = joining();
  readonly #projectDir = joining();
  #branding: { given: object; whole: Branding } | undefined;
  #cwd: string | undefined;
  #files: { user?: SettingsFile; project?: SettingsFile } = {};
  readonly #answers = new Map<string, unknown>();
  #answersVersion: number | undefined;

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
    this.#complain = complainer(kernel, "settings");
  }

  /** Reads both files now. */
  open(): void {
    this.#file("user");
    this.#file("project");
    this.project();
  }

  // ------------------------------------------------------------ places

  get branding(): Branding {
    const given = this.#kernel.options.branding;
    if (!given) return pi;
    if (this.#branding?.given !== given) this.#branding = { given, whole: { ...pi, ...given } };
    return this.#branding.whole;
  }

  cwd(): string {
    return this.#cwd ?? this.#kernel.options.cwd ?? process.cwd();
  }

  setCwd(cwd: string): void {
    if (cwd === this.cwd()) return;
    this.#cwd = cwd;
    this.#files.project = undefined;
    this.#answers.clear();
  }

  home(): string {
    return homeDirectory(this.env("HOME"));
  }

  agentDir(): string {
    const chosen = this.ownEnv("CODING_AGENT_DIR");
    return chosen ? expandPath(chosen, this.cwd(), this.home()) : this.#usualAgentDir(this.home(), this.branding.configDir, "agent");
  }

  projectDir(): string {
    return this.#projectDir(this.cwd(), this.branding.configDir);
  }

  env(name: string): string | undefined {
    const given = this.#kernel.options.env;
    return given ? given[name] : process.env[name];
  }

  ownEnv(name: string): string | undefined {
    return this.env(`${this.branding.envPrefix}_${name}`);
  }

  file(scope: "user" | "project"): string {
    return join(scope === "user" ? this.agentDir() : this.projectDir(), "settings.json");
  }

  broken(scope: "user" | "project"): string | undefined {
    return this.#file(scope).broken;
  }

  // ------------------------------------------------------------ values

  get<T = unknown>(key: string): T | undefined {
    // Whether the project counts is a question of trust.
    const version = this.#kernel.tryService("trust")?.version;
    if (version !== this.#answersVersion) this.#answers.clear();
    this.#answersVersion = version;
    let answer = this.#answers.get(key);
    if (answer === undefined && !this.#answers.has(key)) {
      answer = this.#resolve(key);
      this.#answers.set(key, answer);
    }
    return answer as T | undefined;
  }

  user(): Tree {
    return this.#file("user").values;
  }

  project(): Tree {
    if (!this.#projectCounts()) return {};
    const { values, problems } = this.#file("project");
    // Here and not when it is read: a project that does not count does not get to complain either.
    for (const problem of problems) this.#complain(problem);
    return Object.fromEntries(Object.entries(values).filter(([key]) => !userOnly.has(key)));
  }

  override(key: string, value: unknown): void {
    this.#process[key] = value;
    this.#answers.clear();
  }

  defaults(values: Record<string, unknown>): () => void {
    return this.#addLayer(this.#defaults, values);
  }

  manage(values: Record<string, unknown>): () => void {
    return this.#addLayer(this.#managed, values);
  }

  async write(scope: "user" | "project", key: string, value: unknown): Promise<void> {
    await this.update(scope, key, () => value);
  }

  async update(scope: "user" | "project", key: string, change: (value: unknown) => unknown): Promise<void> {
    if (scope === "project" && !this.#projectCounts()) {
      throw new KernelError("E_REFUSED", `${this.cwd()} is not a trusted project: its settings are not written (--approve trusts it)`);
    }
    await writeSettingsKey(this.file(scope), key, change);
    await this.reload();
  }

  async reload(): Promise<boolean> {
    const before = this.#files;
    this.#files = {};
    this.#answers.clear();
    this.open();
    for (const scope of ["user", "project"] as const) {
      const file = this.#file(scope);
      // Somebody may be in the middle of editing it: what counted goes on counting.
      if (file.broken) this.#files[scope] = { ...file, values: before[scope]?.values ?? {} };
    }
    const { user, project } = this.#files;
    const changed = JSON.stringify([before.user?.values, before.project?.values]) !== JSON.stringify([user?.values, project?.values]);
    if (changed) await this.hooks.changed.promise();
    return changed;
  }

  /** The files that count. */
  places(): Place[] {
    const scopes = this.#projectCounts() ? (["user", "project"] as const) : (["user"] as const);
    return scopes.map((scope) => ({ path: this.file(scope) }));
  }

  // ------------------------------------------------------------ inside

  #addLayer(layers: Tree[], values: Tree): () => void {
    layers.push(values);
    this.#answers.clear();
    return () => {
      const index = layers.indexOf(values);
      if (index >= 0) layers.splice(index, 1);
      this.#answers.clear();
    };
  }

  #projectCounts(): boolean {
    return this.#kernel.tryService("trust")?.isTrusted(this.cwd()) ?? false;
  }

  #resolve(key: string): unknown {
    // The session directory is needed before a project can be trusted.
    const project = key === "sessionDir" ? this.#file("project").values : this.project();
    const value = resolve([builtinDefaults, ...this.#defaults, this.user(), project, this.#process, ...this.#managed], key);
    if (value === undefined && key === "retry.provider.timeoutMs") return this.get("httpIdleTimeoutMs");
    return value;
  }

  #file(scope: "user" | "project"): SettingsFile {
    const known = this.#files[scope];
    if (known) return known;
    const file = readSettingsFile(this.file(scope));
    this.#files[scope] = file;
    if (scope === "user") for (const problem of file.problems) this.#complain(problem);
    return file;
  }
}

/** Joins a path, and not again while it is the same: it is asked for with nearly everything. */
function joining(): (base: string, ...names: string[]) => string {
  let last: { base: string; names: string; path: string } | undefined;
  return (base, ...given) => {
    const names = given.join("/");
    if (last?.base !== base || last.names !== names) last = { base, names, path: join(base, names) };
    return last.path;
  };
}
