/** Reading a session file: header, entries, and what has to be mended before the file is written to. */
import { type Stats, statSync } from "node:fs";
import { KernelError, messageOf } from "../../core/index.ts";
import type { SessionEntry, SessionHeader } from "./contract.ts";
import { parseObject, readLines } from "./lines.ts";
import { type Line, migrate, SESSION_VERSION, versionOf } from "./migrate.ts";
import { soundEntry, soundHeader } from "./sound.ts";

/** A session file that cannot be used; the message is for people. */
export class SessionFileError extends KernelError {
  override name = "SessionFileError";

  constructor(message: string, options?: ErrorOptions) {
    super("E_USAGE", message, options);
  }
}

export interface LoadedSession {
  /** undefined for a file without a single line */
  header: SessionHeader | undefined;
  entries: SessionEntry[];
  /** older than the current version: the file is to be written anew */
  isMigrated: boolean;
  /** lines that hold no entry */
  skipped: number;
  /** the last line was cut off while it was written */
  isTorn: boolean;
  /** the last line has no line end, torn or not */
  lacksNewline: boolean;
}

/** Reads the whole file once, line by line. */
export function loadSession(path: string): LoadedSession {
  statSession(path);
  const lines: Line[] = [];
  let header: SessionHeader | undefined;
  let skipped = 0;
  let isTorn = false;
  let lacksNewline = false;
  try {
    for (const { number, text, isTerminated } of readLines(path)) {
      lacksNewline = !isTerminated;
      if (isBlank(text)) continue;
      if (!header) {
        header = parseHeader(text, path);
        continue;
      }
      const value = parseObject(text);
      if (value && isEntry(value, header)) lines.push({ number, value });
      else {
        skipped++;
        isTorn = !isTerminated;
      }
    }
  } catch (error) {
    throw error instanceof SessionFileError ? error : cannotBeRead(error);
  }
  const isMigrated = header !== undefined && versionOf(header) < SESSION_VERSION;
  const current = header && isMigrated ? migrate(header, lines) : { header, entries: lines.map(({ value }) => value) };
  return { header: current.header, entries: current.entries.map(soundEntry), isMigrated, skipped, isTorn, lacksNewline };
}

/** Reads only the first line; undefined if it is no header. */
export function peekHeader(path: string): SessionHeader | undefined {
  statSession(path);
  for (const { text } of readLines(path, 4096)) {
    if (!isBlank(text)) return headerOf(text);
  }
  return undefined;
}

/** Before anything is opened: a pipe or a device would never come to an end. */
function statSession(path: string): void {
  const found = statOf(path);
  if (!found) throw new SessionFileError(`Session file not found: ${path}`);
  if (!found.isFile()) throw notASession(path);
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw cannotBeRead(error);
  }
}

function cannotBeRead(error: unknown): SessionFileError {
  return new SessionFileError(`Session file cannot be read: ${messageOf(error)}`, { cause: error });
}

/** White space and byte order marks. */
function isBlank(text: string): boolean {
  return !text.startsWith("{") && text.trim() === "";
}

function parseHeader(text: string, path: string): SessionHeader {
  const header = headerOf(text);
  if (!header) throw notASession(path);
  const version = versionOf(header);
  if (version > SESSION_VERSION) throw new SessionFileError(`Unsupported session version: ${version}`);
  return header;
}

function headerOf(text: string): SessionHeader | undefined {
  const value = parseObject(text.replace(/^\uFEFF/, ""));
  if (value?.type !== "session" || typeof value.id !== "string") return undefined;
  if (value.version !== undefined && !Number.isInteger(value.version)) return undefined;
  return soundHeader(value);
}

/** Entries of unknown types count; from version 2 on they need an id to have a place in the tree. */
function isEntry(value: Record<string, unknown>, header: SessionHeader): boolean {
  if (typeof value.type !== "string" || value.type === "session") return false;
  return versionOf(header) < 2 || typeof value.id === "string";
}

function notASession(path: string): SessionFileError {
  return new SessionFileError(`Session file is not a valid pi session: ${path}`);
}
