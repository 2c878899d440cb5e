import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Frame, type PiOptions, type RpcProcess, runPi, startRpc, tempDir } from "../helpers/pi.ts";

const script = { responses: ["one", "two", "three", "four", "five"] };
const HEADER = { type: "session", version: 3, id: "session-one", timestamp: "2026-01-01T00:00:00.000Z" };

function start(options: PiOptions = {}): RpcProcess {
  return startRpc({ script, ...options, args: ["--rpc-updates", "delta", ...(options.args ?? [])] });
}

const linesOf = (path: string): Frame[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

const texts = (messages: Frame[]) =>
  messages.map(({ content, summary }) => summary ?? (typeof content === "string" ? content : content.map(({ text }: Frame) => text).join("")));
const messagesOf = async (pi: RpcProcess) => texts((await pi.ask("get_messages")).messages);

/** A session file with one exchange, in a directory of its own. */
function sessionFile(cwd: string, more: object[] = []): string {
  const path = join(tempDir(), "given.jsonl");
  const entries = [
    { type: "message", id: "a0000001", parentId: null, timestamp: "2026-01-01T00:00:01.000Z", message: { role: "user", content: "asked", timestamp: 1 } },
    ...more,
  ];
  writeFileSync(path, [{ ...HEADER, cwd }, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(""));
  return path;
}

describe("a session of its own", () => {
  it("is written with the first answer, where pi writes it", async () => {
    const pi = start();
    const state = await pi.ask("get_state");
    const { cwd, agentDir } = pi.places;
    expect(dirname(state.sessionFile)).toBe(join(agentDir, "sessions", `--${cwd.slice(1).replaceAll("/", "-")}--`));
    expect(state.sessionFile).toContain(`_${state.sessionId}.jsonl`);
    expect(state.sessionName).toBeUndefined();
    expect(existsSync(state.sessionFile)).toBe(false);
    await pi.prompt("first");
    const [header, ...entries] = linesOf(state.sessionFile);
    expect(header).toEqual({ type: "session", version: 3, id: state.sessionId, timestamp: expect.any(String), cwd });
    expect(entries.map(({ type }) => type)).toEqual(["model_change", "thinking_level_change", "message", "message"]);
    expect(entries.every(({ id }) => /^[0-9a-f]{8}$/.test(id))).toBe(true);
    expect(statSync(state.sessionFile).mode & 0o777).toBe(0o600);
    const answer = await pi.ask("get_entries");
    expect(answer).toEqual({ entries, leafId: entries.at(-1)?.id });
    expect((await pi.ask("get_entries", { since: entries[2]?.id })).entries).toEqual([entries[3]]);
    expect((await pi.call("get_entries", { since: "nothere" })).error).toBe("Entry not found: nothere");
    await pi.stop();
    expect(readdirSync(dirname(state.sessionFile))).toHaveLength(1);
  });

  it("has ids that do not depend on Math.random", async () => {
    const stub = join(tempDir(), "stub.cjs");
    writeFileSync(stub, "Math.random = () => 0.5;");
    const pis = [1, 2].map(() => start({ env: { NODE_OPTIONS: `--require ${stub}` } }));
    const ids: string[] = [];
    for (const pi of pis) {
      await pi.prompt("a");
      const { sessionFile } = await pi.ask("get_state");
      ids.push(...linesOf(sessionFile).map(({ id }) => id.slice(-8)));
    }
    expect(ids.length).toBeGreaterThan(6);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("can stay in memory", async () => {
    const pi = start({ args: ["--no-session"] });
    await pi.prompt("first");
    expect((await pi.ask("get_state")).sessionFile).toBeUndefined();
    const [first] = (await pi.ask("get_fork_messages")).messages;
    expect(await pi.ask("fork", { entryId: first.entryId })).toEqual({ text: "first", cancelled: false });
    await pi.ask("new_session");
    await pi.prompt("second");
    expect(existsSync(join(pi.places.agentDir, "sessions"))).toBe(false);
  });

  it("has a name, and labels", async () => {
    const pi = start({ args: ["--name", " the name "] });
    expect((await pi.ask("get_state")).sessionName).toBe("the name");
    expect((await pi.call("set_session_name", { name: "  " })).error).toBe("Session name cannot be empty");
    await pi.prompt("first");
    const from = pi.frames.length;
    await pi.ask("set_session_name", { name: " other " });
    expect(pi.frames.slice(from).map(({ type }) => type)).toEqual(["session_info_changed", "response"]);
    expect(pi.frames[from]).toEqual({ type: "session_info_changed", name: "other" });
    const [message] = (await pi.ask("get_fork_messages")).messages;
    await pi.ask("set_label", { entryId: message.entryId, label: "here" });
    expect(JSON.stringify((await pi.ask("get_tree")).tree)).toContain('"label":"here","labelTimestamp"');
    await pi.ask("set_label", { entryId: message.entryId });
    expect(JSON.stringify((await pi.ask("get_tree")).tree)).not.toContain('"labelTimestamp"');
    expect((await pi.call("set_label", { entryId: "nothere" })).error).toBe("Entry not found: nothere");
    await pi.ask("new_session");
    expect((await pi.ask("get_state")).sessionName).toBeUndefined();
  });
});

describe("replacing the session", () => {
  it("new_session keeps model and level, empties queues, records a parent, and answers before the new session's events", async () => {
    const pi = start();
    await pi.prompt("first");
    await pi.ask("set_thinking_level", { level: "low" });
    await pi.ask("follow_up", { message: "later" });
    const before = await pi.ask("get_state");
    const from = pi.frames.length;
    expect(await pi.ask("new_session", { parentSession: "/some/file.jsonl" })).toEqual({ cancelled: false });
    expect(pi.frames.slice(from).map(({ type }) => type)).toEqual(["queue_update", "response"]);
    const after = await pi.ask("get_state");
    expect(after).toMatchObject({ thinkingLevel: "low", messageCount: 0, pendingMessageCount: 0, model: before.model });
    expect(after.sessionId).not.toBe(before.sessionId);
    expect(existsSync(`${before.sessionFile}.lock`)).toBe(false);
    await pi.prompt("again");
    expect(linesOf(after.sessionFile).slice(0, 3)).toMatchObject([
      { parentSession: "/some/file.jsonl" },
      { type: "model_change" },
      { type: "thinking_level_change", thinkingLevel: "low" },
    ]);
  });

  it("aborts the run first, and its events come before the response", async () => {
    const pi = start({ script: { responses: ["one", { text: "begun", hang: true }] } });
    await pi.prompt("first");
    const { sessionFile } = await pi.ask("get_state");
    const from = pi.frames.length;
    await pi.ask("prompt", { message: "second" });
    await pi.find(({ type }) => type === "message_update", from);
    await pi.ask("new_session");
    expect(pi.frames.slice(-2).map(({ type }) => type)).toEqual(["agent_settled", "response"]);
    expect(linesOf(sessionFile).at(-1)).toMatchObject({ message: { role: "assistant", stopReason: "aborted" } });
  });

  it("fork takes the branch before a user message, clone all of it", async () => {
    const pi = start();
    expect((await pi.call("clone")).error).toMatch(/^This session has not been saved yet\./);
    for (const text of ["first", "second"]) await pi.prompt(text);
    const { sessionFile } = await pi.ask("get_state");
    const { messages } = await pi.ask("get_fork_messages");
    expect(messages).toEqual(await pi.ask("get_branch_messages").then((answer) => answer.messages));
    expect(texts(messages.map(({ text }: Frame) => ({ content: text })))).toEqual(["first", "second"]);
    expect((await pi.call("fork", { entryId: "nothere" })).error).toBe("Invalid entry ID for forking");
    const { entries } = await pi.ask("get_entries");
    expect((await pi.call("fork", { entryId: entries.at(-1).id })).error).toBe("Invalid entry ID for forking");

    expect(await pi.ask("clone")).toEqual({ cancelled: false });
    expect(await messagesOf(pi)).toEqual(["first", "one", "second", "two"]);
    const clone = await pi.ask("get_state");
    expect(linesOf(clone.sessionFile)[0]).toMatchObject({ parentSession: sessionFile });

    expect(await pi.ask("fork", { entryId: messages[1].entryId })).toEqual({ text: "second", cancelled: false });
    expect(await messagesOf(pi)).toEqual(["first", "one"]);
    const fork = await pi.ask("get_state");
    expect(linesOf(fork.sessionFile)[0]).toMatchObject({ parentSession: clone.sessionFile });

    expect(await pi.ask("branch", { entryId: messages[0].entryId })).toEqual({ text: "first", cancelled: false });
    expect(await messagesOf(pi)).toEqual([]);
    const empty = await pi.ask("get_state");
    expect(existsSync(empty.sessionFile)).toBe(false);
    expect((await pi.call("fork", { entryId: messages[0].entryId })).error).toBe("Invalid entry ID for forking");
  });

  it("goes on with a file whose entries are damaged, and leaves them as they are", async () => {
    const message = (message: unknown) => ({ type: "message", message });
    const role = (role: string, content?: unknown) => message({ role, content, timestamp: 1 });
    const damaged: object[] = [
      ...[role("user"), role("user", 5), role("user", [null, { type: "text" }, "x"])],
      ...[
        role("assistant", "text"),
        role("assistant", [null, { type: "thinking" }, { type: "toolCall", id: "c", name: "n", arguments: "x" }]),
        role("toolResult"),
      ],
      ...[role("custom"), role("bashExecution"), role("branchSummary"), role("compactionSummary")],
      message({ role: "assistant", content: [], usage: { input: "5", cost: { total: "1" } }, timestamp: 1 }),
      ...[
        { type: "custom_message", content: 7 },
        { type: "branch_summary" },
        { type: "usage", kind: "k", usage: "x" },
        { type: "label", targetId: "a0000001", label: 5 },
      ],
      ...[{ type: "session_info", name: 42 }],
    ];
    const id = (index: number) => `b${String(index).padStart(7, "0")}`;
    const chained = (entries: object[]) =>
      entries.map((entry, index) => ({ id: id(index), parentId: index === 0 ? "a0000001" : id(index - 1), timestamp: "2026-01-01T00:00:02.000Z", ...entry }));
    const pi = start();
    for (const entries of [damaged, [...damaged, { type: "compaction", summary: {}, tokensBefore: "x" }]]) {
      const path = sessionFile(pi.places.cwd, chained(entries));
      const before = readFileSync(path, "utf8");
      await pi.ask("switch_session", { sessionPath: path });
      for (const command of ["get_messages", "get_entries", "get_tree", "get_state", "get_fork_messages", "get_last_assistant_text"]) await pi.ask(command);
      const stats = await pi.ask("get_session_stats");
      expect([typeof stats.tokens.total, typeof stats.cost]).toEqual(["number", "number"]);
      expect((await pi.call("compact")).error).toMatch(/^(Nothing to compact|Already compacted)/);
      const answer = (await pi.prompt("go on")).findLast(({ type }) => type === "message_end")?.message;
      expect(answer.stopReason).toBe("stop");
      await pi.ask("export_html", { outputPath: join(tempDir(), "page.html") });
      expect(readFileSync(path, "utf8").startsWith(before)).toBe(true);
    }
    expect(pi.stderr).toBe("");
  });

  it("switch_session restores what the session used and refuses what it cannot open", async () => {
    const pi = start();
    await pi.prompt("first");
    const { sessionFile, sessionId } = await pi.ask("get_state");
    await pi.ask("set_thinking_level", { level: "high" });
    await pi.ask("new_session");
    await pi.ask("set_thinking_level", { level: "low" });
    const from = pi.frames.length;
    expect(await pi.ask("switch_session", { sessionPath: sessionFile })).toEqual({ cancelled: false });
    const state = await pi.ask("get_state");
    expect(state).toMatchObject({ sessionId, thinkingLevel: "high", messageCount: 2 });
    const seen = pi.frames.slice(from).map(({ type }) => type);
    expect(seen.indexOf("response")).toBeLessThan(seen.indexOf("thinking_level_changed"));

    const dir = tempDir();
    const bad = (name: string, content: string) => {
      writeFileSync(join(dir, name), content);
      return join(dir, name);
    };
    const refused = async (path: string) => (await pi.call("switch_session", { sessionPath: path })).error;
    expect(await refused(join(dir, "none.jsonl"))).toBe(`Session file not found: ${dir}/none.jsonl`);
    expect(await refused(bad("a.jsonl", "junk\n"))).toBe(`Session file is not a valid pi session: ${dir}/a.jsonl`);
    expect(await refused(bad("b.jsonl", `${JSON.stringify({ ...HEADER, cwd: "/", version: 9 })}\n`))).toBe("Unsupported session version: 9");
    expect(await refused(bad("c.jsonl", `${JSON.stringify({ ...HEADER, cwd: `${dir}/gone` })}\n`))).toBe(
      `Session working directory does not exist: ${dir}/gone (current: ${pi.places.cwd})`,
    );
    expect(await refused(dir)).toBe(`Session file is not a valid pi session: ${dir}`);
    expect(await pi.ask("get_state")).toEqual(state);

    await pi.ask("switch_session", { sessionPath: bad("empty.jsonl", "") });
    await pi.prompt("into the empty file");
    expect(linesOf(join(dir, "empty.jsonl"))[0]).toMatchObject({ type: "session", cwd: pi.places.cwd });
    // The file that is open already is read again.
    await pi.ask("switch_session", { sessionPath: join(dir, "empty.jsonl") });
    expect(await messagesOf(pi)).toEqual(["into the empty file", "two"]);
  });

  it("refuses to start in a directory that is gone, and names both", async () => {
    const dir = tempDir();
    const path = sessionFile(join(dir, "gone"));
    const { status, stderr } = await runPi({ args: ["-p", "--session", path, "hi"], cwd: dir, script: { responses: ["x"] } });
    expect({ status, stderr }).toEqual({ status: 1, stderr: `Error: Session working directory does not exist: ${dir}/gone (current: ${dir})\n` });
  });

  it("takes the agent into the session's directory", async () => {
    const elsewhere = tempDir();
    const path = sessionFile(elsewhere);
    const pi = start({ script: { responses: [{ toolCalls: [{ name: "bash", arguments: { command: "pwd" } }] }, "done"] }, args: ["--session", path] });
    await pi.prompt("where?");
    const { messages } = await pi.ask("get_messages");
    expect(messages.find(({ role }: Frame) => role === "toolResult").content[0].text.trim()).toBe(elsewhere);
  });
});

describe("the tree", () => {
  it("is navigated, and goes on elsewhere", async () => {
    const pi = start();
    for (const text of ["first", "second"]) await pi.prompt(text);
    const { entries, leafId } = await pi.ask("get_entries");
    const second = (await pi.ask("get_fork_messages")).messages[1];
    expect(await pi.ask("navigate_tree", { targetId: leafId })).toEqual({ cancelled: false });
    expect(await pi.ask("navigate_tree", { targetId: second.entryId })).toEqual({ cancelled: false, editorText: "second" });
    expect(await messagesOf(pi)).toEqual(["first", "one"]);
    await pi.prompt("other");
    const { tree } = await pi.ask("get_tree");
    const count = (nodes: Frame[]): number => nodes.reduce((sum, node) => sum + 1 + count(node.children), 0);
    expect(count(tree)).toBe(entries.length + 2);
    expect(await pi.ask("navigate_tree", { targetId: leafId, label: "old" })).toEqual({ cancelled: false });
    expect(await messagesOf(pi)).toEqual(["first", "one", "second", "two"]);
    expect((await pi.call("navigate_tree", { targetId: "nothere" })).error).toBe("Entry not found: nothere");
    const stats = await pi.ask("get_session_stats");
    expect(stats).toMatchObject({ userMessages: 2, assistantMessages: 2, totalMessages: 4, toolCalls: 0 });
  });

  it("is navigated to a message whose parent was lost", async () => {
    const pi = start();
    const orphan = { type: "message", id: "a0000003", parentId: "a0000002", timestamp: "2026-01-01T00:00:02.000Z" };
    const path = sessionFile(pi.places.cwd, [{ ...orphan, message: { role: "user", content: "orphan", timestamp: 1 } }]);
    await pi.ask("switch_session", { sessionPath: path });
    await pi.prompt("next");
    expect(await pi.ask("navigate_tree", { targetId: "a0000003" })).toEqual({ cancelled: false, editorText: "orphan" });
    expect(await messagesOf(pi)).toEqual([]);
  });

  it("has children by time, however the file orders them", async () => {
    const cwd = tempDir();
    const child = (id: string, second: number) => ({
      type: "custom",
      id,
      parentId: "a0000001",
      timestamp: `2026-01-01T00:00:0${second}.000Z`,
      customType: "x",
    });
    const pi = start({ cwd, args: ["--session", sessionFile(cwd, [child("b0000003", 5), child("b0000001", 3), child("b0000002", 4)])] });
    const { tree } = await pi.ask("get_tree");
    expect(tree[0].children.map(({ entry }: Frame) => entry.id)).toEqual(["b0000001", "b0000002", "b0000003"]);
  });

  it("is sent however long the session is", async () => {
    const cwd = tempDir();
    const many = Array.from({ length: 6000 }, (_, index) => ({
      type: "custom",
      id: (index + 16).toString(16).padStart(8, "0"),
      parentId: index === 0 ? "a0000001" : (index + 15).toString(16).padStart(8, "0"),
      timestamp: "2026-01-01T00:00:01.000Z",
      customType: "step",
    }));
    const pi = start({ cwd, args: ["--session", sessionFile(cwd, many)] });
    const { tree } = await pi.ask("get_tree");
    let depth = 0;
    for (let node = tree[0]; node; node = node.children[0]) depth++;
    expect(depth).toBeGreaterThanOrEqual(6001);
  });
});

describe("statistics", () => {
  it("add up the whole branch, with what tools and summaries used", async () => {
    const cwd = tempDir();
    const usage = {
      input: 10,
      output: 5,
      cacheRead: 3,
      cacheWrite: 2,
      totalTokens: 20,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.5 },
    };
    const base = (id: string, parentId: string) => ({ id, parentId, timestamp: "2026-01-01T00:00:01.000Z" });
    const assistant = {
      role: "assistant",
      content: [{ type: "toolCall", id: "t", name: "x", arguments: {} }],
      api: "a",
      provider: "p",
      model: "m",
      usage,
      stopReason: "toolUse",
      timestamp: 2,
    };
    const result = { role: "toolResult", toolCallId: "t", toolName: "x", content: [], isError: false, usage, timestamp: 3 };
    const path = sessionFile(cwd, [
      { type: "message", ...base("b1", "a0000001"), message: assistant },
      { type: "message", ...base("b2", "b1"), message: result },
      { type: "usage", ...base("b3", "b2"), kind: "x", usage },
      { type: "compaction", ...base("b4", "b3"), summary: "s", firstKeptEntryId: "b1", tokensBefore: 1, usage },
      { type: "custom_message", ...base("b5", "b4"), customType: "c", content: "x", display: true },
    ]);
    const pi = start({ cwd, args: ["--session", path] });
    expect(await pi.ask("get_session_stats")).toEqual({
      sessionFile: path,
      sessionId: "session-one",
      userMessages: 1,
      assistantMessages: 1,
      toolCalls: 1,
      toolResults: 1,
      totalMessages: 5,
      tokens: { input: 40, output: 20, cacheRead: 12, cacheWrite: 8, total: 80 },
      cost: 2,
      contextUsage: { tokens: null, contextWindow: 200000, percent: null },
    });
  });
});

describe("the command line", () => {
  it("continues the last session, opens one by id, by its beginning, by path", async () => {
    const places = { home: tempDir(), cwd: tempDir() };
    const first = start(places);
    await first.prompt("first");
    const { sessionId, sessionFile } = await first.ask("get_state");
    await first.stop();
    for (const args of [
      ["--continue"],
      ["-c"],
      ["--session", sessionId],
      ["--session", sessionId.slice(0, 13)],
      ["--session", sessionFile],
      ["--session-id", sessionId],
    ]) {
      const pi = start({ ...places, args });
      expect([args, (await pi.ask("get_state")).sessionId]).toEqual([args, sessionId]);
      await pi.stop();
    }
    const elsewhere = { home: places.home, cwd: tempDir() };
    const lost = await runPi({ ...elsewhere, args: ["--mode", "rpc", "--session", sessionId] });
    expect(lost).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining(`belongs to another project: ${places.cwd}`) });
    const fork = start({ ...elsewhere, args: ["--fork", sessionId] });
    const forked = await fork.ask("get_state");
    expect(forked).toMatchObject({ messageCount: 2 });
    expect(linesOf(forked.sessionFile)[0]).toMatchObject({ parentSession: sessionFile, cwd: elsewhere.cwd });
    await fork.stop();
    const called = start({ ...elsewhere, args: ["--fork", sessionId, "--session-id", "my-copy"] });
    expect(await called.ask("get_state")).toMatchObject({ messageCount: 2, sessionId: "my-copy" });
    await called.stop();
    const taken = await runPi({ ...elsewhere, args: ["--mode", "rpc", "--fork", sessionId, "--session-id", "my-copy"] });
    expect(taken).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining('There is a session with the id "my-copy" already') });
    const fresh = start({ ...elsewhere, home: tempDir(), args: ["--continue"] });
    expect((await fresh.ask("get_state")).messageCount).toBe(0);
  });

  it("begins a session with an id of one's own", async () => {
    const pi = start({ args: ["--session-id", "my.own-id"] });
    expect((await pi.ask("get_state")).sessionId).toBe("my.own-id");
    expect(pi.stderr).toContain("my.own-id");
    expect(await runPi({ args: ["--mode", "rpc", "--session-id", "-bad-"] })).toMatchObject({
      status: 1,
      stdout: "",
      stderr: expect.stringContaining("-bad-"),
    });
  });

  it("begins a session in the file that is named, and goes on with it the next time", async () => {
    const cwd = tempDir();
    const file = join(cwd, "chat-7.jsonl");
    const talk = async (expected: number) => {
      const pi = start({ cwd, script, args: ["--session", "chat-7.jsonl"] });
      expect(await pi.ask("get_state")).toMatchObject({ sessionFile: file, messageCount: expected });
      await pi.prompt("more");
      expect(existsSync(file)).toBe(true);
      await pi.ask("new_session");
      expect((await pi.ask("get_state")).sessionFile).not.toBe(file);
      await pi.stop();
      return pi.stderr;
    };
    expect(await talk(0)).toContain(`There is no session in ${file} yet`);
    expect(await talk(2)).toBe("");
    expect(readdirSync(cwd).filter((name) => name.endsWith(".jsonl"))).toEqual(["chat-7.jsonl"]);
  });

  it.each([
    ["a missing file", ["--session", "/nowhere/none.jsonl"], "Session file not found: /nowhere/none.jsonl"],
    ["an unknown id", ["--session", "ffffffff"], 'No session found matching "ffffffff"'],
    ["a choice without a terminal", ["--resume"], "--resume needs a terminal"],
    ["contradictions", ["--fork", "a.jsonl", "--continue"], "--fork cannot be combined"],
  ])("refuses %s", async (_, args, error) => {
    const outcome = await runPi({ script, args: ["--mode", "rpc", ...args] });
    expect(outcome).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining(error) });
  });

  it("keeps sessions where option, environment or setting say, in this order", async () => {
    const dirs = { option: tempDir(), environment: tempDir(), setting: tempDir() };
    const agentFiles = { "settings.json": JSON.stringify({ sessionDir: dirs.setting }) };
    const where = async (options: PiOptions) => {
      const pi = start({ agentFiles, ...options });
      const { sessionFile } = await pi.ask("get_state");
      await pi.stop();
      return dirname(sessionFile);
    };
    const env = { PI_CODING_AGENT_SESSION_DIR: dirs.environment };
    expect(await where({ args: ["--session-dir", dirs.option], env })).toBe(dirs.option);
    expect(await where({ env })).toBe(dirs.environment);
    expect(await where({})).toBe(dirs.setting);
    // A shared directory: only sessions of this working directory are continued.
    const cwd = tempDir();
    const pi = start({ cwd, args: ["--session-dir", dirs.option] });
    await pi.prompt("first");
    await pi.stop();
    expect(await start({ cwd: tempDir(), args: ["--session-dir", dirs.option, "--continue"] }).ask("get_state")).toMatchObject({ messageCount: 0 });
    expect(await start({ cwd, args: ["--session-dir", dirs.option, "--continue"] }).ask("get_state")).toMatchObject({ messageCount: 2 });
  });
});

describe("list_sessions", () => {
  it("pages through the sessions of this directory, or of all", async () => {
    const home = tempDir();
    const pi = start({ home });
    for (const text of ["first", "second", "third"]) {
      await pi.prompt(text);
      await pi.ask("new_session");
    }
    const page = await pi.ask("list_sessions", { limit: 2 });
    expect(page.sessions.map(({ firstMessage, messageCount }: Frame) => [firstMessage, messageCount])).toEqual([
      ["third", 2],
      ["second", 2],
    ]);
    const rest = await pi.ask("list_sessions", { limit: 2, cursor: page.nextCursor });
    expect(rest).toMatchObject({ sessions: [{ firstMessage: "first", cwd: pi.places.cwd }] });
    expect(rest.nextCursor).toBeUndefined();
    const other = start({ home });
    expect((await other.ask("list_sessions")).sessions).toEqual([]);
    expect((await other.ask("list_sessions", { all: true })).sessions).toHaveLength(3);
    expect((await other.ask("list_sessions", { cwd: pi.places.cwd })).sessions).toHaveLength(3);
    expect((await pi.call("list_sessions", { limit: 0 })).error).toBe('Invalid parameter "limit": expected an integer from 1 to 500');
    expect((await pi.call("list_sessions", { cursor: "?" })).error).toMatch(/^Invalid parameter "cursor"/);
  });
});

describe("one writer", () => {
  it("keeps a second process out and names the first; --continue goes on in a copy", async () => {
    const places = { home: tempDir(), cwd: tempDir() };
    const first = start(places);
    await first.prompt("first");
    const { sessionFile } = await first.ask("get_state");
    const refused = await runPi({ ...places, args: ["--mode", "rpc", "--session", sessionFile] });
    expect(refused).toMatchObject({ status: 1, stdout: "" });
    expect(refused.stderr).toContain(`in use by process ${first.child.pid}`);

    const copy = start({ ...places, args: ["--continue"] });
    const state = await copy.ask("get_state");
    expect(state.messageCount).toBe(2);
    expect(state.sessionFile).not.toBe(sessionFile);
    expect(linesOf(state.sessionFile)[0]).toMatchObject({ parentSession: sessionFile });
    expect(copy.stderr).toContain("continuing in a copy");
    expect((await copy.call("switch_session", { sessionPath: sessionFile })).error).toContain(`in use by process ${first.child.pid}`);
    expect(await copy.ask("get_state")).toEqual(state);

    first.child.kill("SIGKILL");
    await first.exited;
    expect(existsSync(`${sessionFile}.lock`)).toBe(true);
    expect(await copy.ask("switch_session", { sessionPath: sessionFile })).toEqual({ cancelled: false });
    expect(await messagesOf(copy)).toEqual(["first", "one"]);
  });
});

describe("trouble with the disk", () => {
  it("is told once, and the conversation goes on and is saved later", async () => {
    const pi = start();
    const { sessionFile } = await pi.ask("get_state");
    mkdirSync(dirname(dirname(sessionFile)), { recursive: true });
    writeFileSync(dirname(sessionFile), "a file where the directory should be");
    for (const text of ["first", "second"]) await pi.prompt(text);
    const told = pi.frames.filter(({ type }) => type === "extension_error");
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ extensionPath: "<session>", event: "session", error: expect.stringContaining("cannot be written") });
    rmSync(dirname(sessionFile));
    await pi.prompt("third");
    expect(linesOf(sessionFile).filter(({ type }) => type === "message")).toHaveLength(6);
  });

  it.skipIf(process.platform !== "linux")("a full disk tears no entry apart once there is space again", async () => {
    // A limit on the size of files stands for the full disk; raising it, for space.
    const long = "x".repeat(3000);
    const pi = start({ script: { responses: [long, long, long, "end"] } });
    const { execFileSync } = await import("node:child_process");
    const limit = (bytes: string) => execFileSync("prlimit", ["--pid", String(pi.child.pid), `--fsize=${bytes}:unlimited`]);
    await pi.prompt("first");
    const { sessionFile } = await pi.ask("get_state");
    limit(String(statSync(sessionFile).size + 1000));
    for (const text of ["second", "third"]) await pi.prompt(text);
    expect(pi.frames.filter(({ type }) => type === "extension_error")).toHaveLength(1);
    expect(readFileSync(sessionFile, "utf8").endsWith("\n")).toBe(false);
    limit("unlimited");
    await pi.prompt("fourth");
    expect(linesOf(sessionFile).filter(({ type }) => type === "message")).toHaveLength(8);
  });
});
