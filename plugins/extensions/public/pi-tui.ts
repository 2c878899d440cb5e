/** The terminal library that extensions draw with: the published one, and what its newer versions added. */
export * from "@mariozechner/pi-tui";

/** Text without escape sequences. */
export function stripTerminalSequences(text: string): string {
  return String(text).replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g, "");
}
