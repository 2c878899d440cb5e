/** Reading JSON lines piece by piece: a file is never held whole, and a line is copied once. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { toJson } from "../shared/frames/serialize.ts";

const CHUNK_BYTES = 1 << 18;
const LF = 0x0a;

export interface RawLine {
  /** from 0 */
  number: number;
  text: string;
  /** false for bytes after the last line end */
  isTerminated: boolean;
}

/** The lines of a file in order. Stopping early reads no further. */
export function* readLines(path: string, chunkBytes = CHUNK_BYTES): Generator<RawLine> {
  const fd = openSync(path, "r");
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    let begun: Buffer[] = [];
    let number = 0;
    for (let size = readSync(fd, chunk); size > 0; size = readSync(fd, chunk)) {
      const read = chunk.subarray(0, size);
      const last = read.lastIndexOf(LF);
      if (last >= 0) {
        const first = begun.length > 0 ? read.indexOf(LF) : -1;
        if (first >= 0) yield { number: number++, text: joined(begun, read.subarray(0, first)), isTerminated: true };
        begun = [];
        // Decoded together: that costs less than line by line, and leaves less behind.
        if (first < last) for (const text of read.toString("utf8", first + 1, last).split("\n")) yield { number: number++, text, isTerminated: true };
      }
      if (last + 1 < size) begun.push(Buffer.from(read.subarray(last + 1)));
    }
    if (begun.length > 0) yield { number, text: joined(begun), isTerminated: false };
  } finally {
    closeSync(fd);
  }
}

function joined(begun: Buffer[], end?: Buffer): string {
  return Buffer.concat(end ? [...begun, end] : begun).toString("utf8");
}

/** The lines of a file from its end. Stopping early reads no further. */
export function* readLinesBackwards(path: string, chunkBytes = 1 << 16): Generator<string> {
  const fd = openSync(path, "r");
  try {
    let position = fstatSync(fd).size;
    let begun: Buffer[] = [];
    while (position > 0) {
      const size = Math.min(chunkBytes, position);
      position -= size;
      const chunk = Buffer.allocUnsafe(size);
      readSync(fd, chunk, 0, size, position);
      let end = size;
      for (let start = chunk.lastIndexOf(LF, end - 1); start >= 0; start = end > 0 ? chunk.lastIndexOf(LF, end - 1) : -1) {
        yield Buffer.concat([chunk.subarray(start + 1, end), ...begun]).toString("utf8");
        begun = [];
        end = start;
      }
      if (end > 0) begun.unshift(chunk.subarray(0, end));
    }
    yield Buffer.concat(begun).toString("utf8");
  } finally {
    closeSync(fd);
  }
}

/** A line's JSON object; undefined for anything else. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** A value as one line. What JSON cannot hold is described: an entry that is missing would hide all that follow it. */
export function toLine(value: object): string {
  return `${toJson(value)}\n`;
}
