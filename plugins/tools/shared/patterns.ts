/** Regular expressions of the built-in search: ripgrep's spelling as far as JavaScript can, and a limit to what one may cost. */
import { type Context, createContext, Script } from "node:vm";

/** A pattern that backtracks for ever is stopped after this time. */
const PATIENCE_MS = 3000;

export interface PatternOptions {
  literal?: boolean;
  ignoreCase?: boolean;
}

/** Throws the engine's message for a bad pattern. */
export function compilePattern(pattern: string, { literal, ignoreCase }: PatternOptions): RegExp {
  const [, inline = "", rest = pattern] = literal ? [] : (/^\(\?([imsx]+)\)([\s\S]*)$/.exec(pattern) ?? []);
  const source = literal ? pattern.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") : translate(rest);
  const flags = ignoreCase || inline.includes("i") ? "i" : "";
  try {
    // With `u` first: \p{…} needs it. But it refuses needless escapes that ripgrep takes.
    return new RegExp(source, `${flags}u`);
  } catch {
    try {
      return new RegExp(source, flags);
    } catch (error) {
      throw new Error(`regex parse error: ${(error as Error).message}`);
    }
  }
}

const posix: Record<string, string> = {
  alpha: "a-zA-Z",
  digit: "0-9",
  alnum: "a-zA-Z0-9",
  upper: "A-Z",
  lower: "a-z",
  space: "\\s",
  punct: "!-\\/:-@\\[-`{-~",
  xdigit: "0-9a-fA-F",
  word: "\\w",
};

function translate(pattern: string): string {
  return pattern
    .replace(/\[:([a-z]+):\]/g, (whole, name: string) => posix[name] ?? whole)
    .replace(/\(\?P</g, "(?<")
    .replace(/\\A/g, "^")
    .replace(/\\z/g, "$");
}

let watched: { context: Context; script: Script } | undefined;

/** Runs `work` and stops it if it takes too long: V8 gives up a regular expression only from outside. */
export function inTime<T>(work: () => T): T {
  let result: { value: T } | undefined;
  watched ??= { context: createContext({}), script: new Script("work()") };
  const { context, script } = watched;
  context.work = () => {
    result = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: PATIENCE_MS });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    throw new Error("The pattern takes too long to match. Use a simpler one.");
  } finally {
    context.work = undefined;
  }
  return (result as { value: T }).value;
}
