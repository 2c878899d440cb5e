import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { Kernel, messageOf, type Options } from "../../core/index.ts";
import packages from "../../plugins/packages/index.ts";
import type { FilesOptions, ResourceKind, Resources } from "../../plugins/resources/contract.ts";
import resources from "../../plugins/resources/index.ts";
import settings from "../../plugins/settings/index.ts";
import trust from "../../plugins/trust/index.ts";
import { runPi, startRpc, tempDir } from "../helpers/pi.ts";

/** A home and a project in one temporary directory; names of files are relative to it. */
function world(files: Record<string, unknown> | string[]) {
  const root = tempDir();
  const entries = Array.isArray(files) ? files.map((name): [string, unknown] => [name, ""]) : Object.entries(files);
  const agent = join(root, "home/.pi/agent");
  mkdirSync(agent, { recursive: true });
  mkdirSync(join(root, "work"), { recursive: true });
  for (const [name, content] of entries) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  const open = async (options: Options = {}) => {
    const kernel = new Kernel();
    const faults: string[] = [];
    await kernel.useAll([
      { name: "watch", apply: (view) => void view.hooks.fault.tap("watch", ({ error }) => void faults.push(messageOf(error))) },
      settings,
      trust,
      resources,
      packages,
    ]);
    await kernel.start({ cwd: join(root, "work"), env: { HOME: join(root, "home") }, approve: true, ...options });
    const service = kernel.service("resources");
    const list = async (kind: ResourceKind, more?: FilesOptions) => (await service.files(kind, more)).map(({ path }) => relative(root, path));
    return { kernel, service, faults, list };
  };
  return { root, agent, open };
}

const E = "home/.pi/agent/extensions";

test("what a discovered directory may hold", async () => {
  const { root, open } = world({
    [`${E}/b.ts`]: "",
    [`${E}/a.js`]: "",
    [`${E}/no.mjs`]: "",
    [`${E}/no.tsx`]: "",
    [`${E}/no.d.ts`]: "",
    [`${E}/.hidden.ts`]: "",
    [`${E}/.gitignore`]: "ignored.ts\nignored-dir/\n",
    [`${E}/ignored.ts`]: "",
    [`${E}/ignored-dir/index.ts`]: "",
    [`${E}/index-dir/index.ts`]: "",
    [`${E}/index-dir/index.js`]: "",
    [`${E}/js-dir/index.js`]: "",
    [`${E}/deep/er/index.ts`]: "",
    [`${E}/manifest/package.json`]: `\uFEFF${JSON.stringify({ pi: { extensions: ["./src/x.ts", "./missing.ts", "y.ts"] } })}`,
    [`${E}/manifest/src/x.ts`]: "",
    [`${E}/manifest/y.ts`]: "",
    [`${E}/manifest/index.ts`]: "",
    [`${E}/missing/package.json`]: { pi: { extensions: ["nowhere.ts"] } },
    [`${E}/missing/index.ts`]: "",
    [`${E}/malformed/package.json`]: { pi: { extensions: ["x.ts", 5] } },
    [`${E}/malformed/index.ts`]: "",
    [`${E}/broken/package.json`]: "{",
    [`${E}/broken/index.ts`]: "",
    [`${E}/node_modules/x.ts`]: "",
    [`${E}/self/package.json`]: { pi: { extensions: ["."] } },
    [`${E}/self/index.ts`]: "",
    "elsewhere/linked.ts": "",
    "elsewhere/dir/index.ts": "",
  });
  symlinkSync(join(root, "elsewhere/linked.ts"), join(root, E, "link.ts"));
  symlinkSync(join(root, "elsewhere/linked.ts"), join(root, E, "z-again.ts"));
  symlinkSync(join(root, "elsewhere/dir"), join(root, E, "linkdir"));
  symlinkSync(join(root, E), join(root, E, "loop"));
  symlinkSync("/nowhere.ts", join(root, E, "dangling.ts"));
  const { list, faults } = await open();
  expect((await list("extensions")).map((path) => path.slice(E.length + 1))).toEqual([
    "a.js",
    "b.ts",
    "broken/index.ts",
    "index-dir/index.ts",
    "js-dir/index.js",
    "link.ts",
    "linkdir/index.ts",
    "malformed/index.ts",
    "manifest/src/x.ts",
    "manifest/y.ts",
    "missing/index.ts",
    "self/index.ts",
  ]);
  expect(faults).toEqual([
    expect.stringContaining("broken/package.json is ignored: it is not valid JSON"),
    expect.stringContaining('malformed/package.json: "pi.extensions" must be a list of strings'),
    expect.stringContaining('manifest/package.json: "pi.extensions" names ./missing.ts, which does not exist'),
    expect.stringContaining('missing/package.json: "pi.extensions" names nowhere.ts, which does not exist'),
  ]);
});

test("a directory with a manifest or an index is one set, and nothing else in it is scanned", async () => {
  const byIndex = await world([`${E}/index.ts`, `${E}/other.ts`]).open();
  expect(await byIndex.list("extensions")).toEqual([`${E}/index.ts`]);
  const byManifest = await world({ [`${E}/package.json`]: { pi: { extensions: ["b.ts"] } }, [`${E}/a.ts`]: "", [`${E}/b.ts`]: "" }).open();
  expect(await byManifest.list("extensions")).toEqual([`${E}/b.ts`]);
});

test("the order of places, with provenance; the first of a real path stays", async () => {
  const { root, agent, open } = world({
    "work/cli.ts": "",
    "work/.pi/settings.json": { extensions: ["../listed.ts"], packages: ["../ppack"] },
    "work/listed.ts": "",
    "work/.pi/extensions/found.ts": "",
    "home/.pi/agent/settings.json": { extensions: ["mine.ts", "~/tilde.ts"], packages: ["~/upack"] },
    "home/.pi/agent/mine.ts": "",
    "home/tilde.ts": "",
    [`${E}/user.ts`]: "",
    "work/ppack/extensions/p.ts": "",
    "home/upack/extensions/u.ts": "",
  });
  symlinkSync(join(root, "work/cli.ts"), join(root, E, "same.ts"));
  const { service, list } = await open({ extension: ["cli.ts"] });
  expect(await list("extensions")).toEqual([
    "work/cli.ts",
    "work/listed.ts",
    "work/.pi/extensions/found.ts",
    "home/.pi/agent/mine.ts",
    "home/tilde.ts",
    `${E}/user.ts`,
    "work/ppack/extensions/p.ts",
    "home/upack/extensions/u.ts",
  ]);
  const infos = (await service.files("extensions")).map(({ sourceInfo: { source, scope, origin, baseDir } }) => [source, scope, origin, baseDir]);
  expect(infos).toEqual([
    ["cli", "temporary", "top-level", join(root, "work")],
    ["local", "project", "top-level", join(root, "work/.pi")],
    ["auto", "project", "top-level", join(root, "work/.pi")],
    ["local", "user", "top-level", agent],
    ["local", "user", "top-level", agent],
    ["auto", "user", "top-level", agent],
    ["../ppack", "project", "package", join(root, "work/ppack")],
    ["~/upack", "user", "package", join(root, "home/upack")],
  ]);
  expect(await list("extensions", { withProject: false })).toEqual([
    "work/cli.ts",
    "home/.pi/agent/mine.ts",
    "home/tilde.ts",
    `${E}/user.ts`,
    "home/upack/extensions/u.ts",
  ]);
  const off = await open({ extension: ["cli.ts"], "no-extensions": true });
  expect(await off.list("extensions")).toEqual(["work/cli.ts"]);
  expect(paths(off.service)).toEqual([join(root, "work/cli.ts"), join(root, "work/cli.ts/package.json"), join(root, "work/cli.ts/extensions")]);
  const untrusted = await open({ approve: false });
  expect(await untrusted.list("extensions")).not.toContain("work/listed.ts");
  expect(paths(untrusted.service)).not.toContain(join(root, "work/.pi/extensions"));
});

test.each([
  [["~/notes/*.md"], ["home/notes/a.md", "home/notes/b.md"]],
  [["../../notes/**/?.md"], ["home/notes/a.md", "home/notes/b.md", "home/notes/in/c.md"]],
  [["own/*.md"], ["home/.pi/agent/own/d.md"]],
  [["*/d.md"], ["home/.pi/agent/own/d.md"]],
  [["ROOT/home/notes/i*/*.md"], ["home/notes/in/c.md"]],
])("a glob in the settings may lead anywhere: %j", async (prompts, expected) => {
  const notes = ["notes/a.md", "notes/b.md", "notes/in/c.md", ".pi/agent/own/d.md"].map((file) => `home/${file}`);
  const { root, agent, open } = world(notes);
  writeFileSync(join(agent, "settings.json"), JSON.stringify({ prompts: prompts.map((glob) => glob.replace("ROOT", root)) }));
  const { list, faults } = await open();
  expect({ found: await list("prompts"), faults }).toEqual({ found: expected, faults: [] });
});

const paths = (service: Resources) => service.places("extensions").map(({ path }) => path);

test("places are those of settings, directories and packages, also what does not exist yet", async () => {
  const { root, agent, open } = world({ "home/.pi/agent/settings.json": { extensions: ["x.ts"], packages: ["~/p"] }, "home/p/extensions/e.ts": "" });
  const { service, list } = await open();
  await list("extensions");
  expect(paths(service)).toEqual([
    join(root, "home/p/extensions/e.ts"),
    join(root, "work/.pi/extensions"),
    join(agent, "extensions"),
    join(agent, "x.ts"),
    join(root, "home/p/package.json"),
    join(root, "home/p/extensions"),
  ]);
});

test("-e takes files, directories, packages and names of builtin extensions", async () => {
  const { open } = world({
    "work/dir/index.ts": "",
    "work/plain/a.ts": "",
    "work/pack/extensions/x.ts": "",
    "work/pack/skills/s/SKILL.md": "",
    "work/pack/prompts/p.md": "",
    "work/manifest/package.json": { pi: { extensions: ["e.ts"], prompts: ["texts/*.md"] } },
    "work/manifest/e.ts": "",
    "work/manifest/texts/t.md": "",
    "work/manifest/prompts/not-listed.md": "",
  });
  const { list, service } = await open({ extension: ["dir", "plain", "pack", "manifest", "missing.ts", "~/gone.ts"] });
  expect(await list("extensions")).toEqual([
    "work/dir/index.ts",
    "work/plain/a.ts",
    "work/pack/extensions/x.ts",
    "work/manifest/e.ts",
    "work/missing.ts",
    "home/gone.ts",
  ]);
  expect(await list("skills")).toEqual(["work/pack/skills/s/SKILL.md"]);
  expect(await list("prompts")).toEqual(["work/pack/prompts/p.md", "work/manifest/texts/t.md"]);
  expect((await service.files("prompts"))[0]?.sourceInfo).toMatchObject({ source: "cli", scope: "temporary", origin: "package" });
});

test("builtin:NAME is an extension that comes with the program", async () => {
  const { root, agent, open } = world(["program/builtin-extensions/hello.ts", "program/builtin-extensions/big/index.ts"]);
  const { list, faults } = await open({ packageDir: join(root, "program/dist"), extension: ["builtin:hello", "builtin:big", "builtin:none"] });
  expect(await list("extensions")).toEqual(["program/builtin-extensions/hello.ts", "program/builtin-extensions/big/index.ts"]);
  expect(faults).toEqual(['There is no builtin extension "none"; there are big, hello']);
  writeFileSync(join(agent, "settings.json"), JSON.stringify({ extensions: ["builtin:hello"] }));
  const listed = await open({ packageDir: join(root, "program/dist") });
  expect(await listed.list("extensions")).toEqual(["program/builtin-extensions/hello.ts"]);
});

test("manifests: globs, exclusions, dot directories only by name", async () => {
  const { open } = world({
    "home/.pi/agent/settings.json": { packages: ["~/p"] },
    "home/p/package.json": { pi: { extensions: ["ext/**/*.ts", "!**/*.test.ts", "!ext/old"], skills: ["sk/*", ".dot/*"], prompts: ["./p", "!p/b.md"] } },
    "home/p/ext/a.ts": "",
    "home/p/ext/a.test.ts": "",
    "home/p/ext/deep/b.ts": "",
    "home/p/ext/.hidden/c.ts": "",
    "home/p/ext/node_modules/d.ts": "",
    "home/p/ext/notes.md": "",
    "home/p/sk/one/SKILL.md": "",
    "home/p/.dot/two/SKILL.md": "",
    "home/p/p/a.md": "",
    "home/p/p/b.md": "",
    "home/p/p/sub/c.md": "",
    "home/p/extensions/conventional.ts": "",
  });
  const { list } = await open();
  expect(await list("extensions")).toEqual(["home/p/ext/a.ts", "home/p/ext/deep/b.ts"]);
  expect(await list("skills")).toEqual(["home/p/sk/one/SKILL.md", "home/p/.dot/two/SKILL.md"]);
  expect(await list("prompts")).toEqual(["home/p/p/a.md", "home/p/p/sub/c.md"]);
});

test.each<[name: string, user: unknown, project: unknown, expected: string[]]>([
  ["all", "~/p", undefined, ["a", "b", "c"]],
  ["none", { source: "~/p", prompts: [] }, undefined, []],
  ["other kinds stay", { source: "~/p", skills: [] }, undefined, ["a", "b", "c"]],
  ["only matches", { source: "~/p", prompts: ["prompts/[ab].md", "prompts/*c.md"] }, undefined, ["c"]],
  ["only named", { source: "~/p", prompts: ["prompts/b.md"] }, undefined, ["b"]],
  ["without", { source: "~/p", prompts: ["!a.md"] }, undefined, ["b", "c"]],
  ["back in", { source: "~/p", prompts: ["!*", "+prompts/c.md"] }, undefined, ["c"]],
  ["out for good", { source: "~/p", prompts: ["*", "+prompts/a.md", "-prompts/a.md"] }, undefined, ["b", "c"]],
  ["nothing that is not declared", { source: "~/p", prompts: ["secret/*.md", "+secret/s.md"] }, undefined, []],
  ["autoload off", { source: "~/p", autoload: false }, undefined, []],
  ["autoload off but named", { source: "~/p", autoload: false, prompts: ["+prompts/b.md"] }, undefined, ["b"]],
  ["the project's entry instead of the user's", { source: "~/p", prompts: [] }, { source: "../../home/p", prompts: ["!b.md"] }, ["a", "c"]],
  ["the project's filters on top", { source: "~/p", prompts: ["!a.md"] }, { source: "../../home/p", autoload: false, prompts: ["-prompts/b.md"] }, ["c"]],
  ["on top, taking in", { source: "~/p", prompts: ["!a.md", "!b.md"] }, { source: "../../home/p", autoload: false, prompts: ["+prompts/a.md"] }, ["a", "c"]],
])("package filters: %s", async (_, user, project, expected) => {
  const { open } = world({
    "home/.pi/agent/settings.json": { packages: [user] },
    "work/.pi/settings.json": { packages: project === undefined ? [] : [project] },
    "home/p/prompts/a.md": "",
    "home/p/prompts/b.md": "",
    "home/p/prompts/c.md": "",
    "home/p/secret/s.md": "",
  });
  const { list, faults } = await open();
  expect((await list("prompts")).map((path) => path.slice(-4, -3))).toEqual(expected);
  expect(faults).toEqual([]);
});

test("bad input: missing paths, unreadable directories, cyclic links and bad sources are said and passed over", async () => {
  const { root, agent, open } = world({
    "home/.pi/agent/settings.json": { extensions: ["gone.ts"], prompts: ["closed"], packages: ["~/nowhere", "npm:-g", "git:x", "npm:../up"] },
    "home/.pi/agent/closed/x.md": "",
  });
  symlinkSync(join(agent, "b"), join(agent, "a"));
  symlinkSync(join(agent, "a"), join(agent, "b"));
  mkdirSync(join(agent, "skills"));
  symlinkSync(join(agent, "a"), join(agent, "skills/cycle"));
  chmodSync(join(agent, "closed"), 0o000);
  const { list, faults } = await open({ skill: ["no-skill"], "prompt-template": ["no-prompt"] });
  expect(await list("extensions")).toEqual([]);
  await list("skills");
  await list("prompts");
  await list("prompts");
  chmodSync(join(agent, "closed"), 0o700);
  const isRoot = process.getuid?.() === 0;
  expect(faults.filter((fault) => !fault.includes("EACCES"))).toEqual([
    `${agent}/settings.json: "extensions" names ${agent}/gone.ts, which does not exist`,
    'packages: "npm:-g" is no npm package (expected npm:NAME or npm:NAME@VERSION)',
    'packages: "git:x" is no git repository (expected git:HOST/OWNER/REPO, optionally with @REF)',
    'packages: "npm:../up" is no npm package (expected npm:NAME or npm:NAME@VERSION)',
    `${agent}/settings.json: the package ${root}/home/nowhere does not exist`,
    `--skill ${root}/work/no-skill does not exist`,
    `--prompt-template ${root}/work/no-prompt does not exist`,
  ]);
  expect(faults.some((fault) => fault.includes("EACCES"))).toBe(!isRoot);
});

test("paths from extensions come last and count after a reload", async () => {
  const { root, open } = world(["work/more/a.md", "work/one.md", "home/.pi/agent/prompts/u.md"]);
  const { service, list } = await open();
  let changes = 0;
  service.hooks.changed.tap("test", () => void changes++);
  const info = { path: "x", source: "extension:demo", scope: "temporary", origin: "top-level" } as const;
  const undo = service.addDiscovered("prompts", ["more", join(root, "work/one.md"), "missing"], info);
  await service.reload();
  expect(changes).toBe(1);
  expect(await list("prompts")).toEqual(["home/.pi/agent/prompts/u.md", "work/more/a.md", "work/one.md"]);
  expect((await service.files("prompts"))[1]?.sourceInfo).toEqual({ ...info, path: join(root, "work/more/a.md") });
  undo();
  expect(await list("prompts")).toEqual(["home/.pi/agent/prompts/u.md"]);
});

test("config shows what loads and why, and switches single resources", async () => {
  const home = tempDir();
  const agentFiles = {
    "prompts/a.md": "A",
    "prompts/b.md": "B",
    "skills/s/SKILL.md": "---\ndescription: x\n---\n",
    "settings.json": JSON.stringify({ prompts: ["!b.md"], packages: ["../../pack"], theme: "dark" }),
    "../../pack/prompts/p.md": "P",
    "../../pack/prompts/q.md": "Q",
  };
  const cwd = tempDir();
  const agent = join(home, ".pi/agent");
  const run = (...args: string[]) => runPi({ home, cwd, args: ["config", ...args] });
  const first = await runPi({ home, cwd, agentFiles, args: ["config"] });
  expect(first.stdout).toContain(`on   ${agent}/prompts/a.md  (found in ${agent})`);
  expect(first.stdout).toContain(`off  ${agent}/prompts/b.md`);
  expect(first.stdout).toContain(`on   ${home}/pack/prompts/p.md  (user package ../../pack)`);
  expect(await run("enable", "b")).toMatchObject({ status: 0, stdout: `Enabled ${agent}/prompts/b.md\n` });
  expect(await run("disable", "a")).toMatchObject({ status: 0 });
  expect(await run("disable", join(home, "pack/prompts/p.md"))).toMatchObject({ status: 0 });
  expect(await run("disable", "s")).toMatchObject({ status: 0 });
  const after = (await run()).stdout;
  for (const line of [
    `off  ${agent}/prompts/a.md`,
    `on   ${agent}/prompts/b.md`,
    `off  ${home}/pack/prompts/p.md`,
    `on   ${home}/pack/prompts/q.md`,
    `off  ${agent}/skills/s`,
  ]) {
    expect(after).toContain(line);
  }
  expect(await run("disable", "nothing")).toMatchObject({ status: 1, stderr: 'Error: There is no resource "nothing"; "config" lists them.\n' });
  expect(await run("explode")).toMatchObject({ status: 1 });
});

test("an extension may bring skills and prompts, which go with it", async () => {
  const home = tempDir();
  const rpc = startRpc({
    home,
    script: { responses: ["ok"], repeat: true },
    files: { "more/x.md": "X", "sk/s/SKILL.md": "---\nname: s\ndescription: d\n---\n" },
    agentFiles: { "extensions/bring.ts": `export default (pi) => pi.on("resources_discover", () => ({ promptPaths: ["more"], skillPaths: ["sk"] }));` },
  });
  const names = async () => (await rpc.ask("get_commands")).commands.map(({ name }: { name: string }) => name);
  while ((await names()).length < 2) await new Promise((resolve) => setTimeout(resolve, 50));
  const { commands } = await rpc.ask("get_commands");
  expect(commands).toMatchObject([
    { name: "x", sourceInfo: { source: "extension:bring", scope: "temporary", path: join(rpc.places.cwd, "more/x.md") } },
    { name: "skill:s", sourceInfo: { source: "extension:bring" } },
  ]);
  rmSync(join(home, ".pi/agent/extensions/bring.ts"));
  while ((await names()).length > 0) await new Promise((resolve) => setTimeout(resolve, 50));
});
