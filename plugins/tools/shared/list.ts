/** A list of results within its limits, with notices on what is missing. */
import { DEFAULT_MAX_BYTES, formatSize, GREP_MAX_LINE_LENGTH, type TruncationResult, truncateHead } from "../../shared/truncate.ts";

export interface Reached {
  limit: number;
  /** "matches", "results", "entries" */
  unit: string;
  /** the field of the details that tells it */
  key: string;
}

/** The lines as shown, and the details if anything was cut. */
export function cutList(lines: readonly string[], reached: Reached | undefined, linesTruncated = false) {
  const { content, ...truncation } = truncateHead(lines.join("\n"), { maxLines: Number.MAX_SAFE_INTEGER });
  const notices: string[] = [];
  const details: Record<string, unknown> = {};
  if (reached) {
    notices.push(`${reached.limit} ${reached.unit} limit reached. Use limit=${reached.limit * 2} for more, or narrow the search down`);
    details[reached.key] = reached.limit;
  }
  if (truncation.truncated) {
    notices.push(`${formatSize(DEFAULT_MAX_BYTES)} limit reached`);
    details.truncation = { ...truncation, content: "" } satisfies TruncationResult;
  }
  if (linesTruncated) {
    notices.push(`Some lines were cut at ${GREP_MAX_LINE_LENGTH} characters. Use read to see them whole`);
    details.linesTruncated = true;
  }
  const notice = notices.length > 0 ? `\n\n[${notices.join(". ")}]` : "";
  return { shown: content + notice, details: notices.length > 0 ? details : undefined };
}
