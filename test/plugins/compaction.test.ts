import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Frame, type PiOptions, runPi, startRpc, tempDir } from "../helpers/pi.ts";

/** 100 tokens by the estimate. */
const long = (word: string) => word.slice(0, 4).padEnd(4).repeat(100);

/** Settings small enough for short conversations: a long answer and its question are kept. */
function settings(compaction: object = {}, others: object = {}): Record<string, string> {
  return { "settings.json": JSON.stringify({ compaction: { keepRecentTokens: 101, reserveTokens: 100, ...compaction }, ...others }) };
}

const types = (frames: Frame[]) => frames.map(({ type }) => type).filter((type) => !type.startsWith("message_") && type !== "response");

function start(script: unknown, options: PiOptions & { settings?: Record<string, string> } = {}) {
  return startRpc({ agentFiles: options.settings ?? settings(), ...options, script, args: ["--rpc-updates", "delta", ...(options.args ?? [])] });
}

/** A model that writes down what it is asked. */
function recorder(body: string): { args: string[]; requests(): { text: string; systemPrompt: string; tools: number; maxTokens?: number }[] } {
  const dir = tempDir();
  const log = join(dir, "log.jsonl");
  writeFileSync(log, "");
  const file = join(dir, "model.ts");
  writeFileSync(
    file,
    `import { appendFileSync } from "node:fs";
     export default (request, index) => {
       const last = request.messages.at(-1);
       const text = typeof last.content === "string" ? last.content : last.content.map((block) => block.text ?? "").join("");
       appendFileSync(${JSON.stringify(log)}, JSON.stringify({ text, systemPrompt: request.systemPrompt, tools: request.tools.length, maxTokens: request.maxTokens }) + "\\n");
       ${body}
     };`,
  );
  const requests = () =>
    readFileSync(log, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  return { args: ["--model", `scripted/${file}`], requests };
}

describe("compact", () => {
  it("summarizes the older part, keeps the rest, and answers after compaction_end", async () => {
    const pi = start({ responses: [long("one"), long("two"), long("three"), "## Goal\nCount."] });
    for (const text of ["first", "second", "third"]) await pi.prompt(text);
    const from = pi.frames.length;
    const result = await pi.ask("compact", {});
    expect(pi.frames.slice(from).map(({ type }) => type)).toEqual(["compaction_start", "compaction_end", "response"]);
    const end = pi.frames.find(({ type }) => type === "compaction_end");
    expect(end).toEqual({ type: "compaction_end", reason: "manual", result, aborted: false, willRetry: false });
    expect(result).toMatchObject({ summary: "## Goal\nCount.", details: { readFiles: [], modifiedFiles: [] }, usage: { input: expect.any(Number) } });
    expect(result.estimatedTokensAfter).toBeLessThan(result.tokensBefore);

    const { messages } = await pi.ask("get_messages");
    expect(messages.map(({ role }: Frame) => role)).toEqual(["compactionSummary", "user", "assistant"]);
    expect(messages[1].content[0].text).toBe("third");
    const { entries } = await pi.ask("get_entries");
    expect(entries.at(-1)).toMatchObject({ type: "compaction", firstKeptEntryId: result.firstKeptEntryId });
    const { sessionFile } = await pi.ask("get_state");
    expect(readFileSync(sessionFile, "utf8").trim().split("\n").at(-1)).toBe(JSON.stringify(entries.at(-1)));
    const stats = await pi.ask("get_session_stats");
    expect(stats).toMatchObject({ userMessages: 3, assistantMessages: 3, totalMessages: 7, contextUsage: { tokens: null, percent: null } });
    expect((await pi.call("compact")).error).toBe("Already compacted");
  });

  it("refuses a session that is too small, with events", async () => {
    const pi = start({ responses: ["Hello."] });
    await pi.prompt("hi");
    const from = pi.frames.length;
    expect((await pi.call("compact")).error).toBe("Nothing to compact (session too small)");
    expect(pi.frames.slice(from, -1)).toEqual([
      { type: "compaction_start", reason: "manual" },
      {
        type: "compaction_end",
        reason: "manual",
        result: null,
        aborted: false,
        willRetry: false,
        errorMessage: "Compaction failed: Nothing to compact (session too small)",
      },
    ]);
  });

  it("keeps prompts and other compactions out while it runs, answers get_state at once, and ends by abort", async () => {
    const pi = start({ responses: [long("one"), long("two"), { hang: true }, "after"] });
    for (const text of ["first", "second"]) await pi.prompt(text);
    const outcome = pi.call("compact");
    await pi.find(({ type }) => type === "compaction_start");
    expect(await pi.ask("get_state")).toMatchObject({ isCompacting: true, isStreaming: false });
    expect((await pi.call("prompt", { message: "no" })).error).toBe(
      "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry.",
    );
    expect((await pi.call("compact")).error).toBe("Compaction already in progress");
    await pi.ask("abort");
    expect((await outcome).error).toBe("Compaction cancelled");
    expect(pi.frames.filter(({ type }) => type === "compaction_end")).toEqual([
      { type: "compaction_end", reason: "manual", result: null, aborted: true, willRetry: false },
    ]);
    expect((await pi.ask("get_state")).isCompacting).toBe(false);
    const { entries } = await pi.ask("get_entries");
    expect(entries.some(({ type }: Frame) => type === "compaction")).toBe(false);
    await pi.prompt("goes on");
  });

  it("aborts the run first", async () => {
    const pi = start({ responses: [long("one"), long("two"), { text: "begun", hang: true }, "## Goal\nNone.", "## Turn"] });
    for (const text of ["first", "second"]) await pi.prompt(text);
    const from = pi.frames.length;
    await pi.ask("prompt", { message: "third" });
    await pi.find(({ type }) => type === "message_update", from);
    await pi.ask("compact");
    const seen = types(pi.frames.slice(from));
    expect(seen).toEqual(["agent_start", "turn_start", "turn_end", "agent_end", "agent_settled", "compaction_start", "compaction_end"]);
  });

  it("is cancelled while it waits for the end of the run, by an abort as by another session", async () => {
    const slow = { toolCalls: [{ name: "bash", arguments: { command: "echo up; sleep 60" } }] };
    const pi = start({ responses: [long("one"), long("two"), long("three"), slow, slow, "Not asked for."] });
    for (const text of ["first", "second", "third"]) await pi.prompt(text);
    for (const command of ["abort", "new_session"]) {
      const from = pi.frames.length;
      await pi.ask("prompt", { message: "go" });
      // A tool takes a moment to be killed: both commands wait for the end of the run.
      await pi.find(({ partialResult }) => partialResult?.content[0]?.text === "up\n", from);
      pi.send({ id: `${command}-c`, type: "compact" });
      pi.send({ id: command, type: command });
      expect(await pi.find(({ id }) => id === command)).toMatchObject({ success: true });
      const since = pi.frames.slice(
        from,
        pi.frames.findIndex(({ id }) => id === command),
      );
      expect(types(since).slice(-3)).toEqual(["agent_settled", "compaction_start", "compaction_end"]);
      expect(since.find(({ type }) => type === "compaction_end")).toMatchObject({ result: null, aborted: true });
      expect(await pi.find(({ id }) => id === `${command}-c`)).toMatchObject({ success: false, error: "Compaction cancelled" });
    }
    expect((await pi.ask("get_state")).isCompacting).toBe(false);
  });

  it("fails with the provider's words and writes nothing; a cut or tool-calling summary is a failure too", async () => {
    const pi = start({
      responses: [
        long("one"),
        long("two"),
        { error: "400 no such thing" },
        { text: "half", stopReason: "length" },
        { toolCalls: [{ name: "bash", arguments: { command: "ls" } }] },
      ],
    });
    for (const text of ["first", "second"]) await pi.prompt(text);
    expect((await pi.call("compact")).error).toBe("400 no such thing");
    expect(pi.frames.findLast(({ type }) => type === "compaction_end")).toMatchObject({ errorMessage: "Compaction failed: 400 no such thing" });
    expect((await pi.call("compact")).error).toMatch(/cut off/);
    expect((await pi.call("compact")).error).toMatch(/tool/);
    expect((await pi.ask("get_messages")).messages).toHaveLength(4);
  });

  it("asks without tools, with focus and output cap, and updates the previous summary the next time", async () => {
    const { args, requests } = recorder(`return request.systemPrompt.includes("You summarize") ? "SUMMARY " + index : ${JSON.stringify(long("word"))};`);
    const pi = startRpc({ args, agentFiles: settings({ reserveTokens: 1000 }) });
    for (const text of ["first", "second"]) await pi.prompt(text);
    await pi.ask("compact", { customInstructions: "the parser" });
    const first = requests().at(-1);
    expect(first).toMatchObject({ tools: 0, maxTokens: 800 });
    expect(first?.text).toMatch(/<conversation>\n\[User\]: first\n\n\[Assistant\]: word/);
    expect(first?.text).toMatch(
      /## Goal[\s\S]*## Constraints & Preferences[\s\S]*### Done[\s\S]*## Key Decisions[\s\S]*## Next Steps[\s\S]*## Critical Context/,
    );
    expect(first?.text).toMatch(/the parser/);
    await pi.prompt("third");
    await pi.ask("compact");
    expect(requests().at(-1)?.text).toContain("<previous-summary>\nSUMMARY 2\n</previous-summary>");
    expect(requests().at(-1)?.text).not.toContain("[User]: first");
  });

  it("shows one summary only, also if it keeps what the compaction before had kept", async () => {
    const pi = start(
      { responses: [long("one"), long("two"), long("3rd"), "SUMMARY 1", long("4th"), "SUMMARY 2"] },
      { settings: settings({ keepRecentTokens: 204 }) },
    );
    for (const text of ["first", "second", "third"]) await pi.prompt(text);
    await pi.ask("compact");
    await pi.prompt("fourth");
    await pi.ask("compact");
    const { messages } = await pi.ask("get_messages");
    const told = messages.map(({ role, summary, content }: Frame) => summary ?? (role === "user" ? content[0].text : role));
    expect(told).toEqual(["SUMMARY 2", "third", "assistant", "fourth", "assistant"]);
  });

  it("summarizes the beginning of a split turn apart, and lists files", async () => {
    const read = (path: string) => ({ text: long("looking"), toolCalls: [{ name: "read", arguments: { path } }] });
    const edit = { text: long("changing"), toolCalls: [{ name: "edit", arguments: { path: "b.txt", edits: [] } }] };
    const pi = start(
      { responses: ["Hello.", read("b.txt"), read("a.txt"), edit, long("done"), "HISTORY", "PREFIX"] },
      { files: { "a.txt": "A", "b.txt": "B" } },
    );
    await pi.prompt("hi");
    await pi.prompt("work");
    const { summary, details } = await pi.ask("compact");
    expect(details).toEqual({ readFiles: ["a.txt"], modifiedFiles: ["b.txt"] });
    expect(summary).toMatch(/^HISTORY\n\n---\n\n\*\*Turn Context \(split turn\)/);
    expect(summary).toMatch(/PREFIX\n\n<read-files>\na.txt\n<\/read-files>\n\n<modified-files>\nb.txt\n<\/modified-files>$/);
    const { messages } = await pi.ask("get_messages");
    expect(messages[1].role).toBe("assistant");
  });

  it("tells the focus also where there is only the beginning of a turn to summarize", async () => {
    const { args, requests } = recorder(`
      if (request.systemPrompt.includes("You summarize")) return "PREFIX";
      return index === 0 ? { text: ${JSON.stringify(long("looking"))}, toolCalls: [{ name: "read", arguments: { path: "a.txt" } }] } : ${JSON.stringify(long("done"))};`);
    const pi = startRpc({ args, agentFiles: settings(), files: { "a.txt": "A" } });
    await pi.prompt("work");
    const { summary } = await pi.ask("compact", { customInstructions: "the parser" });
    expect(summary).toContain("split turn");
    expect(requests().at(-1)?.text).toMatch(/Context for Suffix[\s\S]*the parser/);
  });
});

describe("automatic compaction", () => {
  const model = { contextWindow: 1000 };
  const big = { text: long("big"), usage: { input: 950, output: 10 } };

  it("compacts after a run whose context came too near to the window", async () => {
    const pi = start({ model, responses: [long("small"), big, "## Goal\nLess."] });
    await pi.prompt("first");
    const frames = await pi.prompt("second");
    expect(types(frames)).toEqual(["agent_start", "turn_start", "turn_end", "agent_end", "compaction_start", "compaction_end", "agent_settled"]);
    expect(frames.find(({ type }) => type === "compaction_start")).toEqual({ type: "compaction_start", reason: "threshold" });
    const end = frames.find(({ type }) => type === "compaction_end");
    expect(end).toMatchObject({ reason: "threshold", aborted: false, willRetry: false, result: { summary: "## Goal\nLess." } });
    expect((await pi.ask("get_state")).isStreaming).toBe(false);
  });

  it("compacts before a run, after the response", async () => {
    const pi = start({ model, responses: [long("small"), big, "## Goal\nLess.", "third answer"] });
    await pi.ask("set_auto_compaction", { enabled: false });
    expect((await pi.ask("get_state")).autoCompactionEnabled).toBe(false);
    await pi.prompt("first");
    expect(types(await pi.prompt("second"))).not.toContain("compaction_start");
    await pi.ask("set_auto_compaction", { enabled: true });
    const frames = await pi.prompt("third");
    expect(frames[0]?.type).toBe("response");
    expect(types(frames)).toEqual(["compaction_start", "compaction_end", "agent_start", "turn_start", "turn_end", "agent_end", "agent_settled"]);
  });

  it("compacts between two turns and goes on in the same run", async () => {
    const call = { ...big, toolCalls: [{ name: "read", arguments: { path: "none" } }] };
    const pi = start({ model, responses: [long("small"), call, "## Goal\nLess.", "done"] });
    await pi.prompt("first");
    const frames = await pi.prompt("second");
    expect(types(frames).filter((type) => !type.startsWith("tool_"))).toEqual([
      "agent_start",
      "turn_start",
      "turn_end",
      "compaction_start",
      "compaction_end",
      "turn_start",
      "turn_end",
      "agent_end",
      "agent_settled",
    ]);
  });

  it("tells of a failure and goes on", async () => {
    const pi = start({ model, responses: [long("small"), big, { error: "400 not now" }, "third answer"] });
    await pi.prompt("first");
    const frames = await pi.prompt("second");
    expect(frames.find(({ type }) => type === "compaction_end")).toMatchObject({ result: null, errorMessage: "Auto-compaction failed: 400 not now" });
  });

  it("ends with the run that is aborted", async () => {
    const pi = start({ model, responses: [long("small"), big, { hang: true }, "third answer"] });
    await pi.prompt("first");
    await pi.ask("prompt", { message: "second" });
    await pi.find(({ type }) => type === "compaction_start");
    expect(await pi.ask("get_state")).toMatchObject({ isCompacting: true, isStreaming: true });
    await pi.ask("abort");
    expect(pi.frames.slice(-3).map(({ type }) => type)).toEqual(["compaction_end", "agent_settled", "response"]);
    expect(pi.frames.at(-3)).toMatchObject({ result: null, aborted: true });
  });

  it("refuses to guess at bad numbers", async () => {
    const pi = start({ model, responses: [long("small"), big, "third"] }, { settings: settings({ reserveTokens: "much" }) });
    await pi.prompt("first");
    await pi.prompt("second");
    expect(pi.frames.filter(({ type }) => type === "extension_error").map(({ error }) => error)).toEqual([
      'Setting compaction.reserveTokens must be a whole number of at least 0, not "much"',
    ]);
    expect(types(pi.frames)).not.toContain("compaction_start");
  });

  it("repeats a summary that failed transiently", async () => {
    const retry = { retry: { baseDelayMs: 1, maxRetries: 2 } };
    const pi = start({ responses: [long("one"), long("two"), { error: "529 overloaded" }, "SUMMARY"] }, { settings: settings({}, retry) });
    for (const text of ["first", "second"]) await pi.prompt(text);
    const from = pi.frames.length;
    await pi.ask("compact");
    expect(pi.frames.slice(from, -2)).toEqual([
      { type: "compaction_start", reason: "manual" },
      { type: "summarization_retry_scheduled", attempt: 1, maxAttempts: 2, delayMs: 1, errorMessage: "529 overloaded" },
      { type: "summarization_retry_attempt_start", source: "compaction", reason: "manual" },
      { type: "summarization_retry_finished" },
    ]);
  });
});

describe("a request that was too long", () => {
  const overflow = { error: "400 prompt is too long: 213462 tokens > 200000 maximum" };

  it("is compacted and tried again, once per prompt", async () => {
    const pi = start({ responses: [long("one"), long("two"), overflow, "## Goal\nLess.", "## Turn", "Here are the tests.", "and on"] });
    for (const text of ["first", "second"]) await pi.prompt(text);
    const frames = await pi.prompt("And now the tests");
    const kinds = ["agent_start", "turn_start", "turn_end", "agent_end", "entry_appended", "compaction_start", "compaction_end"];
    expect(types(frames)).toEqual([...kinds, "agent_start", "turn_start", "turn_end", "agent_end", "agent_settled"]);
    const failed = frames.find(({ type, message }) => type === "message_end" && message.stopReason === "error");
    expect(frames.find(({ type }) => type === "agent_end")?.willRetry).toBe(false);
    const { entries } = await pi.ask("get_entries");
    const failedEntry = entries.find(({ message }: Frame) => message?.errorMessage === failed?.message.errorMessage);
    expect(frames.find(({ type }) => type === "entry_appended")?.entry).toMatchObject({ type: "context_edit", targetId: failedEntry.id, replacement: null });
    expect(frames.find(({ type }) => type === "compaction_end")).toMatchObject({ reason: "overflow", aborted: false, willRetry: true });
    const { messages } = await pi.ask("get_messages");
    expect(messages.map(({ role }: Frame) => role)).toEqual(["compactionSummary", "assistant", "user", "assistant"]);
  });

  it("ends with an error when it is too long a second time", async () => {
    const pi = start({ responses: [long("one"), long("two"), overflow, "## Goal\nLess.", "## Turn", overflow, "fine"] });
    for (const text of ["first", "second"]) await pi.prompt(text);
    const frames = await pi.prompt("too much");
    const ends = frames.filter(({ type }) => type === "compaction_end");
    expect(ends).toHaveLength(2);
    expect(ends[1]).toMatchObject({
      reason: "overflow",
      result: null,
      willRetry: false,
      errorMessage: expect.stringMatching(/^Context overflow recovery failed: /),
    });
    expect(frames.filter(({ type }) => type === "agent_start")).toHaveLength(2);
    expect((await pi.ask("get_messages")).messages.at(-1).stopReason).toBe("error");
  });

  it("is not repeated if the compaction fails, or is switched off", async () => {
    const pi = start({ responses: [long("one"), long("two"), overflow, { error: "400 broken" }, overflow] });
    for (const text of ["first", "second"]) await pi.prompt(text);
    const frames = await pi.prompt("too much");
    expect(frames.find(({ type }) => type === "compaction_end")).toMatchObject({ errorMessage: "Context overflow recovery failed: 400 broken" });
    expect(frames.filter(({ type }) => type === "agent_start")).toHaveLength(1);
    // The run's result, and no part of the conversation any more.
    const failure = { role: "assistant", stopReason: "error", errorMessage: overflow.error };
    expect(frames.find(({ type }) => type === "agent_end")?.messages.at(-1)).toMatchObject(failure);
    expect((await pi.ask("get_messages")).messages.at(-1)).toMatchObject({ role: "user" });
    const edits = (await pi.ask("get_entries")).entries.filter(({ type }: Frame) => type === "context_edit");
    expect(edits).toMatchObject([{ replacement: null }]);
    await pi.ask("set_auto_compaction", { enabled: false });
    expect(types(await pi.prompt("again"))).toEqual(["agent_start", "turn_start", "turn_end", "agent_end", "agent_settled"]);
  });

  it("is told by a single invocation also when nothing came of the compaction", async () => {
    const script = { responses: [long("one"), long("two"), overflow, { error: "400 broken" }] };
    const { stdout, stderr, status } = await runPi({ agentFiles: settings(), script, args: ["-p", "first", "second", "too much"] });
    expect({ stdout, stderr: stderr.trim(), status }).toEqual({ stdout: "", stderr: overflow.error, status: 1 });
  });

  it("is not confused with an answer that reached the output limit", async () => {
    const pi = start({ responses: [long("one"), long("two"), { text: "cut", stopReason: "length" }] });
    for (const text of ["first", "second"]) await pi.prompt(text);
    expect(types(await pi.prompt("third"))).toEqual(["agent_start", "turn_start", "turn_end", "agent_end", "agent_settled"]);
  });
});

describe("summaries of branches", () => {
  it("stand at the place the conversation goes back to", async () => {
    const pi = start({ responses: ["one", "two", "WHAT HAPPENED"] });
    for (const text of ["first", "second"]) await pi.prompt(text);
    const [, second] = (await pi.ask("get_fork_messages")).messages;
    const { leafId: oldLeaf } = await pi.ask("get_entries");
    const answer = await pi.ask("navigate_tree", { targetId: second.entryId, summarize: true, label: "back" });
    expect(answer).toEqual({ cancelled: false, editorText: "second" });
    const { messages } = await pi.ask("get_messages");
    expect(messages.map(({ role }: Frame) => role)).toEqual(["user", "assistant", "branchSummary"]);
    expect(messages[2].summary).toMatch(/WHAT HAPPENED$/);
    const { entries } = await pi.ask("get_entries");
    const summary = entries.find(({ type }: Frame) => type === "branch_summary");
    expect(summary).toMatchObject({ fromId: oldLeaf, parentId: entries.find(({ id }: Frame) => id === second.entryId).parentId });
    expect(entries.at(-1)).toMatchObject({ type: "label", targetId: summary.id, label: "back" });
  });

  it("can be aborted, and then nothing has moved", async () => {
    const pi = start({ responses: ["one", "two", { hang: true }] });
    for (const text of ["first", "second"]) await pi.prompt(text);
    const [first] = (await pi.ask("get_fork_messages")).messages;
    const before = await pi.ask("get_entries");
    const answer = pi.call("navigate_tree", { targetId: first.entryId, summarize: true });
    expect((await pi.call("navigate_tree", { targetId: first.entryId })).success).toBe(false);
    await pi.ask("abort");
    expect((await answer).data).toEqual({ cancelled: true });
    expect(await pi.ask("get_entries")).toEqual(before);
  });
});
