/** What `pi config` does: shows what loads and why, and switches single resources off and on. */
import { basename, dirname, relative } from "node:path";
import { type Io, KernelError, type PluginKernel } from "../../core/index.ts";
import type { ResourceFile, ResourceKind } from "../resources/contract.ts";
import { expandPath } from "../shared/paths.ts";
import { listIn, readArguments } from "./arguments.ts";
import type { PackageEntry } from "./contract.ts";

const kinds: readonly (readonly [ResourceKind, string])[] = [
  ["extensions", "Extensions"],
  ["skills", "Skills"],
  ["prompts", "Prompt templates"],
];

interface Known extends ResourceFile {
  kind: ResourceKind;
  isOn: boolean;
}

export async function runConfig(kernel: PluginKernel, args: string[], io: Io): Promise<number> {
  const { words } = await readArguments(kernel, args);
  const [verb, wanted, ...more] = words;
  const known = await survey(kernel);
  if (verb === undefined) {
    io.stdout.write(render(known));
    return 0;
  }
  if ((verb !== "enable" && verb !== "disable") || !wanted || more.length > 0) {
    throw new KernelError("E_USAGE", "Usage: config [enable|disable <path or name>]");
  }
  const resource = pick(kernel, known, wanted);
  await turn(kernel, resource, verb === "enable");
  const isOn = (await survey(kernel)).find(({ path }) => path === resource.path)?.isOn === true;
  if (isOn !== (verb === "enable"))
    throw new KernelError("E_REFUSED", `${resource.path} is still ${isOn ? "on" : "off"}: another entry of the settings decides.`);
  io.stdout.write(`${verb === "enable" ? "Enabled" : "Disabled"} ${resource.path}\n`);
  return 0;
}

async function survey(kernel: PluginKernel): Promise<Known[]> {
  const resources = kernel.service("resources");
  const known: Known[] = [];
  for (const [kind] of kinds) {
    const loaded = new Set((await resources.files(kind)).map(({ path }) => path));
    for (const file of await resources.files(kind, { everything: true })) known.push({ ...file, kind, isOn: loaded.has(file.path) });
  }
  return known;
}

function render(known: readonly Known[]): string {
  const lines = kinds.flatMap(([kind, title]) => {
    const members = known.filter((item) => item.kind === kind);
    const rows = members.map((item) => `  ${item.isOn ? "on " : "off"}  ${item.path}  (${reason(item)})`);
    return [title, ...(rows.length > 0 ? rows : ["  none"]), ""];
  });
  return `${lines.join("\n").trimEnd()}\n`;
}

function reason({ sourceInfo: { source, scope, origin, baseDir } }: Known): string {
  if (origin === "package") return `${scope} package ${source}`;
  return source === "local" ? `${scope} settings` : `found in ${baseDir}`;
}

/** By path, or by a name that only one resource has. */
function pick(kernel: PluginKernel, known: readonly Known[], wanted: string): Known {
  const settings = kernel.service("settings");
  const path = expandPath(wanted, settings.cwd(), settings.home());
  const byPath = known.filter((item) => item.path === path || (basename(item.path) === "SKILL.md" && dirname(item.path) === path));
  const found = byPath.length > 0 ? byPath : known.filter((item) => nameOf(item) === wanted);
  if (found.length === 1) return found[0]!;
  if (found.length === 0) throw new KernelError("E_REFUSED", `There is no resource "${wanted}"; "config" lists them.`);
  throw new KernelError("E_REFUSED", `"${wanted}" may mean ${found.map((item) => item.path).join(" or ")}; give the path.`);
}

function nameOf({ path }: Known): string {
  return /^(SKILL\.md|index\.[tj]s)$/.test(basename(path)) ? basename(dirname(path)) : basename(path).replace(/\.(md|ts|js)$/, "");
}

async function turn(kernel: PluginKernel, { kind, path, sourceInfo }: Known, on: boolean): Promise<void> {
  const { scope, origin, source, baseDir } = sourceInfo;
  if (scope === "temporary") throw new KernelError("E_REFUSED", `${path} comes from the command line.`);
  const settings = kernel.service("settings");
  const base = origin === "package" ? (baseDir ?? "") : dirname(settings.file(scope));
  const file = settings.file(scope);
  const change = (entries: unknown) => adjusted(listIn(entries, file, kind), relative(base, path), on);
  if (origin === "top-level") return settings.update(scope, kind, change);
  await settings.update(scope, "packages", (list) =>
    listIn<string | PackageEntry>(list, file, "packages").map((item) => {
      const entry = typeof item === "string" ? { source: item } : item;
      return entry.source === source ? { ...entry, [kind]: change(entry[kind]) } : item;
    }),
  );
}

/** `-path` switches off and `+path` on, whatever else a list says. */
function adjusted(entries: readonly string[], path: string, on: boolean): string[] {
  const signed = [`+${path}`, `-${path}`];
  return [...entries.filter((entry) => !signed.includes(entry)), on ? `+${path}` : `-${path}`];
}
