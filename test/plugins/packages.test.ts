import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { satisfies } from "../../plugins/packages/versions.ts";
import { parsePackageSource } from "../../plugins/shared/package-source.ts";
import { preparePlaces, programPath, type RpcProcess, runPi, startRpc, tempDir } from "../helpers/pi.ts";
import { isRegistryReachable } from "../helpers/registry.ts";

const script = { responses: ["ok"], repeat: true };

const names = async (rpc: RpcProcess): Promise<string[]> => (await rpc.ask("get_commands")).commands.map(({ name }: { name: string }) => name);
const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8"));

function write(root: string, files: Record<string, string>): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

test.each([
  ["npm:foo", { kind: "npm", name: "foo", isPinned: false, identity: "npm:foo" }],
  ["npm:@a/b.c@1.2.3", { kind: "npm", name: "@a/b.c", wanted: "1.2.3", isPinned: true, identity: "npm:@a/b.c" }],
  ["npm:foo@^1.2", { kind: "npm", name: "foo", wanted: "^1.2", isPinned: false }],
  ["npm:foo@next", { kind: "npm", name: "foo", wanted: "next", isPinned: false }],
  ["git:github.com/o/r", { kind: "git", url: "https://github.com/o/r", host: "github.com", path: "o/r", identity: "git:github.com/o/r" }],
  ["git:github.com/o/r.git@v1", { kind: "git", url: "https://github.com/o/r.git", path: "o/r", ref: "v1", identity: "git:github.com/o/r" }],
  ["git:git@host.org:o/r@feature/x", { kind: "git", url: "git@host.org:o/r", host: "host.org", path: "o/r", ref: "feature/x" }],
  ["https://host.org/o/r@abc", { kind: "git", url: "https://host.org/o/r", ref: "abc", identity: "git:host.org/o/r" }],
  ["https://user:pw@host.org/o/r", { kind: "git", url: "https://user:pw@host.org/o/r", host: "host.org", path: "o/r" }],
  ["ssh://git@host.org:22/o/r", { kind: "git", url: "ssh://git@host.org:22/o/r", host: "host.org:22" }],
  ["github:o/r", { kind: "git", url: "https://github.com/o/r", identity: "git:github.com/o/r" }],
  ["git:file:///srv/r@main", { kind: "git", url: "file:///srv/r", host: "localhost", path: "srv/r", ref: "main" }],
  ["./dir", { kind: "local", path: "./dir" }],
  ["dir@1", { kind: "local", path: "dir@1" }],
])("%s is understood", (source, expected) => {
  expect(parsePackageSource(source)).toMatchObject(expected);
});

test.each([
  "npm:",
  "npm:-g",
  "npm:../x",
  "npm:a b",
  "git:x",
  "git:host/../../etc",
  "git:--upload-pack=x/y",
  "git:h/o/r@--x",
  "git:ext::sh -c x/y",
  "https:///o/r",
])("%s is refused", (source) => {
  expect(() => parsePackageSource(source)).toThrow(source.split(":")[0]);
});

test.each([
  ["1.2.3", undefined, true],
  ["1.2.3", "1.2.3", true],
  ["1.2.4", "1.2.3", false],
  ["1.2.3", "^1.0.0", true],
  ["2.0.0", "^1.0.0", false],
  ["2.0.0-beta.1", "^1.0.0", false],
  ["0.2.9", "^0.2.3", true],
  ["0.3.0", "^0.2.3", false],
  ["0.0.4", "^0.0.3", false],
  ["1.2.9", "~1.2.3", true],
  ["1.3.0", "~1.2.3", false],
  ["1.9.0", "1.x", true],
  ["2.0.0", "1", false],
  ["1.5.0", ">=1.0.0 <2", true],
  ["2.0.0", ">=1.0.0 <2", false],
  ["3.0.0", "^1 || ^3", true],
  ["1.5.0", "1.0.0 - 1.4", false],
  ["1.4.9", "1.0.0 - 1.4", true],
  ["5.0.0", "*", true],
  ["5.0.0", "next", true],
  ["1.0.0-rc.1", "1.0.0", false],
])("version %s for %s: %s", (installed, wanted, expected) => {
  expect(satisfies(installed, wanted)).toBe(expected);
});

test("a local directory is installed, listed, loaded and removed without being copied", async () => {
  const home = tempDir();
  const cwd = write(tempDir(), { "pack/prompts/hello.md": "Hello", "pack/skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\n" });
  const agent = join(home, ".pi/agent");
  const run = (...args: string[]) => runPi({ home, cwd, args });
  expect(await run("list")).toMatchObject({ status: 0, stdout: "No packages installed.\n" });
  expect(await run("install", "./pack")).toMatchObject({ status: 0, stdout: "Installed ./pack\n", stderr: "" });
  const [stored] = readJson(join(agent, "settings.json")).packages;
  expect(join(agent, stored)).toBe(join(cwd, "pack"));
  expect((await run("install", join(cwd, "pack"))).status).toBe(0);
  expect(readJson(join(agent, "settings.json")).packages, "once").toHaveLength(1);
  expect((await run("list")).stdout).toBe(`User packages:\n  ${stored}\n    ${join(cwd, "pack")}\n`);
  expect(await names(startRpc({ home, cwd, script }))).toEqual(["hello", "skill:s"]);
  expect(await run("update")).toMatchObject({ status: 0, stdout: `${stored}: a local directory, nothing to do\n` });
  expect(await run("remove", "pack")).toMatchObject({ status: 0, stdout: "Removed pack\n" });
  expect(existsSync(join(cwd, "pack"))).toBe(true);
  expect(await names(startRpc({ home, cwd, script }))).toEqual([]);
  expect(await run("uninstall", "pack")).toMatchObject({ status: 1, stderr: "Error: pack is not installed for you (add -l for this project's).\n" });
});

test("what is wrong with a package is said when it is installed and when it is loaded", async () => {
  const home = tempDir();
  const cwd = write(tempDir(), {
    "broken/package.json": '{ "pi": { "prompts": ["p"] }',
    "broken/prompts/hello.md": "Hello",
    "gone/package.json": JSON.stringify({ pi: { prompts: ["prompt"], skills: "skills" } }),
    "gone/prompts/hello.md": "Hello",
    "empty/package.json": JSON.stringify({ name: "empty" }),
  });
  const run = (...args: string[]) => runPi({ home, cwd, args });
  const broken = await run("install", "./broken");
  expect(broken).toMatchObject({ status: 0, stdout: "Installed ./broken\n" });
  expect(broken.stderr).toContain(`${join(cwd, "broken/package.json")} is ignored: it is not valid JSON`);
  const gone = await run("install", "./gone");
  expect(gone.stderr).toContain(`${join(cwd, "gone/package.json")}: "pi.prompts" names prompt, which does not exist`);
  expect(gone.stderr).toContain('"pi.skills" must be a list of strings');
  expect(gone.stderr).toContain("Nothing in it can be loaded");
  expect((await run("install", "./empty")).stderr).toBe("Nothing in it can be loaded: there are no extensions, skills or prompt templates.\n");
  const rpc = startRpc({ home, cwd, script });
  expect(await names(rpc)).toEqual(["hello"]);
  expect(rpc.stderr.match(/package\.json/g)).toHaveLength(3);
});

test("a name without a prefix is a path, and the refusal says what else it may be", async () => {
  const refusal = async (source: string) => (await runPi({ args: ["install", source] })).stderr;
  expect(await refusal("some-pack")).toMatch(/some-pack does not exist \(npm:some-pack would be a package from npm\)\.\n$/);
  expect(await refusal("@me/pack@1.0.0")).toContain("(npm:@me/pack@1.0.0 would be");
  expect(await refusal("me/pack")).toContain("(github:me/pack would be a repository)");
  expect(await refusal("./pack")).toMatch(/pack does not exist\.\n$/);
});

test("what should be a list in the settings and is none is not written over", async () => {
  const home = tempDir();
  const cwd = write(tempDir(), { "pack/prompts/a.md": "A" });
  const settings = { packages: "npm:other", prompts: "more" };
  write(home, { ".pi/agent/settings.json": JSON.stringify(settings), ".pi/agent/prompts/own.md": "Own" });
  for (const [key, ...args] of [
    ["packages", "install", "./pack"],
    ["prompts", "config", "disable", "own"],
  ] as const) {
    const { status, stderr } = await runPi({ home, cwd, args: [...args] });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(`"${key}" is not a list. Repair it first; nothing was changed.`) });
  }
  expect(readJson(join(home, ".pi/agent/settings.json"))).toEqual(settings);
});

test("a local package is meant by its path from here and as it is listed", async () => {
  const home = tempDir();
  const cwd = write(tempDir(), { "one/prompts/a.md": "A", "two/prompts/b.md": "B" });
  const run = (...args: string[]) => runPi({ home, cwd, args });
  await run("install", "./one");
  await run("install", "./two");
  const [first, second] = readJson(join(home, ".pi/agent/settings.json")).packages;
  expect(await run("update", "./one")).toMatchObject({ status: 0, stdout: `${first}: a local directory, nothing to do\n` });
  expect(await run("update", second)).toMatchObject({ status: 0, stdout: `${second}: a local directory, nothing to do\n` });
  expect(await run("remove", first)).toMatchObject({ status: 0 });
  expect(await run("remove", "./two")).toMatchObject({ status: 0 });
  expect(readJson(join(home, ".pi/agent/settings.json")).packages).toEqual([]);
});

test("for a project: -l writes its settings, which need trust to count", async () => {
  const home = tempDir();
  const cwd = write(tempDir(), { "pack/prompts/hello.md": "Hello", ".pi/prompts/own.md": "Own" });
  const run = (...args: string[]) => runPi({ home, cwd, args });
  expect((await run("install", "./pack", "-l")).status).toBe(1);
  expect(existsSync(join(cwd, ".pi/settings.json"))).toBe(false);
  expect(await run("install", "./pack", "-l", "--approve")).toMatchObject({ status: 0 });
  expect(readJson(join(cwd, ".pi/settings.json"))).toEqual({ packages: ["../pack"] });
  expect(await names(startRpc({ home, cwd, script }))).toEqual([]);
  expect(await names(startRpc({ home, cwd, script, args: ["-a"] }))).toEqual(["own", "hello"]);
  expect((await run("remove", "./pack", "-l", "-a")).status).toBe(0);
  expect(readJson(join(cwd, ".pi/settings.json"))).toEqual({ packages: [] });
});

test("a package in a file is installed, also where the path has blanks, and removed when the file is gone", async () => {
  const home = tempDir();
  const pack = { name: "@x/packed", version: "1.0.0", pi: { prompts: ["./texts"] } };
  const cwd = write(tempDir(), { "my pack/package.json": JSON.stringify(pack), "my pack/texts/hello.md": "Hello", "bad.tgz": "no archive" });
  const file = join(cwd, "my pack/x-packed-1.0.0.tgz");
  execFileSync("npm", ["pack", "--silent"], { cwd: join(cwd, "my pack") });
  const env = { npm_config_registry: "http://127.0.0.1:9/", npm_config_offline: "true" };
  const run = (...args: string[]) => runPi({ home, cwd, args, env });
  expect(await run("install", "./my pack/x-packed-1.0.0.tgz")).toMatchObject({ status: 0, stdout: "Installed ./my pack/x-packed-1.0.0.tgz\n" });
  expect(readJson(join(home, ".pi/agent/settings.json")).packages).toEqual([`npm:@x/packed@file:${file}`]);
  expect(await names(startRpc({ home, cwd, script }))).toEqual(["hello"]);
  expect((await run("list")).stdout).toContain("node_modules/@x/packed\n");
  expect((await run("update")).status).toBe(0);
  rmSync(file);
  expect(await names(startRpc({ home, cwd, script }))).toEqual(["hello"]);
  expect(await run("remove", "./my pack/x-packed-1.0.0.tgz")).toMatchObject({ status: 0 });
  expect(await names(startRpc({ home, cwd, script }))).toEqual([]);
  expect(await run("install", "./bad.tgz")).toMatchObject({ status: 1, stderr: expect.stringContaining("bad.tgz is no package: ") });
  expect(await run("install", "./gone.tar.gz")).toMatchObject({ status: 1, stderr: expect.stringContaining("gone.tar.gz does not exist.") });
});

test("bad calls and broken settings change nothing", async () => {
  const home = tempDir();
  const cwd = write(tempDir(), { "pack/prompts/hello.md": "Hello" });
  const settings = join(home, ".pi/agent/settings.json");
  const failing = async (message: RegExp, ...args: string[]) => {
    const { status, stdout, stderr } = await runPi({ home, cwd, args });
    expect({ status, stdout }, args.join(" ")).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/ at .*\.cjs/);
  };
  await failing(/Expected one source/, "install");
  await failing(/Expected one source/, "install", "a", "b");
  await failing(/Unknown option: --what/, "install", "x", "--what");
  await failing(/nowhere does not exist/, "install", "./nowhere");
  await failing(/is no npm package/, "install", "npm:");
  await failing(/is not installed/, "remove", "npm:foo");
  await failing(/is not installed/, "update", "npm:foo");
  expect(existsSync(settings)).toBe(false);
  write(home, { ".pi/agent/settings.json": "{ broken" });
  await failing(/settings\.json is ignored: it is not valid JSON/, "install", "./pack");
  await failing(/settings\.json is ignored: it is not valid JSON/, "remove", "./pack");
  expect(readFileSync(settings, "utf8")).toBe("{ broken");
});

/** A stand-in for npm that does what its file says, so that failures can be arranged. */
function fakeNpm(behaviour: string): { npmCommand: string[]; log: string } {
  const dir = tempDir();
  const log = join(dir, "calls.log");
  const code = `
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
const args = process.argv.slice(2);
appendFileSync(${JSON.stringify(log)}, JSON.stringify(args) + "\\n");
console.log("npm talks on stdout");
const prefix = args[args.indexOf("--prefix") + 1];
const manifest = join(prefix, "package.json");
const [verb, spec] = args;
const [, name, version] = /^(@?[^@]+)(?:@(.*))?$/.exec(spec ?? "") ?? [];
const put = (v) => {
  mkdirSync(join(prefix, "node_modules", name, "prompts"), { recursive: true });
  writeFileSync(join(prefix, "node_modules", name, "package.json"), JSON.stringify({ name, version: v }));
  writeFileSync(join(prefix, "node_modules", name, "prompts", "fake.md"), "Fake " + v);
};
const note = (v) => {
  const known = JSON.parse(readFileSync(manifest, "utf8"));
  known.dependencies = { ...known.dependencies };
  if (v) known.dependencies[name] = v; else delete known.dependencies[name];
  writeFileSync(manifest, JSON.stringify(known));
};
${behaviour}
`;
  writeFileSync(join(dir, "npm.mjs"), code);
  return { npmCommand: [process.execPath, join(dir, "npm.mjs")], log };
}

const obedient = `
if (verb === "install") { const v = version === "latest" ? "2.0.0" : version.replace(/^[^0-9]/, ""); put(v); note(v); }
if (verb === "uninstall") { rmSync(join(prefix, "node_modules", name), { recursive: true }); note(undefined); }
`;

function home(settings: object): string {
  return write(tempDir(), { ".pi/agent/settings.json": JSON.stringify(settings) });
}

test("npm packages: places, arguments, pinned and floating versions, removal", async () => {
  const { npmCommand, log } = fakeNpm(obedient);
  const place = home({ npmCommand });
  const cwd = tempDir();
  const agent = join(place, ".pi/agent");
  const run = (...args: string[]) => runPi({ home: place, cwd, args });
  const calls = () =>
    readFileSync(log, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as string[]);
  const done = await run("install", "npm:@x/fake@1.0.0");
  expect(done).toMatchObject({ status: 0, stdout: "Installed npm:@x/fake@1.0.0\n" });
  expect(done.stderr).toContain("npm talks on stdout");
  const store = join(agent, "npm");
  const [call = []] = calls();
  expect(call.slice(0, 2)).toEqual(["install", "@x/fake@1.0.0"]);
  for (const flag of ["--legacy-peer-deps", "--ignore-scripts"]) expect(call).toContain(flag);
  expect(call[call.indexOf("--prefix") + 1]).toBe(store);
  expect(readFileSync(join(store, ".gitignore"), "utf8")).toContain("*");
  expect(readJson(join(store, "package.json"))).toMatchObject({ private: true });
  expect(readJson(join(agent, "settings.json")).packages).toEqual(["npm:@x/fake@1.0.0"]);
  expect((await run("list")).stdout).toBe(`User packages:\n  npm:@x/fake@1.0.0\n    ${store}/node_modules/@x/fake\n`);

  const rpc = startRpc({ home: place, cwd, script });
  const { commands } = await rpc.ask("get_commands");
  expect(commands).toMatchObject([
    { name: "fake", sourceInfo: { source: "npm:@x/fake@1.0.0", scope: "user", origin: "package", baseDir: join(store, "node_modules/@x/fake") } },
  ]);
  expect(calls(), "nothing is installed again").toHaveLength(1);

  expect((await run("update")).stdout).toBe("npm:@x/fake@1.0.0: pinned\n");
  expect((await run("install", "npm:@x/fake", "--allow-scripts")).status).toBe(0);
  expect(calls().at(-1)).not.toContain("--ignore-scripts");
  expect(readJson(join(agent, "settings.json")).packages, "the same package").toEqual(["npm:@x/fake"]);
  expect((await run("update", "npm:@x/fake")).stdout).toBe("npm:@x/fake: up to date\n");
  expect(calls().at(-1)?.[1]).toBe("@x/fake@latest");
  expect((await run("remove", "npm:@x/fake@9.9.9")).status).toBe(0);
  expect(existsSync(join(store, "node_modules/@x"))).toBe(false);
  expect(await names(startRpc({ home: place, cwd, script }))).toEqual([]);
});

test("declared packages that are missing or of a wrong version are installed at start, not when offline", async () => {
  const { npmCommand, log } = fakeNpm(obedient);
  const place = home({ npmCommand, packages: ["npm:fake@^1.0.0"] });
  const cwd = tempDir();
  for (const options of [{ args: ["--offline"] }, { env: { PI_OFFLINE: "yes" } }]) {
    const offline = startRpc({ home: place, cwd, script, ...options });
    expect(await names(offline)).toEqual([]);
    expect(offline.stderr).toContain("npm:fake@^1.0.0 is not loaded: it is not installed, and this process is offline");
  }
  expect(existsSync(log)).toBe(false);
  const rpc = startRpc({ home: place, cwd, script });
  expect(await names(rpc)).toEqual(["fake"]);
  expect(rpc.stderr).toContain("Installing npm:fake@^1.0.0");
  expect(rpc.frames.every((frame) => frame.type === "response")).toBe(true);
  write(place, { ".pi/agent/settings.json": JSON.stringify({ npmCommand, packages: ["npm:fake@^3.0.0"] }) });
  expect(await names(startRpc({ home: place, cwd, script }))).toEqual(["fake"]);
  expect(readJson(join(place, ".pi/agent/npm/node_modules/fake/package.json")).version).toBe("3.0.0");
});

test("a package for this process goes to the temporary place", async () => {
  const { npmCommand } = fakeNpm(obedient);
  const place = home({ npmCommand });
  const rpc = startRpc({ home: place, script, args: ["-e", "npm:fake@1.0.0"] });
  const { commands } = await rpc.ask("get_commands");
  expect(commands).toMatchObject([{ name: "fake", sourceInfo: { source: "cli", scope: "temporary" } }]);
  const temporary = join(place, ".pi/agent/tmp/extensions");
  expect(statSync(join(temporary, readdirSync(temporary)[0]!)).mode & 0o777).toBe(0o700);
  expect(readJson(join(place, ".pi/agent/settings.json")).packages).toBeUndefined();
});

test.each([
  ["fails half-way", `put("1.0.0"); console.error("registry says no"); process.exit(1);`, /registry says no/],
  ["installs nothing", "", /npm installed no package called fake/],
  ["is not there", undefined, /no-such-npm was not found/],
])("npm that %s leaves nothing behind", async (_, behaviour, message) => {
  const npmCommand = behaviour === undefined ? ["no-such-npm"] : fakeNpm(behaviour).npmCommand;
  const place = home({ npmCommand });
  const done = await runPi({ home: place, args: ["install", "npm:fake@1.0.0"] });
  expect(done).toMatchObject({ status: 1, stdout: "" });
  expect(done.stderr).toMatch(message);
  expect(readJson(join(place, ".pi/agent/settings.json"))).toEqual({ npmCommand });
  expect(existsSync(join(place, ".pi/agent/npm/node_modules/fake"))).toBe(false);
  expect(readJson(join(place, ".pi/agent/npm/package.json")).dependencies).toBeUndefined();
});

test("without a network the real npm fails in words, and leaves nothing behind", async () => {
  const place = tempDir();
  const env = { npm_config_registry: "http://127.0.0.1:9/", npm_config_fetch_retries: "0" };
  const done = await runPi({ home: place, env, args: ["install", "npm:fake@1.0.0"] });
  expect(done).toMatchObject({ status: 1, stdout: "" });
  expect(done.stderr).toMatch(/ECONNREFUSED[\s\S]*Error: "npm install fake@1\.0\.0" failed \(exit 1\)/);
  expect(existsSync(join(place, ".pi/agent/settings.json"))).toBe(false);
  expect(existsSync(join(place, ".pi/agent/npm/node_modules/fake"))).toBe(false);
  write(place, { ".pi/agent/settings.json": JSON.stringify({ packages: ["npm:fake@1.0.0"] }) });
  const rpc = startRpc({ home: place, env, script });
  expect(await names(rpc)).toEqual([]);
  expect(rpc.stderr).toMatch(/npm:fake@1\.0\.0 is not loaded: "npm install fake@1\.0\.0" failed \(exit 1\):\nnpm error code ECONNREFUSED/);
});

test("an update that fails keeps the old version", async () => {
  const failing = `if (version === "1.0.0") { put("1.0.0"); note("1.0.0"); } else { put("9.9.9"); note("9.9.9"); process.exit(1); }`;
  const place = home({ npmCommand: fakeNpm(failing).npmCommand });
  expect((await runPi({ home: place, args: ["install", "npm:fake@1.0.0"] })).status).toBe(0);
  expect((await runPi({ home: place, args: ["install", "npm:fake@2.0.0"] })).status).toBe(1);
  const store = join(place, ".pi/agent/npm");
  expect(readJson(join(store, "node_modules/fake/package.json")).version).toBe("1.0.0");
  expect(readJson(join(store, "package.json")).dependencies).toEqual({ fake: "1.0.0" });
  expect(readJson(join(place, ".pi/agent/settings.json")).packages).toEqual(["npm:fake@1.0.0"]);
  expect(readdirSync(join(place, ".pi/agent")).filter((name) => name.includes("old"))).toEqual([]);
});

test("a start does not wait for ever, and ends what it started", async () => {
  const dir = tempDir();
  const pidFile = join(dir, "pid");
  const { npmCommand } = fakeNpm(`writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); put("1.0.0"); setInterval(() => {}, 1000);`);
  const place = home({ npmCommand, packages: ["npm:fake@1.0.0", "npm:fake2@1.0.0"], packageInstallTimeoutMs: 1500 });
  const rpc = startRpc({ home: place, script });
  expect(await names(rpc)).toEqual([]);
  expect(rpc.stderr).toMatch(/npm:fake@1\.0\.0 is not loaded: .* took too long/);
  expect(rpc.stderr).toMatch(/npm:fake2@1\.0\.0 is not loaded: .* took too long/);
  expect(existsSync(join(place, ".pi/agent/npm/node_modules/fake"))).toBe(false);
  expect(() => process.kill(Number(readFileSync(pidFile, "utf8")), 0)).toThrow(/ESRCH/);
});

test("an installation that is interrupted is taken back", async () => {
  const dir = tempDir();
  const { npmCommand } = fakeNpm(`put("1.0.0"); writeFileSync(${JSON.stringify(join(dir, "ready"))}, String(process.pid)); setInterval(() => {}, 1000);`);
  const place = home({ npmCommand });
  const { cwd, env } = preparePlaces({ home: place });
  const child = spawn(process.execPath, [programPath, "install", "npm:fake@1.0.0"], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise((done) => child.on("close", (code) => done(code)));
  while (!existsSync(join(dir, "ready"))) await new Promise((resolve) => setTimeout(resolve, 20));
  child.kill("SIGTERM");
  expect(await exited).toBe(143);
  expect(existsSync(join(place, ".pi/agent/npm/node_modules/fake"))).toBe(false);
  expect(existsSync(join(place, ".pi/agent/npm/install.lock"))).toBe(false);
  expect(readJson(join(place, ".pi/agent/settings.json")).packages).toBeUndefined();
});

function git(cwd: string, ...args: string[]): string {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"];
  return execFileSync("git", [...identity, ...args], { cwd, encoding: "utf8" });
}

test("git packages: refs, updates, and a failing clone", async () => {
  const repository = write(tempDir(), { "prompts/first.md": "First" });
  git(repository, "init", "-q");
  git(repository, "add", ".");
  git(repository, "commit", "-qm", "one");
  git(repository, "tag", "v1");
  write(repository, { "prompts/second.md": "Second" });
  git(repository, "add", ".");
  git(repository, "commit", "-qm", "two");
  const place = home({});
  const cwd = tempDir();
  const run = (...args: string[]) => runPi({ home: place, cwd, args });
  const source = `git:file://${repository}`;
  const settings = join(place, ".pi/agent/settings.json");

  expect(await run("install", `${source}@v1`)).toMatchObject({ status: 0 });
  const directory = join(place, ".pi/agent/git/localhost", repository);
  expect(await names(startRpc({ home: place, cwd, script }))).toEqual(["first"]);
  expect((await run("list")).stdout).toContain(directory);

  expect(await run("install", source)).toMatchObject({ status: 0 });
  expect(readJson(settings).packages).toEqual([source]);
  expect(await names(startRpc({ home: place, cwd, script }))).toEqual(["first", "second"]);
  write(repository, { "prompts/third.md": "Third" });
  git(repository, "add", ".");
  git(repository, "commit", "-qm", "three");
  expect(await run("update", "--all")).toMatchObject({ status: 0, stdout: `${source}: up to date\n` });
  expect(readdirSync(join(directory, "prompts"))).toContain("third.md");

  for (const bad of [`${source}@no-such-ref`, `git:file://${repository}/nowhere`]) {
    expect(await run("install", bad), bad).toMatchObject({ status: 1, stdout: "" });
  }
  expect(readJson(settings).packages).toEqual([source]);
  expect(readdirSync(join(directory, "prompts")), "the working version stays").toContain("third.md");
  expect(readdirSync(join(place, ".pi/agent/git")).filter((name) => /stage|old|lock/.test(name))).toEqual([]);

  expect(await run("remove", source)).toMatchObject({ status: 0 });
  expect(existsSync(join(place, ".pi/agent/git/localhost"))).toBe(false);
});

test("a real package from the registry: its commands come over RPC, and go when it is removed", async ({ skip }) => {
  if (!(await isRegistryReachable())) skip("the package registry cannot be reached");
  const place = tempDir();
  const cwd = tempDir();
  // How this machine reaches the registry, and nothing else of it.
  const reach = Object.entries(process.env).filter(([name]) => /proxy|cert|ca_bundle|ca_file|^npm_config_(?!prefix)/i.test(name));
  const env = { ...Object.fromEntries(reach), npm_config_registry: execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim() };
  const source = "npm:@tintinweb/pi-subagents@0.14.1";
  const installed = await runPi({ home: place, cwd, env, args: ["install", source] });
  expect(installed, installed.stderr).toMatchObject({ status: 0, stdout: `Installed ${source}\n` });
  const packages = readdirSync(join(place, ".pi/agent/npm/node_modules"));
  expect(packages, "packages of the host are not installed").not.toContain("@mariozechner");
  const commands = async () => (await startRpc({ home: place, cwd, env, script }).ask("get_commands")).commands as { name: string; source: string }[];
  expect((await commands()).filter(({ source: kind }) => kind === "extension").map(({ name }) => name)).toContain("agents");
  expect((await runPi({ home: place, cwd, env, args: ["remove", source] })).status).toBe(0);
  expect(await commands()).toEqual([]);
}, 240_000);

const command = (name: string) => `export default (pi) => pi.registerCommand(${JSON.stringify(name)}, { description: "x", handler: async () => {} });\n`;

/** Asks again until the answer is the expected one; the test's own time limit ends it. */
async function until(rpc: RpcProcess, expected: string[]): Promise<void> {
  while ((await names(rpc)).join() !== expected.join()) await new Promise((resolve) => setTimeout(resolve, 50));
}

test("a running process notices what is installed and removed", async () => {
  const place = tempDir();
  const cwd = write(tempDir(), {
    "pack/extensions/e.ts": command("hello"),
    "pack/prompts/p.md": "P",
    "pack/skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\n",
  });
  const rpc = startRpc({ home: place, cwd, script });
  expect(await names(rpc)).toEqual([]);
  expect((await runPi({ home: place, cwd, args: ["install", "./pack"] })).status).toBe(0);
  await until(rpc, ["hello", "p", "skill:s"]);
  expect((await runPi({ home: place, cwd, args: ["config", "disable", "p"] })).status).toBe(0);
  await until(rpc, ["hello", "skill:s"]);
  expect((await runPi({ home: place, cwd, args: ["remove", "./pack"] })).status).toBe(0);
  await until(rpc, []);
  expect(rpc.stderr).toBe("");
});
