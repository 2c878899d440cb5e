/** Type errors of an extension, with the TypeScript that is installed beside it. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Problem } from "./report.ts";

export interface TypeCheck {
  /** how it was done; undefined: there is no TypeScript */
  how?: string;
  problems: Problem[];
}

const API = "plugins/extensions/public/types";
const scopes = ["@mariozechner", "@earendil-works"];

/** A project for the compiler. */
interface Project {
  config: object;
  /** served modules that nobody has types of */
  untyped: readonly string[];
}

export async function checkTypes(file: string, cwd: string): Promise<TypeCheck> {
  const places = [file, join(cwd, "package.json")];
  const compiler = findPackage("typescript", places);
  if (!compiler || !/\.[cm]?tsx?$/.test(file)) return { problems: [], ...(compiler && { how: "plain JavaScript" }) };
  const { bin, version } = JSON.parse(readFileSync(join(compiler, "package.json"), "utf8"));
  const typed: TypeCheck = { problems: [] };
  for (const project of projectsFor(file, places)) {
    const problems = await problemsOf(project, join(compiler, bin.tsc ?? bin), file, places);
    Object.assign(typed, { how: `checked with TypeScript ${version}`, problems });
    // A configuration that does not know the API was made for other files.
    if (!problems.some(({ message }) => scopes.some((scope) => isAbout(message, `${scope}/pi-coding-agent`)))) break;
  }
  return typed;
}

async function problemsOf({ config, untyped }: Project, compiler: string, file: string, places: readonly string[]): Promise<Problem[]> {
  const directory = await mkdtemp(join(tmpdir(), "pi-types-"));
  try {
    const project = join(directory, "tsconfig.json");
    await writeFile(project, JSON.stringify(config));
    await writeFile(join(directory, "served.d.ts"), declarationsOf(untyped));
    const output = await run([compiler, "--noEmit", "--pretty", "false", "-p", project], dirname(file));
    const problems = problemsIn(output, findPackage("@types/node", places) !== undefined);
    return problems.filter(({ message }) => !isOurs(message, dirname(file)) && !untyped.some((name) => isAbout(message, name)));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The project's own configuration if it has one, then a strict one that knows the API, if its types came with the program. */
function projectsFor(file: string, places: readonly string[]): Project[] {
  const node = findPackage("@types/node", places);
  // Ours lies elsewhere, so types that nobody imports are not found from there.
  const types = node && { typeRoots: [dirname(node)] };
  const own = nearestConfig(file);
  const config = own && { extends: own, compilerOptions: { noEmit: true, rootDir: "/", ...types }, files: [file], include: [] };
  const projects: Project[] = config ? [{ config, untyped: [] }] : [];
  const root = packageRoot();
  if (!root) return projects;
  const compilerOptions = {
    target: "ES2023",
    module: "NodeNext",
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: node ? ["node"] : [],
    ...types,
    paths: servedPaths(file, root),
  };
  return [...projects, { config: { compilerOptions, files: [file, "served.d.ts"] }, untyped: untypedModules(file) }];
}

/** The program serves these modules itself, also where they are not installed; their types are here. */
function servedPaths(file: string, root: string): Record<string, string[]> {
  const typesOf = (source: string) => {
    const built = join(root, "dist/types", `${source}.d.ts`);
    return [existsSync(built) ? built : join(root, `${source}.ts`)];
  };
  const ours = join(root, "package.json");
  const typebox = findPackage("typebox", [file, ours]);
  const tui = findPackage("@mariozechner/pi-tui", [file, ours]);
  const paths: Record<string, string[]> = {
    "pi-kernel": typesOf("src/index"),
    "pi-kernel/plugin": typesOf("src/plugin"),
    ...(typebox && {
      typebox: [join(typebox, "build/index.d.mts")],
      "@sinclair/typebox": [join(typebox, "build/index.d.mts")],
      "@sinclair/typebox/compiler": [join(typebox, "build/compile/index.d.mts")],
      "@sinclair/typebox/*": [join(typebox, "build/*/index.d.mts")],
    }),
  };
  for (const scope of scopes) {
    paths[`${scope}/pi-coding-agent`] = typesOf(API);
    if (tui) paths[`${scope}/pi-tui`] = [join(tui, "dist/index.d.ts")];
  }
  return paths;
}

/** Served modules whose types nobody has installed, or that have more than their types say: what is missing from them is no mistake. */
function untypedModules(file: string): string[] {
  const names = scopes.flatMap((scope) => ["pi-ai", "pi-agent-core"].map((name) => `${scope}/${name}`));
  return [...names, "@sinclair/typebox"].filter((name) => !findPackage(name, [file]));
}

/** What parameters of tools are made with has its types also where nobody installed those: without them no parameter has a known type. */
function declarationsOf(untyped: readonly string[]): string {
  const declared = untyped.filter((name) => name.endsWith("/pi-ai"));
  return declared
    .map(
      (name) => `declare module "${name}" {
  export { Type, type Static, type TSchema } from "typebox";
  export function StringEnum<const T extends readonly string[]>(values: T, options?: object): import("typebox").TUnsafe<T[number]>;
}
`,
    )
    .join("");
}

/** Up to the package that the file belongs to. */
function nearestConfig(file: string): string | undefined {
  for (let directory = dirname(file); ; directory = dirname(directory)) {
    const config = join(directory, "tsconfig.json");
    if (existsSync(config)) return config;
    if (existsSync(join(directory, "package.json")) || directory === dirname(directory)) return undefined;
  }
}

/** The directory of a package as seen from the first of these files that sees it. */
function findPackage(name: string, from: readonly string[]): string | undefined {
  for (const file of from) {
    for (const base of createRequire(file).resolve.paths(name) ?? []) {
      const directory = join(base, name);
      if (statSync(join(directory, "package.json"), { throwIfNoEntry: false })) return directory;
    }
  }
  return undefined;
}

/** Our own package, whether this runs from its sources or from its bundle. */
function packageRoot(): string | undefined {
  for (let directory = dirname(fileURLToPath(import.meta.url)); directory !== dirname(directory); directory = dirname(directory)) {
    const file = join(directory, "package.json");
    if (existsSync(file) && JSON.parse(readFileSync(file, "utf8")).name === "pi-kernel") return directory;
  }
  return undefined;
}

function run(args: string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    }
    child.on("error", reject);
    child.on("close", () => resolve(output));
  });
}

/** In a checkout the API's types are our sources: what the compiler thinks of those is no extension's fault. */
function isOurs(message: string, directory: string): boolean {
  const path = resolve(directory, message.split("(", 1)[0] ?? "");
  const root = packageRoot();
  return root !== undefined && ["core", "plugins", "src"].some((own) => path.startsWith(join(root, own, sep)));
}

/** A module that is not found, or lacks a name. */
function isAbout(message: string, module: string): boolean {
  const [, named] = /error TS(?:2305|2307|2614|2724): [^'"]*['"]+([^'"]+)/.exec(message) ?? [];
  return named === module || named?.startsWith(`${module}/`) === true;
}

function problemsIn(output: string, knowsNode: boolean): Problem[] {
  const lines = output.split("\n").filter((line) => /\berror TS\d+:/.test(line));
  const isAboutNode = (line: string) =>
    /TS(2307|2580|2591|2584|2868|2304).*('node:|'process'|'Buffer'|'console'|@types\/node|setTimeout|setInterval)/.test(line);
  return lines.filter((line) => knowsNode || !isAboutNode(line)).map((message) => ({ level: "error", kind: "type", message }));
}
