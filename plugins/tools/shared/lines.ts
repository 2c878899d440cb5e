/** Finding lines in files of any size: bytes flow through one buffer, and only what is wanted is kept. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { checkAbort } from "./definition.ts";

const LF = 10;
const BYTE_ORDER_MARK = Buffer.from("\uFEFF");
const CHUNK = 1024 * 1024;
/** Larger files are read past the system's cache: they would fill it, and there a hole costs as much as data. */
const LARGE = 256 * 1024 * 1024;

/** A file's bytes from the start, in one buffer that is filled again and again. */
export async function* chunksOf(file: FileHandle, signal?: AbortSignal): AsyncGenerator<Buffer> {
  const direct = (await file.stat()).size > LARGE ? await openDirectly(file) : undefined;
  const buffer = direct ? alignedBuffer() : Buffer.allocUnsafe(CHUNK);
  let source = direct ?? file;
  try {
    for (let position = 0; ; ) {
      checkAbort(signal);
      const { bytesRead } = await source.read(buffer, 0, CHUNK, position).catch((error) => {
        if (source === file) throw error;
        // Direct reads are a matter of the file system; the last one is refused because a file ends where it likes.
        source = file;
        return file.read(buffer, 0, CHUNK, position);
      });
      if (bytesRead === 0) return;
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await direct?.close();
  }
}

async function openDirectly(file: FileHandle): Promise<FileHandle | undefined> {
  if (constants.O_DIRECT === undefined) return undefined;
  return open(`/proc/self/fd/${file.fd}`, constants.O_RDONLY | constants.O_DIRECT).catch(() => undefined);
}

/** Direct reads want memory that begins at a page; that of WebAssembly does. */
function alignedBuffer(): Buffer {
  return Buffer.from(new WebAssembly.Memory({ initial: CHUNK / 65536 }).buffer);
}

export interface Excerpt {
  /** pieces between line feeds, in the whole file: one more than there are line feeds */
  totalLines: number;
  /** the wanted lines without the last one's feed, or as much of them as `maxBytes` allows */
  bytes: Buffer;
  /** of the wanted lines, whole */
  selectedLines: number;
  selectedBytes: number;
  firstLineBytes: number;
}

/** Takes `limit` lines from line `start` on (0-based) and counts the rest. */
export async function excerpt(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  { start, limit = Number.POSITIVE_INFINITY, maxBytes }: { start: number; limit?: number; maxBytes: number },
): Promise<Excerpt> {
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let selectedBytes = 0;
  let firstLineBytes = 0;
  let line = 0;
  const end = start + limit;

  const select = (piece: Buffer, isFirstLine: boolean) => {
    selectedBytes += piece.length;
    if (isFirstLine) firstLineBytes += piece.length;
    const room = maxBytes - keptBytes;
    if (room <= 0) return;
    // Copied: the chunk's memory is used again.
    const part = Buffer.from(piece.subarray(0, room));
    kept.push(part);
    keptBytes += part.length;
  };

  for await (const chunk of chunks) {
    let from = 0;
    let selectedFrom = line >= start && line < end ? 0 : -1;
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
      if (line === start && line < end) {
        // The first line is measured, so it goes on its own, its feed with what follows.
        select(chunk.subarray(from, at), true);
        selectedFrom = at;
      }
      line++;
      if (line === end && selectedFrom >= 0) {
        select(chunk.subarray(selectedFrom, at), false);
        selectedFrom = -1;
      }
      if (line === start && line < end) selectedFrom = at + 1;
      from = at + 1;
    }
    if (selectedFrom >= 0) select(chunk.subarray(selectedFrom), line === start);
  }
  const totalLines = line + 1;
  return {
    totalLines,
    bytes: Buffer.concat(kept),
    selectedLines: Math.max(0, Math.min(end, totalLines) - start),
    selectedBytes,
    firstLineBytes,
  };
}

/** Calls `take` for each line, without its line ending and the file's byte order mark, until it answers false. A line is cut at `maxLineBytes`. */
export async function eachLine(chunks: AsyncIterable<Buffer>, maxLineBytes: number, take: (line: Buffer, number: number) => boolean | void): Promise<void> {
  let carried: Buffer[] = [];
  let carriedBytes = 0;
  let number = 0;
  const finish = (rest: Buffer): boolean => {
    const line = carried.length > 0 ? Buffer.concat([...carried, rest]) : rest;
    carried = [];
    carriedBytes = 0;
    const hasMark = number === 0 && line.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    const cut = line.subarray(hasMark ? BYTE_ORDER_MARK.length : 0, maxLineBytes);
    return take(cut.at(-1) === 13 ? cut.subarray(0, -1) : cut, ++number) !== false;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
      if (!finish(chunk.subarray(from, at))) return;
      from = at + 1;
    }
    if (from < chunk.length && carriedBytes < maxLineBytes) {
      const rest = Buffer.from(chunk.subarray(from, from + maxLineBytes));
      carried.push(rest);
      carriedBytes += rest.length;
    }
  }
  if (carriedBytes > 0) finish(Buffer.alloc(0));
}
