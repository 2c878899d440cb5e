/** Lists of session files: the end of each file gives the order, and only the files of a page are read through. */
import { textOf } from "../../core/index.ts";
import type { SessionEntry, SessionInfo } from "./contract.ts";
import { parseObject, readLines, readLinesBackwards } from "./lines.ts";
import { headerIn, sessionFiles } from "./places.ts";
import { soundEntry } from "./sound.ts";

interface Candidate {
  path: string;
  /** time of the last message */
  modified: number;
}

export interface Page {
  sessions: SessionInfo[];
  nextCursor?: string;
}

/** Sessions of the directories, newest first. `cursor` is an earlier page's `nextCursor`; undefined answer: it is none. */
export function listSessions(dirs: readonly string[], options: { cwd?: string; limit?: number; cursor?: string } = {}): Page | undefined {
  const after = options.cursor === undefined ? undefined : parseCursor(options.cursor);
  if (options.cursor !== undefined && !after) return undefined;
  const candidates = dirs
    .flatMap((dir) => sessionFiles(dir))
    .flatMap(({ path, modifiedMs }): Candidate[] => {
      const header = headerIn(path);
      if (!header || (options.cwd !== undefined && header.cwd !== options.cwd)) return [];
      return [{ path, modified: lastMessageTime(path) ?? (Date.parse(header.timestamp) || modifiedMs) }];
    })
    .sort(newestFirst)
    .filter((candidate) => !after || newestFirst(after, candidate) < 0);
  const page = candidates.slice(0, options.limit);
  const last = page.at(-1);
  const sessions = page.flatMap((candidate) => describeSession(candidate) ?? []);
  return { sessions, ...(last && candidates.length > page.length && { nextCursor: toCursor(last) }) };
}

function newestFirst(a: Candidate, b: Candidate): number {
  return b.modified - a.modified || (a.path < b.path ? 1 : -Number(a.path > b.path));
}

function toCursor({ modified, path }: Candidate): string {
  return Buffer.from(JSON.stringify([modified, path])).toString("base64url");
}

function parseCursor(cursor: string): Candidate | undefined {
  try {
    const [modified, path] = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")) as [unknown, unknown];
    return typeof modified === "number" && typeof path === "string" ? { modified, path } : undefined;
  } catch {
    return undefined;
  }
}

/** When the user or the model last said something. */
function lastMessageTime(path: string): number | undefined {
  try {
    for (const line of readLinesBackwards(path)) {
      const time = messageTime(parseObject(line));
      if (time !== undefined) return time;
    }
  } catch {
    // The file went away or cannot be read: it has no time.
  }
  return undefined;
}

function messageTime(value: Record<string, unknown> | undefined): number | undefined {
  const entry = value as SessionEntry | undefined;
  if (entry?.type !== "message" || (entry.message?.role !== "user" && entry.message?.role !== "assistant")) return undefined;
  const { timestamp } = entry.message;
  // Not every number is a time.
  const time = new Date(typeof timestamp === "number" ? timestamp : entry.timestamp).getTime();
  return Number.isNaN(time) ? undefined : time;
}

/** Reads a file through; only the lines that can matter are parsed. */
function describeSession({ path, modified }: Candidate): SessionInfo | undefined {
  const header = headerIn(path);
  if (!header) return undefined;
  let messageCount = 0;
  let firstMessage: string | undefined;
  let name: string | undefined;
  try {
    for (const { text } of readLines(path)) {
      const type = typeOf(text);
      if (type === "message") {
        messageCount++;
        firstMessage ??= userText(parseObject(text));
      } else if (type === "session_info") name = nameIn(parseObject(text));
    }
  } catch {
    return undefined;
  }
  return {
    path,
    id: header.id,
    cwd: header.cwd ?? "",
    ...(name !== undefined && { name }),
    created: header.timestamp,
    modified: new Date(modified).toISOString(),
    messageCount,
    firstMessage: firstMessage ?? "(no messages)",
    ...(header.parentSession !== undefined && { parentSession: header.parentSession }),
  };
}

/** The type of a whole line, by its beginning where writers put it there. */
function typeOf(text: string): unknown {
  const [, type] = /^\{"type":"([a-z_]+)"/.exec(text) ?? [];
  if (!type) return parseObject(text)?.type;
  // A line that was cut off does not count.
  return /\}\s*$/.test(text.slice(-8)) ? type : undefined;
}

function nameIn(entry: Record<string, unknown> | undefined): string | undefined {
  return typeof entry?.name === "string" ? entry.name.trim() || undefined : undefined;
}

function userText(value: Record<string, unknown> | undefined): string | undefined {
  const entry = value && soundEntry(value);
  const message = entry?.type === "message" ? entry.message : undefined;
  return message?.role === "user" ? textOf(message.content) || undefined : undefined;
}
