/** Where session files lie, and how one is found. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { SessionHeader } from "./contract.ts";
import { SESSION_VERSION, versionOf } from "./migrate.ts";
import { peekHeader, SessionFileError } from "./read.ts";

/** The directory of a project's sessions: `--home-dev-app--` for /home/dev/app. */
export function projectSessionDir(agentDir: string, cwd: string): string {
  return join(sessionsRoot(agentDir), `--${cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`);
}

export function sessionsRoot(agentDir: string): string {
  return join(agentDir, "sessions");
}

/** The directories of all projects. */
export function allProjectDirs(agentDir: string): string[] {
  const root = sessionsRoot(agentDir);
  return entriesOf(root)
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(root, name));
}

export interface FoundFile {
  path: string;
  modifiedMs: number;
  size: number;
}

/** Session files of a directory, the last modified first. */
export function sessionFiles(dir: string): FoundFile[] {
  const found = entriesOf(dir).flatMap(({ name }): FoundFile[] => {
    if (!name.endsWith(".jsonl")) return [];
    const path = join(dir, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat?.isFile() ? [{ path, modifiedMs: stat.mtimeMs, size: stat.size }] : [];
  });
  return found.sort((a, b) => b.modifiedMs - a.modifiedMs || (a.path < b.path ? 1 : -1));
}

export interface FoundSession {
  path: string;
  header: SessionHeader;
}

/** Files with a readable header, the last modified first; lazily, because most callers want the first. */
export function* sessionsIn(dir: string): Generator<FoundSession> {
  for (const { path } of sessionFiles(dir)) {
    const header = headerIn(path);
    if (header) yield { path, header };
  }
}

/** The header of a file, undefined if it has none or cannot be read. */
export function headerIn(path: string): SessionHeader | undefined {
  try {
    return peekHeader(path);
  } catch {
    return undefined;
  }
}

/** The session last written in `dir`; with `cwd`, of that working directory only. */
export function latestSession(dir: string, cwd?: string): FoundSession | undefined {
  for (const found of sessionsIn(dir)) if (cwd === undefined || found.header.cwd === cwd) return found;
  return undefined;
}

/** The session with this id, else the last written one whose id begins so. */
export function findById(dirs: readonly string[], id: string, options: { exact?: boolean } = {}): FoundSession | undefined {
  let prefixed: FoundSession | undefined;
  for (const dir of dirs) {
    for (const found of sessionsIn(dir)) {
      if (found.header.id === id) return found;
      if (!options.exact && found.header.id.startsWith(id)) prefixed ??= found;
    }
  }
  return prefixed;
}

/** The directory that a session belongs to must be there. A file that is no session at all is complained about when it is opened. */
export function requireWorkingDirectory(path: string, current: string): void {
  const header = headerIn(path);
  if (!header?.cwd || versionOf(header) > SESSION_VERSION || existsSync(header.cwd)) return;
  throw new SessionFileError(`Session working directory does not exist: ${header.cwd} (current: ${current})`);
}

function entriesOf(dir: string) {
  try {
    return readdirSync(dir, { withFileTypes: true });
  } catch {
    return [];
  }
}
