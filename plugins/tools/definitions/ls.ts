/** The tool `ls`: the entries of a directory. */
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../../core/index.ts";
import type { TruncationResult } from "../../shared/truncate.ts";
import { checkAbort, parametersOf, type ToolDefinition, text } from "../shared/definition.ts";
import { cutList } from "../shared/list.ts";
import { resolvePath } from "../shared/paths.ts";

export interface LsParams {
  path?: string;
  limit?: number;
}

export interface LsDetails {
  entryLimitReached?: number;
  truncation?: TruncationResult;
}

export interface LsOperations {
  exists(path: string): Promise<boolean> | boolean;
  stat(path: string): Promise<{ isDirectory(): boolean }> | { isDirectory(): boolean };
  readdir(path: string): Promise<string[]> | string[];
}

export interface LsToolOptions {
  operations?: LsOperations;
}

const DEFAULT_LIMIT = 500;
const local: LsOperations = { exists: (path) => existsSync(path), stat: (path) => stat(path), readdir: (path) => readdir(path) };

export function createLsTool(cwd: string, { operations = local }: LsToolOptions = {}): ToolDefinition<LsParams, LsDetails> {
  return {
    name: "ls",
    label: "ls",
    description: `List a directory, sorted by name, directories with a final /, dot files included. Cut to ${DEFAULT_LIMIT} entries or 50KB.`,
    promptSnippet: "List directories",
    parameters: parametersOf(
      {
        path: { type: "string", description: "Directory; default: the working directory" },
        limit: { type: "number", description: `Maximum number of entries (default ${DEFAULT_LIMIT})` },
      },
      ["path", "limit"],
    ),
    async execute(_id, { path, limit: asked }, signal) {
      checkAbort(signal);
      const limit = Math.max(1, Math.trunc(asked ?? DEFAULT_LIMIT));
      const directory = resolvePath(path || ".", cwd);
      if (!(await operations.exists(directory))) throw new Error(`Path not found: ${directory}`);
      if (!(await operations.stat(directory)).isDirectory()) throw new Error(`Not a directory: ${directory}`);
      const names = await namesIn(operations, directory);
      const lines: string[] = [];
      let isMore = false;
      for (const name of names) {
        if (lines.length === limit) {
          isMore = true;
          break;
        }
        checkAbort(signal);
        const mark = await markOf(operations, join(directory, name));
        if (mark !== undefined) lines.push(name + mark);
      }
      if (lines.length === 0) return text("(empty directory)");
      const { shown, details } = cutList(lines, isMore ? { limit, unit: "entries", key: "entryLimitReached" } : undefined);
      return { ...text(shown), ...(details && { details }) };
    },
  };
}

async function namesIn(operations: LsOperations, directory: string): Promise<string[]> {
  try {
    const names = [...(await operations.readdir(directory))];
    const keys = new Map(names.map((name) => [name, name.toLowerCase()]));
    const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
    return names.sort((a, b) => compare(keys.get(a) as string, keys.get(b) as string) || compare(a, b));
  } catch (error) {
    throw new Error(`Cannot read directory: ${messageOf(error)}`);
  }
}

/** "/" for a directory; undefined for what cannot be looked at, e.g. a dangling link. */
async function markOf(operations: LsOperations, path: string): Promise<string | undefined> {
  try {
    return (await operations.stat(path)).isDirectory() ? "/" : "";
  } catch {
    return undefined;
  }
}
