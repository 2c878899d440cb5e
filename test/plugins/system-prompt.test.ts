/** The system prompt as the model gets it from the real program, and its parts by themselves. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readContextFiles } from "../../plugins/system-prompt/context-files.ts";
import type { SystemPromptOptions } from "../../plugins/system-prompt/contract.ts";
import { render } from "../../plugins/system-prompt/render.ts";
import { type PiOptions, runPi, startRpc, tempDir } from "../helpers/pi.ts";
import { recordingModel } from "../helpers/recording-model.ts";

/** What one prompt sends. */
async function promptOf(options: PiOptions = {}): Promise<string> {
  const model = recordingModel();
  const { status, stderr } = await runPi({ ...options, args: ["-p", ...model.args, ...(options.args ?? []), "hi"] });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  return model.requests()[0]?.systemPrompt ?? "";
}

const sectionsOf = (prompt: string) => [...prompt.matchAll(/^<([a-z_-]+)>$/gm)].map(([, name]) => name).filter((name) => name !== "available_skills");
const section = (prompt: string, name: string) => new RegExp(`^<${name}>\\n([\\s\\S]*?)\\n</${name}>$`, "m").exec(prompt)?.[1];

describe("the prompt of the program", () => {
  it("has its sections in order, with the active tools' snippets and rules", async () => {
    const cwd = tempDir();
    const prompt = await promptOf({ cwd });
    expect(prompt.startsWith("You are ")).toBe(true);
    expect(sectionsOf(prompt)).toEqual(["tools", "rules", "cwd"]);
    expect(section(prompt, "tools")).toMatch(/^- read: .+\n- bash: .+\n- edit: .+\n- write: .+\n\n.*further tools/);
    const rules = section(prompt, "rules")?.split("\n") ?? [];
    expect(rules.every((rule) => rule.startsWith("- "))).toBe(true);
    expect(new Set(rules).size).toBe(rules.length);
    expect(rules[0]).toContain("bash");
    expect(section(prompt, "cwd")).toBe(cwd);
  });

  it("follows the tools that are active", async () => {
    const prompt = await promptOf({ args: ["--tools", "grep,bash"] });
    expect(section(prompt, "tools")).toMatch(/^- grep: .+\n- bash: .+\n\n/);
    expect(section(prompt, "rules")).not.toContain("Search for files with bash");
    expect(section(await promptOf({ args: ["--no-tools"] }), "tools")).toMatch(/^\(none\)\n/);
  });

  it("takes a custom base and appended texts, as text or from files", async () => {
    const files = { "base.md": "\uFEFFFrom a file.", "AGENTS.md": "Project rules." };
    const custom = await promptOf({ files, args: ["--system-prompt", "base.md", "--append-system-prompt", "One.", "--append-system-prompt", "Two."] });
    expect(custom.startsWith("From a file.\n\n<addendum>\nOne.\n\nTwo.\n</addendum>\n\n<project_context>\n")).toBe(true);
    expect(sectionsOf(custom)).toEqual(["addendum", "project_context", "cwd"]);
    expect((await promptOf({ args: ["--system-prompt", "Just this."] })).startsWith("Just this.\n\n<cwd>")).toBe(true);
  });

  it("reads SYSTEM.md and APPEND_SYSTEM.md of the user, and of the project only if it is trusted", async () => {
    const agentFiles = { "SYSTEM.md": "User base.", "APPEND_SYSTEM.md": "User addendum." };
    const files = { ".pi/SYSTEM.md": "Project base.", ".pi/APPEND_SYSTEM.md": "Project addendum." };
    const untrusted = await promptOf({ agentFiles, files, args: ["--no-approve"] });
    expect(untrusted.startsWith("User base.\n\n<addendum>\nUser addendum.\n</addendum>")).toBe(true);
    const trusted = await promptOf({ agentFiles, files, args: ["--approve"] });
    expect(trusted.startsWith("Project base.\n\n<addendum>\nProject addendum.\n</addendum>")).toBe(true);
    const switched = await promptOf({ agentFiles, files, args: ["--approve", "--system-prompt", "S", "--append-system-prompt", "A"] });
    expect(switched.startsWith("S\n\n<addendum>\nA\n</addendum>")).toBe(true);
  });

  it("holds the context files from the agent's to the nearest, unless switched off", async () => {
    const root = tempDir();
    const cwd = join(root, "a/b");
    mkdirSync(cwd, { recursive: true });
    writeFileSync(join(root, "CLAUDE.md"), "root rules");
    writeFileSync(join(cwd, "AGENTS.md"), "near rules");
    const prompt = await promptOf({ cwd, agentFiles: { "AGENTS.md": "own rules" } });
    const paths = [...prompt.matchAll(/<project_instructions path="(.+)">\n(.+)\n<\/project_instructions>/g)].map(([, path, text]) => `${path}: ${text}`);
    expect(paths.slice(-2)).toEqual([`${join(root, "CLAUDE.md")}: root rules`, `${join(cwd, "AGENTS.md")}: near rules`]);
    expect(paths[0]).toMatch(/\.pi\/agent\/AGENTS\.md: own rules$/);
    expect(sectionsOf(await promptOf({ cwd, args: ["-nc"] }))).not.toContain("project_context");
  });

  it("is the same for every turn, and new after a change of tools", async () => {
    const model = recordingModel([{ toolCalls: [{ name: "bash", arguments: { command: "echo changed > AGENTS.md" } }] }, "done", "again"]);
    const pi = startRpc({ args: model.args, files: { "AGENTS.md": "first" } });
    await pi.prompt("one");
    await pi.prompt("two");
    const [first, second, third] = model.requests();
    expect(second?.systemPrompt).toBe(first?.systemPrompt);
    expect(third?.systemPrompt).toBe(first?.systemPrompt);
    await pi.ask("set_active_tools", { names: ["ls"] });
    await pi.prompt("three");
    const last = model.requests().at(-1);
    expect(last?.tools).toEqual(["ls"]);
    expect(section(last?.systemPrompt ?? "", "tools")).toMatch(/^- ls: /);
    await pi.ask("new_session");
    await pi.prompt("four");
    expect(model.requests().at(-1)?.systemPrompt).toContain("changed");
  });
});

describe("context files", () => {
  const read = (cwd: string, agentDir = tempDir()) => {
    const complaints: string[] = [];
    const files = readContextFiles(agentDir, cwd, (problem) => complaints.push(problem));
    return { names: files.map(({ path }) => path), files, complaints };
  };

  it("one per directory, the override first; only regular files", () => {
    const dir = tempDir();
    mkdirSync(join(dir, "AGENTS.override.md"));
    execFileSync("mkfifo", [join(dir, "AGENTS.md")]);
    writeFileSync(join(dir, "CLAUDE.md"), "\uFEFFclaude");
    expect(read(dir).files).toEqual([{ path: join(dir, "CLAUDE.md"), content: "claude" }]);
    mkdirSync(join(dir, "sub"));
    for (const name of ["CLAUDE.md", "AGENTS.md", "AGENTS.override.md"]) writeFileSync(join(dir, "sub", name), name);
    expect(read(join(dir, "sub")).names).toEqual([join(dir, "CLAUDE.md"), join(dir, "sub/AGENTS.override.md")]);
  });

  it("a worktree inside of its main checkout hides that one's file if it has its own", () => {
    const main = tempDir();
    const git = (...args: string[]) => execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: main, stdio: "pipe" });
    writeFileSync(join(main, "AGENTS.md"), "rules");
    git("init", "-q");
    git("add", ".");
    git("commit", "-qm", "x");
    git("worktree", "add", "-q", "trees/one");
    mkdirSync(join(main, "trees/one/deep"));
    expect(read(join(main, "trees/one/deep")).names).toEqual([join(main, "trees/one/AGENTS.md")]);
    execFileSync("rm", [join(main, "trees/one/AGENTS.md")]);
    expect(read(join(main, "trees/one/deep")).names).toEqual([join(main, "AGENTS.md")]);
  });
});

describe("rendering", () => {
  const options = (more: Partial<SystemPromptOptions>): SystemPromptOptions => ({
    cwd: "C:\\work\\here",
    selectedTools: ["read", "mine", "silent"],
    toolSnippets: { read: "Read", mine: "  Two\n  lines ", other: "Not active" },
    toolGuidelines: { mine: [" Be kind. ", "Be concise."], other: ["Never."] },
    promptGuidelines: ["Be kind.", "More."],
    appendSystemPrompt: "",
    sections: {},
    contextFiles: [],
    skills: [],
    ...more,
  });
  const skill = (name: string, more = {}) => ({
    name,
    description: "a <b> & \"c\" 'd'",
    filePath: `/skills/${name}/SKILL.md`,
    baseDir: `/skills/${name}`,
    sourceInfo: { path: "", source: "auto", scope: "user" as const, origin: "top-level" as const },
    disableModelInvocation: false,
    ...more,
  });

  it("folds snippets, drops doubles, keeps the order of activation", () => {
    const prompt = render(options({}));
    expect(section(prompt, "tools")?.split("\n\n")[0]).toBe("- read: Read\n- mine: Two lines");
    expect(section(prompt, "rules")).toBe("- Be kind.\n- Be concise.\n- More.\n- Show file paths clearly when you talk about files.");
    expect(section(prompt, "cwd")).toBe("C:/work/here");
    const inherited = render(options({ selectedTools: ["read", "constructor", "toString", "__proto__"] }));
    expect(section(inherited, "tools")?.split("\n\n")[0]).toBe("- read: Read");
  });

  it("lists visible skills for whoever can read them", () => {
    const skills = [skill("one"), skill("two", { disableModelInvocation: true })];
    const shown = section(render(options({ skills })), "skills") ?? "";
    expect(shown).toContain("the read tool");
    expect(
      shown.endsWith(
        "<available_skills>\n  <skill>\n    <name>one</name>\n    <description>a &lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;</description>\n    <location>/skills/one/SKILL.md</location>\n  </skill>\n</available_skills>",
      ),
    ).toBe(true);
    expect(section(render(options({ skills, selectedTools: ["bash"] })), "skills")).toContain("the bash tool");
    expect(sectionsOf(render(options({ skills, selectedTools: ["ls"] })))).not.toContain("skills");
    expect(sectionsOf(render(options({ skills: [skill("two", { disableModelInvocation: true })] })))).not.toContain("skills");
  });

  it("appends sections of handlers with good names, and lets a handler replace all", () => {
    const prompt = render(options({ sections: { memory: "remember", "Bad name": "x", preamble: "x", "b-2": "y" } }));
    expect(prompt.endsWith("</cwd>\n\n<memory>\nremember\n</memory>\n\n<b-2>\ny\n</b-2>")).toBe(true);
    expect(render(options({ forceSystemPrompt: "only this" }))).toBe("only this");
  });
});
