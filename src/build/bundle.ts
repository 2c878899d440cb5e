/** Bundles a distribution so that only its plugins are in it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import type * as Esbuild from "esbuild";
import { messageOf } from "../../core/index.ts";
import { locateExtension } from "../distributed-extensions.ts";
import type { DistributedExtension } from "../distribution.ts";
import { compilerApart, fingerprint, MODULE_URL, oneFile, onlyReached, type Scripts, scriptOf, scriptsOf } from "./scripts.ts";
import type { PluginFiles } from "./sources.ts";

export interface BundleInput {
  esbuild: typeof Esbuild;
  /** the package with its sources */
  root: string;
  /** the distribution file */
  file: string;
  out: string;
  bin: string;
  /** of environment variables */
  envPrefix: string;
  /** names of all chosen plugins */
  chosen: ReadonlySet<string>;
  /** the shipped lists: names of their plugins in order */
  lists: Record<string, readonly string[]>;
  files: PluginFiles;
  extensions: readonly DistributedExtension[];
  version: string;
}

/** A built program. */
export interface Bundle {
  metafile: Esbuild.Metafile;
  /** texts by their place in the output directory; all ASCII */
  files: Map<string, string>;
  /** what keeps it from starting as fast as it could */
  remark?: string;
}

const shippedList = /^pi-kernel\/distributions\/([a-z]+)$/;
const ESM_BANNER = '#!/usr/bin/env node\nimport{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);';
const CJS_BANNER = '#!/usr/bin/env node\nconst __fileUrl=require("node:url").pathToFileURL(__filename).href;';
const COMPILER = "chunks/babel.cjs";

/** Scripts that start with a code cache and are read when they are needed: in one file, or beside it. */
export async function bundle(input: BundleInput, { chunks }: { chunks: boolean }): Promise<Bundle> {
  const { esbuild, root, out, bin, envPrefix, version } = input;
  const name = `${bin}.mjs`;
  const common = commonOptions(input);
  const core = join(out, "core.cjs");
  const built = await esbuild.build({
    ...common,
    entryNames: "core",
    outExtension: { ".js": ".cjs" },
    splitting: true,
    format: "esm",
    define: { ...common.define, "import.meta.url": MODULE_URL, "import.meta.filename": "__filename", "import.meta.dirname": "__dirname" },
    plugins: [compilerApart, ...common.plugins],
  });
  const result = onlyReached(built, root, core);
  let scripts: Scripts;
  try {
    // Modules of the team's own may do something when they are imported.
    const ours = ["core", "plugins", "src"].map((directory) => join(root, directory, "/"));
    const isPatient = (file: string) => /[\\/]node_modules[\\/]/.test(file) || ours.some((directory) => file.startsWith(directory));
    scripts = await scriptsOf({ esbuild, result, root, directory: out, core, isPatient });
  } catch (error) {
    // A function cannot wait while it is evaluated, a module can.
    if (!/top-level await/i.test(messageOf(error))) throw error;
    const plain = await wholeBundle(input, "esm");
    return { ...plain, remark: "It starts slower than it could: a module of it uses await at its top level." };
  }
  scripts.set(COMPILER, scriptOf(readFileSync(compilerFile(root), "utf8")));
  addCompiler(result.metafile, root, (scripts.get(COMPILER) as string).length);
  const template = readFileSync(join(root, "src/build/boot.cjs"), "utf8");
  const boot = { template, name: bin, prefix: envPrefix, build: `${version}-${fingerprint(scripts)}` };
  const inside: Scripts = chunks ? new Map([["core.cjs", scripts.get("core.cjs") as string]]) : scripts;
  const beside = [...scripts].filter(([place]) => !inside.has(place));
  return { metafile: result.metafile, files: new Map([[name, oneFile(boot, inside)], ...beside]) };
}

/** Everything as one module that Node compiles whole. */
export async function wholeBundle(input: BundleInput, format: "esm" | "cjs"): Promise<Bundle> {
  const isEsm = format === "esm";
  const extension = isEsm ? ".mjs" : ".cjs";
  const common = commonOptions(input);
  const { metafile, outputFiles } = await input.esbuild.build({
    ...common,
    entryNames: input.bin,
    outExtension: { ".js": extension },
    format,
    define: { ...common.define, ...(isEsm ? {} : { "import.meta.url": "__fileUrl" }) },
    banner: { js: isEsm ? ESM_BANNER : CJS_BANNER },
    plugins: [compilerWithin(input.root), ...common.plugins],
  });
  return { metafile, files: new Map([[`${input.bin}${extension}`, outputFiles[0]?.text ?? ""]]) };
}

function commonOptions(input: BundleInput) {
  return {
    stdin: { contents: entry(input), resolveDir: dirname(input.file), sourcefile: `${input.bin}-entry.ts`, loader: "ts" },
    absWorkingDir: input.root,
    outdir: input.out,
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    platform: "node",
    target: "node20",
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    external: ["esbuild", "typescript", "fsevents", "postject"],
    define: { PI_BUILT: "true", PI_VERSION: JSON.stringify(input.version) },
    plugins: [ownModules(input)],
    metafile: true,
    write: false,
    logLevel: "silent",
  } as const satisfies Esbuild.BuildOptions;
}

function compilerFile(root: string): string {
  return join(dirname(createRequire(join(root, "package.json")).resolve("jiti/package.json")), "dist/babel.cjs");
}

/** The compiler came along beside the graph. */
function addCompiler({ inputs, outputs }: Esbuild.Metafile, root: string, bytes: number): void {
  const input = relative(root, compilerFile(root)).replaceAll("\\", "/");
  inputs[input] = { bytes, imports: [] };
  outputs[COMPILER] = { bytes, inputs: { [input]: { bytesInOutput: bytes } }, imports: [], exports: [] };
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
  const { own, builtin } = locateExtension(extension, dirname(file), root);
  return own ?? join(root, "builtin-extensions", `${builtin}.ts`);
}

/** Resolves `pi-kernel/*` and the extension packages to the sources, and lists to what was chosen of them. */
function ownModules({ root, chosen, files, lists }: BundleInput): Esbuild.Plugin {
  const entries: Record<string, string> = { "pi-kernel": "src/index.ts", "pi-kernel/plugin": "src/plugin.ts", "pi-kernel/distribution": "src/distribution.ts" };
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
    },
  };
}

/** In one module there is no place beside the program: the compiler goes in, evaluated at its first use. */
function compilerWithin(root: string): Esbuild.Plugin {
  return {
    name: "compiler-within",
    setup(build) {
      build.onLoad({ filter: /plugins[\\/]shared[\\/]compiler\.ts$/ }, () => ({
        contents: `let compiler;\nexport const compile = (input) => (compiler ??= require(${JSON.stringify(compilerFile(root))}))(input);`,
        loader: "js",
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
