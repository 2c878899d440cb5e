/** One line that stands for a longer text. */
import { stripTerminal } from "./terminal.ts";

export function oneLine(text: string, max = 110): string {
  // A part only: the text may be very long.
  const line = stripTerminal(text.slice(0, max * 4))
    .replace(/\s+/g, " ")
    .trim();
  return line.length > max ? `${line.slice(0, max - 1).trimEnd()}…` : line;
}

/** The same for Markdown: its marks are not read aloud. */
export function gist(markdown: string, max?: number): string {
  const start = markdown
    .slice(0, 2000)
    .replace(/^```.*$/gm, " ")
    .replace(/`|\*\*|^#{1,6} |^> /gm, "");
  return oneLine(start, max);
}
