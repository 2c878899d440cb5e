/** `builtin:NAME`: extensions that come with the program. */
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Complain } from "../shared/complaints.ts";
import { isDirectory, statOf } from "./scan.ts";

const PREFIX = "builtin:";

export const isBuiltin = (source: string): boolean => source.startsWith(PREFIX);

/** Its path. The directory `builtin-extensions/` is above the code, in the sources and in the build alike. */
export function builtinExtension(source: string, start: string, complain: Complain): string | undefined {
  const name = source.slice(PREFIX.length);
  const shelf = shelfAbove(start);
  const found = shelf && [join(shelf, `${name}.ts`), join(shelf, name)].find(statOf);
  if (found) return found;
  const names = shelf ? readdirSync(shelf).filter((file) => !file.startsWith(".")) : [];
  const others = names.map((file) => file.replace(/\.ts$/, "")).join(", ");
  complain(`There is no builtin extension "${name}"${others && `; there are ${others}`}`);
  return undefined;
}

function shelfAbove(start: string): string | undefined {
  for (let dir = start; ; dir = dirname(dir)) {
    const shelf = join(dir, "builtin-extensions");
    if (isDirectory(shelf)) return shelf;
    if (dir === dirname(dir)) return undefined;
  }
}
