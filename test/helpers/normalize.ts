/** Frames made comparable: what differs from run to run (ids, times, places, the number of progress reports) is made equal. */
import type { Frame } from "./pi.ts";

/** Names for directories and files that are different each time. */
export type Places = Record<string, string>;

/** Fields that hold an id of a session entry. */
const entryIds = new Set(["id", "parentId", "targetId", "firstKeptEntryId", "entryId", "leafId"]);
const ENTRY_ID = /^[0-9a-f]{8}$/;

export function normalized(frames: readonly Frame[], places: Places = {}): Frame[] {
  const names = new Map<string, string>();
  const replaced = Object.entries(places).filter(([, place]) => place !== "");
  // The longest first: one may lie inside another.
  replaced.sort(([, one], [, other]) => other.length - one.length);

  const text = (value: string) => replaced.reduce((changed, [name, place]) => changed.replaceAll(place, `<${name}>`), value);
  const entryId = (value: string) => {
    if (!names.has(value)) names.set(value, `<entry ${names.size + 1}>`);
    return names.get(value);
  };
  const walk = (value: unknown, key: string): unknown => {
    if (key === "timestamp" || key === "durationMs") return 0;
    if (typeof value === "string") return entryIds.has(key) && ENTRY_ID.test(value) ? entryId(value) : text(value);
    if (Array.isArray(value)) return value.map((item) => walk(item, key));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, walk(inner, name)]));
  };
  // How often a tool reports depends on the machine; what it reports in the end does not.
  return frames.filter(({ type }) => type !== "tool_execution_update").map((frame) => walk(frame, "") as Frame);
}
