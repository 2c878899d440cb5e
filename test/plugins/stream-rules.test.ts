/** Stream rules: matching a growing stream, and what an interruption looks like on the wire and in the session. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AssistantMessage, BlockEvent } from "../../core/index.ts";
import { StreamMatcher } from "../../plugins/stream-rules/matcher.ts";
import { readRule } from "../../plugins/stream-rules/rule.ts";
import { type Frame, startRpc } from "../helpers/pi.ts";

describe("matching", () => {
  const partial = {} as AssistantMessage;
  const rule = (given: object) => readRule({ name: "r", text: "t", ...given }, {});
  /** The number of pieces after which a rule is broken; undefined: never. */
  const brokenAt = (given: object, pieces: string[], kind: "text" | "thinking" | "toolcall" = "text") => {
    const matcher = new StreamMatcher([rule(given)]);
    matcher.feed({ type: `${kind}_start`, contentIndex: 0, id: "c", toolName: "t", partial } as BlockEvent);
    const at = pieces.findIndex((delta) => matcher.feed({ type: `${kind}_delta`, contentIndex: 0, delta, partial } as BlockEvent).length > 0);
    return at < 0 ? undefined : at + 1;
  };

  test("a match may be spread over any number of pieces", () => {
    expect(brokenAt({ pattern: "console\\.log" }, ["x = 1; con", "sole", ".l", "og(x)"])).toBe(4);
    expect(brokenAt({ pattern: "/TODO/i" }, ["to", "do"])).toBe(2);
    expect(brokenAt({ patterns: ["a+b", "zzz"] }, ["za", "zz", "zz"])).toBe(3);
    expect(brokenAt({ pattern: "never" }, ["nev", "ver"])).toBeUndefined();
  });

  test("anchors mean lines and beginnings also far into the stream", () => {
    const filler = "0123456789 ".repeat(300);
    expect(brokenAt({ pattern: "^x" }, [filler, "x"])).toBeUndefined();
    expect(brokenAt({ pattern: "/^x/m" }, [filler, "y\n", "x"])).toBe(3);
    expect(brokenAt({ pattern: "/^[0-9]/m" }, ["line\n", "a".repeat(1023), "7"])).toBeUndefined();
    expect(brokenAt({ pattern: "\\bcat\\b" }, [filler, "con", "cat "])).toBeUndefined();
  });

  test("tool arguments are matched as the text they stand for", () => {
    const pieces = ['{"path":"a.ts","content":"import x from \\', '"lodash\\"', ";\\nlet y: \\u0061", 'ny"}'];
    expect(brokenAt({ pattern: 'from "lodash"' }, pieces, "toolcall")).toBe(2);
    expect(brokenAt({ pattern: "/^let y: any/m" }, pieces, "toolcall")).toBe(4);
    expect(brokenAt({ pattern: "lodash", scope: "text" }, pieces, "toolcall")).toBeUndefined();
    expect(brokenAt({ pattern: "secret", scope: ["thinking"] }, ["sec", "ret"], "thinking")).toBe(2);
    expect(brokenAt({ pattern: "secret" }, ["secret"], "thinking")).toBeUndefined();
  });

  test("a block that comes without pieces is matched at its end", () => {
    const matcher = new StreamMatcher([rule({ pattern: "rm -rf" })]);
    const toolCall = { type: "toolCall" as const, id: "c", name: "bash", arguments: { command: "rm -rf /" } };
    matcher.feed({ type: "toolcall_start", contentIndex: 2, id: "c", toolName: "bash", partial });
    expect(matcher.feed({ type: "toolcall_end", contentIndex: 2, toolCall, partial })).toHaveLength(1);
  });

  test("what is looked at per piece does not grow with the stream", () => {
    let longest = 0;
    const watched = rule({ pattern: "zz" });
    const [pattern] = watched.patterns as [RegExp];
    pattern.test = (text) => {
      longest = Math.max(longest, text.length);
      return false;
    };
    const matcher = new StreamMatcher([watched]);
    matcher.feed({ type: "text_start", contentIndex: 0, partial });
    for (let piece = 0; piece < 5000; piece++) matcher.feed({ type: "text_delta", contentIndex: 0, delta: "0123456789", partial });
    expect(longest).toBe(1035);
  });

  test("a rule that cannot work is refused with a reason", () => {
    expect(() => rule({})).toThrow('it needs a "pattern" or "patterns"');
    expect(() => rule({ pattern: "a*" })).toThrow("a pattern must not match the empty text");
    expect(() => rule({ pattern: "(" })).toThrow(/Unterminated group/);
    expect(() => rule({ pattern: "a", scope: "speech" })).toThrow('"scope" must be one or more of text, thinking, toolcall');
    expect(() => rule({ pattern: "a", limit: 0 })).toThrow('"limit" must be a whole number of at least 1');
    expect(() => readRule({ name: "r", pattern: "a" }, {})).toThrow("it has no text to tell the model");
  });
});

const noAny = "---\ndescription: Do not use the type any\npattern: ':\\s*any\\b'\n---\nUse a precise type instead of any.\n";
const types = (frames: Frame[]) => frames.map(({ type }) => type);

test("a broken rule stops the stream, and the model tries again knowing the rule", async () => {
  const responses = [{ text: ["let x", ": a", "ny", " = 1; and much more"] }, { text: "let x: number = 1;", expect: { messageCount: 2 } }];
  const rpc = startRpc({ args: ["--rpc-updates", "delta"], agentFiles: { "rules/no-any.md": noAny }, script: { responses } });
  const frames = await rpc.prompt("Declare x");
  const path = join(rpc.places.agentDir, "rules/no-any.md");
  const at = types(frames).indexOf("ttsr_triggered");
  expect(frames[at]).toEqual({ type: "ttsr_triggered", rules: [{ name: "no-any", description: "Do not use the type any", path }] });
  expect(types(frames).slice(at, at + 9)).toEqual([
    "ttsr_triggered",
    "message_update",
    "message_end",
    "turn_end",
    "agent_end",
    "entry_appended",
    "agent_start",
    "turn_start",
    "message_start",
  ]);
  expect(frames[at + 1]?.assistantMessageEvent).toMatchObject({ type: "text_end", content: "let x: any" });
  expect(frames[at + 2]?.message).toMatchObject({
    stopReason: "aborted",
    errorMessage: "Request was aborted",
    content: [{ type: "text", text: "let x: any" }],
  });
  expect(frames[at + 4]?.willRetry).toBe(false);
  expect(frames[at + 5]?.entry).toMatchObject({ type: "context_edit", replacement: null });
  expect(frames[at + 8]?.message).toMatchObject({ role: "custom", customType: "ttsr-injection", display: false });
  expect(frames[at + 8]?.message.content).toContain("Use a precise type instead of any.");
  expect(types(frames).filter((type) => type === "ttsr_triggered")).toHaveLength(1);
  expect(types(frames).filter((type) => type === "agent_settled")).toHaveLength(1);

  const { messages } = await rpc.ask("get_messages");
  expect(messages.map(({ role }: Frame) => role)).toEqual(["user", "custom", "assistant"]);
  expect(messages.at(-1).content[0].text).toBe("let x: number = 1;");
  const { sessionFile } = await rpc.ask("get_state");
  const entries = readFileSync(sessionFile, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const edit = entries.find(({ type }) => type === "context_edit");
  expect(entries.find(({ id }) => id === edit.targetId).message.stopReason).toBe("aborted");
});

test("each rule fires once per prompt unless it may more often", async () => {
  const rules = [
    { name: "once", pattern: "alpha", text: "No alpha." },
    { name: "twice", pattern: "beta", text: "No beta.", limit: 2 },
  ];
  const responses = ["alpha", "alpha beta", "beta", "alpha beta", "alpha"];
  const rpc = startRpc({ args: ["--no-session"], agentFiles: { "settings.json": JSON.stringify({ streamRules: rules }) }, script: { responses } });
  const names = (frames: Frame[]) =>
    frames.filter(({ type }) => type === "ttsr_triggered").map(({ rules: broken }) => broken.map(({ name }: Frame) => name).join());
  const first = await rpc.prompt("Go");
  expect(names(first)).toEqual(["once", "twice", "twice"]);
  expect(first.findLast(({ type }) => type === "message_end")?.message.content[0].text).toBe("alpha beta");
});

test("a tool call that breaks a rule is not executed", async () => {
  const responses = [{ toolCalls: [{ name: "bash", arguments: { command: "rm -rf build" } }] }, "I will not."];
  const rules = [{ name: "no-rm", pattern: "rm -rf", scope: "toolcall", text: "Never remove directories." }];
  const rpc = startRpc({ args: ["--no-session"], agentFiles: { "settings.json": JSON.stringify({ streamRules: rules }) }, script: { responses } });
  const frames = await rpc.prompt("Clean up");
  expect(types(frames)).toContain("ttsr_triggered");
  expect(types(frames)).not.toContain("tool_execution_start");
  expect(frames.findLast(({ type }) => type === "message_end")?.message.content[0].text).toBe("I will not.");
});

test("the injection comes before messages that wait in the queue", async () => {
  const responses = [{ text: ["all ", "alpha"] }, "first", "second"];
  const rules = [{ name: "no-alpha", pattern: "alpha", text: "No alpha." }];
  const rpc = startRpc({ args: ["--no-session"], agentFiles: { "settings.json": JSON.stringify({ streamRules: rules }) }, script: { responses } });
  await rpc.ask("follow_up", { message: "later" });
  const frames = await rpc.prompt("Go");
  const delivered = frames
    .filter(({ type, message }) => type === "message_start" && message.role !== "assistant")
    .map(({ message }) => message.customType ?? message.content[0].text);
  expect(delivered).toEqual(["Go", "ttsr-injection", "later"]);
});

test("rules of a project need its trust, and a broken rule is reported without harm", async () => {
  const files = { ".pi/rules/no-any.md": noAny };
  const responses = ["let x: any = 1;", "let x = 1;"];
  const untrusted = startRpc({ args: ["--no-session"], files, script: { responses } });
  expect(types(await untrusted.prompt("Declare x"))).not.toContain("ttsr_triggered");

  const agentFiles = { "rules/broken.md": "---\npattern: '('\n---\nx" };
  const trusted = startRpc({ args: ["--no-session", "--approve"], files, agentFiles, script: { responses } });
  const frames = await trusted.prompt("Declare x");
  expect(frames.find(({ type }) => type === "ttsr_triggered")?.rules[0].path).toBe(join(trusted.places.cwd, ".pi/rules/no-any.md"));
  await trusted.stop();
  expect(trusted.stderr).toMatch(/Stream rule .*broken\.md is not usable: .*Unterminated group/);
});

test("a rule that is written while the agent runs counts from the next prompt on", async () => {
  const rpc = startRpc({ args: ["--no-session"], script: { responses: ["alpha one", "alpha two", "better"] } });
  expect(types(await rpc.prompt("Go"))).not.toContain("ttsr_triggered");
  const { mkdirSync, writeFileSync } = await import("node:fs");
  mkdirSync(join(rpc.places.agentDir, "rules"), { recursive: true });
  writeFileSync(join(rpc.places.agentDir, "rules/no-alpha.md"), "---\npattern: alpha\n---\nNo alpha.\n");
  expect(types(await rpc.prompt("Go"))).toContain("ttsr_triggered");
});
