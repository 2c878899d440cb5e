import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readFileArguments } from "../../plugins/shared/file-arguments.ts";
import { programPath, repositoryRoot, runPi, startRpc, tempDir } from "../helpers/pi.ts";

const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

test("@file arguments: texts as blocks, images as attachments, empty ones skipped", async () => {
  const dir = tempDir();
  writeFileSync(join(dir, "a.txt"), "\uFEFFline\n");
  writeFileSync(join(dir, "picture.txt"), png);
  writeFileSync(join(dir, "empty.txt"), "");
  const { text, images } = await readFileArguments(["a.txt", "empty.txt", "picture.txt", join(dir, "a.txt")], dir);
  expect(text).toBe(`<file name="${dir}/a.txt">\nline\n\n</file>\n<file name="${dir}/picture.txt"></file>\n<file name="${dir}/a.txt">\nline\n\n</file>`);
  expect(images).toEqual([{ type: "image", data: png.toString("base64"), mimeType: "image/png" }]);
  expect((await readFileArguments(["~/a.txt"], "/", dir)).text).toContain(`${dir}/a.txt`);
  await expect(readFileArguments(["none.txt"], dir)).rejects.toThrow(`File not found: ${dir}/none.txt`);
  mkdirSync(join(dir, "folder"));
  await expect(readFileArguments(["folder"], dir)).rejects.toThrow(`Is a directory, not a file: ${dir}/folder`);
});

test("piped text, files and the first word form the first prompt", async () => {
  const script = { responses: ["one", "two"] };
  const done = await runPi({ script, files: { "a.txt": "content" }, args: ["--mode", "json", "--no-session", "@a.txt", "first", "second"], input: "piped\n" });
  const users = done.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter((event) => event.type === "message_end" && event.message.role === "user")
    .map(({ message }) => (typeof message.content === "string" ? message.content : message.content[0].text));
  expect(users).toHaveLength(2);
  expect(users[0]).toMatch(/^piped\n+<file name=".*\/a\.txt">\ncontent\n<\/file>\n+first$/);
  expect(users[1]).toBe("second");
});

test("a missing file and options nobody knows end with status 1 and a sentence", async () => {
  for (const [args, message] of [
    [["-p", "@none.txt", "x"], /File not found: .*none\.txt/],
    [["-zz"], /-zz/],
    [["--mode", "rpc", "@a.txt"], /@file arguments are not supported in RPC mode/],
    [["--mode", "nonsense"], /nonsense/],
    [["--skill"], /--skill/],
  ] as const) {
    const done = await runPi({ args: ["--model", "offline/demo", ...args], files: { "a.txt": "x" } });
    expect(done, args.join(" ")).toMatchObject({ status: 1, stdout: "" });
    expect(done.stderr).toMatch(message);
  }
});

test.skipIf(process.platform !== "linux").each(["--help", "list", "completions bash"])(
  "%s: output that cannot be written is no success, a reader that went away is none of ours",
  async (args) => {
    const env = { PATH: process.env.PATH, HOME: tempDir() };
    const through = (shell: string) =>
      spawnSync("bash", ["-o", "pipefail", "-c", `"$0" "$1" ${args} ${shell}`, process.execPath, programPath], { env, encoding: "utf8" });
    expect(through("> /dev/full")).toMatchObject({ status: 1, stderr: expect.stringContaining("ENOSPC") });
    expect(through("| true")).toMatchObject({ status: 0, stderr: "" });
  },
);

test("--help lists the flags and commands, and the page about the command line knows them all", async () => {
  const { stdout, status } = await runPi({ args: ["--help"] });
  expect(status).toBe(0);
  const page = readFileSync(join(repositoryRoot, "docs/cli.md"), "utf8");
  const flags = [...stdout.matchAll(/^ {2}(?:-\w+, )?(--[\w-]+)/gm)].map(([, flag]) => flag as string);
  expect(flags.length).toBeGreaterThan(30);
  expect(flags.filter((flag) => !page.includes(flag))).toEqual([]);
  const commands = [...(stdout.split("Commands\n")[1]?.split("\n\n")[0] ?? "").matchAll(/^ {2}(\w+)/gm)].map(([, command]) => command as string);
  expect(commands).toEqual(expect.arrayContaining(["install", "remove", "uninstall", "list", "update", "config", "completions"]));
  expect(commands.filter((command) => command !== "uninstall" && !page.includes(`\`${command}`))).toEqual([]);
});

test("completions for bash complete commands, flags, values and files", async () => {
  const { stdout, status } = await runPi({ args: ["completions", "bash"] });
  expect(status).toBe(0);
  const dir = tempDir();
  writeFileSync(join(dir, "notes.md"), "");
  const complete = (...words: string[]) => {
    const line = words.map((word) => `'${word}'`).join(" ");
    const code = `${stdout}\nCOMP_WORDS=(pi ${line}); COMP_CWORD=${words.length}; _pi; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", code], { cwd: dir, encoding: "utf8" }).trim().split("\n");
  };
  expect(complete("inst")).toEqual(["install"]);
  expect(complete("--thi")).toEqual(["--thinking"]);
  expect(complete("--thinking", "m")).toEqual(["minimal", "medium", "max"]);
  expect(complete("--mode", "")).toEqual(expect.arrayContaining(["rpc", "json", "text"]));
  expect(complete("--rpc-dialect", "om")).toEqual(["omp"]);
  expect(complete("-e", "no")).toEqual(["notes.md"]);
  expect(complete("hello", "@no")).toEqual(["@notes.md"]);
  expect(complete("--model", "x")).toEqual([""]);
});

test.each(["zsh", "fish"])("completions for %s are a script of it", async (shell) => {
  const { stdout, status } = await runPi({ args: ["completions", shell] });
  expect(status).toBe(0);
  for (const word of ["thinking", "minimal", "install", "extension"]) expect(stdout).toContain(word);
  const file = join(tempDir(), "script");
  writeFileSync(file, stdout);
  const checked = spawnSync(shell, ["-n", file], { encoding: "utf8" });
  if (!checked.error) expect(checked.stderr).toBe("");
});

test("completions for anything else are refused", async () => {
  expect(await runPi({ args: ["completions", "cmd"] })).toMatchObject({ status: 1, stdout: "" });
  expect(await runPi({ args: ["completions"] })).toMatchObject({ status: 1, stdout: "" });
});

test("the agent directory can be elsewhere", async () => {
  const dir = tempDir();
  mkdirSync(join(dir, "prompts"));
  writeFileSync(join(dir, "prompts/x.md"), "X");
  const rpc = startRpc({ env: { PI_CODING_AGENT_DIR: dir }, script: ["ok"] });
  expect((await rpc.ask("get_commands")).commands).toMatchObject([{ name: "x" }]);
});

test.skipIf(process.platform !== "linux")("a working directory that is gone is one sentence", () => {
  const dir = tempDir();
  const gone = 'cd "$(mktemp -d -p .)" && rmdir "$PWD" && exec "$@"';
  const { status, stderr } = spawnSync("bash", ["-c", gone, "bash", process.execPath, programPath, "-p", "hi"], {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: dir },
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 1, stderr: "Error: The working directory does not exist any more.\n" });
});

test.skipIf(process.platform !== "linux")("help into a reader that went away is no failure", () => {
  const dir = tempDir();
  const { status, stderr } = spawnSync("bash", ["-o", "pipefail", "-c", '"$@" --help | true', "bash", process.execPath, programPath], {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: dir },
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});
