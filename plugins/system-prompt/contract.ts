/** The system prompt's parts. */
import type { Skill } from "../skills/contract.ts";

/** What the prompt is made from; handlers of a run may change their copy. */
export interface SystemPromptOptions {
  cwd: string;
  customPrompt?: string;
  forceSystemPrompt?: string;
  selectedTools: string[];
  toolSnippets: Record<string, string>;
  toolGuidelines: Record<string, string[]>;
  promptGuidelines: string[];
  appendSystemPrompt: string;
  sections: Record<string, string>;
  contextFiles: { path: string; content: string }[];
  skills: Skill[];
}

export interface SystemPromptService {
  /** a fresh copy for one run */
  options(): SystemPromptOptions;
  render(options: SystemPromptOptions): string;
  /** Reads context files and SYSTEM.md again. */
  reload(): Promise<void>;
}

declare module "../../core/index.ts" {
  interface Services {
    systemPrompt: SystemPromptService;
  }
  interface RunDraft {
    systemPromptOptions?: SystemPromptOptions;
  }
  interface Options {
    "system-prompt"?: string;
    "append-system-prompt"?: string[];
    "no-context-files"?: boolean;
  }
}
