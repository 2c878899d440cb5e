/** Older versions of the session file, brought to the current one in memory. */
import { shortId } from "../shared/ids.ts";
import type { SessionHeader } from "./contract.ts";

export const SESSION_VERSION = 3;

/** A parsed line of the file with its number, the header's being 0. */
export interface Line {
  number: number;
  value: Record<string, unknown>;
}

export function versionOf(header: SessionHeader): number {
  return header.version ?? 1;
}

/** The header and entries of an older file in the current form; everything they do not concern stays as it is. */
export function migrate(header: SessionHeader, lines: readonly Line[]): { header: SessionHeader; entries: Record<string, unknown>[] } {
  const version = versionOf(header);
  const chained = version < 2 ? chain(lines) : lines.map(({ value }) => value);
  return { header: { ...header, version: SESSION_VERSION }, entries: chained.map(renameHookMessage) };
}

/** Version 1 was a list: each entry gets an id and the one before it as parent. */
function chain(lines: readonly Line[]): Record<string, unknown>[] {
  const taken = new Set<string>();
  const ids = lines.map(() => {
    const id = shortId((candidate) => taken.has(candidate));
    taken.add(id);
    return id;
  });
  // A line that could not be read has no id; the next one that could stands in for it.
  const idAtLine = (number: number) => ids[lines.findIndex((line) => line.number >= number)];
  return lines.map(({ value }, index) => {
    const { firstKeptEntryIndex, ...rest } = value;
    const entry: Record<string, unknown> = { ...rest, id: ids[index], parentId: ids[index - 1] ?? null };
    if (value.type === "compaction" && typeof firstKeptEntryIndex === "number") entry.firstKeptEntryId = idAtLine(firstKeptEntryIndex) ?? ids[index];
    return entry;
  });
}

/** Version 2 called the messages of extensions after hooks. */
function renameHookMessage(entry: Record<string, unknown>): Record<string, unknown> {
  const message = entry.message as { role?: unknown } | undefined;
  if (entry.type !== "message" || message?.role !== "hookMessage") return entry;
  return { ...entry, message: { ...message, role: "custom" } };
}
