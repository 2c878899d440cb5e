/** The tool `find`: paths that match a glob. */
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { isAbsolute, relative, sep } from "node:path";
import type { EnvironmentOptions } from "../../shared/shell.ts";
import type { TruncationResult } from "../../shared/truncate.ts";
import { checkAbort, parametersOf, type ToolDefinition, text } from "../shared/definition.ts";
import { findEngine, isTooOld, runEngine } from "../shared/engine.ts";
import { checkGlob, fullPathPattern, pathFilter } from "../shared/globs.ts";
import { cutList } from "../shared/list.ts";
import { resolvePath } from "../shared/paths.ts";
import { repositoryOf, walk } from "../shared/walk.ts";

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
const IGNORE_FILES = [".gitignore", ".ignore", ".fdignore"];

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
    async execute(_id, { pattern, path, limit: asked }, signal) {
      checkAbort(signal);
      const limit = Math.max(1, Math.trunc(asked ?? DEFAULT_LIMIT));
      const root = resolvePath(path || ".", cwd);
      const paths = await search(pattern, root, limit, options, signal);
      if (paths.length === 0) return text("No files found matching pattern");
      const { shown, details } = cutList(paths, paths.length >= limit ? { limit, unit: "results", key: "resultLimitReached" } : undefined);
      return { ...text(shown), ...(details && { details }) };
    },
  };
}

async function search(pattern: string, root: string, limit: number, options: FindToolOptions, signal?: AbortSignal): Promise<string[]> {
  const { operations } = options;
  if (operations) {
    if (!(await operations.exists(root))) throw new Error(`Path not found: ${root}`);
    const found = await operations.glob(pattern, root, { ignore: ["**/node_modules/**", "**/.git/**"], limit });
    checkAbort(signal);
    return found.slice(0, limit).map((path) => toRelative(path, root));
  }
  if (!existsSync(root)) throw new Error(`Path not found: ${root}`);
  if (!(await stat(root)).isDirectory()) throw new Error(`Not a directory: ${root}`);
  const engine = options.useEngine === false ? undefined : findEngine(["fd", "fdfind"], options.environment);
  if (!engine) return builtIn(pattern, root, limit, signal);
  return withFd(engine, pattern, root, limit, signal).catch((error) => (isTooOld(error) ? builtIn(pattern, root, limit, signal) : Promise.reject(error)));
}

function toRelative(path: string, root: string): string {
  const own = isAbsolute(path) ? relative(root, path) + (/[\\/]$/.test(path) ? "/" : "") : path;
  return own.split(sep).join("/");
}

async function withFd(fd: string, pattern: string, root: string, limit: number, signal?: AbortSignal): Promise<string[]> {
  checkGlob(pattern);
  const isFull = pattern.includes("/");
  const args = ["--glob", "--color=never", "--hidden", "--no-require-git", "--exclude", ".git", "--max-results", String(limit)];
  if (isFull) args.push("--full-path");
  if ((await repositoryOf(root)) === undefined) args.push("--no-ignore-parent");
  const paths: string[] = [];
  await runEngine(fd, [...args, "--", isFull ? fullPathPattern(pattern) : pattern], root, signal, (line) => {
    if (line !== "") paths.push(line.replace(/^\.\//, ""));
    return true;
  });
  // fd prints in the order of its threads.
  return paths.sort((a, b) => (a < b ? -1 : 1));
}

async function builtIn(pattern: string, root: string, limit: number, signal?: AbortSignal): Promise<string[]> {
  const matches = await pathFilter(pattern, root);
  const paths: string[] = [];
  for await (const { path, kind } of walk(root, { ignoreFiles: IGNORE_FILES, signal })) {
    if (matches(path)) paths.push(kind === "directory" ? `${path}/` : path);
    if (paths.length >= limit) break;
  }
  return paths;
}
