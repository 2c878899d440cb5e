// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of templates look like that
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fillPlaceholders, splitArguments } from "../../plugins/templates/arguments.ts";
import { type Frame, type RpcProcess, startRpc, tempDir } from "../helpers/pi.ts";

const script = { responses: ["ok"], repeat: true };

/** What the model was asked: the text of the last user message. */
async function sent(rpc: RpcProcess, message: string): Promise<string> {
  const frames = await rpc.prompt(message);
  const user = frames.find((frame) => frame.type === "message_end" && frame.message.role === "user") as Frame;
  const { content } = user.message;
  return typeof content === "string" ? content : content.map((block: { text?: string }) => block.text ?? "").join("");
}

describe("arguments", () => {
  test.each([
    ["", []],
    ["  a  b\tc\nd ", ["a", "b", "c", "d"]],
    [`"a b" 'c d'`, ["a b", "c d"]],
    [`a"b c"d`, ["ab cd"]],
    [`"it's" '"'`, ["it's", '"']],
    [`"" a ''`, ["a"]],
    [`\\"a b\\"`, ["\\a b\\"]],
    [`"open end`, ["open end"]],
  ])("%j is split into %j", (text, expected) => {
    expect(splitArguments(text)).toEqual(expected);
  });

  test.each([
    ["$1-$2-$3", ["a", "b"], "a-b-"],
    ["$10 $1", ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], "j a"],
    ["$0", ["a"], ""],
    ["$@|$ARGUMENTS", ["a", "b c"], "a b c|a b c"],
    ["${1:-x} ${2:-y z}", ["a"], "a y z"],
    ["${@:-none} ${ARGUMENTS:-none}", [], "none none"],
    ["${@:-none}", ["a"], "a"],
    ["${1:-}", [], ""],
    ["${@:2}", ["a", "b", "c"], "b c"],
    ["${@:0}|${@:9}", ["a", "b"], "a b|"],
    ["${@:2:1}|${@:1:2}|${@:0:1}", ["a", "b", "c"], "b|a b|a"],
    ["$1", ["$2"], "$2"],
    ["${1:-$2}", ["", "b"], "$2"],
    ["$$1 \\$1 $x ${1} ${@}", ["a"], "$a \\a $x ${1} ${@}"],
    ["$1", ["$&"], "$&"],
  ])("%j filled with %j", (body, args, expected) => {
    expect(fillPlaceholders(body, args)).toBe(expected);
  });
});

test("a template is listed and expanded, also when steering and following up", async () => {
  const rpc = startRpc({
    script: { responses: [{ steps: [{ delay: 100 }, { text: "ok" }] }], repeat: true },
    agentFiles: {
      "prompts/review.md": "---\ndescription: Review a file\nargument-hint: <file>\nother: 1\n---\n\nReview $1 for ${2:-bugs}.\n\n",
      "prompts/plain.md": `\n${"long ".repeat(20)}\nsecond`,
    },
  });
  const { commands } = await rpc.ask("get_commands");
  expect(commands).toMatchObject([
    { name: "plain", description: `${"long ".repeat(20).slice(0, 60)}...`, source: "prompt" },
    {
      name: "review",
      description: "Review a file",
      source: "prompt",
      location: "user",
      path: join(rpc.places.agentDir, "prompts/review.md"),
      sourceInfo: { source: "auto", scope: "user", origin: "top-level", baseDir: rpc.places.agentDir },
    },
  ]);
  expect(await sent(rpc, "/review a.ts")).toBe("Review a.ts for bugs.");
  expect(await sent(rpc, "/review\n'a b'\nraces")).toBe("Review a b for races.");
  expect(await sent(rpc, "/unknown x")).toBe("/unknown x");
  expect(await sent(rpc, "/settings")).toBe("/settings");
  expect(await sent(rpc, " /review a")).toBe(" /review a");
  expect(await sent(rpc, "/reviewer a")).toBe("/reviewer a");
  const from = rpc.frames.length;
  rpc.send({ type: "prompt", message: "go" });
  rpc.send({ type: "follow_up", message: "/review later" });
  rpc.send({ type: "steer", message: "/review now" });
  await rpc.find((frame) => frame.type === "agent_settled", from);
  const texts = JSON.stringify(rpc.frames.slice(from).filter((frame) => frame.type === "message_end"));
  expect(texts).toContain("Review later for bugs.");
  expect(texts).toContain("Review now for bugs.");
});

test("broken, unreadable and hidden files are passed over, each with one warning or none", async () => {
  const home = tempDir();
  const prompts = join(home, ".pi/agent/prompts");
  mkdirSync(join(prompts, "nested"), { recursive: true });
  mkdirSync(join(prompts, "node_modules"));
  for (const name of ["good", ".hidden", "ignored", "nested/deep", "node_modules/x"]) writeFileSync(join(prompts, `${name}.md`), `text of ${name}`);
  writeFileSync(join(prompts, ".gitignore"), "ignored.md\n");
  writeFileSync(join(prompts, "broken.md"), "---\ndescription: [unclosed\n---\nx");
  writeFileSync(join(prompts, "list.md"), "---\n- a\n---\nbody of list");
  writeFileSync(join(prompts, "nameless.md"), '---\ndescription: ""\n---\nbody of nameless');
  writeFileSync(join(prompts, "notes.txt"), "x");
  symlinkSync(join(prompts, "nowhere.md"), join(prompts, "dangling.md"));
  symlinkSync(prompts, join(prompts, "loop"));
  writeFileSync(join(prompts, "secret.md"), "x");
  chmodSync(join(prompts, "secret.md"), 0o000);
  const isRoot = process.getuid?.() === 0;
  const rpc = startRpc({ home, script });
  const { commands } = await rpc.ask("get_commands");
  expect(commands.map(({ name }: { name: string }) => name)).toEqual(["good", "list", "nameless", ...(isRoot ? ["secret"] : [])]);
  expect(commands[1].description).toBe("body of list");
  expect(commands[2].description).toBe("body of nameless");
  const warnings = rpc.stderr.split("\n").filter((line) => line.includes("is not loaded"));
  expect(warnings).toHaveLength(isRoot ? 1 : 2);
  expect(rpc.stderr).toContain(join(prompts, "broken.md"));
  expect(rpc.stderr, "a line of the file").toContain("at line 2, column");
  // One line each, without a picture of the place.
  expect(rpc.stderr.trim().split("\n")).toEqual(warnings);
});

test("the order of places decides names; the loser is named; switches drop places", async () => {
  const place = (name: string) => ({ [`${name}/same.md`]: `from ${name}`, [`${name}/only-${name.replaceAll("/", "-")}.md`]: `only ${name}` });
  const options = {
    script,
    agentFiles: { ...place("prompts"), ...place("listed"), "settings.json": JSON.stringify({ prompts: ["listed"] }) },
    files: {
      ...place(".pi/prompts"),
      ...place(".pi/mine"),
      ".pi/settings.json": JSON.stringify({ prompts: ["mine"] }),
      ...place("explicit"),
      ...place("pack/prompts"),
    },
  };
  const all = startRpc({ ...options, args: ["--approve", "--prompt-template", "explicit", "-e", "pack"] });
  const names = (await all.ask("get_commands")).commands.map(({ name }: { name: string }) => name);
  expect(names).toEqual(["only-pack-prompts", "same", "only-.pi-mine", "only-.pi-prompts", "only-listed", "only-prompts", "only-explicit"]);
  expect(await sent(all, "/same")).toBe("from pack/prompts");
  expect(all.stderr).toContain(`/same of ${join(all.places.agentDir, "prompts/same.md")} is not used: ${join(all.places.cwd, "pack/prompts/same.md")}`);

  const trusted = startRpc({ ...options, args: ["--approve"] });
  expect(await sent(trusted, "/same")).toBe("from .pi/mine");
  const untrusted = startRpc({ ...options });
  expect(await sent(untrusted, "/same")).toBe("from listed");
  const off = startRpc({ ...options, args: ["--approve", "-np", "--prompt-template", "explicit"] });
  expect((await off.ask("get_commands")).commands.map(({ name }: { name: string }) => name)).toEqual(["only-explicit", "same"]);
});

test("a template that gives no text is refused where it is named, with a reason, and the model is not asked", async () => {
  const rpc = startRpc({ script, agentFiles: { "prompts/empty.md": "---\ndescription: Nothing\n---\n", "prompts/echo.md": "$@" } });
  const refused = (text: string) => ({ success: false, error: `There is nothing to send to the model: the prompt "${text}" is empty` });
  expect(await rpc.call("prompt", { message: "/empty" })).toMatchObject(refused("/empty"));
  expect(await rpc.call("prompt", { message: "/echo ''" })).toMatchObject(refused("/echo ''"));
  expect(await rpc.call("steer", { message: "/echo" })).toMatchObject(refused("/echo"));
  expect(await rpc.call("follow_up", { message: "/empty" })).toMatchObject(refused("/empty"));
  expect(await rpc.ask("get_state")).toMatchObject({ isStreaming: false, messageCount: 0, pendingMessageCount: 0 });
  expect(await sent(rpc, "/echo 'a b'")).toBe("a b");
  const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const frames = await rpc.prompt("/empty", { images: [{ type: "image", data, mimeType: "image/png" }] });
  expect(frames.find(({ type }) => type === "message_end")?.message.content).toMatchObject([{ type: "image" }]);
});
