/** The tools read, write and edit on real files of all kinds. */
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { createEditTool, repairArguments } from "../../plugins/tools/definitions/edit.ts";
import { createReadTool } from "../../plugins/tools/definitions/read.ts";
import { createWriteTool } from "../../plugins/tools/definitions/write.ts";
import { withFileMutationQueue } from "../../plugins/tools/shared/mutation-queue.ts";
import { tempDir } from "../helpers/pi.ts";

type Result = { content: { type: string; text?: string }[]; details?: any };
const textOf = ({ content }: Result) => content.map(({ text }) => text ?? "").join("");

function place() {
  const dir = tempDir();
  const file = (name: string, content: string | Buffer = "") => {
    writeFileSync(join(dir, name), content);
    return join(dir, name);
  };
  const read = async (params: object, signal?: AbortSignal) => (await createReadTool(dir).execute("1", params as never, signal)) as Result;
  const write = async (path: string, content: string, signal?: AbortSignal) => textOf(await createWriteTool(dir).execute("1", { path, content }, signal));
  const edit = async (path: string, ...edits: [string, string][]) =>
    (await createEditTool(dir).execute("1", { path, edits: edits.map(([oldText, newText]) => ({ oldText, newText })) })) as Result;
  return { dir, file, read, write, edit };
}

const lines = (count: number, text = "line") => Array.from({ length: count }, (_, index) => `${text} ${index + 1}`).join("\n");

describe("read", () => {
  it("gives a text file as it is, without details", async () => {
    const { file, read } = place();
    file("a.txt", "one\r\ntwo\n");
    const result = await read({ path: "a.txt" });
    expect(textOf(result)).toBe("one\r\ntwo\n");
    expect("details" in result).toBe(false);
  });

  it("cuts after 2000 lines and says how to go on; a final newline counts as one more line", async () => {
    const { file, read } = place();
    file("a.txt", `${lines(2500)}\n`);
    const result = await read({ path: "a.txt" });
    expect(textOf(result)).toBe(`${lines(2000)}\n\n[Showing lines 1-2000 of 2501. Use offset=2001 to continue.]`);
    expect(result.details.truncation).toMatchObject({ truncated: true, truncatedBy: "lines", outputLines: 2000 });
    const rest = await read({ path: "a.txt", offset: 2001 });
    expect(textOf(rest).startsWith("line 2001\n")).toBe(true);
    expect(textOf(rest).endsWith("line 2500\n")).toBe(true);
  });

  it("cuts whole lines at 50 KB", async () => {
    const { file, read } = place();
    file("a.txt", Array.from({ length: 100 }, () => "x".repeat(1023)).join("\n"));
    const result = await read({ path: "a.txt" });
    expect(textOf(result)).toContain("\n\n[Showing lines 1-50 of 100 (50.0KB limit). Use offset=51 to continue.]");
    expect(result.details.truncation).toMatchObject({ truncatedBy: "bytes", outputLines: 50, outputBytes: 51199, totalBytes: 102399 });
  });

  it("applies limit before the cut and tells how many lines are left", async () => {
    const { file, read } = place();
    file("a.txt", lines(10));
    expect(textOf(await read({ path: "a.txt", offset: 3, limit: 2 }))).toBe("line 3\nline 4\n\n[6 more lines in file. Use offset=5 to continue.]");
    expect(textOf(await read({ path: "a.txt", offset: 9, limit: 2 }))).toBe("line 9\nline 10");
    expect(textOf(await read({ path: "a.txt", limit: 1 }))).toBe("line 1\n\n[9 more lines in file. Use offset=2 to continue.]");
  });

  it("names a first line that is too big", async () => {
    const { file, read } = place();
    file("a.txt", `short\n${"x".repeat(60_000)}\nend`);
    const result = await read({ path: "a.txt", offset: 2 });
    expect(textOf(result)).toBe("[Line 2 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '2p' a.txt | head -c 51200]");
    expect(result.details.truncation.firstLineExceedsLimit).toBe(true);
  });

  it("refuses an offset past the end", async () => {
    const { file, read } = place();
    file("a.txt", "a\nb\n");
    await expect(read({ path: "a.txt", offset: 4 })).rejects.toThrow("Offset 4 is beyond end of file (3 lines total)");
    expect(textOf(await read({ path: "a.txt", offset: 3 }))).toBe("");
  });

  it("finds lines across the borders of what it reads at once", async () => {
    const { file, read } = place();
    const long = Array.from({ length: 60_000 }, (_, index) => `${index + 1}:${"é".repeat(index % 40)}`);
    file("big.txt", long.join("\n"));
    for (const offset of [1, 2, 17_777, 40_001, 59_999]) {
      const result = await read({ path: "big.txt", offset, limit: 7 });
      expect(textOf(result).split("\n\n[")[0]).toBe(long.slice(offset - 1, offset + 6).join("\n"));
    }
  });

  it("decodes bytes that are no UTF-8, and binary files, without complaint", async () => {
    const { file, read } = place();
    file("latin1.txt", Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]));
    file("binary", Buffer.from([0, 1, 2, 255, 254, 10, 0]));
    expect(textOf(await read({ path: "latin1.txt" }))).toBe("caf\uFFFD\n");
    expect(textOf(await read({ path: "binary" }))).toBe("\0\u0001\u0002\uFFFD\uFFFD\n\0");
  });

  it("takes paths with spaces, Unicode, @, ~ and file:, and the names that macOS makes", async () => {
    const { dir, file, read } = place();
    file("a b ü 日本.txt", "1");
    file("Shot 3.04\u202FPM.txt", "2");
    file("l\u2019e\u0301te\u0301.txt", "3");
    expect(textOf(await read({ path: "a\u00A0b ü 日本.txt" }))).toBe("1");
    expect(textOf(await read({ path: "@a b ü 日本.txt" }))).toBe("1");
    expect(textOf(await read({ path: pathToFileURL(join(dir, "a b ü 日本.txt")).href }))).toBe("1");
    expect(textOf(await read({ path: `~/${relative(homedir(), join(dir, "a b ü 日本.txt"))}` }))).toBe("1");
    expect(textOf(await read({ path: "Shot 3.04 PM.txt" }))).toBe("2");
    expect(textOf(await read({ path: "l'été.txt" }))).toBe("3");
  });

  it("reads a 10 GB sparse file in pieces: memory stays, lines are counted", { timeout: 60_000 }, async () => {
    const { dir, file, read } = place();
    file("huge", "first\nsecond\n");
    truncateSync(join(dir, "huge"), 10 * 1024 ** 3);
    const before = process.memoryUsage().rss;
    expect(textOf(await read({ path: "huge", limit: 2 }))).toBe("first\nsecond\n\n[1 more lines in file. Use offset=3 to continue.]");
    expect(textOf(await read({ path: "huge", offset: 3 }))).toContain("[Line 3 is 10240.0MB, exceeds 50.0KB limit.");
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  });

  it("stops counting when it is aborted", async () => {
    const { dir, file, read } = place();
    file("huge");
    truncateSync(join(dir, "huge"), 10 * 1024 ** 3);
    const controller = new AbortController();
    const reading = read({ path: "huge" }, controller.signal);
    controller.abort();
    await expect(reading).rejects.toThrow("Operation aborted");
  });

  it("gives the system's words for what is missing or a directory, and refuses pipes, devices and loops", async () => {
    const { dir, read } = place();
    execFileSync("mkfifo", [join(dir, "pipe")]);
    symlinkSync("loop", join(dir, "loop"));
    await expect(read({ path: "missing" })).rejects.toThrow(/^ENOENT: /);
    await expect(read({ path: "." })).rejects.toThrow(/^EISDIR: /);
    await expect(read({ path: "pipe" })).rejects.toThrow("not a regular file (FIFO)");
    await expect(read({ path: "/dev/zero" })).rejects.toThrow("not a regular file (character device)");
    await expect(read({ path: "loop" })).rejects.toThrow(/^ELOOP: /);
  });

  it("works through operations of an extension", async () => {
    const tool = createReadTool("/far", {
      operations: { access: async () => undefined, readFile: async (path) => Buffer.from(`content of ${path}\nline 2`) },
    });
    expect(textOf(await tool.execute("1", { path: "a.txt", limit: 1 }))).toBe("content of /far/a.txt\n\n[1 more lines in file. Use offset=2 to continue.]");
  });
});

describe("write", () => {
  it("creates parents, overwrites, and repeats the path as given", async () => {
    const { dir, write } = place();
    expect(await write("a/b/c ü.txt", "héllo")).toBe("Successfully wrote to a/b/c ü.txt");
    expect(await write("@a/b/c ü.txt", "new")).toBe("Successfully wrote to @a/b/c ü.txt");
    expect(readFileSync(join(dir, "a/b/c ü.txt"), "utf8")).toBe("new");
    expect(readdirSync(join(dir, "a/b"))).toEqual(["c ü.txt"]);
  });

  it("keeps the mode, writes through links, also through one that points to nothing yet", async () => {
    const { dir, file, write } = place();
    chmodSync(file("run.sh", "old"), 0o751);
    symlinkSync("run.sh", join(dir, "link"));
    symlinkSync("later.txt", join(dir, "dangling"));
    await write("link", "new");
    await write("dangling", "made");
    expect(lstatSync(join(dir, "link")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(dir, "run.sh"), "utf8")).toBe("new");
    expect(statSync(join(dir, "run.sh")).mode & 0o777).toBe(0o751);
    expect(readFileSync(join(dir, "later.txt"), "utf8")).toBe("made");
  });

  it("fails clearly for directories, files in the way, loops, pipes, devices and read-only files, and leaves them alone", async () => {
    const { dir, file, write } = place();
    chmodSync(file("fixed", "old"), 0o444);
    mkdirSync(join(dir, "folder"));
    symlinkSync("loop", join(dir, "loop"));
    execFileSync("mkfifo", [join(dir, "pipe")]);
    await expect(write("folder", "x")).rejects.toThrow(/^EISDIR/);
    await expect(write("fixed/below", "x")).rejects.toThrow(/^(ENOTDIR|EEXIST)/);
    await expect(write("loop", "x")).rejects.toThrow(/^ELOOP/);
    await expect(write("pipe", "x")).rejects.toThrow("not a regular file (FIFO)");
    await expect(write("/dev/null", "x")).rejects.toThrow("not a regular file (character device)");
    await expect(write("fixed", "x")).rejects.toThrow(/^EACCES/);
    expect(readFileSync(join(dir, "fixed"), "utf8")).toBe("old");
    expect(readdirSync(dir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("does nothing once aborted", async () => {
    const { dir, write } = place();
    await expect(write("a.txt", "x", AbortSignal.abort())).rejects.toThrow("Operation aborted");
    expect(existsSync(join(dir, "a.txt"))).toBe(false);
  });

  it("a kill in the middle of writing leaves the old or the new content", async () => {
    const { dir, file } = place();
    const sizes = { old: 3_000_000, new: 4_000_000 };
    const target = file("big.txt", "o".repeat(sizes.old));
    const script = `
      const { createWriteTool } = await import(${JSON.stringify(join(import.meta.dirname, "../../plugins/tools/definitions/write.ts"))});
      process.stdout.write("ready\\n");
      for (;;) {
        await createWriteTool(${JSON.stringify(dir)}).execute("1", { path: "big.txt", content: "n".repeat(${sizes.new}) });
        await createWriteTool(${JSON.stringify(dir)}).execute("1", { path: "big.txt", content: "o".repeat(${sizes.old}) });
      }`;
    const runner = file(
      "run.mjs",
      `import { createJiti } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "../../node_modules/jiti/lib/jiti.mjs")).href)};
      const jiti = createJiti(import.meta.url); ${script.replace("await import(", "await jiti.import(")}`,
    );
    for (let round = 0; round < 4; round++) {
      const child = spawn(process.execPath, [runner], { stdio: ["ignore", "pipe", "inherit"] });
      await new Promise((resolve) => child.stdout.once("data", resolve));
      await new Promise((resolve) => setTimeout(resolve, 20 + round * 7));
      child.kill("SIGKILL");
      await new Promise((resolve) => child.once("close", resolve));
      const content = readFileSync(target, "utf8");
      expect([`o${sizes.old}`, `n${sizes.new}`]).toContain(`${content[0]}${content.length}`);
      expect(new Set(content).size).toBe(1);
    }
  });
});

describe("edit", () => {
  it("replaces several places, all matched against the original, and tells what changed", async () => {
    const { dir, file, edit } = place();
    file("a.txt", `${lines(12)}\n`);
    const result = await edit("a.txt", ["line 2\n", "second\n"], ["line 11", "line 2"]);
    expect(textOf(result)).toBe("Successfully replaced 2 block(s) in a.txt.");
    expect(readFileSync(join(dir, "a.txt"), "utf8")).toBe(`${lines(12).replace("line 2", "second").replace("line 11", "line 2")}\n`);
    expect(result.details.diff).toBe(
      "   1 line 1\n-  2 line 2\n+  2 second\n   3 line 3\n   4 line 4\n   5 line 5\n   6 line 6\n   7 line 7\n   8 line 8\n   9 line 9\n  10 line 10\n- 11 line 11\n+ 11 line 2\n  12 line 12"
        .split("\n")
        .map((row) => row[0] + row.slice(2))
        .join("\n"),
    );
    expect(result.details.firstChangedLine).toBe(2);
    expect(result.details.patch.startsWith("--- a.txt\n+++ a.txt\n@@ -1,12 +1,12 @@\n line 1\n-line 2\n+second\n")).toBe(true);
  });

  it("shows four lines around a change and dots for the rest, with old and new numbers", async () => {
    const { file, edit } = place();
    file("a.txt", lines(30));
    const { details } = await edit("a.txt", ["line 15\n", "a\nb\n"]);
    expect(details.diff).toBe(
      [
        "    ...",
        " 11 line 11",
        " 12 line 12",
        " 13 line 13",
        " 14 line 14",
        "-15 line 15",
        "+15 a",
        "+16 b",
        " 16 line 16",
        " 17 line 17",
        " 18 line 18",
        " 19 line 19",
        "    ...",
      ].join("\n"),
    );
    expect(details.patch).toContain("@@ -11,9 +11,10 @@");
    expect(details.firstChangedLine).toBe(15);
  });

  it("keeps byte order mark and CRLF, whatever the edit brings", async () => {
    const { dir, file, edit } = place();
    file("a.txt", "\uFEFFone\r\ntwo\r\nthree\r\n");
    await edit("a.txt", ["one\ntwo", "1\r\n2\nnew"]);
    expect(readFileSync(join(dir, "a.txt"), "utf8")).toBe("\uFEFF1\r\n2\r\nnew\r\nthree\r\n");
  });

  it("matches what looks the same; lines it does not touch keep their bytes", async () => {
    const { dir, file, edit } = place();
    file("a.txt", "keep \u201Cthis\u201D  \nsay(\u2018hi\u2019) \u2014 now\u00A0   \nalso\u2013keep\t\n");
    await edit("a.txt", ["say('hi') - now", "shout('hi')"]);
    expect(readFileSync(join(dir, "a.txt"), "utf8")).toBe("keep \u201Cthis\u201D  \nshout('hi')\nalso\u2013keep\t\n");
    // The line after a text that ends with its line feed is not touched either.
    file("b.txt", "say \u2018a\u2019\nkeep\u2013this  \nsay \u2018b\u2019\nlast\u2013line");
    await edit("b.txt", ["say 'a'\n", "A\n"], ["say 'b'\n", ""]);
    expect(readFileSync(join(dir, "b.txt"), "utf8")).toBe("A\nkeep\u2013this  \nlast\u2013line");
  });

  it("matches all edits loosely as soon as one needs it, several on one line too", async () => {
    const { dir, file, edit } = place();
    file("a.txt", "a\u00A0b c\u00A0d\nx  \ny\u2026");
    await edit("a.txt", ["a b", "1"], ["c d", "2"]);
    expect(readFileSync(join(dir, "a.txt"), "utf8")).toBe("1 2\nx  \ny\u2026");
  });

  it("is done with a line of very many blanks before anybody would notice", async () => {
    const { file, edit } = place();
    const blanks = " ".repeat(300_000);
    const path = file("a.txt", `a${blanks}b\nold\n`);
    await edit("a.txt", ["old", "new"]);
    expect(readFileSync(path, "utf8")).toBe(`a${blanks}b\nnew\n`);
  });

  it("changes bytes that are no UTF-8 only where it was told to", async () => {
    const { dir, file, edit } = place();
    file("latin1.txt", Buffer.from("caf\xe9 one\nna\xefve two\n", "latin1"));
    await edit("latin1.txt", ["two", "2"]);
    expect(readFileSync(join(dir, "latin1.txt"), "latin1")).toBe("caf\xe9 one\nna\xefve 2\n");
    await expect(edit("latin1.txt", ["missing", "2"])).rejects.toThrow("Could not find");
  });

  it("refuses with a reason and changes nothing", async () => {
    const { dir, file, edit } = place();
    const content = "same\nsame\nother\nquote \u2019x\u2019\nquote 'x'\n";
    file("a.txt", content);
    mkdirSync(join(dir, "folder"));
    chmodSync(file("fixed", "old"), 0o444);
    execFileSync("mkfifo", [join(dir, "pipe")]);
    file("huge");
    truncateSync(join(dir, "huge"), 10 * 1024 ** 3);
    await expect(edit("a.txt")).rejects.toThrow("edits must contain at least one");
    await expect(edit("a.txt", ["", "x"])).rejects.toThrow("oldText must not be empty");
    await expect(edit("a.txt", ["nowhere", "x"])).rejects.toThrow("Could not find the text in a.txt");
    await expect(edit("a.txt", ["other", "x"], ["nowhere", "y"])).rejects.toThrow("Could not find edits[1] in a.txt");
    await expect(edit("a.txt", ["same", "x"])).rejects.toThrow("Found 2 occurrences");
    await expect(edit("a.txt", ["quote 'x'", "x"])).rejects.toThrow("Found 2 occurrences");
    await expect(edit("a.txt", ["same\nother", "x"], ["other\nquote", "y"])).rejects.toThrow("edits[0] and edits[1] overlap");
    await expect(edit("a.txt", ["other", "other"])).rejects.toThrow("No changes made");
    await expect(edit("missing", ["a", "b"])).rejects.toThrow("Could not edit file: missing. Error code: ENOENT.");
    await expect(edit("folder", ["a", "b"])).rejects.toThrow("Could not edit file: folder. Error code: EISDIR.");
    await expect(edit("fixed", ["old", "b"])).rejects.toThrow("Could not edit file: fixed. Error code: EACCES.");
    await expect(edit("pipe", ["a", "b"])).rejects.toThrow("Could not edit file: pipe. Error code: EINVAL.");
    await expect(edit("huge", ["a", "b"])).rejects.toThrow("Could not edit file: huge. Error code: EFBIG.");
    expect(readFileSync(join(dir, "a.txt"), "utf8")).toBe(content);
  });

  it("repairs arguments: JSON text, one object, the older form", () => {
    const one = { oldText: "a", newText: "b" };
    expect(repairArguments({ path: "f", edits: JSON.stringify([one]) })).toEqual({ path: "f", edits: [one] });
    expect(repairArguments({ path: "f", edits: JSON.stringify(one) })).toEqual({ path: "f", edits: [one] });
    expect(repairArguments({ path: "f", edits: one })).toEqual({ path: "f", edits: [one] });
    expect(repairArguments({ path: "f", ...one })).toEqual({ path: "f", edits: [one] });
    expect(repairArguments({ path: "f", edits: [{ oldText: "c", newText: "d" }], ...one })).toEqual({
      path: "f",
      edits: [{ oldText: "c", newText: "d" }, one],
    });
  });

  it("never loses one of many concurrent changes of a file, also through links", async () => {
    const { dir, file, edit, write } = place();
    const count = 25;
    file("a.txt", Array.from({ length: count }, (_, index) => `<${index}>`).join("\n"));
    symlinkSync("a.txt", join(dir, "b.txt"));
    await Promise.all(Array.from({ length: count }, (_, index) => edit(index % 2 ? "a.txt" : "b.txt", [`<${index}>`, `[${index}]`])));
    expect(readFileSync(join(dir, "a.txt"), "utf8")).toBe(Array.from({ length: count }, (_, index) => `[${index}]`).join("\n"));
    await Promise.all([edit("a.txt", ["[0]", "zero"]), write("a.txt", "zero!"), edit("a.txt", ["zero!", "end"])]);
    expect(readFileSync(join(dir, "a.txt"), "utf8")).toBe("end");
  });

  it("an edit of a very large change is described in good time", async () => {
    const { file, edit } = place();
    const old = Array.from({ length: 20_000 }, (_, index) => `old ${index}`).join("\n");
    file("a.txt", `head\n${old}\ntail`);
    const { details } = await edit("a.txt", [old, Array.from({ length: 20_000 }, (_, index) => `new ${index}`).join("\n")]);
    expect(details.firstChangedLine).toBe(2);
    expect(details.patch).toContain("@@ -1,20002 +1,20002 @@");
  });
});

it("the queue of one file goes on after a failure, and other files do not wait", async () => {
  const dir = tempDir();
  const order: string[] = [];
  let release = () => {};
  const held = withFileMutationQueue(join(dir, "a"), () => new Promise<void>((resolve) => (release = resolve)).then(() => void order.push("a1")));
  const failing = withFileMutationQueue(join(dir, "a"), async () => {
    order.push("a2");
    throw new Error("no");
  });
  const last = withFileMutationQueue(join(dir, "x", "..", "a"), async () => void order.push("a3"));
  await withFileMutationQueue(join(dir, "b"), async () => void order.push("b"));
  release();
  await held;
  await expect(failing).rejects.toThrow("no");
  await last;
  expect(order).toEqual(["b", "a1", "a2", "a3"]);
});
