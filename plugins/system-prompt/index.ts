/** What the model is told before everything else: who it is, its tools and rules, the project's instructions, skills, the working directory. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { definePlugin, messageOf, type PluginKernel, type PluginList, type RunDraft, Stage } from "../../core/index.ts";
import type {} from "../session/contract.ts";
import type {} from "../settings/contract.ts";
import { type Complain, complainer } from "../shared/complaints.ts";
import { expandPath } from "../shared/paths.ts";
import { readTextFile } from "../shared/text-file.ts";
import type { Skill } from "../skills/contract.ts";
import type {} from "../tools/contract.ts";
import type { Place } from "../watching/contract.ts";
import { type ContextFile, contextPlaces, readContextFiles } from "./context-files.ts";
import type { SystemPromptOptions, SystemPromptService } from "./contract.ts";
import { render } from "./render.ts";

const systemPrompt = definePlugin({
  name: "system-prompt",
  apply(kernel) {
    const service = new Prompt(kernel);
    kernel.provide("systemPrompt", service);
    addFlags(kernel);
    kernel.hooks.systemPrompt.tap({ name: "system-prompt", stage: Stage.open }, (_, run) => {
      const options = run?.systemPromptOptions ?? service.options(run);
      return render({ ...options, selectedTools: kernel.tryService("activeTools")?.offered() ?? options.selectedTools });
    });
    kernel.hooks.start.tap({ name: "system-prompt", stage: Stage.open }, () => {
      const watching = kernel.tryService("watching")?.watch({ places: () => service.places(), changed: () => service.reload() });
      if (watching) kernel.defer(() => watching.stop());
      const session = kernel.tryService("session");
      if (session) kernel.own(session.hooks).changed.tap({ name: "system-prompt", stage: Stage.open }, () => service.reload());
    });
  },
});

export default [systemPrompt] satisfies PluginList;

/** What comes from files. */
interface Files {
  cwd: string;
  isTrusted: boolean;
  customPrompt?: string;
  appendSystemPrompt: string;
  contextFiles: ContextFile[];
}

class Prompt implements SystemPromptService {
  readonly #kernel: PluginKernel;
  readonly #complain: Complain;
  /** read when first asked for, so that a start does not wait for it */
  #files: Files | undefined;
  /** what a run began with: a prompt that changes between turns is not cached by the provider */
  readonly #ofRuns = new WeakMap<RunDraft, Files & { skills: readonly Skill[] }>();

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
    this.#complain = complainer(kernel, "context files");
  }

  options(run?: RunDraft): SystemPromptOptions {
    const kernel = this.#kernel;
    const current = (run && this.#ofRuns.get(run)) ?? { ...this.#current(), skills: kernel.registry("skills").all() };
    if (run) this.#ofRuns.set(run, current);
    const { cwd, customPrompt, appendSystemPrompt, contextFiles, skills } = current;
    const tools = kernel.registry("tools").all();
    const toolSnippets: Record<string, string> = {};
    const toolGuidelines: Record<string, string[]> = {};
    for (const { name, promptSnippet, promptGuidelines } of tools) {
      if (promptSnippet) toolSnippets[name] = promptSnippet;
      if (promptGuidelines) toolGuidelines[name] = [...promptGuidelines];
    }
    return {
      cwd,
      ...(customPrompt !== undefined && { customPrompt }),
      selectedTools: kernel.tryService("activeTools")?.names() ?? tools.map(({ name }) => name),
      toolSnippets,
      toolGuidelines,
      promptGuidelines: [],
      appendSystemPrompt,
      sections: {},
      contextFiles: contextFiles.map((file) => ({ ...file })),
      skills: [...skills],
    };
  }

  render(options: SystemPromptOptions): string {
    return render(options);
  }

  async reload(): Promise<void> {
    this.#files = undefined;
  }

  /** The files that count, or would if they were there. */
  places(): Place[] {
    const { options } = this.#kernel;
    const settings = this.#kernel.tryService("settings");
    if (!settings) return [];
    const isTrusted = this.#kernel.tryService("trust")?.isTrusted() ?? false;
    const own = isTrusted ? [settings.projectDir(), settings.agentDir()] : [settings.agentDir()];
    const given = [options["system-prompt"] ?? [], options["append-system-prompt"] ?? []].flat();
    const named = given.map((text) => expandPath(text, settings.cwd(), settings.home())).filter((path) => isFile(path));
    const context = options["no-context-files"] ? [] : contextPlaces(settings.agentDir(), settings.cwd());
    return [...own.flatMap((directory) => [join(directory, "SYSTEM.md"), join(directory, "APPEND_SYSTEM.md")]), ...named, ...context].map((path) => ({ path }));
  }

  #current(): Files {
    const kernel = this.#kernel;
    const cwd = kernel.tryService("settings")?.cwd() ?? kernel.options.cwd ?? process.cwd();
    const isTrusted = kernel.tryService("trust")?.isTrusted() ?? false;
    if (this.#files?.cwd !== cwd || this.#files.isTrusted !== isTrusted) this.#files = this.#read(cwd, isTrusted);
    return this.#files;
  }

  #read(cwd: string, isTrusted: boolean): Files {
    const { options } = this.#kernel;
    const settings = this.#kernel.tryService("settings");
    const given = options["append-system-prompt"] as string | string[] | undefined;
    const appended = given === undefined ? [this.#file("APPEND_SYSTEM.md", isTrusted) ?? ""] : [given].flat().map((text) => this.#textOrFile(text, cwd));
    const customPrompt = options["system-prompt"] === undefined ? this.#file("SYSTEM.md", isTrusted) : this.#textOrFile(options["system-prompt"], cwd);
    return {
      cwd,
      isTrusted,
      ...(customPrompt !== undefined && { customPrompt }),
      appendSystemPrompt: appended.filter((text) => text.trim() !== "").join("\n\n"),
      contextFiles: options["no-context-files"] || !settings ? [] : readContextFiles(settings.agentDir(), cwd, this.#complain),
    };
  }

  /** The project's file if it is trusted, else the user's; they are not combined. */
  #file(name: string, isTrusted: boolean): string | undefined {
    const settings = this.#kernel.tryService("settings");
    if (!settings) return undefined;
    for (const directory of isTrusted ? [settings.projectDir(), settings.agentDir()] : [settings.agentDir()]) {
      const path = join(directory, name);
      if (!existsSync(path)) continue;
      try {
        return readTextFile(path);
      } catch (error) {
        this.#complain(`Cannot read ${path}: ${messageOf(error)}`);
      }
    }
    return undefined;
  }

  /** A switch's value is a text, unless a file of that name exists. */
  #textOrFile(value: string, cwd: string): string {
    const path = expandPath(value, cwd, this.#kernel.tryService("settings")?.home() ?? "");
    if (value === "" || !isFile(path)) return value;
    try {
      return readTextFile(path);
    } catch {
      return value;
    }
  }
}

/** False also for a text that is too long to be a name. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function addFlags(kernel: PluginKernel): void {
  const flags = kernel.registry("flags");
  const group = "System prompt";
  flags.add({ name: "system-prompt", type: "string", placeholder: "<text or file>", description: "Replace the base of the system prompt", group });
  flags.add({ name: "append-system-prompt", type: "strings", placeholder: "<text or file>", description: "Append to the system prompt; repeatable", group });
  flags.add({ name: "no-context-files", alias: "nc", type: "boolean", description: "Without AGENTS.md and CLAUDE.md files", group });
}
