/** Where an extension lies that a distribution names: beside its file, or among the built-in ones. */
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { KernelError } from "../core/index.ts";
import { nearest } from "../plugins/shared/nearest.ts";

/** A path, or the name of a built-in one. What is neither is refused: a guard that is missing would be noticed too late. */
export function locateExtension(extension: string, directory: string, root: string): { own?: string; builtin?: string } {
  const own = resolve(directory, extension);
  if (existsSync(own)) return { own };
  const name = extension.replace(/^builtin:/, "");
  const builtin = readdirSync(join(root, "builtin-extensions")).map((file) => file.replace(/\.ts$/, ""));
  if (builtin.includes(name)) return { builtin: name };
  const suggestion = nearest(name, builtin);
  const meant = suggestion ? `; did you mean "${suggestion}"?` : ".";
  throw new KernelError("E_USAGE", `The distribution's extension "${extension}" is neither a file (${own}) nor a built-in one${meant}`);
}
