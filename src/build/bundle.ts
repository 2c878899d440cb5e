/** Bundles a distribution so that only its plugins are in it. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import type * as Esbuild from "esbuild";
import type { DistributedExtension } from "../distribution.ts";
import type { PluginFiles } from "./sources.ts";

export interface BundleInput {
  esbuild: typeof Esbuild;
  /** the package with its sources */
  root: string;
  /** the distribution file */
  file: string;
  out: string;
  bin: string;
  /** names of all chosen plugins */
  chosen: ReadonlySet<string>;
  /** the shipped lists: names of their plugins in order */
  lists: Record<string, readonly string[]>;
  files: PluginFiles;
  extensions: readonly DistributedExtension[];
  /** lazily loaded chunks beside the file */
  chunks: boolean;
  format: "esm" | "cjs";
  version: string;
}

const shippedList = /^pi-kernel\/distributions\/([a-z]+)$/;
const esmBanner = '#!/usr/bin/env node\nimport{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);';
const cjsBanner = '#!/usr/bin/env node\nconst __fileUrl=require("node:url").pathToFileURL(__filename).href;';

export async function bundle(input: BundleInput): Promise<Esbuild.BuildResult<{ metafile: true }>> {
  const { esbuild, root, out, bin, chunks, format } = input;
  const isEsm = format === "esm";
  return esbuild.build({
    stdin: { contents: entry(input), resolveDir: dirname(input.file), sourcefile: `${bin}-entry.ts`, loader: "ts" },
    absWorkingDir: root,
    outdir: out,
    entryNames: bin,
    outExtension: { ".js": isEsm ? ".mjs" : ".cjs" },
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: chunks && isEsm,
    format,
    platform: "node",
    target: "node20",
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    external: ["esbuild", "typescript", "fsevents", "postject"],
    define: { PI_BUILT: "true", PI_VERSION: JSON.stringify(input.version), ...(isEsm ? {} : { "import.meta.url": "__fileUrl" }) },
    banner: { js: isEsm ? esmBanner : cjsBanner },
    plugins: [ownModules(input)],
    metafile: true,
    logLevel: "silent",
  });
}

/** The program: the distribution file, with the extensions that come along compiled in. */
function entry({ root, file, bin, extensions }: BundleInput): string {
  const isFile = (extension: DistributedExtension): extension is string => typeof extension === "string";
  const imports = extensions.flatMap((extension, index) =>
    isFile(extension) ? [`import * as extension${index} from ${JSON.stringify(`compiled:${extensionFile(root, file, extension)}`)};`] : [],
  );
  const list = extensions.map((extension, index) =>
    isFile(extension) ? `{ name: ${JSON.stringify(extension)}, ...extension${index} }` : `distribution.extensions[${index}]`,
  );
  return [
    `import distribution from ${JSON.stringify(file)};`,
    `import { main } from ${JSON.stringify(join(root, "src/cli.ts"))};`,
    `import { programOf } from ${JSON.stringify(join(root, "src/distribution.ts"))};`,
    ...imports,
    "void main((argv, cwd, guard) => {",
    "guard.guardChildren();",
    `return programOf({ ...distribution, extensions: [${list.join(", ")}] }, ${JSON.stringify(bin)});`,
    "});",
  ].join("\n");
}

function extensionFile(root: string, file: string, extension: string): string {
  const own = resolve(dirname(file), extension);
  return existsSync(own) ? own : join(root, "builtin-extensions", `${extension.replace(/^builtin:/, "")}.ts`);
}

/** Resolves `pi-kernel/*` and the extension packages to the sources, and lists to what was chosen of them. */
function ownModules({ root, chosen, files, lists }: BundleInput): Esbuild.Plugin {
  const entries: Record<string, string> = { "pi-kernel": "src/index.ts", "pi-kernel/plugin": "src/plugin.ts", "pi-kernel/distribution": "src/distribution.ts" };
  const compiler = join(dirname(createRequire(join(root, "package.json")).resolve("jiti/package.json")), "dist/babel.cjs");
  return {
    name: "own-modules",
    setup(build) {
      build.onResolve({ filter: /^pi-kernel(\/|$)/ }, ({ path }) => {
        const list = shippedList.exec(path)?.[1];
        if (list && lists[list]) return { path: list, namespace: "chosen-list" };
        const file = entries[path];
        return file ? { path: join(root, file) } : { errors: [{ text: `"${path}" is not part of pi-kernel` }] };
      });
      build.onLoad({ filter: /.*/, namespace: "chosen-list" }, ({ path }) => {
        const names = (lists[path] ?? []).filter((name) => chosen.has(name));
        return { contents: chosenList(root, names, files), loader: "ts", resolveDir: root };
      });
      build.onResolve({ filter: /^(typebox|tapable)(\/|$)/ }, ({ path, pluginData }) =>
        pluginData?.own ? undefined : build.resolve(path, { resolveDir: root, kind: "import-statement", pluginData: { own: true } }),
      );
      build.onResolve({ filter: /^compiled:/ }, ({ path }) => ({ path: path.slice("compiled:".length), namespace: "compiled" }));
      build.onLoad({ filter: /.*/, namespace: "compiled" }, async ({ path }) => ({
        contents: await compiled(build.esbuild, path),
        loader: "js",
        resolveDir: root,
      }));
      // In one file there is no place beside the program: the compiler goes in, evaluated at its first use.
      build.onLoad({ filter: /plugins\/shared\/compiler\.ts$/ }, () => ({
        contents: `let compiler;\nexport const compile = (input) => (compiler ??= require(${JSON.stringify(compiler)}))(input);`,
        loader: "js",
        resolveDir: root,
      }));
    },
  };
}

/** An extension as a function of the modules it imports: those are the program's own, made when it runs. */
async function compiled({ build }: Pick<typeof Esbuild, "build">, file: string): Promise<string> {
  const { outputFiles, metafile } = await build({
    entryPoints: [file],
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    external: ["@mariozechner/*", "@earendil-works/*", "@sinclair/typebox", "@sinclair/typebox/*", "typebox", "typebox/*", "pi-kernel", "pi-kernel/*"],
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  return [
    `export const imports = ${JSON.stringify([...new Set(imports)])};`,
    `const body = (module, exports, require) => {${outputFiles[0]?.text ?? ""}};`,
    "export const evaluate = (load) => { const module = { exports: {} }; body(module, module.exports, (name) => load(name) ?? require(name)); return module.exports; };",
  ].join("\n");
}

/** A list with only the chosen plugins, in its order; each is picked out of the file that defines it. */
function chosenList(root: string, names: readonly string[], files: PluginFiles): string {
  const used = [...new Set(names.map((name) => files.get(name) as string))];
  const modules = used.map((_, index) => `m${index}`).join(", ");
  return [
    ...used.map((file, index) => `import * as m${index} from ${JSON.stringify(join(root, file))};`),
    `import { pluginsIn } from ${JSON.stringify(join(root, "src/build/plugins-in.ts"))};`,
    `const all = new Map([${modules}].flatMap((module) => Object.values(module)).flatMap(pluginsIn).map((plugin) => [plugin.name, plugin]));`,
    `export default ${JSON.stringify(names)}.map((name) => all.get(name));`,
  ].join("\n");
}
