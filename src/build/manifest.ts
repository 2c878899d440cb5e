/** What a built distribution contains, read from the bundler's own module graph. */
import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Metafile } from "esbuild";

export interface PackageEntry {
  name: string;
  version: string;
  license: string;
  bytes: number;
}

export interface Contents {
  plugins: string[];
  commands: string[];
  tools: string[];
  providers: string[];
  transports: string[];
}

export interface Manifest extends Contents {
  name: string;
  version: string;
  bytes: number;
  /** bytes by folder of our own modules */
  modules: Record<string, number>;
  packages: PackageEntry[];
}

/** Bytes of each input in all outputs: our own modules by their place in the package, all other files by their whole path. */
export function bytesByInput(metafile: Metafile, root: string): Map<string, number> {
  const bytes = new Map<string, number>();
  for (const output of Object.values(metafile.outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const place = placeOf(input, root);
      bytes.set(place, (bytes.get(place) ?? 0) + bytesInOutput);
    }
  }
  return bytes;
}

/** Packages that lie beside ours and not in it are `../name` to the bundler. */
function placeOf(input: string, root: string): string {
  const path = resolve(root, input.replace(/^compiled:/, ""));
  const inside = relative(root, path);
  return inside.startsWith("..") || inside.startsWith("node_modules") ? path : inside;
}

export function packagesOf(inputs: Map<string, number>): PackageEntry[] {
  // By their folders: two versions of one package are two entries.
  const packages = new Map<string, PackageEntry>();
  for (const [input, bytes] of inputs) {
    const folder = packageFolder(input);
    if (!folder) continue;
    const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
    const known = packages.get(folder);
    if (known) known.bytes += bytes;
    else packages.set(folder, { name, ...versionOf(folder), bytes });
  }
  return [...packages.values()].sort((a, b) => b.bytes - a.bytes);
}

function packageFolder(input: string): string | undefined {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
}

function versionOf(folder: string): { version: string; license: string } {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return { version: "unknown", license: "unknown" };
  const { version = "unknown", license = "unknown" } = JSON.parse(readFileSync(file, "utf8"));
  return { version, license: typeof license === "string" ? license : (license.type ?? "unknown") };
}

export function modulesOf(inputs: Map<string, number>): Record<string, number> {
  const modules: Record<string, number> = {};
  for (const [input, bytes] of inputs) {
    if (packageFolder(input)) continue;
    const folder = /(?:^|\/)((?:core|src|builtin-extensions|plugins\/[^/]+))\//.exec(input)?.[1] ?? "own files";
    modules[folder] = (modules[folder] ?? 0) + bytes;
  }
  return modules;
}

export function renderManifest(manifest: Manifest): string {
  const list = (title: string, names: readonly string[]) => `${title} (${names.length}): ${names.join(", ") || "none"}`;
  const lines = [
    `${manifest.name} ${manifest.version}${manifest.bytes > 0 ? `, ${size(manifest.bytes)}` : ""}`,
    list("plugins", manifest.plugins),
    list("commands", manifest.commands),
    list("tools", manifest.tools),
    list("providers", manifest.providers),
    list("modes", manifest.transports),
    ...(manifest.packages.length > 0 ? ["packages:"] : []),
    ...manifest.packages.map(({ name, version, license, bytes }) => `  ${name} ${version} (${license}) ${size(bytes)}`),
  ];
  return `${lines.join("\n")}\n`;
}

function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(2)} MiB`;
}
