/** Instructions for agents that lie in the agent's directory and from the root of the file system down to the working directory. */
import { type Stats, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { messageOf } from "../../core/index.ts";
import type { Complain } from "../shared/complaints.ts";
import { readTextFile } from "../shared/text-file.ts";

export interface ContextFile {
  path: string;
  content: string;
}

/** The first that is there counts. */
const NAMES = ["AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];

/** The agent's own file first, then from the outermost directory to the nearest. */
export function readContextFiles(agentDir: string, cwd: string, complain: Complain): ContextFile[] {
  const files = new Map<string, ContextFile>();
  const take = (directory: string) => {
    const file = contextFileIn(directory, complain);
    if (file) files.set(file.path, file);
  };
  take(agentDir);
  const skipped = doubleOf(cwd, complain);
  for (const directory of ancestors(cwd).reverse()) {
    if (directory !== skipped) take(directory);
  }
  return [...files.values()];
}

/** The files that are read, or would be if they were there; not those of the root directory, where watching means to hear of all that happens. */
export function contextPlaces(agentDir: string, cwd: string): string[] {
  const directories = [agentDir, ...ancestors(cwd).filter((directory) => dirname(directory) !== directory)];
  return directories.flatMap((directory) => NAMES.map((name) => join(directory, name)));
}

function contextFileIn(directory: string, complain: Complain): ContextFile | undefined {
  for (const name of NAMES) {
    const path = join(directory, name);
    if (!look(path)?.isFile()) continue;
    try {
      return { path, content: readTextFile(path) };
    } catch (error) {
      complain(`Cannot read ${path}: ${messageOf(error)}`);
    }
  }
  return undefined;
}

/** Undefined for what is not there or may not be looked at. */
function look(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** From the directory itself to the root. */
function ancestors(directory: string): string[] {
  const parent = dirname(directory);
  return parent === directory ? [directory] : [directory, ...ancestors(parent)];
}

/**
 * The main checkout around a linked worktree, if the worktree has instructions of its own: both belong to the same repository,
 * and a model would read them twice.
 */
function doubleOf(cwd: string, complain: Complain): string | undefined {
  const above = ancestors(cwd);
  const worktree = above.find((directory) => look(join(directory, ".git")));
  const main = worktree && mainCheckoutOf(worktree);
  if (!main || !above.includes(main)) return undefined;
  return contextFileIn(worktree, complain) ? main : undefined;
}

/** Where the repository of a linked worktree lives; undefined for anything else, e.g. a submodule. */
function mainCheckoutOf(worktree: string): string | undefined {
  try {
    const [, gitDir] = /^gitdir:\s*(.+?)\s*$/m.exec(readTextFile(join(worktree, ".git"))) ?? [];
    if (!gitDir) return undefined;
    const own = resolve(worktree, gitDir);
    const common = resolve(own, readTextFile(join(own, "commondir")).trim());
    return basename(common) === ".git" ? dirname(common) : undefined;
  } catch {
    return undefined;
  }
}
