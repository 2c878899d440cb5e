/** The tool `find`: paths that match a glob. */
import type { EnvironmentOptions } from "../../shared/shell.ts";
import type { TruncationResult } from "../../shared/truncate.ts";
import { parametersOf, type ToolDefinition } from "../shared/definition.ts";

export interface FindParams {
  pattern: string;
  path?: string;
  limit?: number;
}

export interface FindDetails {
  resultLimitReached?: number;
  truncation?: TruncationResult;
}

export interface FindOperations {
  exists(path: string): Promise<boolean> | boolean;
  /** absolute paths, or paths relative to `cwd` */
  glob(pattern: string, cwd: string, options: { ignore: string[]; limit: number }): Promise<string[]> | string[];
}

export interface FindToolOptions {
  operations?: FindOperations;
  environment?: EnvironmentOptions;
  /** false: only the built-in search */
  useEngine?: boolean;
}

const DEFAULT_LIMIT = 1000;

export function createFindTool(cwd: string, options: FindToolOptions = {}): ToolDefinition<FindParams, FindDetails> {
  return {
    name: "find",
    label: "find",
    description: `Find files and directories by glob, e.g. '*.ts' or 'src/**/*.test.ts'. Respects ignore files. Cut to ${DEFAULT_LIMIT} results or 50KB.`,
    promptSnippet: "Find files by glob (respects .gitignore)",
    parameters: parametersOf(
      {
        pattern: { type: "string", description: "Glob; with a / it is matched against the whole path" },
        path: { type: "string", description: "Directory to search; default: the working directory" },
        limit: { type: "number", description: `Maximum number of results (default ${DEFAULT_LIMIT})` },
      },
      ["path", "limit"],
    ),
    async execute(_id, params, signal) {
      const { find } = await import("../actions/find.ts");
      return find(cwd, { ...params, limit: params.limit ?? DEFAULT_LIMIT }, options, signal);
    },
  };
}
