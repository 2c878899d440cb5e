/** Which source file of the package holds which plugin. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import type * as Esbuild from "esbuild";
import { pluginsIn } from "./plugins-in.ts";

/** Plugin name to the file that defines it, relative to the package. */
export type PluginFiles = Map<string, string>;

/** Loads every module that may define plugins once, and looks at its exports. */
export async function findPluginFiles(esbuild: typeof Esbuild, root: string): Promise<PluginFiles> {
  const files = candidates(root);
  const work = mkdtempSync(join(tmpdir(), "plugin-files-"));
  try {
    const contents = files.map((file, index) => `export * as m${index} from ${JSON.stringify(join(root, file))};`).join("\n");
    const outfile = join(work, "all.mjs");
    await esbuild.build({
      stdin: { contents, resolveDir: root, loader: "ts" },
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20",
      external: ["esbuild", "typescript", "fsevents", "postject"],
      banner: { js: 'import{createRequire as __cr}from"node:module";const require=__cr(import.meta.url);' },
      logLevel: "silent",
    });
    const modules = (await import(pathToFileURL(outfile).href)) as Record<string, object>;
    return collect(files.map((file, index) => [file, modules[`m${index}`] ?? {}]));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function collect(modules: [file: string, exports: object][]): PluginFiles {
  const found: PluginFiles = new Map();
  for (const [file, exports] of modules) {
    for (const { name } of Object.values(exports).flatMap(pluginsIn)) {
      const known = found.get(name);
      // A feature's index.ts only lists; the file that defines it says more.
      if (!known || known.endsWith("/index.ts")) found.set(name, file);
    }
  }
  return found;
}

const makesPlugins = /\b(definePlugin|tool|command|provider|slashCommand|promptTemplate|transport|PluginList)\b/;

function candidates(root: string): string[] {
  return readdirSync(join(root, "plugins"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && entry.name !== "contract.ts")
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith("plugins/shared/") && !file.startsWith("plugins/extensions/public/"))
    .filter((file) => makesPlugins.test(readFileSync(join(root, file), "utf8")));
}
