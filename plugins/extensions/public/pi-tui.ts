/** The terminal library that extensions draw with: the published one, and what its newer versions added. */
import { getKeybindings, visibleWidth } from "@mariozechner/pi-tui";

export * from "@mariozechner/pi-tui";

/** The older name. */
export const getEditorKeybindings = getKeybindings;

/** The part of a plain line between two columns. */
export function sliceByColumn(line: string, start: number, length: number): string {
  let column = 0;
  let part = "";
  for (const character of stripTerminalSequences(line)) {
    const width = visibleWidth(character);
    if (column >= start && column + width <= start + length) part += character;
    column += width;
  }
  return part;
}

/** Text without escape sequences. */
export function stripTerminalSequences(text: string): string {
  return String(text).replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g, "");
}
