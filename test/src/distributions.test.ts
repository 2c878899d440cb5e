import { execFileSync, spawn, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { flatten, Kernel, KernelError } from "../../core/index.ts";
import { createAgent } from "../../src/agent.ts";
import { bytesByInput, packagesOf } from "../../src/build/manifest.ts";
import { only, without } from "../../src/distribution.ts";
import ci from "../../src/distributions/ci.ts";
import minimal from "../../src/distributions/minimal.ts";
import pi from "../../src/distributions/pi.ts";
import { type Frame, programPath, repositoryRoot, runPi, tempDir } from "../helpers/pi.ts";

const head = 'import { defineDistribution, without } from "pi-kernel/distribution";\n';
const page = readFileSync(join(repositoryRoot, "docs/distributions.md"), "utf8");
const acme = /```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? "";

/** A team's modules with what is easily broken on the way into a file: side effects, other alphabets, ends of comments, places. */
const team = {
  "order.ts": "export const order: string[] = [];",
  "first.ts": 'import { order } from "./order.ts"; order.push("first");',
  "shared.ts": 'import { order } from "./order.ts"; order.push("shared"); export const shared = 1;',
  "late.ts":
    'import { readFileSync } from "node:fs"; import { order } from "./order.ts"; import { shared } from "./shared.ts"; order.push("late"); export const value = shared + typeof readFileSync;',
  "team.ts": `import { defineDistribution } from "pi-kernel/distribution";
import minimal from "pi-kernel/distributions/minimal";
import { transport } from "pi-kernel/plugin";
import { order } from "./order.ts";
import "./first.ts";
import { shared } from "./shared.ts";
void shared;
const words = transport({
  name: "words",
  mode: "words",
  serve: async (io) => {
    const { value } = await import("./late.ts");
    const found = ["*/", "äöü€😀\u2028".replace(/[äö]*/u, ""), /[^€-😀]+/u.exec("abc€😀")?.[0], \`tick \\\` \${/\\/*/.source} é\`, "\u0001".length, value];
    io.stdout.write(JSON.stringify({ found, order, meta: [import.meta.filename, import.meta.url, import.meta.dirname] }));
    return 0;
  },
});
export default defineDistribution({ name: "team", plugins: [minimal, words] });
`,
};

/** Builds a distribution in a directory of its own, inside the repository so that esbuild is found. */
function build(files: Record<string, string>, ...args: string[]): { directory: string; stdout: string; stderr: string } {
  const directory = tempDir("pi-distribution-");
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
  const env = { PATH: process.env.PATH, HOME: directory };
  const { stdout, stderr, status } = spawnSync(process.execPath, [programPath, "build", ...args, "--out", "out"], { cwd: directory, env, encoding: "utf8" });
  expect(status, stderr).toBe(0);
  return { directory, stdout, stderr };
}

/** Runs one built file in an empty directory with only Node, sending `records` and answering what it wrote. */
async function converse(
  file: string,
  args: string[],
  steps: (send: (record: object) => void, until: (type: string) => Promise<Frame>, home: string) => Promise<void>,
): Promise<void> {
  const cwd = tempDir("pi-empty-");
  const home = tempDir("pi-home-");
  copyFileSync(file, join(cwd, "agent.mjs"));
  const child = spawn(process.execPath, ["agent.mjs", ...args], { cwd, env: { PATH: process.env.PATH, HOME: home }, stdio: ["pipe", "pipe", "inherit"] });
  const frames: Frame[] = [];
  let read = 0;
  let wake = () => {};
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    frames.push(...lines.map((line) => JSON.parse(line)));
    wake();
  });
  const until = async (type: string) => {
    for (;;) {
      while (read < frames.length) {
        const frame = frames[read++] as Frame;
        if (frame.type === type) return frame;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  try {
    await steps((record) => child.stdin.write(`${JSON.stringify(record)}\n`), until, home);
  } finally {
    child.stdin.end();
    await new Promise((resolve) => child.on("close", resolve));
  }
}

describe("lists", () => {
  it("without and only choose by name, and refuse unknown names with a suggestion", () => {
    expect(without(pi, "retry").map(({ name }) => name)).not.toContain("retry");
    expect(only(pi, "tool:read", "tool:ls").map(({ name }) => name)).toEqual(["tool:read", "tool:ls"]);
    expect(() => without(pi, "retyr")).toThrow('There is no plugin "retyr" in the list; did you mean "retry"?');
    expect(() => only(pi, "xyzzy-nothing-like-it")).toThrow('There is no plugin "xyzzy-nothing-like-it" in the list.');
  });

  it.each([
    ["pi", pi],
    ["minimal", minimal],
    ["ci", ci],
  ])("%s loads and unloads without a trace", async (_, list) => {
    const kernel = new Kernel();
    await kernel.useAll(list);
    await kernel.removeAll();
    expect(kernel.leftovers()).toEqual([]);
  });
});

it("ci offers all of its tools, unless the distribution chooses others", async () => {
  const file = (more: string) =>
    `import { defineDistribution } from "pi-kernel/distribution";\nimport ci from "pi-kernel/distributions/ci";\nexport default defineDistribution({ name: "ci", plugins: ci${more} });`;
  const script = (tools: string[]) => ({ responses: [{ text: "Fine.", expect: { tools } }] });
  const args = ["--distribution", "ci.ts", "-p", "hi"];
  const all = await runPi({ files: { "ci.ts": file("") }, args, script: script(["read", "grep", "find", "ls"]) });
  expect(all).toMatchObject({ stdout: "Fine.\n", status: 0 });
  const chosen = file(', defaults: { defaultTools: ["ls"] }');
  expect(await runPi({ files: { "ci.ts": chosen }, args, script: script(["ls"]) })).toMatchObject({ stdout: "Fine.\n", status: 0 });
});

describe("each plugin can be left out", () => {
  const names = flatten(pi).map(({ name }) => name);

  it.each(names)("%s: the agent starts and answers, or says in one sentence who needs it", async (name) => {
    const home = tempDir("pi-home-");
    const start = () =>
      createAgent({
        plugins: without(pi, name),
        cwd: tempDir("pi-cwd-"),
        options: { model: "offline/demo", "no-session": true, env: { HOME: home, PATH: process.env.PATH } },
      });
    const agent = await start().catch((error: unknown) => {
      expect(error).toBeInstanceOf(KernelError);
      expect((error as Error).message).toMatch(/^[^\n]*(needs the service|No plugin provides|not found|Unknown|unknown)[^\n]*$/);
      return undefined;
    });
    if (!agent) return;
    const outcome = await agent.prompt("think about it").then(
      () => "answered",
      (error: Error) => error.message,
    );
    expect(outcome).toMatch(/^(answered|[^\n]*(needs|No plugin provides|No model|No provider)[^\n]*)$/);
    if (name.startsWith("command:")) expect(agent.kernel.registry("commands").has(name.slice("command:".length))).toBe(false);
    if (name.startsWith("tool:")) expect(agent.kernel.registry("tools").has(name.slice("tool:".length))).toBe(false);
    await agent.stop();
    expect(agent.kernel.leftovers()).toEqual([]);
  });
});

describe("the page's walk", () => {
  it("is under 100 lines and runs with one of each", async () => {
    expect(acme.trim().split("\n").length).toBeLessThan(100);
    const files = { "acme.ts": acme };
    const run = (...args: string[]) => runPi({ files, args: ["--distribution", "acme.ts", ...args] });
    expect((await run("Hello")).stdout).toContain("You said:");
    expect(await run("--mode", "hello")).toMatchObject({ stdout: "Hello from acme.\n", status: 0 });
    expect((await run("--help")).stdout).toMatch(/^Usage: acme-agent/);
    const inspected = JSON.parse((await runPi({ files, args: ["inspect", "acme.ts", "--json"] })).stdout);
    expect(inspected.tools).toContain("clock");
    expect(inspected.tools).not.toContain("bash");
    expect(inspected.commands).toContain("acme_who_am_i");
    expect(inspected.providers).not.toContain("openai-responses");
  });
});

describe("building", () => {
  it("minimal becomes one file that answers, runs a tool and hot-reloads a user's extension in an empty directory", async () => {
    const files = {
      "tiny.ts": `${head}import minimal from "pi-kernel/distributions/minimal";\nexport default defineDistribution({ name: "tiny", version: "1.2.3", plugins: minimal });`,
    };
    const { directory, stdout } = build(files, "tiny.ts");
    expect(readdirSync(join(directory, "out")).sort()).toEqual(["tiny.manifest.json", "tiny.mjs"]);
    const manifest = JSON.parse(readFileSync(join(directory, "out/tiny.manifest.json"), "utf8"));
    expect(manifest.tools).toEqual(["read", "bash"]);
    const packages = manifest.packages.map(({ name }: { name: string }) => name);
    expect(packages).not.toContain("openai");
    expect(packages).not.toContain("@anthropic-ai/sdk");
    expect(stdout).toContain("tiny 1.2.3");
    await converse(join(directory, "out/tiny.mjs"), ["--mode", "rpc", "--model", "offline/demo"], async (send, until, home) => {
      send({ id: "s", type: "get_state" });
      expect(await until("response")).toMatchObject({ success: true, data: { model: { id: "demo" } } });
      send({ type: "prompt", message: "run `echo built`" });
      expect(await until("tool_execution_end")).toMatchObject({ result: { content: [{ text: "built\n" }] } });
      await until("agent_settled");
      const extensions = join(home, ".tiny/agent/extensions");
      mkdirSync(extensions, { recursive: true });
      const source = (text: string) =>
        `import { Type } from "@sinclair/typebox";\nexport default (pi) => { void Type; pi.registerCommand("hi", { handler: async (_, ctx) => ctx.ui.notify("${text}") }); };`;
      writeFileSync(join(extensions, "hi.ts"), source("one"));
      expect(await until("extension_reload")).toMatchObject({ success: true });
      send({ type: "prompt", message: "/hi" });
      expect(await until("extension_ui_request")).toMatchObject({ message: "one" });
      writeFileSync(join(extensions, "hi.ts"), source("two"));
      expect(await until("extension_reload")).toMatchObject({ success: true });
      send({ type: "prompt", message: "/hi" });
      expect(await until("extension_ui_request")).toMatchObject({ message: "two" });
    });
  });

  it("starts with a code cache of its own, from one file or with chunks, and means the same as its sources", () => {
    const { directory } = build(team, "team.ts");
    const run = (file: string, home: string, env = {}) =>
      spawnSync(process.execPath, [file, "--mode", "words"], {
        cwd: tempDir("pi-cwd-"),
        env: { PATH: process.env.PATH, HOME: home, ...env },
        encoding: "utf8",
      });
    const chunked = build(team, "team.ts", "--chunks").directory;
    expect(readdirSync(join(chunked, "out/chunks"))).toContain("babel.cjs");
    for (const file of [join(directory, "out/team.mjs"), join(chunked, "out/team.mjs")]) {
      const home = tempDir("pi-home-");
      expect(readFileSync(file, "utf8")).toMatch(/^[\t\n\r\x01\x20-\x7e]*$/);
      // New, and from its cache.
      for (let start = 0; start < 2; start++) {
        const { stdout, stderr } = run(file, home);
        expect(stderr).toBe("");
        const { found, order, meta } = JSON.parse(stdout);
        expect(found).toEqual(["*/", "ü€😀\u2028", "abc", "tick ` \\/* é", 1, "1function"]);
        expect(order.sort()).toEqual(["first", "late", "shared"]);
        expect(meta).toEqual([realpathSync(file), pathToFileURL(realpathSync(file)).href, dirname(realpathSync(file))]);
      }
      const caches = readdirSync(join(home, ".cache"));
      expect(caches).toEqual(["team"]);
      expect(readdirSync(join(home, ".cache/team"), { recursive: true }).some((name) => String(name).endsWith("core.cjs.bin"))).toBe(true);
      const without = tempDir("pi-home-");
      expect(run(file, without, { TEAM_NO_CODE_CACHE: "1" }).status).toBe(0);
      expect(existsSync(join(without, ".cache"))).toBe(false);
    }
  });

  it("a module that awaits at its top level is built whole, and that is said", async () => {
    const waiting = team["team.ts"].replace("export default", "void (await Promise.resolve());\nexport default");
    const { directory, stderr } = build({ ...team, "team.ts": waiting }, "team.ts");
    expect(stderr).toContain("starts slower than it could");
    const home = tempDir("pi-home-");
    const { stdout } = spawnSync(process.execPath, [join(directory, "out/team.mjs"), "--mode", "words"], {
      env: { PATH: process.env.PATH, HOME: home },
      encoding: "utf8",
    });
    expect(JSON.parse(stdout).order).toEqual(["first", "shared", "late"]);
  });

  it("with chunks it contains no more than without, also where an earlier build had more", () => {
    const list = (plugins: string) =>
      `${head}import pi from "pi-kernel/distributions/pi";\nimport minimal from "pi-kernel/distributions/minimal";\nvoid [pi, minimal];\nexport default defineDistribution({ name: "tiny", envPrefix: "3D", version: "1.0 beta/2", plugins: ${plugins} });`;
    const { directory } = build({ "tiny.ts": list("pi") }, "tiny.ts", "--chunks");
    const chunks = () => readdirSync(join(directory, "out/chunks")).join(" ");
    expect(chunks()).toMatch(/anthropic-messages/);
    writeFileSync(join(directory, "tiny.ts"), list("minimal"));
    const env = { PATH: process.env.PATH, HOME: directory };
    execFileSync(process.execPath, [programPath, "build", "tiny.ts", "--chunks", "--out", "out"], { cwd: directory, env });
    expect(chunks()).not.toMatch(/anthropic|openai|authoring|create/);
    expect(spawnSync(process.execPath, [join(directory, "out/tiny.mjs"), "--version"], { env, encoding: "utf8" }).status).toBe(0);
  });

  it("leaves nothing of ours visible and nothing of what was left out inside", async () => {
    const { directory } = build({ "acme.ts": acme }, "acme.ts");
    const manifest = JSON.parse(readFileSync(join(directory, "out/acme-agent.manifest.json"), "utf8"));
    expect(manifest.tools).not.toContain("bash");
    expect(manifest.tools).toContain("clock");
    const help = execFileSync(process.execPath, [join(directory, "out/acme-agent.mjs"), "--help"], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, HOME: directory },
    });
    expect(help).toMatch(/^Usage: acme-agent/);
    expect(help).not.toMatch(/Usage: pi|~\/\.pi\b|pi-kernel|\bPI_/);
    expect(help).not.toMatch(/\bbuild <distribution/);
  });

  it("with --chunks the same, in pieces that are read when they are needed", async () => {
    const { directory } = build({ "acme.ts": acme }, "acme.ts", "--chunks");
    expect(readdirSync(join(directory, "out")).sort()).toEqual(["acme-agent.manifest.json", "acme-agent.mjs", "chunks"]);
    const env = { PATH: process.env.PATH, HOME: directory };
    expect(execFileSync(process.execPath, [join(directory, "out/acme-agent.mjs"), "Hello"], { cwd: tempDir(), env, encoding: "utf8" })).toContain("You said:");
  });

  it("names packages wherever they lie, and of two versions both", () => {
    const place = tempDir();
    for (const [folder, version] of Object.entries({ "node_modules/openai": "6.0.0", "node_modules/pi-kernel/node_modules/openai": "5.0.0" })) {
      mkdirSync(join(place, folder), { recursive: true });
      writeFileSync(join(place, folder, "package.json"), JSON.stringify({ version, license: "MIT" }));
    }
    const root = join(place, "node_modules/pi-kernel");
    const sizes = {
      "../openai/index.js": 3,
      "node_modules/openai/index.js": 2,
      "core/kernel.ts": 5,
      [`compiled:${root}/builtin-extensions/x.ts`]: 7,
      "../../acme.ts": 1,
    };
    const inputs = Object.fromEntries(Object.entries(sizes).map(([input, bytesInOutput]) => [input, { bytesInOutput }]));
    const bytes = bytesByInput({ inputs: {}, outputs: { out: { inputs, bytes: 18, imports: [], exports: [] } } }, root);
    expect(packagesOf(bytes)).toEqual([
      { name: "openai", version: "6.0.0", license: "MIT", bytes: 3 },
      { name: "openai", version: "5.0.0", license: "MIT", bytes: 2 },
    ]);
    expect(bytes.has(join(place, "node_modules/openai/index.js"))).toBe(true);
    expect(bytes.get("builtin-extensions/x.ts")).toBe(7);
  });

  it.each([
    ["no output directory", ["acme.ts"], "build needs a directory of its own"],
    ["a missing file", ["nowhere.ts", "--out", "out"], "nowhere.ts does not exist"],
    ["no file at all", ["--out", "out"], "Usage: pi build"],
    ["a broken file", ["broken.ts", "--out", "out"], "broken.ts cannot be used"],
  ])("%s is one clear sentence", async (_, args, message) => {
    const result = await runPi({ files: { "acme.ts": acme, "broken.ts": "export default {{" }, args: ["build", ...args] });
    expect(result).toMatchObject({ stdout: "", status: 1, stderr: expect.stringContaining(message) });
    expect(result.stderr.trim().split("\n")).toHaveLength(1);
  });
});

describe("the SDK", () => {
  it("runs twenty agents at once without shared state and without touching process globals", async () => {
    const globals = () => [process.stdout, globalThis.setTimeout, process.exit, process.listenerCount("SIGTERM"), process.listenerCount("uncaughtException")];
    const before = globals();
    const agents = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const cwd = tempDir("pi-cwd-");
        writeFileSync(join(cwd, `file-${index}.txt`), "");
        const options = { model: "offline/demo", "no-session": true, env: { HOME: cwd, PATH: process.env.PATH } };
        return createAgent({ plugins: pi, cwd, options });
      }),
    );
    const settled = agents.map(async (agent) => {
      const types: string[] = [];
      for await (const event of agent.events()) {
        types.push(event.type);
        if (event.type === "agent_settled") return types;
      }
      return types;
    });
    await Promise.all(agents.map((agent) => agent.prompt("List the files here")));
    expect((await Promise.all(settled)).every((types) => types.filter((type) => type === "agent_start").length === 1)).toBe(true);
    for (const [index, agent] of agents.entries()) {
      const text = JSON.stringify(agent.messages().at(-1));
      expect(text).toContain(`file-${index}.txt`);
      expect(text.match(/file-\d+\.txt/g)).toHaveLength(1);
    }
    await Promise.all(agents.map((agent) => agent.stop()));
    expect(globals()).toEqual(before);
  });
});
