/** `DefaultResourceLoader`: what sessions within the session are told, out of what this session found, with the changes that extensions ask for. */
import { existsSync, readFileSync } from "node:fs";
import type { SystemPromptOptions } from "../../system-prompt/contract.ts";
import type { Runtime } from "../runtime.ts";
import type { PromptParts } from "./agent-session-parts.ts";

type AgentsFiles = { agentsFiles: SystemPromptOptions["contextFiles"] };
type Skills = { skills: SystemPromptOptions["skills"]; diagnostics: unknown[] };

export interface LoaderOptions {
  noSkills?: boolean;
  noContextFiles?: boolean;
  /** a text, or the name of a file that holds it */
  systemPrompt?: string;
  appendSystemPrompt?: string | string[];
  systemPromptOverride?(base: string | undefined): string | undefined;
  appendSystemPromptOverride?(base: string[]): string[];
  agentsFilesOverride?(base: AgentsFiles): AgentsFiles;
  skillsOverride?(base: Skills): Skills;
}

export function createResourceLoaderClass({ kernel }: Runtime): new (options?: LoaderOptions) => PromptParts {
  const found = (): Partial<SystemPromptOptions> => kernel.tryService("systemPrompt")?.options() ?? {};

  return class DefaultResourceLoader implements PromptParts {
    readonly #options: LoaderOptions;

    constructor(options: LoaderOptions = {}) {
      this.#options = options;
    }

    async reload(): Promise<void> {}
    extendResources(): void {}

    getSystemPrompt(): string | undefined {
      const { systemPrompt, systemPromptOverride } = this.#options;
      const base = systemPrompt === undefined ? found().customPrompt : textOrFile(systemPrompt);
      return systemPromptOverride ? systemPromptOverride(base) : base;
    }

    getAppendSystemPrompt(): string[] {
      const { appendSystemPrompt, appendSystemPromptOverride } = this.#options;
      const base = appendSystemPrompt === undefined ? [found().appendSystemPrompt ?? ""].filter(Boolean) : [appendSystemPrompt].flat().map(textOrFile);
      return appendSystemPromptOverride ? appendSystemPromptOverride(base) : base;
    }

    getAgentsFiles(): AgentsFiles {
      const { noContextFiles, agentsFilesOverride } = this.#options;
      const base = { agentsFiles: noContextFiles ? [] : (found().contextFiles ?? []) };
      return agentsFilesOverride ? agentsFilesOverride(base) : base;
    }

    getSkills(): Skills {
      const { noSkills, skillsOverride } = this.#options;
      const base = { skills: noSkills ? [] : (found().skills ?? []), diagnostics: [] };
      return skillsOverride ? skillsOverride(base) : base;
    }

    // Sessions within the session have no extensions, templates and themes of their own.
    getExtensions = () => ({ extensions: [], errors: [], runtime: {} });
    getPrompts = () => ({ prompts: [], diagnostics: [] });
    getThemes = () => ({ themes: [], diagnostics: [] });
    getPathMetadata = () => new Map();
  };
}

function textOrFile(given: string): string {
  try {
    return existsSync(given) ? readFileSync(given, "utf8") : given;
  } catch {
    return given;
  }
}
