/**
 * Builds the program as a lazy bundle: one core, everything heavy in chunks that are read at first use.
 * esbuild splits ES modules; each chunk then becomes CommonJS, which starts faster and can be started with a code cache.
 * Imports are made lazy on the way: a module, ours or Node's, is loaded when something in it is used for the first time.
 * The chunks that the core always needs are packed into one file: one read, one script, one cache.
 */
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const out = resolve(root, process.env.PI_DIST || "dist");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const require = createRequire(import.meta.url);

/** Packages that only special commands need and that stay outside. */
const external = ["esbuild", "typescript", "fsevents", "postject", "@silvia-odwyer/photon-node"];

/** An import of a module, and of a package in CommonJS, which esbuild makes a function of. */
const imports = [/(?:__toESM\()?require\("[^"]+"\)\)?/, /\(0,import_\w+\.__toESM\)\((?:require_\w+|\(0,import_\w+\.require_\w+\))\(\)(?:,1)?\)/];
const importing = new RegExp(`\\bvar (import_\\w+)=(${imports.map(({ source }) => source).join("|")});`, "g");

// The output directory is replaced whole, so it must be one of ours.
if (existsSync(out) && !existsSync(join(out, "pi.cjs"))) throw new Error(`${out} exists and is not a build of this program; it is left alone.`);
mkdirSync(dirname(out), { recursive: true });
const stage = mkdtempSync(`${out}-`);
chmodSync(stage, 0o755);
try {
  const { metafile, files } = await buildProgram();
  buildBoot(files);
  await buildLibrary();
  copyFileSync(join(dirname(require.resolve("jiti/package.json")), "dist/babel.cjs"), join(stage, "babel.cjs"));
  writeFileSync(join(stage, "meta.json"), JSON.stringify(metafile));
  if (existsSync(join(out, "types"))) cpSync(join(out, "types"), join(stage, "types"), { recursive: true });
  const old = `${out}.old-${process.pid}`;
  if (existsSync(out)) renameSync(out, old);
  renameSync(stage, out);
  rmSync(old, { recursive: true, force: true });
} finally {
  rmSync(stage, { recursive: true, force: true });
}
if (process.env.PI_BUILD_TYPES !== "0" && !process.env.PI_DIST) await buildTypes();

/** The program's chunks as CommonJS. */
async function buildProgram() {
  const result = await build({
    absWorkingDir: root,
    entryPoints: { core: "src/main.ts" },
    outdir: stage,
    outExtension: { ".js": ".cjs" },
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    external,
    define: { PI_VERSION: JSON.stringify(version), "import.meta.url": "__moduleUrl" },
    metafile: true,
    write: false,
    logLevel: "warning",
  });
  const names = new Set(result.outputFiles.map(({ path }) => path));
  const codes = new Map();
  for (const { path, text } of result.outputFiles) codes.set(path, await toCommonJs(text, path, names));
  const core = join(stage, "core.cjs");
  const always = coreChunks(core, codes, packagesOnly(result.metafile));
  const others = [...codes].filter(([path]) => !always.has(path));
  const files = [{ path: core, code: pack([...always], codes) }, ...others.map(([path, code]) => ({ path, code: scriptOf(code) }))];
  for (const { path, code } of files) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, code);
  }
  return { metafile: result.metafile, files };
}

/** A chunk as the script that boot.cjs evaluates: a function. */
function scriptOf(code) {
  return `(function(exports,require,module,__filename,__dirname,__import,__lazy){${code}\n})`;
}

/** Several chunks as one script: functions by path, evaluated when they are first required. */
function pack(paths, codes) {
  const entries = paths.map((path) => `${JSON.stringify(relative(stage, path).replaceAll("\\", "/"))}:${scriptOf(codes.get(path))}`);
  return `({${entries.join(",\n")}})`;
}

/** The core and all that it imports statically, except for packages that may never be used. */
function coreChunks(core, codes, late) {
  const found = new Set([core]);
  for (const path of found) {
    for (const [, name] of codes.get(path).matchAll(/(?<!then\(\(\)=>)\brequire\("([^"]+\.cjs)"\)/g)) {
      const target = join(stage, name);
      if (codes.has(target) && !late.has(target)) found.add(target);
    }
  }
  return found;
}

/** Chunks with nothing in them but code of packages, e.g. typebox. */
function packagesOnly(metafile) {
  const isPackages = ({ inputs }) => Object.keys(inputs).length > 0 && Object.keys(inputs).every((input) => input.includes("node_modules/"));
  return new Set(Object.entries(metafile.outputs).flatMap(([path, output]) => (isPackages(output) ? [resolve(root, path)] : [])));
}

/** Turns one chunk into CommonJS. Imports of our own chunks become requires; all others stay real imports. */
async function toCommonJs(text, path, names) {
  const lazy = text.replace(/\bimport\((["'])(\.\.?\/[^"']+\.cjs)\1\)/g, (whole, _, specifier) =>
    names.has(resolve(dirname(path), specifier)) ? `Promise.resolve().then(()=>require(${JSON.stringify(specifier)}))` : whole,
  );
  const output = await transform(lazy, { format: "cjs", platform: "node", target: "node20", minifyWhitespace: true, legalComments: "none" });
  // A script that V8 takes from its code cache has lost the way to import(); the entry, which is no such script, does it instead.
  const code = output.code.replace(/(=>|[=(,:?]|\b(?:return|await) )import\(/g, "$1__import(");
  // Our own are called by their place in the build: nothing has to be worked out when they are asked for.
  const named = code.replace(/\brequire\("(\.\.?\/[^"]+\.cjs)"\)/g, (whole, specifier) => {
    const target = resolve(dirname(path), specifier);
    return names.has(target) ? `require("${relative(stage, target).replaceAll("\\", "/")}")` : whole;
  });
  return lazily(named.trimEnd()).replaceAll("__moduleUrl", 'require("node:url").pathToFileURL(__filename).href');
}

/** Makes `var import_x=require("x")` wait until x is used. */
function lazily(code) {
  const names = [];
  const waiting = code.replace(importing, (_, name, load) => {
    names.push(name);
    return `var ${name}$=__lazy(()=>${load});`;
  });
  if (names.length === 0) return code;
  return waiting.replace(new RegExp(`\\b(${names.join("|")})\\b(?!\\$)`, "g"), "$1$.it");
}

/** The entry: starts the chunks with V8's code cache. */
function buildBoot(files) {
  const hash = createHash("sha256");
  for (const { code } of files.sort((a, b) => (a.path < b.path ? -1 : 1))) hash.update(code);
  const boot = readFileSync(join(root, "scripts/boot.cjs"), "utf8").replace("__BUILD__", `${version}-${hash.digest("hex").slice(0, 16)}`);
  writeFileSync(join(stage, "pi.cjs"), boot);
  chmodSync(join(stage, "pi.cjs"), 0o755);
}

/** What other programs import: ES modules that share their chunks, packages left outside. */
async function buildLibrary() {
  const lists = readdirSync(join(root, "src/distributions")).map((file) => `distributions/${file.slice(0, -3)}`);
  const entries = Object.fromEntries(["index", "plugin", "distribution", ...lists].map((name) => [name, `src/${name}.ts`]));
  entries.testing = "src/testing/index.ts";
  entries.client = "src/client/index.ts";
  await build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir: join(stage, "lib"),
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    define: { PI_VERSION: JSON.stringify(version) },
    logLevel: "warning",
  });
}

async function buildTypes() {
  const { execFileSync } = await import("node:child_process");
  try {
    const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
    execFileSync(process.execPath, [tsc, "-p", join(root, "tsconfig.types.json")], { cwd: root, stdio: ["ignore", 2, 2] });
  } catch {
    process.exitCode = 1;
  }
}
