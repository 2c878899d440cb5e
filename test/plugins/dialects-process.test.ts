/** Dialects of the real process: what a client of each family sees. */
import { describe, expect, test } from "vitest";
import { type Frame, startRpc } from "../helpers/pi.ts";

const long = (word: string) => `${word} `.repeat(200);
/** Small enough for two prompts to be worth compacting. */
const settings = { "settings.json": JSON.stringify({ compaction: { keepRecentTokens: 50, reserveTokens: 100 } }) };
const PIXEL = "iVBORw0KGgo=";
const flat = { type: "image", data: PIXEL, mimeType: "image/png" };
const nested = { type: "image", source: { type: "base64", mediaType: "image/png", data: PIXEL } };
const withoutUpdates = (frames: Frame[]) => frames.map(({ type }) => type).filter((type) => type !== "message_update");

describe.each(["omp", "xcsh"])("%s", (dialect) => {
  const start = (script: unknown, options: object = {}) => startRpc({ args: ["--rpc-dialect", dialect], agentFiles: settings, script, ...options });

  test("prompts are acknowledged early; a refusal is a second response", async () => {
    const rpc = start([{ hang: true }]);
    rpc.send({ id: "1", type: "prompt", message: "go" });
    await rpc.find(({ type }) => type === "agent_start");
    rpc.send({ id: "2", type: "prompt", message: "busy" });
    rpc.send({ id: "end", type: "get_state" });
    await rpc.find(({ id }) => id === "end");
    const error = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";
    expect(rpc.frames.filter(({ id }) => id === "2").map(({ success, error: reason }) => [success, reason])).toEqual([
      [true, undefined],
      [false, error],
    ]);
    expect(rpc.frames.filter(({ id }) => id === "1")).toHaveLength(1);
  });

  test("automatic compactions have other names, manual ones are silent", async () => {
    const rpc = start({
      model: { contextWindow: 2000 },
      responses: [long("one"), { text: long("two"), usage: { totalTokens: 1950 } }, "## Goal", "More.", "Rest."],
    });
    await rpc.prompt("first");
    const second = await rpc.prompt("second");
    const start_ = second.find(({ type }) => type === "auto_compaction_start");
    expect(start_).toEqual({ type: "auto_compaction_start", reason: "threshold" });
    expect(second.find(({ type }) => type === "auto_compaction_end")).toMatchObject({ reason: "threshold", aborted: false, willRetry: false });
    const from = rpc.frames.length;
    expect(await rpc.call("compact")).toMatchObject({ success: false, error: "Already compacted" });
    expect(rpc.frames.slice(from).map(({ type }) => type)).toEqual(["response"]);
  });

  test("images, titles and partial messages", async () => {
    const rpc = start(["Nice."]);
    const frames = await rpc.prompt("look", { images: [flat] });
    const user = frames.find(({ type, message }) => type === "message_end" && message.role === "user");
    expect(user?.message.content[1]).toEqual(dialect === "omp" ? nested : flat);
    const { messages } = await rpc.ask("get_messages");
    expect(messages[0].content[1]).toEqual(dialect === "omp" ? nested : flat);
    const update = frames.find(({ type }) => type === "message_update");
    expect(update?.message.role).toBe("assistant");
    expect(update?.assistantMessageEvent.partial !== undefined).toBe(dialect === "omp");
    const { sessionFile } = await rpc.ask("get_state");
    const { readFileSync } = await import("node:fs");
    expect(readFileSync(sessionFile, "utf8")).toContain(JSON.stringify(flat));
  });

  test("failures before a command was found", async () => {
    const rpc = start([]);
    rpc.child.stdin.write('{"id":"n"}\n{"id":"u","type":"nope"}\n');
    const [parse, unknown] = [await rpc.next(), await rpc.next()];
    expect(parse).toMatchObject({ command: "parse", success: false });
    expect([parse.id, unknown.id]).toEqual(dialect === "omp" ? ["n", "u"] : [undefined, undefined]);
  });

  test("an expected failure names its command and id", async () => {
    const rpc = start([long("one"), long("two"), { error: "400 no summary" }]);
    expect(await rpc.call("switch_session", { sessionPath: "/none.jsonl" })).toMatchObject({ command: "switch_session", success: false });
    await rpc.prompt("first");
    await rpc.prompt("second");
    expect(await rpc.call("compact")).toMatchObject({ command: "compact", success: false, error: "400 no summary" });
    const page = await rpc.call("export_html", { outputPath: "/none/page.html" });
    expect(page).toMatchObject({ command: "export_html", error: "ENOENT: no such file or directory, open '/none/page.html'" });
  });

  test("the user's reminders", async () => {
    const rpc = start([{ text: "Done." }, { text: "Reminded." }, "Again.", "And again."], {
      agentFiles: { "settings.json": JSON.stringify({ todo: { reminders: false } }) },
    });
    await rpc.ask("set_todos", { phases: [{ name: "Phase", tasks: [{ content: "open" }] }] });
    const frames = await rpc.prompt("go");
    // A user who switched them off is heard, but not by clients that always start from the same behaviour.
    expect(frames.filter(({ type }) => type === "todo_reminder")).toHaveLength(dialect === "omp" ? 0 : 3);
    expect((await rpc.ask("get_state")).interruptMode).toBe(dialect === "omp" ? "immediate" : "wait");
  });
});

describe("legacy", () => {
  const start = (script: unknown, options: object = {}) => startRpc({ args: ["--rpc-dialect", "legacy"], agentFiles: settings, script, ...options });

  test("a prompt is answered by its events, which are those of its time", async () => {
    const failing = { text: "Reading.", toolCalls: [{ name: "read", id: "c", arguments: { path: "/none" } }] };
    const rpc = start([failing, "No such file."]);
    rpc.send({ type: "prompt", message: "go" });
    await rpc.find(({ type }) => type === "agent_end");
    expect(withoutUpdates(rpc.frames)).toEqual([
      "agent_start",
      "turn_start",
      "message_start",
      "message_end",
      "message_start",
      "message_end",
      "tool_execution_start",
      "tool_execution_end",
      "message_start",
      "message_end",
      "turn_end",
      "turn_start",
      "message_start",
      "message_end",
      "turn_end",
      "agent_end",
    ]);
    expect(rpc.frames.find(({ type }) => type === "message_start")?.message.content).toBe("go");
    expect(rpc.frames.at(-1)?.messages[0].content).toBe("go");
    expect(rpc.frames.find(({ type }) => type === "tool_execution_end")).toMatchObject({ isError: true, result: expect.stringContaining("/none") });
    expect(rpc.frames.find(({ type }) => type === "message_update")?.assistantMessageEvent.partial).toBeDefined();
  });

  test("bash, compact and what is not understood", async () => {
    const rpc = start([long("one"), long("two"), "## Goal", "Rest."]);
    rpc.send({ type: "compact" });
    expect(await rpc.next()).toEqual({ type: "error", error: "Nothing to compact (session too small)" });
    rpc.send({ type: "bash", command: "echo hi" });
    expect(await rpc.next()).toEqual({
      type: "bash_end",
      message: { role: "bashExecution", command: "echo hi", output: "hi\n", exitCode: 0, cancelled: false, truncated: false, timestamp: expect.any(Number) },
    });
    rpc.send({ id: "b", type: "bash", command: "echo ho" });
    expect(await rpc.next()).toMatchObject({ type: "bash_end", message: { output: "ho\n" } });
    expect(await rpc.next()).toMatchObject({ type: "response", id: "b", command: "bash", data: { output: "ho\n", totalLines: 1 } });
    rpc.send({ type: "bash" });
    expect(await rpc.next()).toEqual({ type: "error", error: 'Missing required parameter "command"' });
    rpc.send({ id: "x", type: "frobnicate" });
    expect(await rpc.next()).toEqual({ type: "error", error: "Unknown command: frobnicate" });
    expect(await rpc.next()).toEqual({ id: "x", type: "response", command: "frobnicate", success: false, error: "Unknown command: frobnicate" });
    rpc.child.stdin.write("{\n");
    expect(await rpc.next()).toMatchObject({ type: "error", error: expect.stringMatching(/^Failed to parse command: /) });
    rpc.send({ type: "get_tools" });
    expect(await rpc.next()).toEqual({ type: "error", error: "Unknown command: get_tools" });
    for (const message of ["first", "second"]) {
      rpc.send({ type: "prompt", message });
      await rpc.next(({ type }) => type === "agent_end");
      // Nothing says that a run has settled; the next state does.
      while ((await rpc.ask("get_state")).isStreaming);
      await rpc.next(({ type }) => type === "response");
    }
    rpc.send({ type: "compact" });
    expect(await rpc.next(({ type }) => type !== "response")).toEqual({
      type: "compaction",
      summary: expect.stringContaining("## Goal"),
      tokensBefore: expect.any(Number),
    });
  });

  test("an automatic compaction says so", async () => {
    const rpc = start({ model: { contextWindow: 2000 }, responses: [long("one"), { text: long("two"), usage: { totalTokens: 1950 } }, "## Goal", "More."] });
    for (const message of ["first", "second"]) {
      rpc.send({ type: "prompt", message });
      await rpc.next(({ type }) => type === "agent_end");
      while ((await rpc.ask("get_state")).isStreaming);
    }
    expect(rpc.frames.find(({ type }) => type === "compaction")).toMatchObject({ auto: true });
  });
});
