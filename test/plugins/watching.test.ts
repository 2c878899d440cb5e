/** Templates, skills, context files, settings and models.json that change while the program runs. */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { errors } from "../extensions/helpers.ts";
import { type PiOptions, type RpcProcess, startRpc, tempDir } from "../helpers/pi.ts";
import { recordingModel } from "../helpers/recording-model.ts";

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** As editors save: a new file takes the place of the old one. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.tmp~`, text);
  renameSync(`${path}.tmp~`, path);
}

async function until<T>(ask: () => T | Promise<T>, isRight: (value: T) => boolean): Promise<T> {
  for (const since = Date.now(); ; ) {
    const value = await ask();
    if (isRight(value)) return value;
    if (Date.now() - since > 20_000) throw new Error(`It stays as it is: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function commandNames(rpc: RpcProcess): Promise<string[]> {
  return (await rpc.ask("get_commands")).commands.map(({ name }: { name: string }) => name).sort();
}

const listed = (rpc: RpcProcess, names: string[]) =>
  until(
    () => commandNames(rpc),
    (found) => JSON.stringify(found) === JSON.stringify(names),
  );

const complained = (rpc: RpcProcess, text: string) =>
  until(
    () => rpc.stderr,
    (stderr) => stderr.includes(text),
  );

const skill = (name: string, description = `about ${name}`) => `---\nname: ${name}\ndescription: ${description}\n---\nbody of ${name}\n`;

function start(options: PiOptions = {}) {
  const model = recordingModel();
  const rpc = startRpc({ ...options, args: [...model.args, ...(options.args ?? [])] });
  const agent = (...parts: string[]) => join(rpc.places.agentDir, ...parts);
  const cwd = (...parts: string[]) => join(rpc.places.cwd, ...parts);
  /** what the model is asked for a text */
  const asked = async (text: string) => {
    await rpc.prompt(text);
    const last = model.requests().at(-1);
    return { system: last?.systemPrompt ?? "", text: last?.messages.at(-1).content.at(-1).text ?? "" };
  };
  return { rpc, agent, cwd, asked };
}

describe("what a text may become", () => {
  test("templates that come, change, are renamed and go, in directories that were not there", async () => {
    const { rpc, agent, cwd, asked } = start({ args: ["-a"] });
    expect(await commandNames(rpc)).toEqual([]);
    put(agent("prompts/review.md"), "Review $1");
    await listed(rpc, ["review"]);
    expect((await asked("/review a.ts")).text).toBe("Review a.ts");
    replace(agent("prompts/review.md"), "---\ndescription: better\n---\nReview $1 well");
    await until(
      async () => (await rpc.ask("get_commands")).commands[0]?.description,
      (description) => description === "better",
    );
    expect((await asked("/review b.ts")).text).toBe("Review b.ts well");
    writeFileSync(agent("prompts/review.md"), "Review $1 again");
    await until(
      async () => (await asked("/review c.ts")).text,
      (text) => text === "Review c.ts again",
    );
    put(cwd(".pi/prompts/own.md"), "Own");
    await listed(rpc, ["own", "review"]);
    renameSync(agent("prompts/review.md"), agent("prompts/look.md"));
    await listed(rpc, ["look", "own"]);
    rmSync(cwd(".pi"), { recursive: true });
    await listed(rpc, ["look"]);
    put(cwd(".pi/prompts/back.md"), "Back");
    await listed(rpc, ["back", "look"]);
    renameSync(agent("prompts"), agent("away"));
    await listed(rpc, ["back"]);
    put(agent("prompts/other.md"), "Other");
    await listed(rpc, ["back", "other"]);
    expect(errors(rpc)).toEqual([]);
  });

  test("skills at any depth, behind links and in shared places", async () => {
    const { rpc, agent, cwd, asked } = start({ args: ["-a"], agentFiles: { "skills/one/SKILL.md": skill("one") } });
    const elsewhere = tempDir();
    expect(await commandNames(rpc)).toEqual(["skill:one"]);
    put(agent("skills/group/deep/two/SKILL.md"), skill("two"));
    await listed(rpc, ["skill:one", "skill:two"]);
    put(join(elsewhere, "three/SKILL.md"), skill("three"));
    symlinkSync(join(elsewhere, "three"), agent("skills/three"));
    put(join(rpc.places.home, ".agents/skills/four/SKILL.md"), skill("four"));
    put(cwd(".agents/skills/five/SKILL.md"), skill("five"));
    await listed(rpc, ["skill:five", "skill:four", "skill:one", "skill:three", "skill:two"]);
    expect((await asked("hello")).system).toContain("about three");
    writeFileSync(join(elsewhere, "three/SKILL.md"), skill("three", "something else"));
    await until(
      async () => (await asked("hello")).system,
      (system) => system.includes("something else"),
    );
    rmSync(agent("skills/one"), { recursive: true });
    rmSync(cwd(".agents"), { recursive: true });
    renameSync(agent("skills/group/deep/two"), agent("skills/group/2"));
    await listed(rpc, ["skill:four", "skill:three", "skill:two"]);
    writeFileSync(agent("skills/group/2/SKILL.md"), skill("two", "renamed"));
    await until(
      async () => (await asked("hello")).system,
      (system) => system.includes("renamed"),
    );
  });

  test("what a manifest, a glob or the command line names", async () => {
    const elsewhere = tempDir();
    put(join(elsewhere, "package.json"), JSON.stringify({ pi: { prompts: ["./texts"] } }));
    put(join(elsewhere, "texts/a.md"), "A");
    put(join(elsewhere, "given.md"), "Given");
    const { rpc, agent, asked } = start({
      args: ["--prompt-template", join(elsewhere, "given.md")],
      agentFiles: { "settings.json": JSON.stringify({ packages: [elsewhere], prompts: ["more/*.md"] }), "more/b.md": "B" },
    });
    expect(await commandNames(rpc)).toEqual(["a", "b", "given"]);
    put(join(elsewhere, "texts/c.md"), "C");
    put(agent("more/d.md"), "D");
    await listed(rpc, ["a", "b", "c", "d", "given"]);
    replace(join(elsewhere, "given.md"), "Given again");
    await until(
      async () => (await asked("/given")).text,
      (text) => text === "Given again",
    );
  });

  test("a broken file is reported as by reload, and the others work", async () => {
    const { rpc, agent, asked } = start({ agentFiles: { "prompts/good.md": "Good" } });
    expect(await commandNames(rpc)).toEqual(["good"]);
    put(agent("prompts/bad.md"), "---\ndescription: [\n---\nBad");
    await complained(rpc, "bad.md is not loaded");
    expect((await asked("/good")).text).toBe("Good");
    writeFileSync(agent("prompts/bad.md"), "Better");
    await listed(rpc, ["bad", "good"]);
  });
});

test("context files and system prompt files, from the agent's directory down to the cwd", async () => {
  const root = tempDir();
  const inner = join(root, "a/b");
  mkdirSync(inner, { recursive: true });
  const { rpc, agent, cwd, asked } = start({ args: ["-a"], cwd: inner });
  const told = (...texts: string[]) =>
    until(
      async () => (await asked("hello")).system,
      (system) => texts.every((text) => (text.startsWith("!") ? !system.includes(text.slice(1)) : system.includes(text))),
    );
  await told("!law");
  put(cwd("AGENTS.md"), "law one");
  await told("law one");
  replace(cwd("AGENTS.md"), "law two");
  put(join(root, "CLAUDE.md"), "law of all");
  put(agent("AGENTS.md"), "law of mine");
  await told("law two", "law of all", "law of mine", "!law one");
  put(cwd("AGENTS.override.md"), "law over");
  rmSync(join(root, "CLAUDE.md"));
  await told("law over", "!law two", "!law of all");
  put(cwd(".pi/APPEND_SYSTEM.md"), "and this");
  put(agent("SYSTEM.md"), "You are a duck.");
  await told("and this", "You are a duck.");
  rmSync(agent("SYSTEM.md"));
  await told("!a duck", "and this");
  await rpc.stop();
});

test("a run keeps the prompt it began with", async () => {
  const model = recordingModel([{ toolCalls: [{ name: "bash", arguments: { command: "cat go" } }] }, "fine"]);
  const rpc = startRpc({ args: [...model.args, "-a"], files: { "AGENTS.md": "first law" }, agentFiles: {} });
  const { cwd } = rpc.places;
  const { execFileSync } = await import("node:child_process");
  execFileSync("mkfifo", [join(cwd, "go")]);
  const run = rpc.prompt("hello");
  await rpc.find(({ type }) => type === "tool_execution_start");
  writeFileSync(join(cwd, "AGENTS.md"), "second law");
  put(join(cwd, ".pi/prompts/new.md"), "New");
  await listed(rpc, ["new"]);
  writeFileSync(join(cwd, "go"), "");
  await run;
  const [first, second] = model.requests();
  expect(first?.systemPrompt).toContain("first law");
  expect(second?.systemPrompt).toBe(first?.systemPrompt);
  await until(
    async () => {
      await rpc.prompt("again");
      return model.requests().at(-1)?.systemPrompt;
    },
    (system) => system?.includes("second law") ?? false,
  );
});

test("settings and models.json, without a start for extensions", async () => {
  const { rpc, agent } = start({
    agentFiles: {
      "extensions/a.ts": `export default (pi: any) => { pi.on("session_start", (e: any, ctx: any) => ctx.ui.notify("start " + e.reason)); };`,
      "prompts/x.md": "X",
      "settings.json": "{}",
    },
  });
  const state = () => rpc.ask("get_state");
  expect(await state()).toMatchObject({ steeringMode: "one-at-a-time" });
  writeFileSync(agent("settings.json"), JSON.stringify({ steeringMode: "all", prompts: ["!x.md"] }));
  await until(state, ({ steeringMode }) => steeringMode === "all");
  await listed(rpc, []);
  await rpc.ask("set_steering_mode", { mode: "one-at-a-time" });
  replace(agent("settings.json"), JSON.stringify({ steeringMode: "all", followUpMode: "all" }));
  expect(await until(state, ({ followUpMode }) => followUpMode === "all")).toMatchObject({ steeringMode: "one-at-a-time" });
  writeFileSync(agent("settings.json"), "{ broken");
  await complained(rpc, "settings.json");
  expect(await state()).toMatchObject({ followUpMode: "all" });
  const models = (name: string) =>
    JSON.stringify({ providers: { mine: { baseUrl: "http://127.0.0.1:9/v1", api: "openai-completions", apiKey: "k", models: [{ id: "m", name }] } } });
  writeFileSync(agent("models.json"), models("first"));
  await until(
    () => rpc.call("set_model", { provider: "mine", modelId: "m" }),
    ({ success }) => success,
  );
  // Nobody asks for the models: the one in use changes by itself.
  replace(agent("models.json"), models("second"));
  await until(state, ({ model }) => model.name === "second");
  const starts = rpc.frames.filter(({ message }) => typeof message === "string" && message.startsWith("start ")).map(({ message }) => message);
  expect(starts).toEqual(["start startup"]);
  expect(rpc.frames.filter(({ type }) => type === "extension_reload")).toEqual([]);
});

test("another directory is watched after a switch of sessions", async () => {
  const other = tempDir();
  const { rpc } = start({ args: ["-a"] });
  put(join(other, "s.jsonl"), `${JSON.stringify({ type: "session", version: 3, id: "01", timestamp: "2026-01-01T00:00:00.000Z", cwd: other })}\n`);
  await rpc.ask("switch_session", { sessionPath: join(other, "s.jsonl") });
  put(join(other, ".pi/prompts/there.md"), "There");
  await listed(rpc, ["there"]);
});

test.each([
  ["--no-hot-reload", { args: ["--no-hot-reload"] }],
  ["the setting", { agentFiles: { "settings.json": `{"extensionsHotReload":false}` } }],
])("off by %s; reload still reads everything", async (_, options: PiOptions) => {
  const { rpc, agent, cwd, asked } = start(options);
  await asked("hello");
  put(agent("prompts/x.md"), "X");
  put(cwd("AGENTS.md"), "law");
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(await commandNames(rpc)).toEqual([]);
  expect((await asked("hello")).system).not.toContain("law");
  await rpc.ask("reload");
  expect(await commandNames(rpc)).toEqual(["x"]);
  expect((await asked("hello")).system).toContain("law");
});

test("where the file system sends no events, files are looked at", async () => {
  const { rpc, agent } = start({ env: { CHOKIDAR_USEPOLLING: "1" } });
  put(agent("prompts/early.md"), "early");
  await listed(rpc, ["early"]);
  put(agent("prompts/late.md"), "late");
  await listed(rpc, ["early", "late"]);
  rmSync(agent("prompts/early.md"));
  await listed(rpc, ["late"]);
});

test.each([[["--no-hot-reload"]], [[]]])("a session in a directory with extensions brings them, also to an agent that had none (%j)", async (args) => {
  const other = tempDir();
  const { rpc } = start({ args: ["-a", ...args] });
  put(join(other, "s.jsonl"), `${JSON.stringify({ type: "session", version: 3, id: "01", timestamp: "2026-01-01T00:00:00.000Z", cwd: other })}\n`);
  put(
    join(other, ".pi/extensions/there.ts"),
    `export default (pi) => {
      let reason = "";
      pi.on("session_start", (event) => { reason = event.reason; });
      pi.registerCommand("there", { description: "There", handler: async (_args, ctx) => ctx.ui.notify(reason) });
    };`,
  );
  await rpc.ask("switch_session", { sessionPath: join(other, "s.jsonl") });
  expect(await commandNames(rpc)).toEqual(["there"]);
  await rpc.ask("prompt", { message: "/there" });
  expect(await rpc.find(({ method }) => method === "notify")).toMatchObject({ message: "resume" });
});

/** Node's watching as it is elsewhere. */
const elsewhere = {
  "has no more watchers": `fs.watch = () => { throw Object.assign(new Error("no space left"), { code: "ENOSPC" }); };`,
  "is a network drive": `fs.watch = () => Object.assign(new (require("node:events"))(), { close() {}, unref() {} }); fs.statfsSync = () => ({ type: 0x6969 });`,
};

test.each(Object.entries(elsewhere))("where the system %s, files are looked at too", async (_, code) => {
  const preload = join(tempDir(), "elsewhere.cjs");
  put(preload, `const fs = require("node:fs"); ${code} require("node:module").syncBuiltinESMExports();`);
  const { rpc, agent } = start({ env: { NODE_OPTIONS: `--require ${preload}` }, agentFiles: { "prompts/early.md": "early" } });
  await listed(rpc, ["early"]);
  // Past the beginning, at which everything is looked at once: too short a rest would only make this easier to pass.
  const rest = () => new Promise((resolve) => setTimeout(resolve, 1000));
  await rest();
  put(agent("prompts/late.md"), "late");
  await listed(rpc, ["early", "late"]);
  rmSync(agent("prompts/early.md"));
  await listed(rpc, ["late"]);
  await rest();
  put(agent("models.json"), JSON.stringify({ providers: { p: { baseUrl: "http://x", api: "openai-completions", apiKey: "k", models: [{ id: "m" }] } } }));
  await until(
    async () => (await rpc.ask("get_available_models")).models.map(({ id }: { id: string }) => id),
    (ids) => ids.includes("m"),
  );
});
