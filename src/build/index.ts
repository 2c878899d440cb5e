/** `build` makes one file out of a distribution and proves what is not in it; `inspect` shows what a distribution contains. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type * as Esbuild from "esbuild";
import { flatten, type Io, Kernel, KernelError, messageOf, type PluginList } from "../../core/index.ts";
import { branding } from "../branding.ts";
import type { Program } from "../distribution.ts";
import ci from "../distributions/ci.ts";
import minimal from "../distributions/minimal.ts";
import pi from "../distributions/pi.ts";
import { loadDistribution } from "../load-distribution.ts";
import { type Bundle, type BundleInput, bundle, wholeBundle } from "./bundle.ts";
import { bytesByInput, type Contents, type Manifest, modulesOf, packagesOf, renderManifest } from "./manifest.ts";
import { findPluginFiles, type PluginFiles } from "./sources.ts";

const usage = "build <distribution.ts> --out <directory> [--chunks] [--exe]";

interface BuildArguments {
  file: string;
  out: string;
  chunks: boolean;
  exe: boolean;
}

/** Runs `pi build`. `root` is the package with its sources. */
export async function buildDistribution(args: string[], io: Io, cwd: string, root: string): Promise<number> {
  const { file, out, chunks, exe } = parse(args);
  const path = resolve(cwd, file);
  const program = await loadDistribution(path, cwd);
  const esbuild = await findEsbuild(cwd);
  if (!existsSync(join(root, "plugins"))) throw new KernelError("E_USAGE", "The sources of pi-kernel, which build needs, are not beside this program.");
  const target = resolve(cwd, out);
  mkdirSync(target, { recursive: true });

  const files = await findPluginFiles(esbuild, root);
  const chosen = new Set(flatten(program.plugins).map(({ name }) => name));
  const namesOf = (list: PluginList) => flatten(list).map(({ name }) => name);
  const lists = { pi: namesOf(pi), minimal: namesOf(minimal), ci: namesOf(ci) };
  const { name: bin, version, envPrefix } = program.branding;
  const input: BundleInput = { esbuild, root, file: path, out: target, bin, envPrefix, chosen, lists, files, extensions: program.extensions, version };
  const make = async (bundling: Promise<Bundle>) => {
    try {
      return await bundling;
    } catch (error) {
      throw new KernelError("E_USAGE", `${basename(path)} cannot be built: ${firstComplaint(error)}`);
    }
  };
  const built = await make(bundle(input, { chunks }));
  const inputs = bytesByInput(built.metafile, root);
  refuseExcluded(inputs, chosen, files);
  const manifest: Manifest = {
    name: bin,
    version,
    bytes: [...built.files.values()].reduce((sum, { length }) => sum + length, 0),
    ...(await contentsOf(program)),
    modules: modulesOf(inputs),
    packages: packagesOf(inputs),
  };
  const manifestFile = join(target, `${bin}.manifest.json`);
  // An earlier build's chunks may hold what this one has left out.
  if (existsSync(manifestFile)) rmSync(join(target, "chunks"), { recursive: true, force: true });
  write(target, built);
  writeFileSync(manifestFile, `${JSON.stringify(manifest, null, 2)}\n`);
  io.stdout.write(renderManifest(manifest));
  if (built.remark) io.stderr.write(`${built.remark}\n`);
  io.stdout.write(`${relative(cwd, join(target, `${bin}.mjs`))}\n`);
  if (exe) {
    const { makeExecutable } = await import("./executable.ts");
    write(target, await make(wholeBundle(input, "cjs")));
    io.stdout.write(`${relative(cwd, await makeExecutable(target, bin, cwd))}\n`);
  }
  return 0;
}

function write(target: string, { files }: Bundle): void {
  for (const [place, text] of files) {
    const path = join(target, place);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: text.startsWith("#!") ? 0o755 : 0o644 });
  }
}

type Inspectable = Pick<Kernel, "plugins" | "registry">;

/** Runs `pi inspect` for the running distribution, or for a file. */
export async function inspectDistribution(
  args: string[],
  io: Io,
  cwd: string,
  running: { name: string; version: string },
  kernel: Inspectable,
): Promise<number> {
  const file = args.find((word) => !word.startsWith("-"));
  const program = file ? await loadDistribution(resolve(cwd, file), cwd) : undefined;
  const contents = program ? await contentsOf(program) : contentsOfKernel(kernel);
  const { name, version } = program?.branding ?? running;
  const manifest: Manifest = { name, version, bytes: 0, ...contents, modules: {}, packages: [] };
  io.stdout.write(args.includes("--json") ? `${JSON.stringify({ name, version, ...contents }, null, 2)}\n` : renderManifest(manifest));
  return 0;
}

/** What a kernel with its plugins offers. */
function contentsOfKernel(kernel: Inspectable): Contents {
  const names = (items: readonly { name: string }[]) => items.map(({ name }) => name);
  return {
    plugins: [...kernel.plugins()],
    commands: names(kernel.registry("commands").all()),
    tools: names(kernel.registry("tools").all()),
    providers: names(kernel.registry("providers").all()),
    transports: names(kernel.registry("transports").all()),
  };
}

async function contentsOf(program: Program): Promise<Contents> {
  const kernel = new Kernel();
  try {
    await kernel.useAll(program.plugins);
    return contentsOfKernel(kernel);
  } finally {
    await kernel.removeAll();
  }
}

function parse(args: string[]): BuildArguments {
  const words = [...args];
  const takeFlag = (name: string) => {
    const at = words.indexOf(name);
    if (at >= 0) words.splice(at, 1);
    return at >= 0;
  };
  const chunks = takeFlag("--chunks");
  const exe = takeFlag("--exe");
  const at = words.indexOf("--out");
  const out = at >= 0 ? words.splice(at, 2)[1] : undefined;
  const [file, ...rest] = words;
  if (!file || rest.length > 0 || file.startsWith("-")) throw new KernelError("E_USAGE", `Usage: ${branding.name} ${usage}`);
  if (!out) throw new KernelError("E_USAGE", `build needs a directory of its own: ${branding.name} ${usage}`);
  return { file, out, chunks, exe };
}

/** esbuild of the project, or the one beside us. */
async function findEsbuild(cwd: string): Promise<typeof Esbuild> {
  for (const place of [join(cwd, "package.json"), import.meta.url]) {
    try {
      const found = createRequire(place).resolve("esbuild");
      return ((await import(pathToFileURL(found).href)) as { default: typeof Esbuild }).default;
    } catch {
      // Not there: the next place.
    }
  }
  throw new KernelError("E_USAGE", "build needs esbuild, which is not installed; add it with: npm install --save-dev esbuild");
}

function firstComplaint(error: unknown): string {
  const first = (error as { errors?: { text: string; location?: { file: string; line: number } | null }[] }).errors?.[0];
  if (!first) return messageOf(error).split("\n", 1)[0] ?? "";
  return first.location ? `${first.text} (${first.location.file}:${first.location.line})` : first.text;
}

/** Packages that must not come along unless one of these providers was chosen. */
const sdks: Record<string, string> = { "@anthropic-ai/sdk": "provider:anthropic-", openai: "provider:openai-" };

/** Fails if a module of a plugin that was left out, or a package that only it uses, is in the output. */
function refuseExcluded(inputs: Map<string, number>, chosen: ReadonlySet<string>, files: PluginFiles): void {
  const wanted = new Set([...files].filter(([name]) => chosen.has(name)).map(([, file]) => file));
  const present = [...inputs].filter(([, bytes]) => bytes > 0).map(([input]) => input);
  for (const [name, file] of files) {
    if (chosen.has(name) || wanted.has(file) || !present.some((input) => input.endsWith(file))) continue;
    throw new KernelError("E_USAGE", `The plugin "${name}" was left out, but its module ${file} got into the output.`);
  }
  for (const [sdk, prefix] of Object.entries(sdks)) {
    const isWanted = [...chosen].some((name) => name.startsWith(prefix));
    if (isWanted || !present.some((input) => input.includes(`node_modules/${sdk}/`))) continue;
    throw new KernelError("E_USAGE", `No provider that needs ${sdk} was chosen, but it got into the output.`);
  }
}
