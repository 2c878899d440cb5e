import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { flatten, Kernel, KernelError } from "../../core/index.ts";
import { createAgent } from "../../src/agent.ts";
import { only, without } from "../../src/distribution.ts";
import ci from "../../src/distributions/ci.ts";
import minimal from "../../src/distributions/minimal.ts";
import pi from "../../src/distributions/pi.ts";
import { type Frame, programPath, repositoryRoot, runPi, tempDir } from "../helpers/pi.ts";

const head = 'import { defineDistribution, without } from "pi-kernel/distribution";\n';
const page = readFileSync(join(repositoryRoot, "docs/distributions.md"), "utf8");
const acme = /```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? "";

/** Builds a distribution in a directory of its own, inside the repository so that esbuild is found. */
function build(files: Record<string, string>, ...args: string[]): { directory: string; stdout: string } {
  const directory = tempDir("pi-distribution-");
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
  const env = { PATH: process.env.PATH, HOME: directory };
  const stdout = execFileSync(process.execPath, [programPath, "build", ...args, "--out", "out"], { cwd: directory, env, encoding: "utf8" });
  return { directory, stdout };
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
