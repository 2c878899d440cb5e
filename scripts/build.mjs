/**
 * Builds the program as a lazy bundle: one core, everything heavy in chunks that are read at first use.
 * esbuild splits ES modules; each chunk then becomes CommonJS, which starts faster and can be started with a code cache.
 * Imports are made lazy on the way: a module, ours or Node's, is loaded when something in it is used for the first time.
 * The chunks that the core always needs are packed into one file: one read, one script, one cache.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const out = resolve(root, process.env.PI_DIST || "dist");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const require = createRequire(import.meta.url);

/** Bytes that say whether a cache is whole; see src/build/boot.cjs. */
const SEAL = 10;
/** Packages that only special commands need and that stay outside. */
const external = ["esbuild", "typescript", "fsevents", "postject", "@silvia-odwyer/photon-node"];

// The output directory is replaced whole, so it must be one of ours.
if (existsSync(out) && !existsSync(join(out, "pi.cjs"))) throw new Error(`${out} exists and is not a build of this program; it is left alone.`);
mkdirSync(dirname(out), { recursive: true });
const stage = mkdtempSync(`${out}-`);
chmodSync(stage, 0o755);
try {
  await buildProgram();
  keepCaches();
  await buildLibrary();
  if (existsSync(join(out, "types"))) cpSync(join(out, "types"), join(stage, "types"), { recursive: true });
  const old = `${out}.old-${process.pid}`;
  if (existsSync(out)) renameSync(out, old);
  renameSync(stage, out);
  rmSync(old, { recursive: true, force: true });
} finally {
  rmSync(stage, { recursive: true, force: true });
}
if (process.env.PI_BUILD_TYPES !== "0" && !process.env.PI_DIST) await buildTypes();

/** The program's scripts, and the entry that starts them with V8's code cache. */
async function buildProgram() {
  const { bootFile, compilerApart, fingerprint, MODULE_URL, onlyReached, scriptOf, scriptsOf } = await ownScripts();
  const core = join(stage, "core.cjs");
  const built = await build({
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
    define: { PI_VERSION: JSON.stringify(version), "import.meta.url": MODULE_URL },
    plugins: [compilerApart],
    metafile: true,
    write: false,
    logLevel: "warning",
  });
  const result = onlyReached(built, root, core);
  const scripts = await scriptsOf({ esbuild: { transform }, result, root, directory: stage, core });
  scripts.set("chunks/babel.cjs", scriptOf(readFileSync(join(dirname(require.resolve("jiti/package.json")), "dist/babel.cjs"), "utf8")));
  for (const [name, code] of scripts) {
    mkdirSync(dirname(join(stage, name)), { recursive: true });
    writeFileSync(join(stage, name), code);
  }
  const template = readFileSync(join(root, "src/build/boot.cjs"), "utf8");
  writeFileSync(join(stage, "pi.cjs"), bootFile({ template, name: "pi-kernel", prefix: "PI", build: `${version}-${fingerprint(scripts)}` }));
  chmodSync(join(stage, "pi.cjs"), 0o755);
  writeFileSync(join(stage, "meta.json"), JSON.stringify(result.metafile));
}

/** Starts the program as most do, bare and with an extension, and keeps what V8 made of it for others who start it on this Node. */
function keepCaches() {
  const home = mkdtempSync(join(tmpdir(), "pi-build-"));
  const caches = join(home, ".cache/pi-kernel");
  const start = () => {
    const options = { cwd: home, env: { PATH: process.env.PATH, HOME: home, PI_OFFLINE: "1" }, input: '{"type":"get_state"}\n', timeout: 20_000 };
    spawnSync(process.execPath, [join(stage, "pi.cjs"), "--mode", "rpc", "--model", "offline/demo"], options);
  };
  try {
    start();
    mkdirSync(join(home, ".pi/agent/extensions"), { recursive: true });
    writeFileSync(join(home, ".pi/agent/extensions/some.ts"), "export default (pi: any) => pi.on('session_start', () => {});\n");
    start();
    // Where it cannot be started, as on a system that has no caches, a build is whole without them.
    const [made] = existsSync(caches) ? readdirSync(caches) : [];
    if (made === undefined) return;
    const kept = join(stage, "cache", `${process.version}-${process.platform}-${process.arch}`);
    mkdirSync(kept, { recursive: true });
    for (const name of readdirSync(join(caches, made))) writeFileSync(join(kept, name), sealed(readFileSync(join(caches, made, name))));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** A private cache ends with a time; one that comes with the program, with its length. */
function sealed(cache) {
  const length = cache.length - SEAL;
  return Buffer.concat([cache.subarray(0, length), Buffer.from(String(length).padStart(SEAL, "0"))]);
}

/** The part of building that `pi build` needs too. */
async function ownScripts() {
  const { outputFiles } = await build({ entryPoints: [join(root, "src/build/scripts.ts")], bundle: true, write: false, format: "esm", platform: "node" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
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
