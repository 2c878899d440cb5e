import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Kernel, messageOf } from "../../core/index.ts";
import settings from "../../plugins/settings/index.ts";
import { makeDirectory } from "../../plugins/shared/directories.ts";
import { replaceFile, withFileLock } from "../../plugins/shared/locked-file.ts";
import { runPi, startRpc } from "../helpers/pi.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "pi-settings-"));
  mkdirSync(join(dir, "project/.pi"), { recursive: true });
  mkdirSync(join(dir, ".pi/agent"), { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const userFile = () => join(dir, ".pi/agent/settings.json");
const projectFile = () => join(dir, "project/.pi/settings.json");
const write = (file: string, value: unknown) => writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));

async function open(options: { trusted?: boolean; env?: Record<string, string> } = {}) {
  const kernel = new Kernel();
  const faults: string[] = [];
  await kernel.useAll([
    {
      name: "watch",
      apply(view) {
        view.hooks.fault.tap("watch", (fault) => void faults.push(messageOf(fault.error)));
        if (options.trusted !== undefined) view.provide("trust", { isTrusted: () => options.trusted ?? false } as never);
      },
    },
    settings,
  ]);
  await kernel.start({ cwd: join(dir, "project"), env: { HOME: dir, ...options.env } });
  return { kernel, settings: kernel.service("settings"), faults };
}

test("every key has its default without any file", async () => {
  const { settings, faults } = await open();
  expect(settings.get("defaultThinkingLevel")).toBe("medium");
  expect(settings.get("thinkingBudgets")).toEqual({ minimal: 1024, low: 2048, medium: 8192, high: 16384 });
  expect(settings.get("retry.provider.timeoutMs")).toBe(300_000);
  expect(settings.get("compaction")).toEqual({ enabled: true, reserveTokens: 16384, keepRecentTokens: 20000, modelOverrides: {} });
  expect(settings.get("defaultTools")).toEqual(["read", "bash", "edit", "write"]);
  expect(settings.get("no.such.key")).toBeUndefined();
  expect(faults).toEqual([]);
});

test("places follow HOME and the agent directory variable, and work before the start", async () => {
  const opened = (await open()).settings;
  expect(opened.agentDir()).toBe(join(dir, ".pi/agent"));
  expect(opened.projectDir()).toBe(join(dir, "project/.pi"));
  const other = await open({ env: { PI_CODING_AGENT_DIR: "~/elsewhere" } });
  expect(other.settings.agentDir()).toBe(join(dir, "elsewhere"));
  for (const HOME of ["", "not/absolute"]) expect(isAbsolute((await open({ env: { HOME } })).settings.agentDir())).toBe(true);
  const kernel = new Kernel();
  await kernel.useAll([settings]);
  expect(kernel.service("settings").get("retry.maxRetries")).toBeTypeOf("number");
});

test("the project's file counts only if trusted, is merged key by key, and lists are replaced", async () => {
  write(userFile(), { retry: { maxRetries: 5, baseDelayMs: 1 }, defaultTools: ["read", "ls"], httpProxy: "http://user" });
  write(projectFile(), { retry: { maxRetries: 9 }, defaultTools: ["bash"], httpProxy: "http://project", defaultProjectTrust: "always", sessionDir: "s" });
  const trusted = (await open({ trusted: true })).settings;
  expect(trusted.get("retry")).toMatchObject({ maxRetries: 9, baseDelayMs: 1, enabled: true });
  expect(trusted.get("defaultTools")).toEqual(["bash"]);
  expect(trusted.get("httpProxy")).toBe("http://user");
  expect(trusted.get("defaultProjectTrust")).toBe("ask");
  for (const options of [{ trusted: false }, {}]) {
    const { settings } = await open(options);
    expect(settings.get("retry.maxRetries")).toBe(5);
    expect(settings.project()).toEqual({});
    expect(settings.get("sessionDir"), "read before trust").toBe("s");
  }
});

test("a byte order mark is tolerated; a broken file is one warning, counts as empty and is never written", async () => {
  write(userFile(), `\uFEFF{"shellPath": "/bin/dash"}`);
  expect((await open()).settings.get("shellPath")).toBe("/bin/dash");
  write(userFile(), `{"shellPath": "/bin/dash",}`);
  const { settings, faults } = await open();
  expect(settings.get("shellPath")).toBeUndefined();
  await settings.reload();
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain(userFile());
  await expect(settings.write("user", "shellPath", "/bin/sh")).rejects.toThrow(/not changed: it is not valid JSON/);
  expect(readFileSync(userFile(), "utf8")).toBe(`{"shellPath": "/bin/dash",}`);
});

test.each([
  [`{\n  "shellPath": "/bin/dash",\n}`, 3],
  [`{\n  "enabledModels": ["one", "two", "three",],\n  "shellPath": "/bin/dash"\n}`, 2],
  [`{\n  // for me\n  "shellPath": "/bin/dash"\n}`, 2],
  [`{\n  "shellPath": '/bin/dash',\n  "more": "${"x".repeat(40)}"\n}`, 2],
  [`{\n  "shellPath": "/bin/dash"\n  "retry": {}\n}`, 3],
  [`{\n  "shellPath": "/bin/dash\n}`, 2],
  [`{\n  "shellPath": "/bin/dash",\n  "retry": {\n`, 3],
])("a mistake in a settings file is told with its line: %j", async (text, line) => {
  write(userFile(), text);
  expect((await open()).faults).toEqual([expect.stringMatching(new RegExp(`is ignored: it is not valid JSON \\(line ${line}\\b.*\\)$`))]);
});

test("a file that breaks while the program runs goes on counting as it was", async () => {
  write(userFile(), { shellPath: "/bin/dash" });
  const { settings, faults } = await open();
  write(userFile(), `{"shellPath": `);
  expect(await settings.reload()).toBe(false);
  expect(settings.get("shellPath")).toBe("/bin/dash");
  expect(faults).toHaveLength(1);
  write(userFile(), {});
  expect(await settings.reload()).toBe(true);
  expect(settings.get("shellPath")).toBeUndefined();
});

test.each([["[1]"], ["null"], ['"x"'], [""]])("%s is no settings file", async (text) => {
  write(userFile(), text);
  const { settings, faults } = await open();
  expect(settings.get("retry.enabled")).toBe(true);
  expect(faults).toHaveLength(1);
});

test("a wrong value is named with file and key, and the default is used", async () => {
  write(userFile(), {
    steeringMode: "sometimes",
    retry: { maxRetries: -1, enabled: true },
    images: 5,
    skills: ["a", 7],
    modelThinkingLevels: { "a/b": "huge" },
    theme: 12,
    compaction: { reserveTokens: "many" },
  });
  const { settings, faults } = await open();
  expect(settings.get("steeringMode")).toBe("one-at-a-time");
  expect(settings.get("retry.maxRetries")).toBe(3);
  expect(settings.get("images")).toEqual({ autoResize: true, blockImages: false });
  expect(settings.get("skills")).toEqual([]);
  expect(settings.get("compaction.reserveTokens"), "left to the reader, which refuses to compact").toBe("many");
  expect(faults.sort()).toEqual([
    `${userFile()}: "images" must be an object, not 5; it is ignored.`,
    `${userFile()}: "modelThinkingLevels" must be an object of levels (one of off, minimal, low, medium, high, xhigh, max), not {"a/b":"huge"}; {} is used.`,
    `${userFile()}: "retry.maxRetries" must be a whole number of at least 0, not -1; 3 is used.`,
    `${userFile()}: "skills" must be a list of strings, not ["a",7]; [] is used.`,
    `${userFile()}: "steeringMode" must be one of one-at-a-time, all, not "sometimes"; "one-at-a-time" is used.`,
  ]);
});

test("old spellings are read, and lose to present ones", async () => {
  write(userFile(), { queueMode: "all", websockets: true, skills: { customDirectories: ["~/s"], enableSkillCommands: false }, retry: { maxDelayMs: 7 } });
  const { settings, faults } = await open();
  expect(settings.get("steeringMode")).toBe("all");
  expect(settings.get("transport")).toBe("websocket");
  expect(settings.user().skills).toEqual(["~/s"]);
  expect(settings.get("enableSkillCommands")).toBe(false);
  expect(settings.get("retry.provider.maxRetryDelayMs")).toBe(7);
  expect(faults).toEqual([]);
  write(userFile(), { queueMode: "all", steeringMode: "one-at-a-time", websockets: false, transport: "auto" });
  await settings.reload();
  expect(settings.get("steeringMode")).toBe("one-at-a-time");
  expect(settings.get("transport")).toBe("auto");
});

test("layers: built-in, distribution, user, project, this process", async () => {
  write(userFile(), { interruptMode: "wait" });
  const { settings } = await open({ trusted: true });
  const undo = settings.defaults({ interruptMode: "immediate", "todo.reminders": true, "todo.reminders.max": 4, "retry.maxRetries": 1 });
  expect(settings.get("interruptMode")).toBe("wait");
  expect(settings.get("todo.reminders")).toBe(true);
  expect(settings.get("todo.reminders.max")).toBe(4);
  expect(settings.get("retry.maxRetries")).toBe(1);
  undo();
  expect(settings.get("retry.maxRetries")).toBe(3);
  settings.override("retry.maxRetries", 8);
  expect(settings.get("retry.maxRetries")).toBe(8);
  expect(settings.get("retry")).toMatchObject({ maxRetries: 8, enabled: true });
});

test("writing changes one key, keeps unknown ones, and tells who listens", async () => {
  write(userFile(), { unknown: { a: 1 }, retry: { baseDelayMs: 3 } });
  const { settings, kernel } = await open();
  let changes = 0;
  settings.hooks.changed.tap("test", () => void changes++);
  await settings.write("user", "retry.enabled", false);
  expect(readFileSync(userFile(), "utf8")).toBe(`${JSON.stringify({ unknown: { a: 1 }, retry: { baseDelayMs: 3, enabled: false } }, null, 2)}\n`);
  expect(settings.get("retry.enabled")).toBe(false);
  await settings.write("user", "retry.enabled", undefined);
  expect(settings.get("retry.enabled")).toBe(true);
  expect(changes).toBe(2);
  await expect(settings.write("project", "retry.enabled", false)).rejects.toThrow(/not a trusted project/);
  await kernel.removeAll();
});

test("many writers at once lose nothing; a link stays a link; new files are private", async () => {
  const target = join(dir, "dotfiles.json");
  write(target, {});
  symlinkSync(target, userFile());
  const writers = await Promise.all(Array.from({ length: 5 }, () => open()));
  await Promise.all(writers.map(({ settings }, index) => settings.write("user", `k${index}`, index)));
  expect(JSON.parse(readFileSync(target, "utf8"))).toEqual({ k0: 0, k1: 1, k2: 2, k3: 3, k4: 4 });
  rmSync(userFile());
  await writers[0]!.settings.write("user", "x", 1);
  expect(statSync(userFile()).mode & 0o777).toBe(0o600);
});

test("a lock that another process keeps is an error; a stale one is taken over", async () => {
  mkdirSync(`${userFile()}.lock`);
  const { settings } = await open();
  await expect(settings.write("user", "x", 1)).rejects.toThrow(/is locked by another process/);
  await withFileLock(userFile(), () => replaceFile(userFile(), "{}"), { staleMs: 0 });
  await settings.write("user", "x", 1);
  expect(settings.get("x")).toBe(1);
});

test("hostile names stay names", async () => {
  write(userFile(), `{"__proto__": {"retry": {"maxRetries": 1}}, "retry": {"__proto__": {"enabled": false}}}`);
  const { settings } = await open();
  expect(settings.get("retry")).toMatchObject({ maxRetries: 3, enabled: true });
  expect(({} as Record<string, unknown>).retry).toBeUndefined();
});

/** Where nothing can be made: in /proc the system says "no such file", which Node's own way of making directories takes for an invitation to go on. */
const unwritable = process.platform === "linux" ? ["/proc/x", "/dev/null/x"] : ["/dev/null/x"];

test.each(unwritable)("an agent directory that cannot be written (%s) does not stop the agent", async (place) => {
  const env = { PI_CODING_AGENT_DIR: place };
  const { status, stdout, stderr } = await runPi({ args: ["-p", "hello"], script: ["fine"], env });
  expect({ status, stdout: stdout.trim() }).toEqual({ status: 0, stdout: "fine" });
  expect(stderr).toContain("The session file cannot be written");
  const rpc = startRpc({ env, script: ["fine"] });
  await rpc.prompt("hello");
  expect((await rpc.stop()).status).toBe(0);
});

test("directories are made with those above them, or it is an error", () => {
  makeDirectory(join(dir, "a/b/c"), 0o700);
  makeDirectory(join(dir, "a/b/c"), 0o700);
  expect(statSync(join(dir, "a/b")).mode & 0o777).toBe(0o700);
  writeFileSync(join(dir, "file"), "");
  expect(() => makeDirectory(join(dir, "file"))).toThrow("EEXIST");
  expect(() => makeDirectory(join(dir, "file/below"))).toThrow("ENOTDIR");
  for (const place of unwritable) expect(() => makeDirectory(join(place, "y"))).toThrow(/ENOENT|ENOTDIR/);
});
