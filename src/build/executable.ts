/** One executable out of a built distribution: Node's single executable applications. */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { KernelError, messageOf } from "../../core/index.ts";

const SENTINEL = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

interface Postject {
  inject(executable: string, name: string, data: Buffer, options: { sentinelFuse: string }): Promise<void>;
}

/** Puts `<bin>.cjs` into a copy of the running Node. */
export async function makeExecutable(directory: string, bin: string, cwd: string): Promise<string> {
  if (process.platform === "win32") throw new KernelError("E_USAGE", "--exe is not supported on Windows.");
  const postject = await findPostject(cwd);
  const config = join(directory, "sea-config.json");
  const blob = join(directory, `${bin}.blob`);
  const executable = join(directory, bin);
  try {
    writeFileSync(config, JSON.stringify({ main: join(directory, `${bin}.cjs`), output: blob, disableExperimentalSEAWarning: true }));
    execFileSync(process.execPath, ["--experimental-sea-config", config], { stdio: "ignore" });
    copyFileSync(process.execPath, executable);
    await postject.inject(executable, "NODE_SEA_BLOB", readFileSync(blob), { sentinelFuse: SENTINEL });
    chmodSync(executable, 0o755);
    return executable;
  } catch (error) {
    throw new KernelError("E_USAGE", `The executable could not be made: ${messageOf(error)}`);
  } finally {
    for (const file of [config, blob, join(directory, `${bin}.cjs`)]) rmSync(file, { force: true });
  }
}

async function findPostject(cwd: string): Promise<Postject> {
  for (const place of [join(cwd, "package.json"), import.meta.url]) {
    try {
      const found = createRequire(place).resolve("postject");
      return ((await import(pathToFileURL(found).href)) as { default: Postject }).default;
    } catch {
      // Not there: the next place.
    }
  }
  throw new KernelError("E_USAGE", "--exe needs postject, which is not installed; add it with: npm install --save-dev postject");
}
