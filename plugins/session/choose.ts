/** Which session a process begins with, by its command line. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { type FoundSession, findById, latestSession, projectSessionDir } from "./places.ts";
import { peekHeader, SessionFileError } from "./read.ts";

/** Where sessions are looked for. */
export interface Places {
  cwd: string;
  agentDir: string;
  /** from option, environment or setting; absent: the project's own directory */
  customDir?: string;
  /** directories of all projects */
  allDirs(): string[];
  /** an absolute path for what the user wrote */
  expand(path: string): string;
}

export interface SessionOptions {
  continue?: boolean;
  resume?: boolean;
  session?: string;
  "session-id"?: string;
  fork?: string;
  "no-session"?: boolean;
}

/** `ask`: the user is to be asked. */
export type Choice = SettledChoice | { kind: "ask" };

export type SettledChoice =
  | { kind: "memory" }
  /** `path`: the file it is to have; else it is named after time and id */
  | { kind: "new"; id?: string; path?: string; notice?: string }
  /** `mayFork`: if somebody else writes it, a copy will do */
  | { kind: "open"; path: string; cwd?: string; mayFork?: boolean }
  | { kind: "fork"; path: string; id?: string };

/** Reads no more than headers. Throws sentences for the command line. */
export function chooseSession(options: SessionOptions, places: Places): Choice {
  const { session, fork, "session-id": id } = options;
  if (fork !== undefined && (session !== undefined || options.continue || options.resume || options["no-session"])) {
    throw new SessionFileError("--fork cannot be combined with --session, --continue, --resume or --no-session");
  }
  if (id !== undefined && !isSessionId(id)) {
    throw new SessionFileError(`Invalid --session-id "${id}": use letters, digits, ".", "_" and "-", with a letter or digit at both ends`);
  }
  if (options["no-session"]) return { kind: "memory" };
  if (fork !== undefined) {
    if (id !== undefined && withId(id, places)) throw new SessionFileError(`There is a session with the id "${id}" already; --fork begins a new one`);
    return { kind: "fork", path: find(fork, places, { anywhere: true }).path, ...(id !== undefined && { id }) };
  }
  if (session !== undefined) {
    const fresh = placeForNew(session, places);
    if (fresh) return { kind: "new", path: fresh, ...(id !== undefined && { id }), notice: `There is no session in ${fresh} yet; a new one begins there.` };
    const { path, header } = find(session, places, { anywhere: false });
    return { kind: "open", path, cwd: header?.cwd };
  }
  if (options.resume) return { kind: "ask" };
  if (options.continue) {
    const latest = latestSession(sessionDir(places), places.customDir === undefined ? undefined : places.cwd);
    if (latest) return { kind: "open", path: latest.path, mayFork: true };
  }
  return id === undefined ? { kind: "new" } : byId(id, places);
}

export function sessionDir({ agentDir, cwd, customDir }: Places): string {
  return customDir ?? projectSessionDir(agentDir, cwd);
}

export function isSessionId(id: string): boolean {
  return /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(id);
}

function byId(id: string, places: Places): Choice {
  const found = withId(id, places);
  if (found) return { kind: "open", path: found.path };
  return { kind: "new", id, notice: `No session has the id "${id}" here; a new one begins with it.` };
}

function withId(id: string, places: Places): FoundSession | undefined {
  return findById([sessionDir(places)], id, { exact: true });
}

const isPath = (given: string): boolean => /[/\\]/.test(given) || given.endsWith(".jsonl");

/** Programs that keep a file for each conversation name it before it exists. A directory that does not exist is a mistake. */
function placeForNew(given: string, { expand }: Places): string | undefined {
  const path = given.endsWith(".jsonl") ? expand(given) : undefined;
  return path !== undefined && !existsSync(path) && existsSync(dirname(path)) ? path : undefined;
}

/** A path, or an id or its beginning: here first, then in other projects. */
function find(given: string, places: Places, options: { anywhere: boolean }): { path: string; header?: FoundSession["header"] } {
  if (isPath(given)) {
    const path = places.expand(given);
    return { path, header: quietly(() => peekHeader(path)) };
  }
  const here = findById([sessionDir(places)], given);
  if (here) return here;
  const elsewhere = findById(places.allDirs(), given);
  if (elsewhere && options.anywhere) return elsewhere;
  if (elsewhere)
    throw new SessionFileError(`Session ${elsewhere.header.id} belongs to another project: ${elsewhere.header.cwd} (--fork ${given} continues it here)`);
  throw new SessionFileError(`No session found matching "${given}"`);
}

/** Opening the file will say what is wrong with it. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
