/** The rules of the house. A failure names the rule and the way out. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { flatten, Kernel } from "../core/index.ts";
import pi from "../src/distributions/pi.ts";
import { repositoryRoot } from "./helpers/pi.ts";

interface Import {
  specifier: string;
  isType: boolean;
  isLazy: boolean;
}

interface SourceFile {
  path: string;
  text: string;
  imports: Import[];
}

const files = ["core", "plugins", "src", "builtin-extensions"].flatMap(sourcesOf);

function sourcesOf(folder: string): SourceFile[] {
  return readdirSync(join(repositoryRoot, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => {
      const path = relative(repositoryRoot, join(entry.parentPath, entry.name));
      const text = readFileSync(join(repositoryRoot, path), "utf8");
      return { path, text, imports: importsOf(text) };
    });
}

function importsOf(text: string): Import[] {
  const fixed = [...text.matchAll(/^(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?["']([^"']+)["']/gm)].map(([, type, specifier]) => ({
    specifier: specifier as string,
    isType: type !== undefined,
    isLazy: false,
  }));
  const lazy = [...text.matchAll(/(?<!typeof )\bimport\(\s*["']([^"']+)["']\s*\)(?!\.[A-Z])/g)].map(([, specifier]) => ({
    specifier: specifier as string,
    isType: false,
    isLazy: true,
  }));
  return [...fixed, ...lazy];
}

const inside = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);
const target = (file: SourceFile, specifier: string) => (specifier.startsWith(".") ? normalize(join(dirname(file.path), specifier)) : specifier);
const packageOf = (specifier: string) => (specifier.startsWith("@") ? specifier.split("/").slice(0, 2).join("/") : (specifier.split("/")[0] as string));
const isPackage = (specifier: string) => !specifier.startsWith(".") && !specifier.startsWith("node:");
const feature = (path: string) => path.split("/").slice(0, 2).join("/");

function violations(check: (file: SourceFile, imported: Import, to: string) => boolean): string[] {
  return files.flatMap((file) =>
    file.imports.filter((imported) => check(file, imported, target(file, imported.specifier))).map(({ specifier }) => `${file.path} imports ${specifier}`),
  );
}

describe("imports", () => {
  it("core imports only core, tapable, typebox and node: — a feature's need belongs into a plugin", () => {
    const allowed = new Set(["tapable", "typebox"]);
    const isForeign = (specifier: string, to: string) =>
      isPackage(specifier) ? !allowed.has(packageOf(specifier)) : specifier.startsWith(".") && !inside(to, "core");
    expect(violations((file, { specifier }, to) => inside(file.path, "core") && isForeign(specifier, to))).toEqual([]);
  });

  it("of core others import only index.ts", () => {
    expect(violations((file, _, to) => !inside(file.path, "core") && inside(to, "core") && to !== "core/index.ts")).toEqual([]);
  });

  it("a feature imports another feature only as types from its contract.ts — at run time they meet in hooks, registries and services", () => {
    const isForeign = (file: SourceFile, to: string) =>
      inside(file.path, "plugins") && inside(to, "plugins") && !inside(to, "plugins/shared") && feature(file.path) !== feature(to);
    // The public surface for extensions re-exports pure helpers of several features.
    const isPublicSurface = (file: SourceFile) => inside(file.path, "plugins/extensions/public");
    expect(violations((file, { isType }, to) => isForeign(file, to) && !isPublicSurface(file) && !(isType && to.endsWith("/contract.ts")))).toEqual([]);
  });

  it("built-in extensions use only the public extension packages, typebox and node:", () => {
    const allowed = /^(@mariozechner|@earendil-works)\/pi-|^typebox$|^@sinclair\/typebox$|^node:|^\.\//;
    expect(violations((file, { specifier }) => inside(file.path, "builtin-extensions") && !allowed.test(specifier))).toEqual([]);
  });

  it("nothing imports src/", () => {
    expect(violations((file, _, to) => !inside(file.path, "src") && inside(to, "src"))).toEqual([]);
  });

  it("one door per package", () => {
    const doors: Record<string, RegExp> = {
      "@anthropic-ai/sdk": /^plugins\/providers\//,
      openai: /^plugins\/providers\//,
      jiti: /^(plugins\/(extensions|loader)\/|src\/load-distribution\.ts)/,
      chokidar: /^plugins\/watching\//,
      citty: /^src\//,
      tapable: /^(core|plugins)\//,
    };
    expect(violations((file, { specifier, isType }) => !isType && doors[packageOf(specifier)]?.test(file.path) === false)).toEqual([]);
  });

  it("heavy packages are loaded at first use", () => {
    const heavy = new Set([
      "@anthropic-ai/sdk",
      "openai",
      "jiti",
      "chokidar",
      "yaml",
      "diff",
      "marked",
      "highlight.js",
      "@silvia-odwyer/photon-node",
      "@mariozechner/pi-tui",
      "ignore",
      "picomatch",
    ]);
    // Files that are themselves only reached through import().
    const isLazyFile = (path: string) => /^(plugins\/extensions\/public|plugins\/export-html)\/|^src\/load-distribution\.ts$/.test(path);
    expect(violations((file, { specifier, isType, isLazy }) => heavy.has(packageOf(specifier)) && !isType && !isLazy && !isLazyFile(file.path))).toEqual([]);
  });
});

describe("identifiers", () => {
  const code = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|[^:"'`])\/\/.*$/gm, "$1");
  const uses = (pattern: RegExp, allowed: RegExp) => files.filter(({ path, text }) => pattern.test(code(text)) && !allowed.test(path)).map(({ path }) => path);

  it("process.stdin and process.stdout belong to the process host", () => {
    expect(uses(/\bprocess\.std(in|out)\b/, /^plugins\/process\//)).toEqual([]);
  });

  it("process.exit belongs to the program", () => {
    expect(uses(/\bprocess\.exit\b/, /^(src\/cli\.ts|plugins\/process\/)/)).toEqual([]);
  });

  it("process.env is read by settings, credentials and the program, and handed on to children by the shell", () => {
    expect(
      uses(/\bprocess\.env\b/, /^(src\/cli\.ts|src\/client\/|plugins\/settings\/|plugins\/models\/|plugins\/shared\/shell\.ts|builtin-extensions\/)/),
    ).toEqual([]);
  });

  it("console is nowhere: stdout belongs to frames", () => {
    expect(uses(/\bconsole\./, /^builtin-extensions\//)).toEqual([]);
  });

  it("nobody reaches into tapable", () => {
    expect(uses(/_resetCompilation|\.taps\b/, /^$/)).toEqual([]);
  });
});

describe("the distribution pi", () => {
  it("has a unique name for every plugin", () => {
    const names = flatten(pi).map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it("loading and unloading it leaves zero taps, empty registries, no services, no timers", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const timersBefore = timers();
    const kernel = new Kernel();
    await kernel.useAll(pi);
    expect(kernel.plugins().length).toBeGreaterThan(50);
    await kernel.removeAll();
    expect(kernel.leftovers()).toEqual([]);
    expect(kernel.plugins()).toEqual([]);
    expect(timers()).toBeLessThanOrEqual(timersBefore);
  });

  it("contains every feature folder", () => {
    const list = readFileSync(join(repositoryRoot, "src/distributions/pi.ts"), "utf8");
    const folders = readdirSync(join(repositoryRoot, "plugins"), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !["shared", "process"].includes(entry.name))
      .map(({ name }) => name);
    expect(folders.filter((name) => !list.includes(`plugins/${name}/`))).toEqual([]);
  });
});
