/** What `grep` does: with ripgrep where it is, else by itself. */
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { ToolResult } from "../../../core/index.ts";
import { truncateLine } from "../../shared/truncate.ts";
import type { GrepDetails, GrepOperations, GrepParams, GrepToolOptions } from "../definitions/grep.ts";
import { checkAbort, text } from "../shared/definition.ts";
import { findEngine, isTooOld, runEngine } from "../shared/engine.ts";
import { openRegular } from "../shared/files.ts";
import { fileFilter } from "../shared/globs.ts";
import { chunksOf, eachLine } from "../shared/lines.ts";
import { cutList } from "../shared/list.ts";
import { resolvePath } from "../shared/paths.ts";
import { compilePattern, inTime } from "../shared/patterns.ts";
import { type Found, repositoryOf, walk } from "../shared/walk.ts";

interface Match {
  /** as shown */
  path: string;
  absolute: string;
  line: number;
  text: string;
}

interface Search {
  params: GrepParams;
  /** what is searched */
  target: string;
  isDirectory: boolean;
  limit: number;
  signal: AbortSignal | undefined;
}

const IGNORE_FILES = [".gitignore", ".ignore", ".rgignore"];
/** of a line that is shown cut anyway */
const MAX_LINE_BYTES = 4096;
/** of a line that is searched */
const MAX_SEARCHED_BYTES = 4 * 1024 * 1024;
/** A batch of lines is matched under one clock. */
const BATCH_LINES = 2000;
const BATCH_BYTES = 8 * 1024 * 1024;

export async function grep(
  cwd: string,
  params: GrepParams & { limit: number },
  options: GrepToolOptions,
  signal?: AbortSignal,
): Promise<ToolResult<GrepDetails>> {
  checkAbort(signal);
  const target = resolvePath(params.path || ".", cwd);
  const isDirectory = await isDirectoryAt(target, options.operations);
  const limit = Math.max(1, Math.trunc(params.limit));
  const search: Search = { params, target, isDirectory, limit, signal };
  const engine = options.useEngine === false ? undefined : findEngine(["rg"], options.environment);
  const matches = engine
    ? await withRipgrep(engine, search).catch((error) => (isTooOld(error) ? builtIn(search) : Promise.reject(error)))
    : await builtIn(search);
  if (matches.length === 0) return text("No matches found");
  return shown(matches, search, options.operations);
}

async function isDirectoryAt(path: string, operations: GrepOperations | undefined): Promise<boolean> {
  try {
    return operations ? await operations.isDirectory(path) : (await stat(path)).isDirectory();
  } catch {
    throw new Error(`Path not found: ${path}`);
  }
}

// ---------------------------------------------------------------- with ripgrep

async function withRipgrep(rg: string, { params, target, isDirectory, limit, signal }: Search): Promise<Match[]> {
  const directory = isDirectory ? target : dirname(target);
  const args = ["--line-number", "--with-filename", "--null", "--no-heading", "--color=never", "--no-config", "--no-messages"];
  args.push("--hidden", "--crlf", "--no-require-git", "--sort=path", `--max-columns=${MAX_LINE_BYTES}`, "--max-columns-preview");
  if ((await repositoryOf(directory)) === undefined) args.push("--no-ignore-parent");
  if (params.ignoreCase) args.push("--ignore-case");
  if (params.literal) args.push("--fixed-strings");
  if (params.glob) args.push("--glob", params.glob);
  args.push("--glob", "!.git", "--regexp", params.pattern, "--", isDirectory ? "." : basename(target));
  const matches: Match[] = [];
  await runEngine(rg, args, directory, signal, (row) => {
    const [, path, line, found] = /^([^\0]*)\0(\d+):([\s\S]*)$/.exec(row) ?? [];
    if (path === undefined) return true;
    const own = path.replace(/^\.\//, "");
    matches.push({ path: own, absolute: join(directory, own), line: Number(line), text: (found as string).replace(/\r$/, "") });
    return matches.length < limit;
  });
  return matches;
}

// ---------------------------------------------------------------- built in

async function builtIn({ params, target, isDirectory, limit, signal }: Search): Promise<Match[]> {
  const pattern = compilePattern(params.pattern, params);
  const filter = params.glob ? await fileFilter(params.glob) : undefined;
  const matches: Match[] = [];
  const searchFile = (path: string, absolute: string, isNamed: boolean) => matchFile(path, absolute, pattern, matches, limit, isNamed, signal);
  if (!isDirectory) {
    await searchFile(basename(target), target, true);
    return matches;
  }
  const isExcluded = (path: string) => filter?.excludes === true && filter.matches(path);
  // As with ripgrep, what is asked for by a pattern is found although it is ignored, unless its directory is.
  const isWanted = (path: string) => filter?.excludes === false && filter.matches(path);
  const options = { ignoreFiles: IGNORE_FILES, signal, skip: (found: Found) => isExcluded(found.path), keep: (found: Found) => isWanted(found.path) };
  for await (const { path, absolute, kind } of walk(target, options)) {
    if (kind !== "file" || (filter && !filter.excludes && !filter.matches(path))) continue;
    await searchFile(path, absolute, false);
    if (matches.length >= limit) break;
  }
  return matches;
}

/** Adds a file's matching lines. Files with zero bytes in their first part are not text. */
async function matchFile(
  path: string,
  absolute: string,
  pattern: RegExp,
  matches: Match[],
  limit: number,
  isNamed: boolean,
  signal?: AbortSignal,
): Promise<void> {
  const file = await openRegular(absolute).catch((error) => {
    // Only a file that was asked for by name is worth a complaint.
    if (isNamed) throw error;
  });
  if (!file) return;
  let batch: { text: string; line: number }[] = [];
  let batchBytes = 0;
  const matchBatch = () => {
    const lines = batch;
    batch = [];
    batchBytes = 0;
    for (const { text, line } of inTime(() => lines.filter(({ text }) => pattern.test(text)))) {
      if (matches.length < limit) matches.push({ path, absolute, line, text });
    }
    return matches.length < limit;
  };
  try {
    const head = Buffer.alloc(8192);
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    if (head.subarray(0, bytesRead).includes(0)) return;
    await eachLine(chunksOf(file, signal), MAX_SEARCHED_BYTES, (line, number) => {
      batch.push({ text: line.toString("utf8"), line: number });
      batchBytes += line.length;
      return (batch.length < BATCH_LINES && batchBytes < BATCH_BYTES) || matchBatch();
    });
    if (batch.length > 0) matchBatch();
  } finally {
    await file.close();
  }
}

// ---------------------------------------------------------------- result

async function shown(matches: readonly Match[], { params, limit, signal }: Search, operations: GrepOperations | undefined) {
  const around = Math.max(0, Math.trunc(params.context ?? 0));
  const lines: string[] = [];
  let linesTruncated = false;
  const add = (mark: ":" | "-", path: string, number: number, content: string | undefined) => {
    if (content === undefined) return;
    const { text: cut, wasTruncated } = truncateLine(content);
    linesTruncated ||= wasTruncated;
    lines.push(`${path}${mark}${number}${mark} ${cut}`);
  };
  for (const [file, own] of groupByFile(matches)) {
    checkAbort(signal);
    const neighbours = around > 0 ? await linesAround(file, own, around, operations, signal) : new Map<number, string>();
    for (const { path, line, text: content } of own) {
      for (let number = line - around; number < line; number++) add("-", path, number, neighbours.get(number));
      add(":", path, line, content);
      for (let number = line + 1; number <= line + around; number++) add("-", path, number, neighbours.get(number));
    }
  }
  const reached = matches.length >= limit ? { limit, unit: "matches", key: "matchLimitReached" } : undefined;
  const { shown: list, details } = cutList(lines, reached, linesTruncated);
  return { ...text(list), ...(details && { details }) };
}

function groupByFile(matches: readonly Match[]): Map<string, Match[]> {
  const groups = new Map<string, Match[]>();
  for (const match of matches) {
    const group = groups.get(match.absolute);
    if (group) group.push(match);
    else groups.set(match.absolute, [match]);
  }
  return groups;
}

/** The lines near the matches, by number. */
async function linesAround(
  file: string,
  matches: readonly Match[],
  around: number,
  operations: GrepOperations | undefined,
  signal?: AbortSignal,
): Promise<Map<number, string>> {
  const wanted = new Set<number>();
  for (const { line } of matches) for (let number = line - around; number <= line + around; number++) wanted.add(number);
  const found = new Map<number, string>();
  if (operations) {
    const all = (await operations.readFile(file)).split(/\r?\n/);
    for (const number of wanted) if (all[number - 1] !== undefined) found.set(number, all[number - 1] as string);
    return found;
  }
  const last = (matches.at(-1) as Match).line + around;
  const handle = await openRegular(file);
  try {
    await eachLine(chunksOf(handle, signal), MAX_LINE_BYTES, (line, number) => {
      if (wanted.has(number)) found.set(number, line.toString("utf8"));
      return number < last;
    });
  } finally {
    await handle.close();
  }
  return found;
}
