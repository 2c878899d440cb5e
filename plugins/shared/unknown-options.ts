/** The refusal of long options that nobody has registered. */
import { type Flag, KernelError } from "../../core/index.ts";
import { nearest } from "./nearest.ts";

export function refuseUnknownOptions(given: Iterable<string>, flags: readonly Flag[]): void {
  const known = flags.map(({ name }) => name);
  const unknown = [...given].filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const shown = unknown.map((name) => {
    const meant = nearest(name, known);
    return `--${name}${meant ? ` (did you mean --${meant}?)` : ""}`;
  });
  throw new KernelError("E_USAGE", `Unknown option(s): ${shown.join(", ")}`);
}
