import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { programPath, repositoryRoot, runPi, tempDir } from "../helpers/pi.ts";

const run = (cwd: string, ...args: string[]) => runPi({ cwd, args });

/** A build elsewhere does not find the types of the package. */
const hasTypes = programPath.startsWith(repositoryRoot);

/** A directory with TypeScript installed. */
function typed(): string {
  const cwd = tempDir();
  mkdirSync(join(cwd, "node_modules/@types"), { recursive: true });
  for (const name of ["typescript", "@types/node"]) symlinkSync(join(repositoryRoot, "node_modules", name), join(cwd, "node_modules", name));
  return cwd;
}

describe("create extension", () => {
  it("writes one file that checks and runs, tells three commands, and never overwrites", async () => {
    const cwd = typed();
    const created = await run(cwd, "create", "extension", "hello-there");
    expect(created.status).toBe(0);
    const next = created.stdout.split("Next:\n")[1]?.trim().split("\n");
    expect(next?.map((line) => line.trim())).toEqual(["pi ext check hello-there.ts", "pi dev hello-there.ts", "pi --extension ./hello-there.ts"]);
    const checked = await run(cwd, "ext", "check", "hello-there.ts", "--strict");
    expect(checked.stdout).toContain("command /hello-there; tool hello_there; handlers of session_start");
    if (hasTypes) expect(checked.stdout).toContain("checked with TypeScript");
    expect(checked.stdout).toContain("Nothing to complain about.");
    expect(checked.status).toBe(0);

    writeFileSync(join(cwd, "hello-there.ts"), "mine");
    const again = await run(cwd, "create", "extension", "hello-there");
    expect(again).toMatchObject({ status: 1, stdout: "", stderr: "Error: hello-there.ts exists already and is left as it is.\n" });
    expect(readFileSync(join(cwd, "hello-there.ts"), "utf8")).toBe("mine");
  });

  it("--package refuses a directory that is there", async () => {
    const cwd = tempDir();
    mkdirSync(join(cwd, "mine"));
    expect(await run(cwd, "create", "extension", "mine", "--package")).toMatchObject({
      status: 1,
      stderr: "Error: mine exists already and is left as it is.\n",
    });
    expect(existsSync(join(cwd, "mine/package.json"))).toBe(false);
  });

  it("refuses what is no name, and says how it is called", async () => {
    const cwd = tempDir();
    expect((await run(cwd, "create", "extension", "../x")).stderr).toContain('"../x" is no name for an extension');
    expect((await run(cwd, "create", "thing")).stderr).toBe("Error: Usage: pi create extension <name> [--package]\n");
  });
});

describe("ext check", () => {
  const check = async (source: string, { cwd = tempDir(), args = ["--no-types"] }: { cwd?: string; args?: string[] } = {}) => {
    writeFileSync(join(cwd, "x.ts"), source);
    const done = await run(cwd, "ext", "check", "x.ts", "--json", ...args);
    return { ...done, report: JSON.parse(done.stdout).extensions[0] };
  };
  const messages = (report: any, kind: string) => report.problems.filter((problem: any) => problem.kind === kind).map(({ message }: any) => message);

  it("finds unknown names, but not types, in imports of the API, in all own files", async () => {
    const cwd = tempDir();
    writeFileSync(join(cwd, "help.ts"), 'import { truncateHad } from "@earendil-works/pi-coding-agent";\nexport const help = () => truncateHad;\n');
    const { status, report } = await check(
      `import { ExtensionAPI, getAgentDir } from "@mariozechner/pi-coding-agent";
       import * as ai from "@mariozechner/pi-ai";
       import { help } from "./help.js";
       export default (pi: ExtensionAPI) => { help(); getAgentDir(); ai.noSuchThing; };`,
      { cwd },
    );
    expect(status).toBe(1);
    expect(messages(report, "import")).toEqual([
      expect.stringContaining('"@mariozechner/pi-ai" has no "noSuchThing"'),
      expect.stringContaining(`${join(cwd, "help.ts")}: "@earendil-works/pi-coding-agent" has no "truncateHad"; did you mean "truncateHead"?`),
    ]);
  });

  it("says what cannot be imported, and where a load fails", async () => {
    const missing = await check('import x from "not-installed-anywhere";\nexport default () => x;');
    expect(messages(missing.report, "import")).toEqual([expect.stringContaining("not-installed-anywhere")]);
    const broken = await check("export default (pi) => {\n  pi.registerTool({ name: 'x' });\n};");
    expect(messages(broken.report, "load")).toEqual([expect.stringMatching(/The tool "x" needs parameters.*x\.ts:2/)]);
    const syntax = await check("export default (pi) => {\n  pi.on(;\n};");
    expect(messages(syntax.report, "load")).toEqual([expect.stringMatching(/x\.ts:2/)]);
    const gone = await run(tempDir(), "ext", "check", "gone.ts");
    expect(gone.status).toBe(1);
    expect(gone.stdout).toContain("does not exist");
    const cwd = tempDir();
    for (const [name, manifest, problem] of [
      ["torn", '{ "pi": { "extensions": ["x.ts"', "package.json is ignored: it is not valid JSON"],
      ["typo", '{ "pi": { "extensions": ["y.ts"] } }', '"pi.extensions" names y.ts, which does not exist'],
    ] as const) {
      mkdirSync(join(cwd, name));
      writeFileSync(join(cwd, name, "package.json"), manifest);
      const { status, stdout } = await run(cwd, "ext", "check", name);
      expect({ status, stdout }).toEqual({ status: 1, stdout: expect.stringContaining(problem) });
      expect(stdout).toContain(`There is no extension in ${join(cwd, name)}`);
    }
  });

  it("finds handlers of unknown events and mistakes in schemas", async () => {
    const { status, report } = await check(`export default (pi: any) => {
      pi.on("tool_cal", () => {});
      pi.registerTool({ name: "a b", description: "d", parameters: { type: "object", required: ["c"], properties: { n: { type: "strin" }, p: { type: "string", pattern: "(" } } }, execute() {} });
      pi.registerTool({ name: "list", description: "", parameters: { type: "array" }, execute() {} });
    };`);
    expect(status).toBe(1);
    expect(messages(report, "event")).toEqual(['There is no event "tool_cal", so its handler is never called; did you mean "tool_call"?']);
    expect(messages(report, "schema").join("\n")).toMatch(
      /letters, digits[\s\S]*requires "c"[\s\S]*unknown type "strin"[\s\S]*no regular expression[\s\S]*type "object"[\s\S]*without a description/,
    );
  });

  it("counts what is left after session_shutdown; only --strict minds", async () => {
    const source = (end: string) => `import { spawn } from "node:child_process";
      export default (pi: any) => {
        let timer: any, child: any;
        pi.on("session_start", () => { timer = setInterval(() => {}, 1000); child = spawn("sleep", ["100"]); });
        pi.on("session_shutdown", () => { ${end} });
      };`;
    const kept = await check(source(""));
    expect(kept.report).toMatchObject({ owns: { timers: 1, children: 1 }, leftover: { timers: 1, children: 1 } });
    expect(messages(kept.report, "leftover")).toEqual([expect.stringContaining("1 timer and 1 child process")]);
    expect(kept.status).toBe(0);
    expect((await check(source(""), { args: ["--no-types", "--strict"] })).status).toBe(1);
    const ended = await check(source("clearInterval(timer); child.kill(); return new Promise((done) => child.on('exit', done));"));
    expect(ended.report).toMatchObject({ owns: { timers: 1, children: 1 }, leftover: { timers: 0, children: 0 }, problems: [] });
  });

  it("reports failing handlers, and extensions that end the process", async () => {
    const failing = await check('export default (pi: any) => pi.on("session_start", () => { throw new Error("not today"); });');
    expect(messages(failing.report, "handler")).toEqual([expect.stringContaining("session_start: not today")]);
    const ending = await check("export default () => process.exit(3);");
    expect(ending.status).toBe(1);
    expect(ending.report.problems).toHaveLength(1);
  });

  it.runIf(hasTypes)("finds type errors where TypeScript is installed, with the API's types", async () => {
    const cwd = typed();
    const source = 'import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";\nexport default (pi: ExtensionAPI) => pi.setLabel(5, "x");\n';
    const { status, report } = await check(source, { cwd, args: [] });
    expect(status).toBe(1);
    expect(messages(report, "type")).toEqual([expect.stringMatching(/x\.ts\(2,\d+\): error TS\d+: .*number/)]);
  });

  it.runIf(hasTypes)("asks for no types of modules that the program serves, and still knows those of parameters", async () => {
    const source = (use: string) => `import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { complete, type Message, StringEnum } from "@mariozechner/pi-ai";
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import { Text } from "@earendil-works/pi-tui";
import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
const parameters = Type.Object({ kind: StringEnum(["a", "b"] as const), count: Type.Number() });
export default (pi: ExtensionAPI) => {
  const used: [unknown, unknown, Message?, AgentMessage?] = [complete, TypeCompiler];
  pi.registerTool({
    name: "x", label: "X", description: "x", parameters,
    execute: async (_id, params) => ({ content: [{ type: "text", text: ${use} }], details: used.length }),
    renderCall: () => new Text("x", 0, 0),
  });
};
`;
    const fine = await check(source("params.kind + params.count"), { cwd: typed(), args: [] });
    expect(fine.report).toMatchObject({ types: expect.stringContaining("checked"), problems: [] });
    const wrong = await check(source("params.kind.nope"), { cwd: typed(), args: [] });
    expect(messages(wrong.report, "type")).toEqual([expect.stringContaining("'nope' does not exist on type '\"a\" | \"b\"'")]);
  });

  it.runIf(hasTypes)("a tsconfig.json that does not know the API, as that of the project around it, does not count", async () => {
    const cwd = typed();
    writeFileSync(join(cwd, "tsconfig.json"), '{ "compilerOptions": { "strict": true, "module": "nodenext" }, "include": ["src"] }');
    const source = (label: string) =>
      `import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";\nexport default (pi: ExtensionAPI) => pi.setLabel(${label}, "x");\n`;
    expect(messages((await check(source('"id"'), { cwd, args: [] })).report, "type")).toEqual([]);
    expect(messages((await check(source("5"), { cwd, args: [] })).report, "type")).toEqual([expect.stringContaining("TS2345")]);
  });

  it("says what a plugin of the kernel contributes", async () => {
    const { status, report } = await check(
      `import { definePlugin } from "pi-kernel/plugin";
       export default definePlugin({ name: "mine", apply(kernel) {
         kernel.registry("tools").add({ name: "count", label: "Count", description: "", parameters: { type: "object", properties: {} }, execute: async () => ({ content: [] }) });
         kernel.registry("slashCommands").add({ name: "shout", run: () => {} });
         kernel.registry("modelSources").add({ name: "acme", models: [] });
       } });`,
    );
    expect(report.registers).toEqual({ tools: ["count"], commands: ["shout"], events: [], providers: ["acme"], flags: [] });
    expect(messages(report, "schema")).toEqual([expect.stringContaining("Tool count: without a description")]);
    expect(status).toBe(0);
  });

  it.runIf(hasTypes)("does not hold our own sources against the extensions of a checkout", async () => {
    const done = await run(repositoryRoot, "ext", "check", "examples/extensions/ask.ts", "builtin-extensions/plan-mode.ts");
    expect(done.stdout).toContain("checked with TypeScript");
    expect(done).toMatchObject({ status: 0, stdout: expect.stringContaining("Nothing to complain about.") });
  });

  it("has nothing to complain about in the built-in extensions", async () => {
    const files = readdirSync(join(repositoryRoot, "builtin-extensions")).map((name) => join(repositoryRoot, "builtin-extensions", name));
    const done = await run(tempDir(), "ext", "check", "--strict", "--no-types", ...files);
    expect(done.stdout).toContain("Nothing to complain about.");
    expect(done.status).toBe(0);
  });

  it("leaves the home alone", async () => {
    const home = tempDir();
    const cwd = tempDir();
    writeFileSync(join(cwd, "x.ts"), "export default () => {};");
    await runPi({ cwd, home, args: ["ext", "check", "x.ts", "--no-types"] });
    expect(existsSync(join(home, ".pi"))).toBe(false);
  });
});

describe("dev", () => {
  it("shows registrations, handler calls with times, tools, notices, faults and what is owned", async () => {
    const source = `export default (pi: any) => {
      pi.registerCommand("tick", { handler: (_: string, ctx: any) => { setInterval(() => {}, 1000); ctx.ui.notify("ticking"); } });
      pi.registerCommand("ask", { handler: async (_: string, ctx: any) => ctx.ui.notify("you said " + await ctx.ui.input("Say")) });
      pi.registerCommand("late", { handler: async () => { throw new Error("too late"); } });
      pi.on("agent_start", () => { throw new Error("not today"); });
      pi.on("message_update", () => {});
    };`;
    const done = await runPi({ files: { "x.ts": source }, args: ["dev", "x.ts"], input: "/tick\n/ask\nfine\n/late\nwhat can you do?\n:list\n" });
    expect(done.status).toBe(0);
    expect(done.stdout).toMatch(/x \(version 1, loaded in \d+ ms\): commands \/tick, \/ask, \/late; handlers of agent_start, message_update/);
    expect(done.stdout).toContain("The model is offline/demo.");
    expect(done.stdout).toContain("notify info: ticking");
    expect(done.stdout).toContain("x owns 1 timer");
    expect(done.stdout).toContain("notify info: you said fine");
    expect(done.stdout).toMatch(/x\.ts agent_start [\d.]+ ms failed: not today/);
    expect(done.stdout.split("not today")).toHaveLength(2);
    expect(done.stdout).toContain("command:late command failed: too late");
    expect(done.stderr).toBe("");
    expect(done.stdout).toMatch(/message_update called \d+ times, [\d.]+ ms together/);
    expect(done.stdout).toContain("I am the offline demo model");
  });

  it("takes a scripted model and its options", async () => {
    const done = await runPi({
      files: { "x.ts": "export default () => {};" },
      args: ["dev", "x.ts"],
      script: { responses: ["from the script"] },
      input: "go\n",
    });
    expect(done.stdout).toContain("from the script");
  });
});
