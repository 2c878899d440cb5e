/** The examples beside an installed package, as their readers have them. */
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { programPath, repositoryRoot, tempDir } from "./pi.ts";

/** A directory with the examples and the package. */
export function installedExamples(): string {
  const directory = tempDir("pi-examples-");
  cpSync(join(repositoryRoot, "examples"), join(directory, "examples"), { recursive: true });
  const installed = join(directory, "node_modules/pi-kernel");
  mkdirSync(installed, { recursive: true });
  cpSync(join(repositoryRoot, "package.json"), join(installed, "package.json"));
  symlinkSync(dirname(programPath), join(installed, "dist"));
  return join(directory, "examples");
}
