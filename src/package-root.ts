/** Where the program's own package lies, with its sources and built-in extensions. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { KernelError } from "../core/index.ts";

/** The directory of the package, whether this runs from its sources or from its bundle. */
export function packageRoot(): string {
  for (let directory = dirname(fileURLToPath(import.meta.url)); directory !== dirname(directory); directory = dirname(directory)) {
    const file = join(directory, "package.json");
    if (existsSync(file) && JSON.parse(readFileSync(file, "utf8")).name === "pi-kernel") return directory;
  }
  throw new KernelError("E_USAGE", "The package pi-kernel with its sources was not found beside the program.");
}
