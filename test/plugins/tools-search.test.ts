/** The tools grep, find and ls; what ripgrep and fd do, the built-in search must do too. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ToolResult } from "../../core/index.ts";
import { findExecutable } from "../../plugins/shared/shell.ts";
import { createFindTool, type FindParams } from "../../plugins/tools/definitions/find.ts";
import { createGrepTool, type GrepParams } from "../../plugins/tools/definitions/grep.ts";
import { createLsTool, type LsParams } from "../../plugins/tools/definitions/ls.ts";
import { tempDir } from "../helpers/pi.ts";

const textOf = ({ content }: ToolResult) => content.map((block) => ("text" in block ? block.text : "")).join("");

function tree(files: Record<string, string | Buffer>): string {
  const dir = tempDir();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
  return dir;
}

const hasRipgrep = findExecutable(["rg"], process.env.PATH) !== undefined;
const hasFd = findExecutable(["fd", "fdfind"], process.env.PATH) !== undefined;

describe.each([
  { engine: "built in", useEngine: false, isThere: true },
  { engine: "ripgrep", useEngine: true, isThere: hasRipgrep },
])("grep, $engine", ({ engine, useEngine, isThere }) => {
  const check = (name: string, test: () => Promise<void>) =>
    it(name, (context) => {
      if (!isThere) context.skip(`${engine} is not installed`);
      return test();
    });
  const grep = (dir: string, params: GrepParams, signal?: AbortSignal) => createGrepTool(dir, { useEngine }).execute("1", params, signal);
  const show = async (dir: string, params: GrepParams) => textOf(await grep(dir, params));

  check("begins lines behind a byte order mark and ends them before CRLF", async () => {
    const dir = tree({ "a.txt": "\uFEFFfirst\r\nsecond\r\n", "b.txt": "first\nsecond" });
    expect(await show(dir, { pattern: "^first$" })).toBe("a.txt:1: first\nb.txt:1: first");
    expect(await show(dir, { pattern: "^second$", context: 1 })).toBe("a.txt-1- first\na.txt:2: second\nb.txt-1- first\nb.txt:2: second");
  });

  check("shows matches with file and line, hidden files too, ignored ones and .git not", async () => {
    const dir = tree({
      "a.txt": "one needle\ntwo\nneedle three\r\n",
      "b/c ü.txt": "a needle",
      ".hidden": "needle",
      ".gitignore": "ignored.txt\nbuild/\n*.log\n!keep.log\n",
      ".ignore": "also-ignored.txt\n",
      "ignored.txt": "needle",
      "also-ignored.txt": "needle",
      "build/x.txt": "needle",
      "x.log": "needle",
      "keep.log": "needle",
      "b/.gitignore": "inner.txt\n",
      "b/inner.txt": "needle",
      "inner.txt": "needle",
      ".git/config": "needle",
      "b/.git": "needle",
    });
    expect((await show(dir, { pattern: "needle" })).split("\n")).toEqual([
      ".hidden:1: needle",
      "a.txt:1: one needle",
      "a.txt:3: needle three",
      "b/c ü.txt:1: a needle",
      "inner.txt:1: needle",
      "keep.log:1: needle",
    ]);
    expect("details" in (await grep(dir, { pattern: "needle" }))).toBe(false);
  });

  check("searches an ignored directory that is named, and ignored files that a pattern names; case counts", async () => {
    const dir = tree({
      ".git/HEAD": "",
      ".gitignore": "node_modules\n\\[x\\]*/\n*.log\n",
      "node_modules/lib/a.txt": "x",
      "node_modules/lib/b.log": "x",
      "node_modules/c.log": "x",
      "[x] y/d.txt": "x",
      "g.log": "x",
      "h.LOG": "x",
    });
    expect(await show(dir, { pattern: "x", path: "node_modules" })).toBe("lib/a.txt:1: x");
    expect(await show(dir, { pattern: "x", path: "node_modules/lib" })).toBe("a.txt:1: x");
    expect(await show(dir, { pattern: "x", path: "[x] y" })).toBe("d.txt:1: x");
    expect(await show(dir, { pattern: "^x" })).toBe("h.LOG:1: x");
    expect(await show(dir, { pattern: "x", glob: "*.log" })).toBe("g.log:1: x");
  });

  check("respects the ignore files of the repository around the search", async () => {
    const dir = tree({
      ".git/HEAD": "",
      ".gitignore": "*.tmp\n/sub/rooted.txt\n",
      "sub/a.tmp": "x",
      "sub/a.txt": "x",
      "sub/rooted.txt": "x",
      ".git/info/exclude": "a.md\n",
      "sub/a.md": "x",
    });
    expect(await show(dir, { pattern: "x", path: "sub" })).toBe("a.txt:1: x");
  });

  check("searches one file by its base name, with fixed text, case and expressions", async () => {
    const dir = tree({ "sub/a.txt": "f(x)\nF(X)\nfoo\n" });
    expect(await show(dir, { pattern: "f(x)", path: "sub/a.txt", literal: true })).toBe("a.txt:1: f(x)");
    expect(await show(dir, { pattern: "f(x)", path: "sub/a.txt", literal: true, ignoreCase: true })).toBe("a.txt:1: f(x)\na.txt:2: F(X)");
    expect(await show(dir, { pattern: "^f\\w+$" })).toBe("sub/a.txt:3: foo");
    expect(await show(dir, { pattern: "(?i)^FOO$" })).toBe("sub/a.txt:3: foo");
    expect(await show(dir, { pattern: "nothing" })).toBe("No matches found");
    expect(await show(dir, { pattern: "-e" })).toBe("No matches found");
  });

  check("shows context in one block per match", async () => {
    const dir = tree({ "a.txt": "1\n2\nx3\n4\nx5\n6\n7\n" });
    expect(await show(dir, { pattern: "x", context: 1 })).toBe("a.txt-2- 2\na.txt:3: x3\na.txt-4- 4\na.txt-4- 4\na.txt:5: x5\na.txt-6- 6");
    expect(await show(dir, { pattern: "1", context: 3, limit: 1 })).toContain("a.txt:1: 1\na.txt-2- 2\na.txt-3- x3\na.txt-4- 4");
  });

  check("filters files by glob, also with alternatives, paths and exclusions", async () => {
    const dir = tree({ "a.ts": "x", "b.js": "x", "src/c.ts": "x", "src/deep/d.ts": "x", "src/e.md": "x" });
    const files = async (glob: string) => (await show(dir, { pattern: "x", glob })).split("\n").map((line) => line.split(":")[0]);
    expect(await files("*.ts")).toEqual(["a.ts", "src/c.ts", "src/deep/d.ts"]);
    expect(await files("*.{js,md}")).toEqual(["b.js", "src/e.md"]);
    expect(await files("src/*.ts")).toEqual(["src/c.ts"]);
    expect(await files("src/**/*.ts")).toEqual(["src/c.ts", "src/deep/d.ts"]);
    expect(await files("!src")).toEqual(["a.ts", "b.js"]);
  });

  check("stops at the limit and says so; long lines and long results are cut", async () => {
    const dir = tree({ "a.txt": Array.from({ length: 300 }, () => `m${"y".repeat(600)}`).join("\n") });
    const result = await grep(dir, { pattern: "m" });
    expect(textOf(result)).toContain(`a.txt:1: m${"y".repeat(499)}... [truncated]\n`);
    const notice = textOf(result).split("\n\n").at(-1);
    expect(notice).toMatch(/^\[100 matches limit reached\. .*limit=200.*\. 50\.0KB limit reached\. .*500 characters.*\]$/);
    expect(result.details).toMatchObject({ matchLimitReached: 100, linesTruncated: true, truncation: { truncated: true } });
  });

  check("passes over binary, huge and unreadable files, pipes and loops", async () => {
    const dir = tree({ "a.txt": "needle", "binary.bin": Buffer.concat([Buffer.from("needle\n"), Buffer.alloc(10)]), "huge.bin": "" });
    truncateSync(join(dir, "huge.bin"), 10 * 1024 ** 3);
    execFileSync("mkfifo", [join(dir, "pipe")]);
    symlinkSync(".", join(dir, "loop"));
    symlinkSync("a.txt", join(dir, "link.txt"));
    chmodSync(join(dir, "binary.bin"), 0o000);
    expect(await show(dir, { pattern: "needle" })).toBe("a.txt:1: needle");
  });

  check("gives the engine's words for a bad expression, and the path that is missing", async () => {
    const dir = tree({ "a.txt": "x" });
    await expect(grep(dir, { pattern: "(" })).rejects.toThrow(/regex parse error/);
    await expect(grep(dir, { pattern: "x", glob: "[" })).rejects.toThrow(/glob/);
    await expect(grep(dir, { pattern: "x", path: "missing" })).rejects.toThrow(`Path not found: ${join(dir, "missing")}`);
    await expect(grep(dir, { pattern: "x" }, AbortSignal.abort())).rejects.toThrow("Operation aborted");
  });

  check("an expression that never ends does not hang it", async () => {
    const dir = tree({ "a.txt": `${"a".repeat(40)}b\n` });
    const outcome = await show(dir, { pattern: "^(a+)+$" }).catch((error: Error) => error.message);
    expect(["No matches found", "The pattern takes too long to match. Use a simpler one."]).toContain(outcome);
  });
});

it("grep reads the lines around a match through an extension's operations", async () => {
  const dir = tree({ "a.txt": "one\ntwo\n" });
  const tool = createGrepTool(dir, { useEngine: false, operations: { isDirectory: () => true, readFile: () => "eins\nzwei\ndrei" } });
  expect(textOf(await tool.execute("1", { pattern: "two", context: 1 }))).toBe("a.txt-1- eins\na.txt:2: two\na.txt-3- drei");
});

describe.each([
  { engine: "built in", useEngine: false, isThere: true },
  { engine: "fd", useEngine: true, isThere: hasFd },
])("find, $engine", ({ engine, useEngine, isThere }) => {
  const check = (name: string, test: () => Promise<void>) =>
    it(name, (context) => {
      if (!isThere) context.skip(`${engine} is not installed`);
      return test();
    });
  const find = (dir: string, params: FindParams, signal?: AbortSignal) => createFindTool(dir, { useEngine }).execute("1", params, signal);
  const show = async (dir: string, params: FindParams) => textOf(await find(dir, params)).split("\n");

  check("finds names, hidden ones too, directories with a slash, ignored ones and .git not", async () => {
    const dir = tree({
      "a.ts": "",
      ".hidden/b.ts": "",
      "lib.ts/c.js": "",
      "skip/d.ts": "",
      ".gitignore": "skip/\n",
      ".git/e.ts": "",
      "sub/.git/f.ts": "",
      "README.MD": "",
    });
    expect(await show(dir, { pattern: "*.ts" })).toEqual([".hidden/b.ts", "a.ts", "lib.ts/"]);
    expect(await show(dir, { pattern: "*.md" })).toEqual(["README.MD"]);
    expect(await show(dir, { pattern: "*.Md" })).toEqual(["No files found matching pattern"]);
  });

  check("matches patterns with a slash against the whole path", async () => {
    const dir = tree({ "src/a.ts": "", "src/deep/b.ts": "", "lib/src/c.ts": "", "d.ts": "" });
    expect(await show(dir, { pattern: "src/*.ts" })).toEqual(["lib/src/c.ts", "src/a.ts"]);
    expect(await show(dir, { pattern: "src/**/*.ts" })).toEqual(["lib/src/c.ts", "src/a.ts", "src/deep/b.ts"]);
    expect(await show(dir, { pattern: "**/*.ts", path: "src" })).toEqual(["a.ts", "deep/b.ts"]);
    expect(await show(dir, { pattern: `${dir}/*.ts` })).toEqual(["d.ts"]);
    expect(await show(dir, { pattern: "*.{js,ts}", path: "lib" })).toEqual(["src/c.ts"]);
  });

  check("stops at the limit, survives loops, and complains about what is wrong", async () => {
    const dir = tree(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}.txt`, ""])));
    symlinkSync(".", join(dir, "loop"));
    const result = await find(dir, { pattern: "*.txt", limit: 10 });
    expect(textOf(result)).toMatch(/\n\n\[10 results limit reached\. .*limit=20.*\]$/);
    expect(result.details).toEqual({ resultLimitReached: 10 });
    expect((await show(dir, { pattern: "*" })).filter((line) => line.startsWith("loop"))).toEqual(["loop"]);
    await expect(find(dir, { pattern: "[" })).rejects.toThrow(/glob/);
    await expect(find(dir, { pattern: "*", path: "missing" })).rejects.toThrow(`Path not found: ${join(dir, "missing")}`);
    await expect(find(dir, { pattern: "*", path: "f1.txt" })).rejects.toThrow(`Not a directory: ${join(dir, "f1.txt")}`);
    await expect(find(dir, { pattern: "*" }, AbortSignal.abort())).rejects.toThrow("Operation aborted");
  });
});

it("find works through an extension's operations", async () => {
  const tool = createFindTool("/far", { operations: { exists: () => true, glob: (pattern, cwd) => [`${cwd}/x/${pattern}`, "y.ts"] } });
  expect(textOf(await tool.execute("1", { pattern: "a.ts" }))).toBe("x/a.ts\ny.ts");
});

describe("ls", () => {
  const ls = (dir: string, params: LsParams = {}) => createLsTool(dir).execute("1", params);

  it("lists everything by name, directories with a slash, without what cannot be looked at", async () => {
    const dir = tree({ "b.txt": "", "A.txt": "", ".dot": "", "Sub/x": "" });
    symlinkSync("nowhere", join(dir, "dangling"));
    symlinkSync("Sub", join(dir, "link"));
    symlinkSync("loop", join(dir, "loop"));
    expect(textOf(await ls(dir))).toBe(".dot\nA.txt\nb.txt\nlink/\nSub/");
    expect(textOf(await ls(dir, { path: "Sub" }))).toBe("x");
  });

  it("knows empty directories, limits and mistakes", async () => {
    const dir = tree({ "a/1": "", "a/2": "", "a/3": "" });
    mkdirSync(join(dir, "empty"));
    expect(textOf(await ls(dir, { path: "empty" }))).toBe("(empty directory)");
    const result = await ls(dir, { path: "a", limit: 2 });
    expect(textOf(result)).toMatch(/^1\n2\n\n\[2 entries limit reached\. .*limit=4.*\]$/);
    expect(result.details).toEqual({ entryLimitReached: 2 });
    expect("details" in (await ls(dir, { path: "a", limit: 3 }))).toBe(false);
    await expect(ls(dir, { path: "missing" })).rejects.toThrow(`Path not found: ${join(dir, "missing")}`);
    await expect(ls(dir, { path: "a/1" })).rejects.toThrow(`Not a directory: ${join(dir, "a/1")}`);
  });

  it("cuts long lists at 50 KB", async () => {
    const dir = tree({});
    for (let index = 0; index < 300; index++) writeFileSync(join(dir, `${index}-${"n".repeat(200)}`), "");
    const result = await ls(dir, { limit: 1000 });
    expect(textOf(result).endsWith("\n\n[50.0KB limit reached]")).toBe(true);
    expect(result.details?.truncation).toMatchObject({ truncated: true, truncatedBy: "bytes" });
  });
});
