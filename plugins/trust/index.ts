/** Whether the project's own extensions, settings, skills and prompts may take effect: a directory may come from anybody. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { AsyncSeriesBailHook, AsyncSeriesHook } from "tapable";
import { definePlugin, type PluginKernel, type PluginList, Stage } from "../../core/index.ts";
import type { Trust } from "../settings/contract.ts";
import { realPath, rememberedTrust, rememberTrust } from "./decisions.ts";

/** What a project directory may hold that does something by itself. */
const powerful = ["settings.json", "extensions", "skills", "prompts", "rules", "themes", "SYSTEM.md", "APPEND_SYSTEM.md"];

const trust = definePlugin({
  name: "trust",
  requires: ["settings"],
  apply(kernel) {
    const service = new TrustService(kernel);
    kernel.provide("trust", service);
    const flags = kernel.registry("flags");
    flags.add({ name: "approve", alias: "a", type: "boolean", description: "Trust the project's own resources for this process", group: "Resources" });
    flags.add({ name: "no-approve", alias: "na", type: "boolean", description: "Ignore the project's own resources", group: "Resources" });
    kernel.hooks.start.tap({ name: "trust", stage: Stage.open }, () => service.forget());
    // Extensions ask earlier, once the user's own are there to be consulted; this is for distributions without them.
    kernel.hooks.start.tap("trust", async () => {
      await service.decide(kernel.service("settings").cwd());
    });
  },
});

export default [trust] satisfies PluginList;

class TrustService implements Trust {
  readonly hooks: Trust["hooks"] = { deciding: new AsyncSeriesHook(["cwd"]), asked: new AsyncSeriesBailHook(["cwd"]) };
  readonly #kernel: PluginKernel;
  readonly #answers = new Map<string, boolean>();
  /** whether a project needs trust, until it is decided: that is asked several times at a start */
  readonly #undecided = new Map<string, boolean>();
  readonly #deciding = new Map<string, Promise<boolean>>();
  version = 0;

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
  }

  /** Answers given before the command line was known do not count. */
  forget(): void {
    this.#answers.clear();
    this.#undecided.clear();
    this.version++;
  }

  isTrusted(cwd: string = this.#settings.cwd()): boolean {
    return this.#answers.get(cwd) ?? this.#fromCommandLine() ?? !this.#needsTrust(cwd);
  }

  isUndecided(cwd: string): boolean {
    return !this.#answers.has(cwd) && this.#fromCommandLine() === undefined && this.#needsTrust(cwd);
  }

  async decide(cwd: string): Promise<boolean> {
    const known = this.#answers.get(cwd);
    if (known !== undefined) return known;
    let deciding = this.#deciding.get(cwd);
    if (!deciding) {
      deciding = this.#decide(cwd).finally(() => this.#deciding.delete(cwd));
      this.#deciding.set(cwd, deciding);
    }
    return deciding;
  }

  async remember(cwd: string, trusted: boolean): Promise<void> {
    await rememberTrust(this.#file, cwd, trusted);
    this.#answer(cwd, trusted);
  }

  // ------------------------------------------------------------ inside

  get #settings() {
    return this.#kernel.service("settings");
  }

  get #file(): string {
    return join(this.#settings.agentDir(), "trust.json");
  }

  async #decide(cwd: string): Promise<boolean> {
    const answer = this.#fromCommandLine() ?? (!this.#needsTrust(cwd) || ((await this.#fromHandlers(cwd)) ?? this.#remembered(cwd) ?? this.#fromSettings()));
    this.#answer(cwd, answer);
    this.#undecided.delete(cwd);
    return answer;
  }

  #answer(cwd: string, trusted: boolean): void {
    this.#answers.set(cwd, trusted);
    this.version++;
  }

  #needsTrust(cwd: string): boolean {
    let needsTrust = this.#undecided.get(cwd);
    if (needsTrust === undefined) {
      needsTrust = this.#isPowerful(cwd) || this.#hasProjectSkills(cwd);
      this.#undecided.set(cwd, needsTrust);
    }
    return needsTrust;
  }

  #isPowerful(cwd: string): boolean {
    const directory = join(cwd, this.#settings.branding.configDir);
    return existsSync(directory) && powerful.some((name) => existsSync(join(directory, name)));
  }

  #fromCommandLine(): boolean | undefined {
    const { approve, "no-approve": refuse } = this.#kernel.options;
    if (refuse === true) return false;
    return approve;
  }

  async #fromHandlers(cwd: string): Promise<boolean | undefined> {
    try {
      await this.hooks.deciding.promise(cwd);
      const answer = await this.hooks.asked.promise(cwd);
      if (!answer) return undefined;
      if (answer.remember) await this.remember(cwd, answer.trusted).catch((error) => this.#kernel.fault({ during: "trust", error }));
      return answer.trusted;
    } catch (error) {
      this.#kernel.fault({ during: "project_trust", error });
      return undefined;
    }
  }

  #remembered(cwd: string): boolean | undefined {
    try {
      return rememberedTrust(this.#file, cwd);
    } catch (error) {
      this.#kernel.fault({ during: "trust", error });
      return undefined;
    }
  }

  /** "ask" is no here: there is nobody to ask. */
  #fromSettings(): boolean {
    return this.#settings.get("defaultProjectTrust") === "always";
  }

  /** Skills for any agent, in the directory or above it; the user's own in their home are not the project's. */
  #hasProjectSkills(cwd: string): boolean {
    const own = realPath(join(this.#settings.home(), ".agents", "skills"));
    for (let dir = cwd; ; dir = dirname(dir)) {
      const skills = join(dir, ".agents", "skills");
      if (existsSync(skills) && realPath(skills) !== own) return true;
      if (dir === dirname(dir)) return false;
    }
  }
}
