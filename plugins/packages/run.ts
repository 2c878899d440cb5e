/** What `pi install`, `remove`, `list` and `update` do. */
import { existsSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { type Io, KernelError, messageOf, type PluginKernel } from "../../core/index.ts";
import type { Settings } from "../settings/contract.ts";
import { type PackageSource, parsePackageSource } from "../shared/package-source.ts";
import { expandPath } from "../shared/paths.ts";
import { listIn, readArguments } from "./arguments.ts";
import type { PackageEntry } from "./contract.ts";
import { install, isInstalled, packageDirectory, uninstall, type Workshop } from "./install.ts";
import { isTarball, tarballSource } from "./tarball.ts";

type Scope = "user" | "project";
type Item = string | PackageEntry;

export async function runInstall(kernel: PluginKernel, args: string[], io: Io, shop: (io: Io, scripts: boolean) => Workshop): Promise<number> {
  const { words, flags, scope } = await readArguments(kernel, args, ["allow-scripts"]);
  const given = onlyWord(words, "install <source> [-l]");
  const settings = kernel.service("settings");
  refuseBroken(settings, scope);
  const meant = isTarball(given) ? await meantTarball(settings, scope, given) : given;
  const source = parsePackageSource(meant);
  const stored = source.kind === "local" ? storedPath(settings, scope, source.path) : meant;
  const workshop = shop(io, flags.has("allow-scripts"));
  if (source.kind !== "local") await install(source, scope, workshop, { fresh: true });
  const root = source.kind === "local" ? expandPath(source.path, settings.cwd(), settings.home()) : packageDirectory(source, scope, workshop);
  const identity = identityOf(settings, scope, stored);
  await settings.update(scope, "packages", (value) => {
    const items = listIn<Item>(value, settings.file(scope), "packages");
    const index = items.findIndex((item) => identityOf(settings, scope, sourceOf(item)) === identity);
    if (index < 0) return [...items, stored];
    // Filters of an entry that was there stay.
    return items.with(index, typeof items[index] === "string" ? stored : { ...(items[index] as PackageEntry), source: stored });
  });
  io.stdout.write(`Installed ${given}\n`);
  if (await isBare(kernel, root)) io.stderr.write("Nothing in it can be loaded: there are no extensions, skills or prompt templates.\n");
  if (scope === "project") io.stderr.write("It loads where this project is trusted (--approve).\n");
  return 0;
}

/** Whether a package brings nothing; what is wrong with its manifest is said on the way. */
async function isBare(kernel: PluginKernel, root: string): Promise<boolean> {
  const resources = kernel.tryService("resources");
  const found = resources && (await Promise.all((["extensions", "skills", "prompts"] as const).map((kind) => resources.packaged(kind, root))));
  return found?.flat().length === 0;
}

export async function runRemove(kernel: PluginKernel, args: string[], io: Io, shop: (io: Io) => Workshop): Promise<number> {
  const { words, scope } = await readArguments(kernel, args);
  const given = onlyWord(words, "remove <source> [-l]");
  const settings = kernel.service("settings");
  refuseBroken(settings, scope);
  const source = parsePackageSource(isTarball(given) ? await meantTarball(settings, scope, given) : given);
  const identity = source.kind === "local" ? expandPath(source.path, settings.cwd(), settings.home()) : source.identity;
  const items = declaredIn(settings, scope);
  // As `list` shows it, else as it is seen from here.
  const declared = items.find((item) => sourceOf(item) === given) ?? items.find((item) => identityOf(settings, scope, sourceOf(item)) === identity);
  if (declared === undefined) {
    throw new KernelError("E_REFUSED", `${given} is not installed ${scope === "user" ? "for you (add -l for this project's)" : "in this project"}.`);
  }
  const removed = identityOf(settings, scope, sourceOf(declared));
  await settings.update(scope, "packages", (value) =>
    listIn<Item>(value, settings.file(scope), "packages").filter((item) => identityOf(settings, scope, sourceOf(item)) !== removed),
  );
  const installed = parsePackageSource(sourceOf(declared));
  if (installed.kind !== "local") await uninstall(installed, scope, shop(io));
  io.stdout.write(`Removed ${given}\n`);
  return 0;
}

export async function runList(kernel: PluginKernel, args: string[], io: Io, shop: Workshop): Promise<number> {
  await readArguments(kernel, args);
  const settings = kernel.service("settings");
  const lines = (["user", "project"] as const).flatMap((scope) => {
    const items = declaredIn(settings, scope);
    if (items.length === 0) return [];
    return [`${scope === "user" ? "User" : "Project"} packages:`, ...items.flatMap((item) => describe(settings, scope, item, shop))];
  });
  io.stdout.write(lines.length > 0 ? `${lines.join("\n")}\n` : "No packages installed.\n");
  return 0;
}

function describe(settings: Settings, scope: Scope, item: Item, shop: Workshop): string[] {
  const notes = typeof item === "string" ? "" : " (filtered)";
  try {
    const source = parsePackageSource(sourceOf(item));
    const path = source.kind === "local" ? identityOf(settings, scope, source.path) : packageDirectory(source, scope, shop);
    const isThere = source.kind === "local" ? existsSync(path) : isInstalled(source, scope, shop);
    return [`  ${sourceOf(item)}${notes}`, `    ${path}${isThere ? "" : " (missing)"}`];
  } catch (error) {
    return [`  ${sourceOf(item)}${notes}`, `    ${messageOf(error)}`];
  }
}

export async function runUpdate(kernel: PluginKernel, args: string[], io: Io, shop: (io: Io) => Workshop): Promise<number> {
  const { words } = await readArguments(kernel, args, ["extensions", "all"]);
  const settings = kernel.service("settings");
  const given = words.length > 0 ? onlyWord(words, "update [<source>]") : undefined;
  const wanted = given === undefined ? undefined : parsePackageSource(isTarball(given) ? await meantTarball(settings, "user", given) : given);
  const declared = (["user", "project"] as const).flatMap((scope) => declaredIn(settings, scope).map((item) => ({ scope, source: sourceOf(item) })));
  const path = wanted?.kind === "local" ? expandPath(wanted.path, settings.cwd(), settings.home()) : undefined;
  const isWanted = (scope: Scope, source: string) => !wanted || identical(wanted, source) || identityOf(settings, scope, source) === path;
  const chosen = declared.filter(({ scope, source }) => isWanted(scope, source));
  if (wanted && chosen.length === 0) throw new KernelError("E_REFUSED", `${words[0]} is not installed.`);
  let failures = 0;
  for (const { scope, source: given } of chosen) {
    try {
      io.stdout.write(`${given}: ${await update(parsePackageSource(given), scope, shop(io))}\n`);
    } catch (error) {
      failures++;
      io.stderr.write(`Error: ${given}: ${messageOf(error)}\n`);
    }
  }
  if (chosen.length === 0) io.stdout.write("No packages installed.\n");
  return failures > 0 ? 1 : 0;
}

async function update(source: PackageSource, scope: Scope, shop: Workshop): Promise<string> {
  if (source.kind === "local") return "a local directory, nothing to do";
  if (source.kind === "npm" && source.isPinned && isInstalled(source, scope, shop)) return "pinned";
  await install(source, scope, shop, { fresh: true });
  return "up to date";
}

// ---------------------------------------------------------------- entries

function onlyWord(words: string[], usage: string): string {
  if (words.length === 1 && words[0]) return words[0];
  throw new KernelError("E_USAGE", `Expected one source. Usage: ${usage}`);
}

const sourceOf = (item: Item): string => (typeof item === "string" ? item : item.source);

function declaredIn(settings: Settings, scope: Scope): Item[] {
  return (settings[scope]().packages ?? []) as Item[];
}

/** What makes two entries the same package; a path counts relative to its settings file. */
function identityOf(settings: Settings, scope: Scope, given: string): string {
  try {
    const source = parsePackageSource(given);
    return source.kind === "local" ? expandPath(source.path, dirname(settings.file(scope)), settings.home()) : source.identity;
  } catch {
    return given;
  }
}

function identical(wanted: PackageSource, given: string): boolean {
  if (wanted.kind === "local") return wanted.path === given;
  try {
    const source = parsePackageSource(given);
    return source.kind !== "local" && source.identity === wanted.identity;
  } catch {
    return false;
  }
}

/** A file that was installed is known without being there any more. */
async function meantTarball(settings: Settings, scope: Scope, given: string): Promise<string> {
  if (parsePackageSource(given).kind !== "local") return given;
  const path = expandPath(given, settings.cwd(), settings.home());
  const known = declaredIn(settings, scope).map(sourceOf);
  return (existsSync(path) ? undefined : known.find((source) => source.endsWith(`@file:${path}`))) ?? tarballSource(path);
}

/** A path as it is kept: relative to the settings file, so that a project can be moved. */
function storedPath(settings: Settings, scope: Scope, given: string): string {
  const path = expandPath(given, settings.cwd(), settings.home());
  if (!existsSync(path)) throw new KernelError("E_REFUSED", `${path} does not exist${otherMeaning(given)}.`);
  const stored = relative(resolve(dirname(settings.file(scope))), path);
  return stored.startsWith(".") ? stored : `./${stored}`;
}

/** For those who leave the prefix out. */
function otherMeaning(given: string): string {
  if (/^(@[\w.-]+\/)?\w[\w.-]*(@[\w.^~-]+)?$/.test(given)) return ` (npm:${given} would be a package from npm)`;
  return /^\w[\w-]*\/[\w.-]+$/.test(given) ? ` (github:${given} would be a repository)` : "";
}

/** Before anything is downloaded: a file that cannot be changed afterwards is not worth it. */
function refuseBroken(settings: Settings, scope: Scope): void {
  const problem = settings.broken(scope);
  if (problem) throw new KernelError("E_REFUSED", `${problem}. Repair it first; nothing was changed.`);
}
