/**
 * Turns what esbuild made into scripts that start fast. Its ES chunks become CommonJS functions whose imports wait until something of
 * them is used; those that the program always needs become one script. `boot.cjs` evaluates them with V8's code cache.
 */
import { createHash } from "node:crypto";
import { dirname, join, relative, resolve } from "node:path";
import type * as Esbuild from "esbuild";

export type Chunks = Pick<Esbuild.BuildResult<{ metafile: true; write: false }>, "metafile" | "outputFiles">;

export interface ScriptsInput {
  esbuild: Pick<typeof Esbuild, "transform">;
  /** ES chunks with splitting, not written, with a metafile */
  result: Chunks;
  /** the build's working directory: the metafile's paths are relative to it */
  root: string;
  /** where the chunks are to lie */
  directory: string;
  /** the entry's file */
  core: string;
  /** Whether a module may be evaluated when something of it is used, and not when it is imported; default: all. */
  isPatient?(file: string): boolean;
}

/** Scripts by their place in the directory. The core's is an object of functions, any other a function. */
export type Scripts = Map<string, string>;

/** What `import.meta.url` is to be defined as. */
export const MODULE_URL = "__moduleUrl";
/** Not where it is only mentioned: this file may be among what is built. */
const moduleUrl = new RegExp(`\\b${MODULE_URL}\\b(?!")`, "g");

/** An import of a module, and one of a package in CommonJS, which esbuild makes a function of. */
const anImport = /\bvar (import_\w+)=((?:__toESM\()?require\("([^"]+)"\)\)?);/g;
const aCall = /\bvar (import_\w+)=(\(0,import_\w+\.__toESM\)\((?:require_\w+|\(0,import_\w+\.require_\w+\))\(\)(?:,1)?\));/g;

export async function scriptsOf({ esbuild, result, root, directory, core, isPatient = () => true }: ScriptsInput): Promise<Scripts> {
  const { metafile, outputFiles } = result;
  const placeOf = (path: string) => relative(directory, path).replaceAll("\\", "/");
  const names = new Set(outputFiles.map(({ path }) => path));
  // Packages may lie beside ours and not in it.
  const fileOf = (input: string) => resolve(root, input.replace(/^[a-z-]{2,}:/, ""));
  const inputsOf = new Map(Object.entries(metafile.outputs).map(([path, { inputs }]) => [resolve(root, path), Object.keys(inputs).map(fileOf)]));
  const eager = new Set([...inputsOf].filter(([, inputs]) => !inputs.every(isPatient)).map(([path]) => placeOf(path)));
  const codes = new Map<string, string>();
  for (const { path, text } of outputFiles) codes.set(path, await toCommonJs(esbuild, text, path, names, placeOf, eager));
  // Packages that may never be used stay outside, e.g. typebox.
  const isPackage = (file: string) => /^(node_modules\b|\.\..*)/.test(relative(root, file)) && /[\\/]node_modules[\\/]/.test(file);
  const isPackages = (path: string) => inputsOf.get(path)?.length !== 0 && inputsOf.get(path)?.every(isPackage);
  const always = withImports(core, codes, (name) => join(directory, name), isPackages);
  const scripts: Scripts = new Map([[placeOf(core), pack([...always].map((path) => [placeOf(path), codes.get(path) as string]))]]);
  for (const [path, code] of codes) if (!always.has(path)) scripts.set(placeOf(path), scriptOf(code));
  return scripts;
}

/** Only what the core leads to: esbuild makes chunks also for imports in functions that it has dropped. */
export function onlyReached({ metafile, outputFiles }: Chunks, root: string, core: string): Chunks {
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [resolve(root, path), { path, output }]));
  const reached = new Set([core]);
  for (const from of reached) {
    for (const { path, external } of outputs.get(from)?.output.imports ?? []) if (!external) reached.add(resolve(root, path));
  }
  const kept = [...outputs].filter(([path]) => reached.has(path)).map(([, { path, output }]) => [path, output]);
  return { metafile: { ...metafile, outputs: Object.fromEntries(kept) }, outputFiles: outputFiles.filter(({ path }) => reached.has(path)) };
}

/** Names this build among all others. */
export function fingerprint(scripts: Scripts): string {
  const hash = createHash("sha256");
  for (const [, code] of [...scripts].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(code);
  return hash.digest("hex").slice(0, 16);
}

/** A module as the script that boot.cjs evaluates. Only ASCII: bytes are characters then. */
export function scriptOf(code: string): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  // What esbuild leaves as it is stands in regular expressions and templates, where an escape means the same.
  const ascii = code.replace(/[^\t\n\r\x20-\x7e]/g, escaped);
  return `(function(exports,require,module,__filename,__dirname,__import,__lazy){${ascii}\n})`;
}

/** Several modules as one script: functions by place, evaluated when they are first required. */
function pack(modules: [place: string, code: string][]): string {
  return `({${modules.map(([place, code]) => `${JSON.stringify(place)}:${scriptOf(code)}`).join(",\n")}})`;
}

/** A chunk and all that it imports statically, except for those that come late. */
function withImports(core: string, codes: Map<string, string>, pathOf: (place: string) => string, isLate: (path: string) => boolean | undefined): Set<string> {
  const found = new Set([core]);
  for (const path of found) {
    for (const [, place = ""] of (codes.get(path) as string).matchAll(/(?<!then\(\(\)=>)\brequire\("([^"]+\.cjs)"\)/g)) {
      const target = pathOf(place);
      if (codes.has(target) && !isLate(target)) found.add(target);
    }
  }
  return found;
}

/** Turns one chunk into CommonJS. Imports of our own chunks become requires; all others stay real imports. */
async function toCommonJs(
  { transform }: Pick<typeof Esbuild, "transform">,
  text: string,
  path: string,
  names: ReadonlySet<string>,
  placeOf: (path: string) => string,
  eager: ReadonlySet<string>,
): Promise<string> {
  const lazy = text.replace(/\bimport\((["'])(\.\.?\/[^"']+\.cjs)\1\)/g, (whole, _, specifier) =>
    names.has(resolve(dirname(path), specifier)) ? `Promise.resolve().then(()=>require(${JSON.stringify(specifier)}))` : whole,
  );
  const output = await transform(lazy, { format: "cjs", platform: "node", target: "node20", minifyWhitespace: true, legalComments: "none" });
  // A script that V8 takes from its code cache has lost the way to import(); the entry, which is no such script, does it instead.
  const code = output.code.replace(/(=>|[=(,:?]|\b(?:return|await) )import\(/g, "$1__import(");
  // Our own are called by their place in the build: nothing has to be worked out when they are asked for.
  const named = code.replace(/\brequire\("(\.\.?\/[^"]+\.cjs)"\)/g, (whole, specifier) => {
    const target = resolve(dirname(path), specifier);
    return names.has(target) ? `require("${placeOf(target)}")` : whole;
  });
  return lazily(plainly(named.trimEnd()), eager.has(placeOf(path)), eager).replace(moduleUrl, 'require("node:url").pathToFileURL(__filename).href');
}

/**
 * Takes away what esbuild puts between modules in case one of them is no ES module: a copy of all its exports. Scripts of ours export
 * the object that esbuild has made for it, and one of Node's own is its own default.
 */
function plainly(code: string): string {
  const exported = code.replace(/\bmodule\.exports=__toCommonJS\((\w+)\);/, "module.exports=$1;");
  return [...exported.matchAll(/\bvar (import_\w+)=__toESM\(require\(("node:[\w/]+")\)\);/g)].reduce((text, [declared, name, module]) => {
    const plain = text.replace(declared, `var ${name}=require(${module});`);
    const isWhole = new RegExp(`\\b${name}\\b(?!\\.|=require)`).test(plain);
    return isWhole ? text : plain.replaceAll(new RegExp(`\\b${name}\\.default\\b`, "g"), name as string);
  }, exported);
}

/** Makes `var import_x=require("x")` wait until x is used. */
function lazily(code: string, isEager: boolean, eager: ReadonlySet<string>): string {
  const waiting: string[] = [];
  const wait = (whole: string, name: string, load: string, place: string | number) => {
    if (eager.has(String(place))) return whole;
    waiting.push(name);
    return `var ${name}$=__lazy(()=>${load});`;
  };
  const modules = code.replace(anImport, wait);
  // It is not seen any more which module that is: one that somebody imported for what it does, perhaps.
  const declared = isEager ? modules : modules.replace(aCall, wait);
  if (waiting.length === 0) return code;
  return declared.replace(new RegExp(`\\b(${waiting.join("|")})\\b(?!\\$)`, "g"), "$1$.it");
}

/** For esbuild: the compiler for TypeScript, large and seldom needed, becomes a script of its own. */
export const compilerApart: Esbuild.Plugin = {
  name: "compiler-apart",
  setup(build) {
    build.onLoad({ filter: /plugins[\\/]shared[\\/]compiler\.ts$/ }, () => ({
      contents: `let compiler;\nexport const compile = (input) => (compiler ??= require("chunks/babel.cjs"))(input);`,
      loader: "js",
    }));
    build.onResolve({ filter: /^chunks\/babel\.cjs$/ }, ({ path }) => ({ path, external: true }));
  },
};

export interface BootInput {
  /** the text of boot.cjs */
  template: string;
  /** whose caches these are */
  name: string;
  /** of environment variables */
  prefix: string;
  build: string;
}

/** The entry that starts scripts lying beside it. */
export function bootFile(input: BootInput): string {
  return filledIn(input, "{}");
}

/** The scripts and what starts them, as one ES module: they stand in a comment at its end, which Node passes over without compiling it. */
export function oneFile(input: BootInput, scripts: Scripts): string {
  const texts = [...scripts.values()].map((text) => text.replaceAll("*/", "*\u0001"));
  const start = (begin: number) => {
    let at = begin;
    const places = [...scripts.keys()].map((name, index) => {
      const { length } = texts[index] as string;
      at += length;
      // All numbers are equally wide, so that filling them in moves nothing.
      return `${JSON.stringify(name)}:[${String(at - length).padStart(10)},${String(length).padStart(10)}]`;
    });
    const [hashbang, ...rest] = filledIn(input, `{${places.join(",")}}`).split("\n");
    return [hashbang, ESM, ...rest, "/*"].join("\n");
  };
  const head = start(start(0).length);
  return `${head}${texts.join("")}*/\n`;
}

/** What an ES module lacks. */
const ESM =
  'const require = process.getBuiltinModule("node:module").createRequire(import.meta.url), { filename: __filename, dirname: __dirname } = import.meta;';

function filledIn({ template, name, prefix, build }: BootInput, inside: string): string {
  // They stand in strings and in names of directories.
  const plain = (text: string) => text.replace(/[^\w.+-]/g, "_");
  const words: Record<string, string> = { NAME: plain(name), PREFIX: plain(prefix), BUILD: plain(build), INSIDE: inside };
  return template.replace(/__(NAME|PREFIX|BUILD|INSIDE)__/g, (_, word) => words[word] as string);
}
