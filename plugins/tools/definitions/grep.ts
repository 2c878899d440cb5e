/** The tool `grep`: lines that match a pattern. */
import type { EnvironmentOptions } from "../../shared/shell.ts";
import type { TruncationResult } from "../../shared/truncate.ts";
import { parametersOf, type ToolDefinition } from "../shared/definition.ts";

export interface GrepParams {
  pattern: string;
  path?: string;
  glob?: string;
  ignoreCase?: boolean;
  literal?: boolean;
  context?: number;
  limit?: number;
}

export interface GrepDetails {
  matchLimitReached?: number;
  truncation?: TruncationResult;
  linesTruncated?: true;
}

/** For files elsewhere: what is searched lies here, lines around a match are read there. */
export interface GrepOperations {
  isDirectory(path: string): Promise<boolean> | boolean;
  readFile(path: string): Promise<string> | string;
}

export interface GrepToolOptions {
  operations?: GrepOperations;
  environment?: EnvironmentOptions;
  /** false: only the built-in search */
  useEngine?: boolean;
}

const DEFAULT_LIMIT = 100;

export function createGrepTool(cwd: string, options: GrepToolOptions = {}): ToolDefinition<GrepParams, GrepDetails> {
  return {
    name: "grep",
    label: "grep",
    description: `Search file contents for a pattern. Respects ignore files. Cut to ${DEFAULT_LIMIT} matches or 50KB; long lines are cut at 500 characters.`,
    promptSnippet: "Search file contents for patterns (respects .gitignore)",
    parameters: parametersOf(
      {
        pattern: { type: "string", description: "Regular expression, or plain text with literal" },
        path: { type: "string", description: "File or directory to search; default: the working directory" },
        glob: { type: "string", description: "Only files that match this glob, e.g. '*.ts' or '**/*.spec.ts'" },
        ignoreCase: { type: "boolean", description: "Upper and lower case are the same (default false)" },
        literal: { type: "boolean", description: "The pattern is plain text (default false)" },
        context: { type: "number", description: "Lines to show before and after each match (default 0)" },
        limit: { type: "number", description: `Maximum number of matches (default ${DEFAULT_LIMIT})` },
      },
      ["path", "glob", "ignoreCase", "literal", "context", "limit"],
    ),
    async execute(_id, params, signal) {
      const { grep } = await import("../actions/grep.ts");
      return grep(cwd, { ...params, limit: params.limit ?? DEFAULT_LIMIT }, options, signal);
    },
  };
}
