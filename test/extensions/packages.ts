/** Published packages for tests: fetched once into the system's temporary directory, never copied into the repository. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = join(tmpdir(), "pi-kernel-test-packages");

/** The directory of an unpacked package. With `install`, its dependencies are there too. */
export async function fetchPackage(name: string, version: string, { install = false } = {}): Promise<string> {
  const place = join(root, `${name.replace(/[@/]/g, "_")}@${version}${install ? "-installed" : ""}`);
  if (existsSync(place)) return install ? join(place, "node_modules", name) : join(place, "package");
  mkdirSync(root, { recursive: true });
  const stage = mkdtempSync(join(root, "stage-"));
  try {
    if (install) await npm(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps", "--prefix", stage, `${name}@${version}`], stage);
    else {
      await npm(["pack", "--silent", `${name}@${version}`], stage);
      const archive = readdirSync(stage).find((file) => file.endsWith(".tgz")) as string;
      await run("tar", ["xzf", archive], { cwd: stage });
    }
    renameSync(stage, place);
  } catch (error) {
    // Another test process may have been quicker.
    if (!existsSync(place)) throw error;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
  return fetchPackage(name, version, { install });
}

/** Installs what a directory's package.json asks for. */
export async function installIn(directory: string): Promise<void> {
  if (existsSync(join(directory, "node_modules"))) return;
  await npm(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps"], directory);
}

async function npm(args: string[], cwd: string): Promise<void> {
  await run("npm", args, { cwd, timeout: 180_000, maxBuffer: 1 << 24 });
}

/** Names that an extension's own files register, as far as they are written down as texts. */
export function namesIn(path: string): { commands: string[]; tools: string[] } {
  const text = sourcesOf(path)
    .map((file) => readFileSync(file, "utf8"))
    .join("\n")
    .replace(/\/\*[\s\S]*?\*\//g, "");
  const all = (pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(([, name]) => name as string))];
  return {
    commands: all(/\bpi\.registerCommand\(\s*["']([\w:-]+)["']/g),
    tools: all(/\bpi\.registerTool\(\{\s*name:\s*["'](\w+)["']/g),
  };
}

function sourcesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.parentPath.includes("node_modules"))
    .map((entry) => join(entry.parentPath, entry.name));
}
