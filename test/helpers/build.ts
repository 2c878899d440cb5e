/** Builds the program once before the tests, unless a build newer than the sources is there. */
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { programPath, repositoryRoot } from "./pi.ts";

export default function setup(): void {
  if (isFresh()) return;
  const env = { ...process.env, PI_BUILD_TYPES: "0" };
  execFileSync(process.execPath, [join(repositoryRoot, "scripts/build.mjs")], { cwd: repositoryRoot, stdio: "inherit", env });
}

function isFresh(): boolean {
  try {
    const built = statSync(programPath).mtimeMs;
    return ["core", "plugins", "src", "scripts"].flatMap((folder) => filesIn(join(repositoryRoot, folder))).every((file) => statSync(file).mtimeMs <= built);
  } catch {
    return false;
  }
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
