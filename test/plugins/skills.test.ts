import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Frame, type RpcProcess, startRpc } from "../helpers/pi.ts";

const script = { responses: ["ok"], repeat: true };
const skill = (name: string, description = `About ${name}`, body = `Body of ${name}`) => `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;

async function names(rpc: RpcProcess): Promise<string[]> {
  return (await rpc.ask("get_commands")).commands.map(({ name }: { name: string }) => name);
}

async function sent(rpc: RpcProcess, message: string): Promise<string> {
  const frames = await rpc.prompt(message);
  const { content } = (frames.find((frame) => frame.type === "message_end" && frame.message.role === "user") as Frame).message;
  return typeof content === "string" ? content : content.map((block: { text?: string }) => block.text ?? "").join("");
}

test("skills are found in all their places, in order", async () => {
  const rpc = startRpc({
    script,
    args: ["--approve", "--skill", "given", "--skill", "one.md"],
    agentFiles: {
      "skills/a/SKILL.md": skill("user-a"),
      "skills/a/deeper/SKILL.md": skill("not-searched"),
      "skills/deep/er/b/SKILL.md": skill("user-b"),
      "skills/loose.md": skill("user-loose"),
      "skills/deep/loose.md": skill("not-loose"),
      "skills/.hidden/SKILL.md": skill("hidden"),
      "skills/node_modules/x/SKILL.md": skill("module"),
      "skills/.gitignore": "skipped/\n",
      "skills/skipped/SKILL.md": skill("skipped"),
      "skills/deep/.ignore": "er2\n",
      "skills/deep/er2/SKILL.md": skill("skipped-too"),
      "../../.agents/skills/x/SKILL.md": skill("shared-x"),
      "../../.agents/skills/root.md": skill("not-in-root"),
      "../../.agents/skills/sub/loose.md": skill("shared-loose"),
      "settings.json": JSON.stringify({ skills: ["more"] }),
      "more/c/SKILL.md": skill("listed-c"),
    },
    files: {
      ".pi/skills/p/SKILL.md": skill("project-p"),
      ".agents/skills/q/SKILL.md": skill("project-q"),
      "given/g/SKILL.md": skill("given-g"),
      "one.md": skill("one"),
    },
  });
  expect(await names(rpc)).toEqual(
    ["project-p", "project-q", "listed-c", "user-a", "user-b", "user-loose", "shared-loose", "shared-x", "given-g", "one"].map((name) => `skill:${name}`),
  );
});

test("ancestors are searched up to the root of the repository", async () => {
  const rpc = startRpc({
    script,
    args: ["--approve"],
    files: { "repo/.git/HEAD": "x", "repo/.agents/skills/in/SKILL.md": skill("inside"), ".agents/skills/out/SKILL.md": skill("outside"), "repo/a/b/c.txt": "" },
  });
  await rpc.ask("get_state");
  const below = startRpc({ script, args: ["--approve"], cwd: join(rpc.places.cwd, "repo/a/b") });
  expect(await names(below)).toEqual(["skill:inside"]);
  rmSync(join(rpc.places.cwd, "repo/.git"), { recursive: true });
  const without = startRpc({ script, args: ["--approve"], cwd: join(rpc.places.cwd, "repo/a/b") });
  expect(await names(without)).toEqual(["skill:inside", "skill:outside"]);
});

test("the user's own shared skills need no trust, also when the cwd is below home", async () => {
  const first = startRpc({ script, agentFiles: { "../../.agents/skills/x/SKILL.md": skill("mine") } });
  expect(await names(first)).toEqual(["skill:mine"]);
  const { home } = first.places;
  mkdirSync(join(home, "work"));
  const below = startRpc({ script, home, cwd: join(home, "work") });
  const { commands } = await below.ask("get_commands");
  expect(commands).toMatchObject([{ name: "skill:mine", location: "user" }]);
});

test("frontmatter: what is wrong is said, and only a missing description keeps a skill out", async () => {
  const rpc = startRpc({
    script,
    agentFiles: {
      "skills/Bad_Name/SKILL.md": "---\ndescription: x\n---\n",
      "skills/h/SKILL.md": skill("-a--b"),
      "skills/l/SKILL.md": skill("n".repeat(65)),
      "skills/d/SKILL.md": skill("long", "x".repeat(1025)),
      "skills/none/SKILL.md": "---\nname: none\n---\n",
      "skills/blank/SKILL.md": '---\ndescription: "  "\n---\n',
      "skills/silent.md": "just notes",
      "skills/yaml/SKILL.md": "---\ndescription: {\n---\n",
      "skills/all/SKILL.md": "---\nname: all\ndescription: >\n  folded\n  text\nlicense: MIT\nmetadata: {a: 1}\nallowed-tools: read\n---\nx",
    },
  });
  expect((await names(rpc)).sort()).toEqual(["skill:-a--b", "skill:Bad_Name", "skill:all", "skill:long", `skill:${"n".repeat(65)}`].sort());
  const lines = rpc.stderr
    .trim()
    .split("\n")
    .filter((line) => line.startsWith("skill-files"));
  expect(lines).toHaveLength(7);
  for (const fragment of [
    "Bad_Name",
    "hyphen",
    "longer than 64",
    "longer than 1024",
    "none/SKILL.md is not loaded",
    "blank/SKILL.md is not loaded",
    "yaml/SKILL.md is not loaded",
  ]) {
    expect(rpc.stderr).toContain(fragment);
  }
  expect(rpc.stderr).not.toContain("silent.md");
});

test("/skill:name puts the instructions into the prompt, read from disk at that moment", async () => {
  const rpc = startRpc({ script, agentFiles: { "skills/web/SKILL.md": skill("web", "Search", "First.\n\nSecond.") } });
  const file = join(rpc.places.agentDir, "skills/web/SKILL.md");
  const block = (body: string) =>
    `<skill name="web" location="${file}">\nReferences in this skill are relative to ${join(rpc.places.agentDir, "skills/web")}.\n\n${body}\n</skill>`;
  expect(await sent(rpc, "/skill:web")).toBe(block("First.\n\nSecond."));
  writeFileSync(file, skill("web", "Search", "Changed."));
  expect(await sent(rpc, "/skill:web  find $1 'x'  ")).toBe(`${block("Changed.")}\n\nfind $1 'x'`);
  expect(await sent(rpc, "/skill:unknown x")).toBe("/skill:unknown x");
  expect(await sent(rpc, "/skill:web\nfind it")).toBe("/skill:web\nfind it");
  rmSync(file);
  expect(await sent(rpc, "/skill:web x")).toBe("/skill:web x");
  const error = await rpc.find((frame) => frame.type === "extension_error");
  expect(error).toMatchObject({ extensionPath: file, event: "skill_expansion" });
});

test("links are followed, loops end, the same file counts once, and of one name the first wins", async () => {
  const rpc = startRpc({
    script,
    agentFiles: { "skills/a/SKILL.md": skill("same", "first"), "skills/b/SKILL.md": skill("same", "second"), "elsewhere/c/SKILL.md": skill("linked") },
  });
  await rpc.ask("get_state");
  const { agentDir, home } = rpc.places;
  symlinkSync(join(agentDir, "skills"), join(agentDir, "skills/loop"));
  symlinkSync(join(agentDir, "elsewhere"), join(agentDir, "skills/link"));
  symlinkSync(join(agentDir, "elsewhere"), join(agentDir, "skills/link2"));
  symlinkSync("/nowhere", join(agentDir, "skills/dangling"));
  const again = startRpc({ script, home });
  const { commands } = await again.ask("get_commands");
  expect(commands).toMatchObject([
    { name: "skill:same", description: "first" },
    { name: "skill:linked", path: join(agentDir, "skills/link/c/SKILL.md") },
  ]);
  expect(again.stderr).toContain(`Skill "same" of ${join(agentDir, "skills/b/SKILL.md")} is not used: ${join(agentDir, "skills/a/SKILL.md")}`);
  expect(again.stderr).not.toContain("linked");
});

test("patterns in the settings leave out and take in; -ns drops all but named ones", async () => {
  const agentFiles = (skills: string[]) => ({
    "skills/a/SKILL.md": skill("a"),
    "skills/b/SKILL.md": skill("b"),
    "skills/cc/SKILL.md": skill("cc"),
    "settings.json": JSON.stringify({ skills }),
  });
  const listed = async (skills: string[], args: string[] = []) => names(startRpc({ script, agentFiles: agentFiles(skills), args }));
  expect(await listed(["!skills/?"])).toEqual(["skill:cc"]);
  expect(await listed(["!b"])).toEqual(["skill:a", "skill:cc"]);
  expect(await listed(["!**/SKILL.md", "+skills/b"])).toEqual(["skill:b"]);
  expect(await listed(["!**", "+skills/b/SKILL.md", "-skills/b"])).toEqual([]);
  expect(await listed([], ["-ns"])).toEqual([]);
});
