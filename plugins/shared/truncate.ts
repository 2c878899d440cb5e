/** Cutting text to what a model is shown: whole lines from one end, within a number of lines and bytes. */

export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
/** characters of one line of a search result */
export const GREP_MAX_LINE_LENGTH = 500;

export interface TruncationOptions {
  maxLines?: number;
  maxBytes?: number;
}

export interface TruncationResult {
  content: string;
  truncated: boolean;
  /** the limit that was hit first */
  truncatedBy: "lines" | "bytes" | null;
  /** of the whole text */
  totalLines: number;
  totalBytes: number;
  /** of `content` */
  outputLines: number;
  outputBytes: number;
  /** the last line alone was too big; `content` is its end */
  lastLinePartial: boolean;
  /** the first line alone was too big; `content` is empty */
  firstLineExceedsLimit: boolean;
  maxLines: number;
  maxBytes: number;
}

export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

/** Line feeds, plus one for a last line without one. */
export function countLines(text: string): number {
  if (text === "") return 0;
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  return text.endsWith("\n") ? lines : lines + 1;
}

/** Whole lines from the start. */
export function truncateHead(text: string, options: TruncationOptions = {}): TruncationResult {
  const { whole, maxLines, maxBytes } = measure(text, options);
  if (!whole.truncated) return whole;
  let end = 0;
  let lines = 0;
  let bytes = 0;
  while (lines < maxLines && end < text.length) {
    const at = text.indexOf("\n", end);
    const stop = at < 0 ? text.length : at;
    // The line feed between two lines counts, the one after the last does not.
    const more = (lines > 0 ? 1 : 0) + Buffer.byteLength(text.slice(end, stop));
    if (bytes + more > maxBytes) {
      if (lines === 0) return { ...whole, content: "", truncatedBy: "bytes", outputLines: 0, outputBytes: 0, firstLineExceedsLimit: true };
      return { ...whole, content: text.slice(0, end - 1), truncatedBy: "bytes", outputLines: lines, outputBytes: bytes };
    }
    bytes += more;
    lines++;
    end = stop + 1;
  }
  return { ...whole, content: text.slice(0, Math.min(end - 1, text.length)), truncatedBy: "lines", outputLines: lines, outputBytes: bytes };
}

/** Whole lines from the end; the text's own final newline stays. */
export function truncateTail(text: string, options: TruncationOptions = {}): TruncationResult {
  const { whole, maxLines, maxBytes } = measure(text, options);
  if (!whole.truncated) return whole;
  let start = text.length;
  let lines = 0;
  let bytes = 0;
  while (lines < maxLines && start > 0) {
    // `start` is where a line begins; the character before it is the feed that ends the line before.
    const at = start >= 2 ? text.lastIndexOf("\n", start - 2) : -1;
    const more = Buffer.byteLength(text.slice(at + 1, start));
    if (bytes + more > maxBytes) {
      if (lines === 0) return { ...whole, ...endOfLine(text, maxBytes), truncatedBy: "bytes", outputLines: 1, lastLinePartial: true };
      return { ...whole, content: text.slice(start), truncatedBy: "bytes", outputLines: lines, outputBytes: bytes };
    }
    bytes += more;
    lines++;
    start = at + 1;
  }
  return { ...whole, content: text.slice(start), truncatedBy: "lines", outputLines: lines, outputBytes: bytes };
}

/** The first `max` characters of a line. */
export function truncateLine(line: string, max = GREP_MAX_LINE_LENGTH): { text: string; wasTruncated: boolean } {
  if (line.length <= max) return { text: line, wasTruncated: false };
  return { text: `${line.slice(0, max)}... [truncated]`, wasTruncated: true };
}

function measure(text: string, { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES }: TruncationOptions) {
  const totalLines = countLines(text);
  const totalBytes = Buffer.byteLength(text);
  const whole: TruncationResult = {
    content: text,
    truncated: totalLines > maxLines || totalBytes > maxBytes,
    truncatedBy: null,
    totalLines,
    totalBytes,
    outputLines: totalLines,
    outputBytes: totalBytes,
    lastLinePartial: false,
    firstLineExceedsLimit: false,
    maxLines,
    maxBytes,
  };
  return { whole, maxLines, maxBytes };
}

/** The last `maxBytes` bytes, begun at a character. */
function endOfLine(text: string, maxBytes: number): { content: string; outputBytes: number } {
  // A character takes at least one byte, so no more than this many code units can fit.
  const bytes = Buffer.from(text.slice(-maxBytes));
  let from = Math.max(0, bytes.length - maxBytes);
  while (from < bytes.length && ((bytes[from] as number) & 0xc0) === 0x80) from++;
  const kept = bytes.subarray(from);
  return { content: kept.toString("utf8"), outputBytes: kept.length };
}
