/** A new author's walk: create, check, run, edit while it runs, break it, fix it, test it, pack it, install it from the tarball. */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type Places, preparePlaces, programPath, repositoryRoot, runPi, startRpc, tempDir } from "../helpers/pi.ts";

const NAME = "first-steps";
/** A quick build makes none; `npm ci` does. */
const types = join(repositoryRoot, "dist/types");
const hasTypes = existsSync(types);

/** A process whose output is awaited. */
class Talk {
  readonly child: ChildProcessWithoutNullStreams;
  output = "";
  #heard: (() => void)[] = [];
  #isOver = false;

  constructor({ cwd, env }: Places, args: string[]) {
    this.child = spawn(process.execPath, [programPath, ...args], { cwd, env });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
        this.#wake();
      });
    }
    this.child.on("close", () => {
      this.#isOver = true;
      this.#wake();
    });
    onTestFinished(() => void this.child.kill("SIGKILL"));
  }

  say(line: string): void {
    this.child.stdin.write(`${line}\n`);
  }

  /** Resolves when `text` has come after what was heard before. */
  async hear(text: string): Promise<string> {
    for (;;) {
      const at = this.output.indexOf(text);
      if (at >= 0) {
        const end = this.output.indexOf("\n", at);
        const line = this.output.slice(at, end < 0 ? undefined : end);
        this.output = this.output.slice(at + text.length);
        return line;
      }
      if (this.#isOver) throw new Error(`The program ended before it said "${text}". It said:\n${this.output}`);
      await new Promise<void>((resolve) => this.#heard.push(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#heard.splice(0)) resolve();
  }
}

/** Stands in for `npm install`: the package as it is published, and the tools of this repository. */
function installDependencies(directory: string): void {
  const modules = join(directory, "node_modules");
  mkdirSync(join(modules, "pi-kernel/dist"), { recursive: true });
  for (const name of readdirSync(join(repositoryRoot, "node_modules"))) {
    if (!name.startsWith(".")) symlinkSync(join(repositoryRoot, "node_modules", name), join(modules, name));
  }
  cpSync(join(repositoryRoot, "package.json"), join(modules, "pi-kernel/package.json"));
  cpSync(join(dirname(programPath), "lib"), join(modules, "pi-kernel/dist/lib"), { recursive: true });
  const tsconfig = JSON.parse(readFileSync(join(directory, "tsconfig.json"), "utf8"));
  const paths = Object.values(tsconfig.compilerOptions.paths as Record<string, string[]>).flat();
  expect(paths).toEqual(["./node_modules/pi-kernel/dist/types/plugins/extensions/public/types.d.ts"]);
  if (hasTypes) cpSync(types, join(modules, "pi-kernel/dist/types"), { recursive: true });
}

it("create, check, run, edit, break, fix, test, pack, install", async () => {
  const places = preparePlaces();
  const { cwd, home } = places;
  const pi = (...args: string[]) => runPi({ cwd, home, args });

  expect((await pi("create", "extension", NAME, "--package")).status).toBe(0);
  const directory = join(cwd, NAME);
  const file = join(directory, `extensions/${NAME}.ts`);
  const original = readFileSync(file, "utf8");
  installDependencies(directory);

  const checked = await pi("ext", "check", "--strict", file, ...(hasTypes ? [] : ["--no-types"]));
  if (hasTypes) expect(checked.stdout).toContain("checked with TypeScript");
  expect(checked.stdout).toContain("Nothing to complain about.");
  expect(checked.status).toBe(0);

  const dev = new Talk(places, ["dev", `./${NAME}`]);
  await dev.hear(`${NAME} (version 1`);
  dev.say(`/${NAME} Ada`);
  await dev.hear("notify info: Hello, Ada!");

  writeFileSync(file, original.replace("`Hello, ${args", "`Good morning, ${args"));
  await dev.hear(`${NAME} (version 2`);
  dev.say(`/${NAME} Ada`);
  await dev.hear("notify info: Good morning, Ada!");

  writeFileSync(file, original.replace("pi.registerTool({", "pi.registerTool({{"));
  const refusal = await dev.hear(`${NAME}.ts was not reloaded, version 2 goes on: `);
  expect(refusal).toMatch(new RegExp(`${NAME}\\.ts:\\d+`));
  dev.say(`/${NAME} Bo`);
  await dev.hear("notify info: Good morning, Bo!");

  writeFileSync(file, original);
  await dev.hear(`${NAME} (version 3`);
  dev.say(`/${NAME} Bo`);
  await dev.hear("notify info: Hello, Bo!");
  dev.child.stdin.end();

  const { VITEST, VITEST_WORKER_ID, VITEST_POOL_ID, NODE_OPTIONS, ...env } = process.env;
  const run = (command: string, args: string[], at: string) =>
    execFileSync(command, args, { cwd: at, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: { ...env, HOME: home, CI: "1" } });
  // The test's own types too.
  if (hasTypes) run(process.execPath, [join(directory, "node_modules/typescript/bin/tsc"), "-p", "."], directory);
  const tested = run(process.execPath, [join(directory, "node_modules/vitest/vitest.mjs"), "run"], directory);
  expect(tested).toMatch(/2 passed/);

  const [{ filename, files }] = JSON.parse(run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", cwd], directory));
  expect(files.map(({ path }: { path: string }) => path).sort()).toEqual(["README.md", `extensions/${NAME}.ts`, "package.json"]);

  const installed = await pi("install", `npm:${NAME}@file:${join(cwd, filename)}`);
  expect(installed).toMatchObject({ status: 0 });
  const rpc = startRpc({ home, cwd: tempDir() });
  await rpc.ask("prompt", { message: `/${NAME} Cy` });
  expect(rpc.frames.find(({ method }) => method === "notify")?.message).toBe("Hello, Cy!");
}, 180_000);
