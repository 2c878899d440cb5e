/** What `find` does: with fd where it is, else by itself. */
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { isAbsolute, relative, sep } from "node:path";
import type { ToolResult } from "../../../core/index.ts";
import type { FindDetails, FindParams, FindToolOptions } from "../definitions/find.ts";
import { checkAbort, text } from "../shared/definition.ts";
import { findEngine, isTooOld, runEngine } from "../shared/engine.ts";
import { checkGlob, fullPathPattern, pathFilter } from "../shared/globs.ts";
import { cutList } from "../shared/list.ts";
import { resolvePath } from "../shared/paths.ts";
import { repositoryOf, walk } from "../shared/walk.ts";

const IGNORE_FILES = [".gitignore", ".ignore", ".fdignore"];

export async function find(
  cwd: string,
  { pattern, path, limit: asked }: FindParams & { limit: number },
  options: FindToolOptions,
  signal?: AbortSignal,
): Promise<ToolResult<FindDetails>> {
  checkAbort(signal);
  const limit = Math.max(1, Math.trunc(asked));
  const root = resolvePath(path || ".", cwd);
  const paths = await search(pattern, root, limit, options, signal);
  if (paths.length === 0) return text("No files found matching pattern");
  const { shown, details } = cutList(paths, paths.length >= limit ? { limit, unit: "results", key: "resultLimitReached" } : undefined);
  return { ...text(shown), ...(details && { details }) };
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
