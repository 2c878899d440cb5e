/** Where a page's entries come from: the session that is open, or a session file. */
import { createReadStream } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { KernelError } from "../../core/index.ts";
import type { SessionEntry, SessionHeader, SessionReader } from "../session/contract.ts";

export interface ExportSource {
  header: Partial<SessionHeader>;
  /** known from the start, or found on the way */
  name?: string;
  /** the branch to show first; absent: the last entry */
  leafId?: string;
  entries: Iterable<SessionEntry> | AsyncIterable<SessionEntry>;
}

export const NOTHING = "Nothing to export yet - start a conversation first";

/** A snapshot: entries that come while the page is written are not in it. */
export function sessionSource(session: SessionReader): ExportSource {
  const entries = session.entries().slice();
  if (!entries.some(({ type }) => type === "message")) throw new KernelError("E_REFUSED", NOTHING);
  return { header: session.header(), name: session.name(), leafId: session.leafId() ?? undefined, entries };
}

/** Reads a file entry by entry, also one of an older version; nothing is written to it. */
export async function fileSource(path: string): Promise<ExportSource> {
  const lines = readLines(path);
  const first = (await lines.next()).value as Record<string, unknown> | undefined;
  if (first?.type !== "session" || typeof first.id !== "string") throw new KernelError("E_REFUSED", `${path} is not a valid session file`);
  return { header: first as Partial<SessionHeader>, entries: entriesOf(lines) };
}

/** Version 1 has no ids: its entries follow each other. */
async function* entriesOf(lines: AsyncIterable<Record<string, unknown>>): AsyncGenerator<SessionEntry> {
  let previous: string | null = null;
  let count = 0;
  for await (const line of lines) {
    if (typeof line.type !== "string" || line.type === "session") continue;
    count++;
    const isOld: boolean = typeof line.id !== "string";
    const entry = isOld ? { ...line, id: `line-${count}`, parentId: previous } : line;
    previous = entry.id as string;
    const message = entry.message as { role?: string } | undefined;
    if (message?.role === "hookMessage") message.role = "custom";
    yield entry as unknown as SessionEntry;
  }
}

/** JSON objects, one per line; LF only, and lines that are none are passed over. */
async function* readLines(path: string): AsyncGenerator<Record<string, unknown>> {
  const decoder = new StringDecoder("utf8");
  // Pieces of an unfinished line: joining once per line keeps a line of 50 MB linear.
  let pieces: string[] = [];
  for await (const bytes of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    const parts = decoder.write(bytes as Buffer).split("\n");
    const rest = parts.pop() as string;
    for (const part of parts) {
      const object = parseObject(pieces.length > 0 ? pieces.join("") + part : part);
      pieces = [];
      if (object) yield object;
    }
    if (rest) pieces.push(rest);
  }
  const last = parseObject(pieces.join("") + decoder.end());
  if (last) yield last;
}

function parseObject(line: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(line.replace(/^\uFEFF/, ""));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
