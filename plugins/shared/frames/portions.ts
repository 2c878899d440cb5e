/**
 * An answer with a long list, such as all messages of a session, in portions: they are made while the reader takes the first ones, none of
 * the text is held twice, and together they may be longer than one string can be.
 */
import { escapeSeparators, spelled } from "./serialize.ts";
import type { Frame } from "./writer.ts";

/** Items from which a list is long. */
const LONG = 256;
/** Items that are spelled together: some are a line, others megabytes. */
const TOGETHER = 16;
/** Characters of a portion. */
const PORTION = 128 * 1024;

/** The frames of the record, one after the other; undefined if nothing in its data is long. */
export function portionsOf(record: object): Iterable<Frame> | undefined {
  const { data, ...rest } = record as { data?: unknown };
  if (typeof data !== "object" || data === null || Object.keys(record).at(-1) !== "data") return undefined;
  const fields = Object.entries(data);
  const at = fields.findIndex(([, value]) => Array.isArray(value) && value.length >= LONG);
  if (at < 0) return undefined;
  const [name, list] = fields[at] as [string, unknown[]];
  const before = spelled({ ...rest, data: Object.fromEntries(fields.slice(0, at)) }).slice(0, -"}}".length);
  const after = spelled(Object.fromEntries(fields.slice(at + 1))).slice("{".length);
  const head = `${before}${before.endsWith("{") ? "" : ","}${spelled(name)}:[`;
  return frames(head, list, `]${after === "}" ? "" : ","}${after}}\n`);
}

function* frames(head: string, list: readonly unknown[], tail: string): Iterable<Frame> {
  let text = head;
  for (let from = 0; from < list.length; from += TOGETHER) {
    text += `${from > 0 ? "," : ""}${spelled(list.slice(from, from + TOGETHER)).slice(1, -1)}`;
    if (text.length < PORTION) continue;
    yield frameOf(text);
    text = "";
  }
  yield frameOf(text + tail);
}

function frameOf(text: string): Frame {
  const bytes = Buffer.from(escapeSeparators(text));
  return { size: bytes.length, render: () => bytes };
}
