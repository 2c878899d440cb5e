/** Putting packages on the disk and taking them away. What fails leaves things as they were. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { chmod, cp, readdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeDirectory } from "../shared/directories.ts";
import { withFileLock } from "../shared/locked-file.ts";
import type { PackageSource } from "../shared/package-source.ts";
import { type ChildOptions, runChild } from "./child.ts";
import type { PackageScope } from "./contract.ts";
import { satisfies } from "./versions.ts";

export type RemoteSource = Exclude<PackageSource, { kind: "local" }>;

export interface Workshop {
  agentDir: string;
  projectDir: string;
  /** e.g. ["npm"] */
  npmCommand: readonly string[];
  /** run the packages' install scripts */
  scripts: boolean;
  signal: AbortSignal;
  onOutput?(text: string): void;
}

/** The directory below which a scope's packages are. */
function storeOf(source: RemoteSource, scope: PackageScope, { agentDir, projectDir }: Workshop): string {
  if (scope !== "temporary") return join(scope === "user" ? agentDir : projectDir, source.kind);
  const wanted = source.kind === "npm" ? source.wanted : source.ref;
  const hash = createHash("sha256").update(`${source.identity} ${wanted ?? ""}`);
  return join(agentDir, "tmp", "extensions", hash.digest("hex").slice(0, 16), source.kind);
}

/** Where a package is, or would be. */
export function packageDirectory(source: RemoteSource, scope: PackageScope, workshop: Workshop): string {
  const store = storeOf(source, scope, workshop);
  return source.kind === "npm" ? join(store, "node_modules", source.name) : join(store, source.host, source.path);
}

/** Whether what is there is whole and what was asked for. */
export function isInstalled(source: RemoteSource, scope: PackageScope, workshop: Workshop): boolean {
  const directory = packageDirectory(source, scope, workshop);
  if (source.kind === "git") return existsSync(directory) && (readText(refFile(directory)) ?? source.ref ?? "") === (source.ref ?? "");
  const version = readJson(join(directory, "package.json"))?.version;
  // npm notes a dependency last: without the note the installation was interrupted.
  const noted = readJson(join(storeOf(source, scope, workshop), "package.json"))?.dependencies as Record<string, string> | undefined;
  return typeof version === "string" && noted?.[source.name] !== undefined && satisfies(version, source.wanted);
}

/** Installs, or brings up to date with `fresh`; answers the directory. */
export async function install(source: RemoteSource, scope: PackageScope, workshop: Workshop, { fresh = false } = {}): Promise<string> {
  const store = storeOf(source, scope, workshop);
  const directory = packageDirectory(source, scope, workshop);
  await prepareStore(store, scope);
  await inStore(store, async () => {
    // Another process may have done it while we waited.
    if (!fresh && isInstalled(source, scope, workshop)) return;
    if (source.kind === "npm") await installNpm(source, store, directory, workshop);
    else await installGit(source, store, directory, workshop);
  });
  return directory;
}

export async function uninstall(source: RemoteSource, scope: PackageScope, workshop: Workshop): Promise<void> {
  const store = storeOf(source, scope, workshop);
  const directory = packageDirectory(source, scope, workshop);
  if (!existsSync(directory)) return;
  await inStore(store, async () => {
    if (source.kind === "npm") await npm(["uninstall", source.name], store, workshop);
    await rm(directory, { recursive: true, force: true });
    // Directories of hosts and owners that hold nothing any more.
    for (let dir = dirname(directory); dir !== store && dir.startsWith(store); dir = dirname(dir)) {
      if (!existsSync(dir)) continue;
      if ((await readdir(dir)).length > 0) break;
      await rmdir(dir);
    }
  });
}

// ---------------------------------------------------------------- npm

async function installNpm(source: RemoteSource & { kind: "npm" }, store: string, directory: string, workshop: Workshop): Promise<void> {
  const records = ["package.json", "package-lock.json"].map((name) => join(store, name));
  const before = records.map(readText);
  const aside = existsSync(directory) ? `${store}.old-${randomBytes(4).toString("hex")}` : undefined;
  if (aside) await cp(directory, aside, { recursive: true, verbatimSymlinks: true });
  try {
    await npm(["install", `${source.name}@${source.wanted ?? "latest"}`], store, workshop);
    if (!existsSync(join(directory, "package.json"))) throw new Error(`npm installed no package called ${source.name}`);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    if (aside) await rename(aside, directory);
    for (const [index, text] of before.entries()) await (text === undefined ? rm(records[index]!, { force: true }) : writeFile(records[index]!, text));
    throw error;
  } finally {
    if (aside) await rm(aside, { recursive: true, force: true });
  }
}

/** Packages of the host are peers of extensions and must not be installed again: hence no peers. */
function npm(args: string[], store: string, workshop: Workshop): Promise<string> {
  const [command = "npm", ...first] = workshop.npmCommand;
  const quiet = ["--prefix", store, "--legacy-peer-deps", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
  return runChild(
    command,
    [...first, ...args, ...quiet, ...(workshop.scripts ? [] : ["--ignore-scripts"])],
    childOptions(`npm ${args.join(" ")}`, store, workshop),
  );
}

// ---------------------------------------------------------------- git

/** Made ready beside its place and then moved there: nobody sees half a checkout. */
async function installGit(source: RemoteSource & { kind: "git" }, store: string, directory: string, workshop: Workshop): Promise<void> {
  const stage = join(store, `.stage-${randomBytes(6).toString("hex")}`);
  const options = childOptions(`git clone ${source.host}/${source.path}`, store, workshop);
  // A repository's address must not name a program to run.
  const safe = ["protocol.allow=never", ...["https", "http", "ssh", "git", "file"].map((name) => `protocol.${name}.allow=always`)].flatMap((item) => [
    "-c",
    item,
  ]);
  const depth = source.ref ? [] : ["--depth", "1"];
  try {
    await runChild("git", [...safe, "clone", "--quiet", ...depth, "--", source.url, stage], options);
    if (source.ref) await checkout(stage, source.ref, { ...options, label: `git checkout ${source.ref}` });
    if (existsSync(join(stage, "package.json"))) await npm(["install", "--omit=dev"], stage, workshop);
    await writeFile(refFile(stage), source.ref ?? "");
    makeDirectory(dirname(directory));
    const old = join(store, `.old-${randomBytes(6).toString("hex")}`);
    if (existsSync(directory)) await rename(directory, old);
    await rename(stage, directory);
    await rm(old, { recursive: true, force: true });
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** A branch is meant as the remote has it. */
async function checkout(dir: string, ref: string, options: ChildOptions): Promise<void> {
  const git = (...args: string[]) => runChild("git", ["-C", dir, ...args], options);
  const isBranch = await git("rev-parse", "--verify", "--quiet", `refs/remotes/origin/${ref}`).then(
    () => true,
    () => false,
  );
  await git("checkout", "--quiet", "--detach", isBranch ? `refs/remotes/origin/${ref}` : ref);
}

const refFile = (directory: string) => join(directory, ".git", "pi-ref");

// ---------------------------------------------------------------- the place

async function prepareStore(store: string, scope: PackageScope): Promise<void> {
  makeDirectory(store, 0o700);
  if (scope === "temporary") await chmod(dirname(store), 0o700);
  await writeOnce(join(store, ".gitignore"), "*\n!.gitignore\n");
  if (store.endsWith("npm")) await writeOnce(join(store, "package.json"), `${JSON.stringify({ name: "packages", private: true }, null, 2)}\n`);
}

async function writeOnce(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

/** One installation at a time in a store, among all processes; they may take minutes. */
function inStore<T>(store: string, work: () => Promise<T>): Promise<T> {
  return withFileLock(join(store, "install"), work, { tries: 600, pauseMs: 200, staleMs: 10 * 60_000 });
}

function childOptions(label: string, cwd: string, { signal, onOutput }: Workshop): ChildOptions {
  return { label, cwd, signal, onOutput };
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function readJson(file: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(readText(file) ?? "");
  } catch {
    return undefined;
  }
}
