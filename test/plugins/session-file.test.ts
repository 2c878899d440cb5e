import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { AssistantMessage, UserMessage } from "../../core/index.ts";
import { copyPath, SessionDocument } from "../../plugins/session/document.ts";
import { LeaseError, leaseHolder, leasePath } from "../../plugins/session/lease.ts";
import { readLines, readLinesBackwards } from "../../plugins/session/lines.ts";
import { listSessions } from "../../plugins/session/list.ts";
import { headerIn, projectSessionDir } from "../../plugins/session/places.ts";
import { buildSessionContext } from "../../plugins/shared/session-context.ts";
import { tempDir } from "../helpers/pi.ts";

const user = (text: string, timestamp = 1): UserMessage => ({ role: "user", content: [{ type: "text", text }], timestamp });
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
const assistant = (text: string, timestamp = 2): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "scripted",
  provider: "scripted",
  model: "m",
  usage,
  stopReason: "stop",
  timestamp,
});

const header = { type: "session", version: 3, id: "11111111-1111-7111-8111-111111111111", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" };
const entry = (id: string, parentId: string | null, message: object) => ({ type: "message", id, parentId, timestamp: "2026-01-01T00:00:01.000Z", message });
const jsonl = (...lines: object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");
const linesOf = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

function open(path: string, onTrouble?: (error: unknown) => void): SessionDocument {
  const { document } = SessionDocument.open(path, { cwd: "/", onTrouble });
  onTestFinished(() => document.close());
  return document;
}

function create(dir: string, onTrouble?: (error: unknown) => void): SessionDocument {
  const document = SessionDocument.create({ cwd: "/home/dev/app", dir, onTrouble });
  onTestFinished(() => document.close());
  return document;
}

function written(...lines: object[]): string {
  const path = join(tempDir(), "s.jsonl");
  writeFileSync(path, jsonl(...lines));
  return path;
}

describe("a new session file", () => {
  it("comes with the first assistant message, whole, for its owner only", () => {
    const dir = join(tempDir(), "a/b");
    const document = create(dir);
    document.append({ type: "model_change", provider: "p", modelId: "m" });
    document.appendMessage(user("hi"));
    expect(existsSync(dir)).toBe(false);
    document.appendMessage(assistant("hello"));
    const path = document.file as string;
    expect(path).toMatch(/\/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.jsonl$/);
    expect(linesOf(path).map(({ type }) => type)).toEqual(["session", "model_change", "message", "message"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    document.appendMessage(user("more"));
    expect(linesOf(path)).toHaveLength(5);
    expect(readdirSync(dir).filter((name) => name.endsWith(".jsonl"))).toHaveLength(1);
  });

  it("is named after the working directory", () => {
    expect(projectSessionDir("/agent", "/home/dev/app")).toBe("/agent/sessions/--home-dev-app--");
    expect(projectSessionDir("/agent", "C:\\work\\a")).toBe("/agent/sessions/--C--work-a--");
  });

  it("stays in memory without a directory", () => {
    const document = SessionDocument.create({ cwd: "/" });
    document.appendMessage(assistant("hello"));
    expect(document.file).toBeUndefined();
    expect(document.isSaved).toBe(true);
  });

  it("escapes the separators that careless readers take for line ends", () => {
    const document = create(tempDir());
    document.appendMessage(assistant("a\u2028b\u2029c"));
    const text = readFileSync(document.file as string, "utf8");
    expect(text).not.toMatch(/[\u2028\u2029]/);
    expect(linesOf(document.file as string)[1].message.content[0].text).toBe("a\u2028b\u2029c");
  });
});

describe("opening", () => {
  it("keeps unknown entries and unknown fields, and goes on below the last line", () => {
    const path = written(
      header,
      { ...entry("a0000001", null, user("one")), extra: 1 },
      { type: "novelty", id: "a0000002", parentId: "a0000001", timestamp: "t", x: { y: 1 } },
    );
    const before = readFileSync(path, "utf8");
    const document = open(path);
    expect(readFileSync(path, "utf8")).toBe(before);
    document.appendMessage(user("two"));
    expect(readFileSync(path, "utf8").startsWith(before)).toBe(true);
    expect(linesOf(path).at(-1)).toMatchObject({ parentId: "a0000002" });
    expect(document.tree.messages()).toHaveLength(2);
    expect(document.tree.entries()[1]).toMatchObject({ type: "novelty", x: { y: 1 } });
  });

  it("leaves out a torn last line, keeps every whole one, and writes on a line of its own", () => {
    const path = written(header, entry("a0000001", null, user("one")), entry("a0000002", "a0000001", assistant("two")));
    truncateSync(path, statSync(path).size - 20);
    const torn = readFileSync(path, "utf8");
    const opened = SessionDocument.open(path, { cwd: "/" });
    onTestFinished(() => opened.document.close());
    expect(opened.isTorn).toBe(true);
    expect(opened.document.tree.messages()).toHaveLength(1);
    expect(readFileSync(path, "utf8")).toBe(torn);
    opened.document.appendMessage(user("three"));
    opened.document.close();
    expect(readFileSync(path, "utf8").startsWith(`${torn}\n{`)).toBe(true);
    expect(
      open(path)
        .tree.messages()
        .map((message) => message.role),
    ).toEqual(["user", "user"]);
  });

  it("keeps a whole last line that only lacks its line end", () => {
    const path = written(header, entry("a0000001", null, user("one")));
    truncateSync(path, statSync(path).size - 1);
    const document = open(path);
    expect(document.tree.messages()).toHaveLength(1);
    document.appendMessage(user("two"));
    expect(linesOf(path)).toHaveLength(3);
  });

  it("reads lines that end with CR LF, a byte order mark, blank and broken lines", () => {
    const path = join(tempDir(), "s.jsonl");
    const lines = [JSON.stringify(header), "", "{broken", JSON.stringify(entry("a0000001", null, user("one"))), "[1]", "null"];
    writeFileSync(path, `\uFEFF${lines.join("\r\n")}\r\n`);
    expect(open(path).tree.messages()).toHaveLength(1);
  });

  it("passes over messages that are none, and edits that say nothing", () => {
    const odd = [{ type: "message" }, { type: "message", message: "x" }, { type: "context_edit", targetId: "a0000001", replacement: {} }];
    const chained = odd.map((more, index) => ({ id: `a000000${index + 2}`, parentId: `a000000${index + 1}`, timestamp: "2026-01-01T00:00:01.000Z", ...more }));
    const path = written(header, entry("a0000001", null, user("one")), ...chained);
    expect(open(path).tree.messages()).toEqual([user("one")]);
  });

  it("makes a new session of an empty file", () => {
    const path = join(tempDir(), "s.jsonl");
    writeFileSync(path, "");
    const document = open(path);
    expect(linesOf(path)).toEqual([document.tree.header]);
    document.appendMessage(user("one"));
    expect(linesOf(path)).toHaveLength(2);
  });

  const binary = Buffer.from([0, 255, 1, 2, 10, 3, 4, 200, 10]);
  it.each([
    ["a file without a header", `${JSON.stringify(entry("a0000001", null, user("one")))}\n`, "Session file is not a valid pi session: PATH"],
    ["a binary file", binary, "Session file is not a valid pi session: PATH"],
    ["half a header", '{"type":"session","ver', "Session file is not a valid pi session: PATH"],
    ["a header without an id", jsonl({ type: "session", version: 3 }), "Session file is not a valid pi session: PATH"],
    ["a newer version", jsonl({ ...header, version: 4 }), "Unsupported session version: 4"],
  ])("refuses %s and leaves it alone", (_, content, error) => {
    const path = join(tempDir(), "s.jsonl");
    writeFileSync(path, content);
    const before = readFileSync(path);
    expect(() => SessionDocument.open(path, { cwd: "/" })).toThrow(error.replace("PATH", path));
    expect(readFileSync(path)).toEqual(before);
    expect(existsSync(leasePath(path))).toBe(false);
  });

  it("refuses what is not there, and what is no file", () => {
    const dir = tempDir();
    expect(() => SessionDocument.open(join(dir, "none.jsonl"), { cwd: "/" })).toThrow(`Session file not found: ${dir}/none.jsonl`);
    expect(() => SessionDocument.open(dir, { cwd: "/" })).toThrow(`Session file is not a valid pi session: ${dir}`);
    // Endless, hence never opened, not even for a look at its header.
    expect(headerIn("/dev/zero")).toBeUndefined();
    expect(() => SessionDocument.open("/dev/zero", { cwd: "/" })).toThrow("Session file is not a valid pi session: /dev/zero");
  });

  it.skipIf(process.getuid?.() === 0)("tells that it may not read", () => {
    const path = written(header);
    chmodSync(path, 0);
    expect(() => SessionDocument.open(path, { cwd: "/" })).toThrow(/^Session file cannot be read: EACCES/);
  });

  it("survives entries that are their own ancestors", () => {
    const path = written(header, entry("a0000001", "a0000002", user("one")), entry("a0000002", "a0000001", user("two")));
    const document = open(path);
    expect(document.tree.branch()).toHaveLength(2);
    expect(document.tree.messages()).toHaveLength(2);
  });
});

describe("older versions", () => {
  const one = [
    {
      type: "session",
      id: "11111111-1111-4111-8111-111111111111",
      timestamp: "2025-11-20T10:00:00.000Z",
      cwd: "/",
      provider: "anthropic",
      modelId: "m",
      thinkingLevel: "off",
    },
    { type: "message", timestamp: "2025-11-20T10:00:01.000Z", message: { role: "user", content: "one", timestamp: 1 } },
    { type: "message", timestamp: "2025-11-20T10:00:04.000Z", message: { role: "user", content: "two", timestamp: 2 }, keep: true },
    { type: "compaction", timestamp: "2025-11-20T10:00:05.000Z", summary: "SUM", firstKeptEntryIndex: 2, tokensBefore: 1234 },
    { type: "message", timestamp: "2025-11-20T10:00:06.000Z", message: { role: "hookMessage", customType: "h", content: "hk", display: true, timestamp: 3 } },
  ];

  it("become a tree, by a new file in the old one's place", () => {
    const path = written(...one);
    const inode = statSync(path).ino;
    const document = open(path);
    expect(statSync(path).ino).not.toBe(inode);
    const [head, first, second, compaction, custom] = linesOf(path);
    expect(head).toEqual({ ...one[0], version: 3 });
    expect(first).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{8}$/), parentId: null });
    expect(second).toMatchObject({ parentId: first.id, keep: true });
    expect(compaction).toEqual({
      type: "compaction",
      timestamp: one[3]?.timestamp,
      summary: "SUM",
      tokensBefore: 1234,
      id: compaction.id,
      parentId: second.id,
      firstKeptEntryId: second.id,
    });
    expect(custom).toMatchObject({ parentId: compaction.id, message: { role: "custom", customType: "h" } });
    expect(document.tree.messages().map(({ role }) => role)).toEqual(["compactionSummary", "user", "custom"]);
    expect(existsSync(`${path}.bak`)).toBe(false);
    document.close();
    expect(open(path).tree.entries()).toEqual(document.tree.entries());
  });

  it("keep the original if a line had to be left out", () => {
    const path = written(...one);
    writeFileSync(path, `${readFileSync(path, "utf8")}{"type":"mess`);
    const before = readFileSync(path, "utf8");
    open(path);
    expect(readFileSync(`${path}.bak`, "utf8")).toBe(before);
    expect(linesOf(path)).toHaveLength(5);
  });

  it("of version 2 only change the role of hooks", () => {
    const path = written(
      { ...header, version: 2 },
      entry("a0000001", null, { role: "hookMessage", customType: "h", content: "x", display: true, timestamp: 1 }),
    );
    expect(open(path).tree.entries()).toMatchObject([{ id: "a0000001", message: { role: "custom" } }]);
    expect(linesOf(path)[0].version).toBe(3);
  });
});

describe("one writer", () => {
  it("is told who the other is, and gets the file when that one is gone", () => {
    const path = written(header);
    const first = open(path);
    expect(leaseHolder(path)?.pid).toBe(process.pid);
    expect(() => SessionDocument.open(path, { cwd: "/" })).toThrow(new RegExp(`^Session file is in use by process ${process.pid}: `));
    const link = join(tempDir(), "link.jsonl");
    symlinkSync(path, link);
    expect(() => SessionDocument.open(link, { cwd: "/" })).toThrow(LeaseError);
    first.close();
    expect(existsSync(leasePath(path))).toBe(false);
    open(path).close();
  });

  it("takes over what a dead process left, also if its number is in use again", () => {
    const path = written(header);
    for (const owner of [
      { pid: 2 ** 22 + 1, host: hostname(), token: "x" },
      { pid: process.pid, host: hostname(), token: "x", started: "another-boot/1" },
    ]) {
      writeFileSync(leasePath(path), JSON.stringify(owner));
      open(path).close();
    }
    writeFileSync(leasePath(path), "nonsense");
    open(path).close();
  });

  it("respects a living one on another machine", () => {
    const path = written(header);
    writeFileSync(leasePath(path), JSON.stringify({ pid: 7, host: "elsewhere", token: "x" }));
    expect(() => SessionDocument.open(path, { cwd: "/" })).toThrow(/process 7 on elsewhere/);
  });
});

describe("a disk that refuses", () => {
  it("is told of once, and catches up", async () => {
    const root = tempDir();
    const dir = join(root, "sessions");
    writeFileSync(dir, "in the way");
    const onTrouble = vi.fn();
    const document = create(dir, onTrouble);
    document.appendMessage(user("one"));
    document.appendMessage(assistant("two"));
    document.appendMessage(user("three"));
    expect(onTrouble).toHaveBeenCalledTimes(1);
    expect(document.isSaved).toBe(false);
    rmSync(dir);
    await vi.waitFor(() => expect(document.isSaved).toBe(true), { timeout: 20_000 });
    expect(linesOf(document.file as string)).toHaveLength(4);

    // The whole directory goes away under a saved session.
    renameSync(dir, join(root, "gone"));
    writeFileSync(dir, "in the way again");
    document.appendMessage(assistant("four"));
    expect(onTrouble).toHaveBeenCalledTimes(2);
    rmSync(dir);
    document.appendMessage(user("five"));
    expect(linesOf(document.file as string)).toHaveLength(6);
    expect(onTrouble).toHaveBeenCalledTimes(2);
  });

  it("does not lose a session whose file was deleted", () => {
    const document = create(tempDir());
    document.appendMessage(assistant("one"));
    rmSync(document.file as string);
    document.appendMessage(user("two"));
    expect(linesOf(document.file as string)).toHaveLength(3);
  });

  it("goes on in a file that another program put in its place, and keeps one that is another's or was emptied", () => {
    const dir = tempDir();
    const trouble = vi.fn();
    const document = create(dir, trouble);
    const file = document.file as string;
    document.appendMessage(assistant("one"));
    // As an editor saves it, without the last line end.
    writeFileSync(`${file}.new`, readFileSync(file, "utf8").trimEnd().replace("one", "edited"));
    renameSync(`${file}.new`, file);
    document.appendMessage(user("two"));
    expect(linesOf(file)).toHaveLength(3);
    expect(readFileSync(file, "utf8")).toContain("edited");
    writeFileSync(`${file}.new`, "something else");
    renameSync(`${file}.new`, file);
    document.appendMessage(user("three"));
    expect(linesOf(file)).toHaveLength(4);
    expect(readFileSync(`${file}.bak`, "utf8")).toBe("something else");
    writeFileSync(file, "");
    document.appendMessage(user("four"));
    expect(linesOf(file)).toHaveLength(5);
    document.close();
    expect(SessionDocument.open(file, { cwd: "/" }).document.tree.messages()).toHaveLength(4);
    expect(readdirSync(dir).sort()).toEqual([basename(file), `${basename(file)}.bak`, `${basename(file)}.lock`]);
    expect(trouble).not.toHaveBeenCalled();
  });

  it("leaves nothing behind when it closes", () => {
    const dir = tempDir();
    const document = create(dir);
    document.appendMessage(assistant("one"));
    document.close();
    expect(readdirSync(dir)).toHaveLength(1);
  });
});

describe("the tree", () => {
  it("branches, labels and names", () => {
    const document = SessionDocument.create({ cwd: "/" });
    const { tree } = document;
    const one = document.appendMessage(user("one"));
    const two = document.appendMessage(assistant("two"));
    tree.moveLeaf(one.id);
    const other = document.appendMessage(assistant("other"));
    document.append({ type: "label", targetId: two.id, label: "mark" });
    expect(tree.messages()).toHaveLength(2);
    const [root] = tree.tree();
    expect(root?.children.map(({ entry: child }) => child.id)).toEqual([two.id, other.id]);
    expect(root?.children[0]).toMatchObject({ label: "mark" });
    document.append({ type: "label", targetId: two.id });
    expect(tree.label(two.id)).toBeUndefined();
    document.append({ type: "session_info", name: " work " });
    expect(tree.name()).toBe("work");
    document.append({ type: "session_info", name: "" });
    expect(tree.name()).toBeUndefined();
    tree.moveLeaf(null);
    expect(tree.messages()).toEqual([]);
    expect(() => tree.moveLeaf("nothere")).toThrow("Entry not found: nothere");
  });

  it("builds the same context step by step as at once", () => {
    const document = SessionDocument.create({ cwd: "/" });
    const { tree } = document;
    const same = () => expect(tree.messages()).toEqual(buildSessionContext(tree.entries(), tree.leafId()).messages);
    const ids: string[] = [];
    for (let index = 0; index < 60; index++) {
      const held = tree.messages();
      const copy = [...held];
      if (index % 13 === 7) ids.push(document.append({ type: "compaction", summary: `s${index}`, firstKeptEntryId: ids.at(-3) as string, tokensBefore: 1 }).id);
      else if (index % 7 === 5)
        document.append({ type: "context_edit", targetId: ids.at(-1) as string, replacement: index % 2 ? null : { content: "edited" } });
      else if (index % 11 === 9) tree.moveLeaf(ids[index >> 1] as string);
      else if (index % 5 === 3) document.append({ type: "custom", customType: "state", data: index });
      else if (index % 5 === 4) ids.push(document.append({ type: "custom_message", customType: "note", content: "note", display: true }).id);
      else ids.push(document.appendMessage(index % 2 ? assistant(`a${index}`) : user(`u${index}`)).id);
      expect(held).toEqual(copy);
      same();
    }
  });

  it("keeps a custom message as it was announced", () => {
    const document = SessionDocument.create({ cwd: "/" });
    const message = { role: "custom" as const, customType: "note", content: "text", display: false, details: { a: 1 }, timestamp: 1772442904211 };
    document.appendMessage(message);
    expect(document.tree.entries()[0]).toMatchObject({ type: "custom_message", customType: "note" });
    expect(document.tree.messages()).toEqual([message]);
  });

  it("ignores system messages of other programs and an unknown first kept entry", () => {
    const document = open(written(header, entry("a0000001", null, { role: "system", content: "s" }), entry("a0000002", "a0000001", user("one"))));
    expect(document.tree.messages()).toHaveLength(1);
    const { id } = document.append({ type: "compaction", summary: "S", firstKeptEntryId: "unknown", tokensBefore: 1 });
    expect(document.tree.messages().map(({ role }) => role)).toEqual(["compactionSummary"]);
    expect(document.tree.entry(id)).toBeDefined();
  });

  it("gives messages the content that others left out", () => {
    const { content: _, ...empty } = assistant("x");
    const path = written(
      header,
      entry("a0000001", null, { role: "user", timestamp: 1 }),
      entry("a0000002", "a0000001", empty),
      entry("a0000003", "a0000002", { ...empty, content: "text" }),
    );
    expect(open(path).tree.messages()).toMatchObject([{ content: [] }, { content: [] }, { content: [{ type: "text", text: "text" }] }]);
  });

  it("copies a path with its labels at the end", () => {
    const document = SessionDocument.create({ cwd: "/" });
    const one = document.appendMessage(user("one"));
    document.append({ type: "label", targetId: one.id, label: "start" });
    const two = document.appendMessage(assistant("two"));
    const copy = copyPath(document.tree, document.tree.branch(two.id));
    expect(copy.map(({ type, parentId }) => [type, parentId])).toEqual([
      ["message", null],
      ["message", one.id],
      ["label", two.id],
    ]);
    expect(copy[2]).toMatchObject({ targetId: one.id, label: "start" });
  });

  it("copies a compaction that keeps from a label on, with all that it keeps", () => {
    const document = SessionDocument.create({ cwd: "/" });
    const one = document.appendMessage(user("one"));
    const label = document.append({ type: "label", targetId: one.id, label: "start" });
    document.appendMessage(user("two"));
    document.append({ type: "compaction", summary: "S", firstKeptEntryId: label.id, tokensBefore: 1 });
    const three = document.appendMessage(user("three"));
    const copy = SessionDocument.create({ cwd: "/" }, copyPath(document.tree, document.tree.branch(three.id)));
    expect(copy.tree.messages()).toEqual(document.tree.messages());
    expect(copy.tree.messages()).toHaveLength(3);
  });
});

describe("reading lines", () => {
  it("gives the same lines whatever the pieces, also backwards", () => {
    const path = join(tempDir(), "lines");
    const texts = ["first", "", "é😀".repeat(50), "x".repeat(300), "last without end"];
    writeFileSync(path, texts.join("\n"));
    for (const bytes of [1, 3, 7, 64, 4096]) {
      expect([...readLines(path, bytes)].map(({ text }) => text)).toEqual(texts);
      expect([...readLinesBackwards(path, bytes)].reverse()).toEqual(texts);
    }
  });

  it("opens 20,000 entries of 2 KB each, once and in linear time", () => {
    const count = process.env.PI_TEST_LONG ? 20_000 : 4000;
    const timeFor = (entries: number) => {
      const path = join(tempDir(), "big.jsonl");
      let text = `${JSON.stringify(header)}\n`;
      let parent: string | null = null;
      for (let index = 0; index < entries; index++) {
        const id = index.toString(16).padStart(8, "0");
        text += `${JSON.stringify(entry(id, parent, user("x".repeat(2000))))}\n`;
        parent = id;
      }
      writeFileSync(path, text);
      const start = process.cpuUsage();
      const document = open(path);
      expect(document.tree.messages()).toHaveLength(entries);
      document.close();
      const { user: own, system } = process.cpuUsage(start);
      return own + system;
    };
    timeFor(100);
    // Four times as much may cost four times as much; ten times would mean a square somewhere.
    expect(timeFor(count)).toBeLessThan(timeFor(count / 4) * 10);
  });
});

describe("lists", () => {
  const session = (dir: string, name: string, minutes: number, more: Partial<Record<"cwd" | "name", string>> = {}) => {
    const time = Date.UTC(2026, 0, 1, 0, minutes);
    const entries: object[] = [
      { ...header, id: name, cwd: more.cwd ?? "/" },
      entry("a0000001", null, user(`hello ${name}`, time - 1000)),
      entry("a0000002", "a0000001", assistant("hi", time)),
    ];
    if (more.name) entries.push({ type: "session_info", id: "a0000003", parentId: "a0000002", timestamp: "t", name: more.name });
    writeFileSync(join(dir, `${name}.jsonl`), jsonl(...entries));
  };

  it("are ordered by the last message and come in pages", () => {
    const dir = tempDir();
    for (const [index, name] of ["c", "a", "d", "b"].entries()) session(dir, name, index, { name: name === "a" ? "named" : undefined });
    writeFileSync(join(dir, "junk.jsonl"), "no session");
    mkdirSync(join(dir, "dir.jsonl"));
    const first = listSessions([dir], { limit: 3 });
    expect(first?.sessions.map(({ id }) => id)).toEqual(["b", "d", "a"]);
    expect(first?.sessions[2]).toEqual({
      path: join(dir, "a.jsonl"),
      id: "a",
      cwd: "/",
      name: "named",
      created: header.timestamp,
      modified: "2026-01-01T00:01:00.000Z",
      messageCount: 2,
      firstMessage: "hello a",
    });
    const second = listSessions([dir], { limit: 3, cursor: first?.nextCursor });
    expect(second).toMatchObject({ sessions: [{ id: "c" }] });
    expect(second?.nextCursor).toBeUndefined();
    expect(listSessions([dir], { cursor: "nonsense" })).toBeUndefined();
    expect(listSessions([join(dir, "none")])).toEqual({ sessions: [] });
  });

  it("show damaged files among the others", () => {
    const dir = tempDir();
    const put = (id: string, fields: object, message: object) =>
      writeFileSync(join(dir, `${id}.jsonl`), jsonl({ ...header, id, ...fields }, entry("a0000001", null, message)));
    put("a", {}, user("far", 1e20));
    put("b", { timestamp: 5, cwd: 7, parentSession: {} }, user("odd"));
    put("c", {}, { role: "user", content: [null, { type: "text", text: "half" }], timestamp: 3 });
    session(dir, "d", 4);
    const page = listSessions([dir]);
    expect(page?.sessions.map(({ id, firstMessage }) => [id, firstMessage])).toEqual([
      ["d", "hello d"],
      ["a", "far"],
      ["c", "half"],
      ["b", "odd"],
    ]);
    expect(page?.sessions[3]).toMatchObject({ created: "1970-01-01T00:00:00.000Z", cwd: "" });
    expect(page?.sessions[3]).not.toHaveProperty("parentSession");
  });

  it("can be of one working directory", () => {
    const dir = tempDir();
    session(dir, "a", 1, { cwd: "/x" });
    session(dir, "b", 2, { cwd: "/y" });
    expect(listSessions([dir], { cwd: "/x" })?.sessions.map(({ id }) => id)).toEqual(["a"]);
  });
});
