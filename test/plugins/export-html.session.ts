/** Session files for the tests of the page: a readable one with branches, a hostile one, a long one. */

import { once } from "node:events";
import { createWriteStream, writeFileSync } from "node:fs";

type Content = Record<string, unknown>;

export const text = (value: string): Content => ({ type: "text", text: value });
export const thinking = (value: string): Content => ({ type: "thinking", thinking: value });
export const call = (id: string, name: string, args: Content): Content => ({ type: "toolCall", id, name, arguments: args });

/** A PNG of one red pixel. */
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/** Writes entries below each other; `at` starts a branch. */
export class SessionBuilder {
  readonly lines: string[] = [];
  #count = 0;
  #time = Date.parse("2026-03-02T09:15:04.211Z");
  #parent: string | null = null;
  #context = 900;

  constructor(header: Content = {}) {
    this.lines.push(
      JSON.stringify({
        type: "session",
        version: 3,
        id: "0195f1c2-7a3b-7c11-9d2e-5b8f0a6c1e47",
        timestamp: "2026-03-02T09:15:04.211Z",
        cwd: "/home/dev/app",
        ...header,
      }),
    );
  }

  at(id: string | null): this {
    this.#parent = id;
    return this;
  }

  add(entry: Content): string {
    this.#time += 15_000;
    const id = (0x10000000 + ++this.#count).toString(16);
    const whole = { id, parentId: this.#parent, timestamp: new Date(this.#time).toISOString(), ...entry };
    this.lines.push(JSON.stringify(whole));
    this.#parent = whole.id;
    return whole.id;
  }

  message(message: Content): string {
    return this.add({ type: "message", message: { timestamp: this.#time, ...message } });
  }

  user(value: string, ...more: Content[]): string {
    return this.message({ role: "user", content: [text(value), ...more] });
  }

  assistant(...content: Content[]): string {
    return this.message({ role: "assistant", content, ...this.#answer(content.some(({ type }) => type === "toolCall")) });
  }

  failed(errorMessage: string): string {
    return this.message({ role: "assistant", content: [], ...this.#answer(false), stopReason: "error", errorMessage });
  }

  result(toolCallId: string, toolName: string, value: string, more: Content = {}): string {
    return this.message({ role: "toolResult", toolCallId, toolName, content: [text(value)], isError: false, ...more });
  }

  save(file: string): string {
    writeFileSync(file, `${this.lines.join("\n")}\n`);
    return file;
  }

  #answer(hasCalls: boolean): Content {
    this.#context += 1200;
    const usage = { input: 300, output: 250, cacheRead: this.#context, cacheWrite: 100, totalTokens: this.#context + 650 };
    const cost = { input: 0.0009, output: 0.00375, cacheRead: 0.0004, cacheWrite: 0.0003, total: 0.00535 };
    return {
      api: "anthropic-messages",
      provider: "anthropic",
      model: "claude-sonnet-4",
      usage: { ...usage, cost },
      stopReason: hasCalls ? "toolUse" : "stop",
    };
  }
}

const TABLE = "| locale | week starts |\n|---|---|\n| de-DE | Monday |\n| en-US | Sunday |";
const CODE = "```ts\nconst { firstDay } = new Intl.Locale(locale).getWeekInfo();\n```";
const DIFF =
  "  6 /** Days before the first. */\n- 7 export function leadingDays(month: Month) {\n+ 7 export function leadingDays(month: Month, weekStart = 1) {\n  8   return 0;";

/** A session as people have them, with two branches. */
export function readableSession() {
  const session = new SessionBuilder();
  session.add({ type: "model_change", provider: "anthropic", modelId: "claude-sonnet-4" });
  session.add({ type: "thinking_level_change", thinkingLevel: "medium" });
  const question = session.user("The date picker shows the **wrong month**. Can you fix it?");
  const look = session.assistant(
    thinking("The week start is probably hard-coded."),
    text("I'll start with the failing test."),
    call("c1", "bash", { command: "npm test" }),
    call("c2", "read", { path: "src/calendar.ts" }),
  );
  session.result("c1", "bash", "\u001b[31mfailed\u001b[0m 1 of 12\nneedle-in-output\n");
  const read = session.result("c2", "read", "export const first = 1;\n");
  const edit = session.assistant(
    text(`Weeks differ:\n\n${TABLE}\n\n${CODE}`),
    call("c3", "edit", { path: "src/calendar.ts", edits: [{ oldText: "a", newText: "b" }] }),
  );
  const edited = session.result("c3", "edit", "Successfully replaced 1 block(s) in src/calendar.ts.", { details: { diff: DIFF, firstChangedLine: 7 } });
  const firstAnswer = session.assistant(text("All tests pass on the **first branch**. See [the proposal](https://example.com/intl)."));
  const hidden = session.failed("Overloaded");
  session.add({ type: "context_edit", targetId: hidden, replacement: null });
  session.add({ type: "custom_message", customType: "ttsr-injection", content: "a hidden instruction", display: false });
  const secondQuestion = session.at(edited).user("Please make the parameter required, on the second branch.");
  session.assistant(text("Then the compiler finds every caller."), call("c4", "bash", { command: "npx tsc --noEmit" }));
  session.result("c4", "bash", "error TS2554\n\nCommand exited with code 2", { isError: true, details: {} });
  session.message({ role: "bashExecution", command: "git diff --stat", output: " 1 file changed\n", exitCode: 0, cancelled: false, truncated: false });
  session.user("Here is how it looks.", { type: "image", mimeType: "image/png", data: PIXEL });
  session.add({ type: "compaction", summary: "## Goal\nFix the week start.", firstKeptEntryId: secondQuestion, tokensBefore: 48211 });
  const last = session.assistant(text("That is the expected grid."));
  session.add({ type: "label", targetId: secondQuestion, label: "second try" });
  session.add({ type: "session_info", name: "Week start in the date picker" });
  return { session, ids: { question, look, read, edit, firstAnswer, hidden, secondQuestion, last } };
}

/** What nobody means well with. */
export function hostileSession(outputBytes: number): SessionBuilder {
  const session = new SessionBuilder({ cwd: "</script><script>window.pwned=1</script>" });
  const attack = `</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1"><!--<script> "'\u2028\u2029\u0000 end-of-attack`;
  session.user(attack);
  session.add({ type: "message", id: `"><img src=x onerror=window.pwned=1>`, message: { role: "user", content: "id with markup", timestamp: 1 } });
  session.assistant(
    thinking(attack),
    text(
      [
        attack,
        "[click](javascript:window.pwned=1) [tab](java\tscript:window.pwned=1) [data](data:text/html,<script>window.pwned=1</script>) <javascript:window.pwned=1>",
        "![image](https://example.com/tracker.png) ![x](javascript:window.pwned=1)",
        "[ref]: javascript:window.pwned=1\n\n[ref]",
        "<pre><code><img src=x onerror=window.pwned=1//\n\n<svg onload=window.pwned=1>",
        '```"><img src=x onerror=window.pwned=1>\n</code></pre><img src=x onerror=window.pwned=1>\n```',
        "`<img src=x onerror=window.pwned=1>`",
        "&lt;img src=x onerror=window.pwned=1&gt; &#60;script&#62;",
      ].join("\n\n"),
    ),
    call(`"><script>window.pwned=1</script>`, "<b>tool</b>", { "<key>": attack, command: "\u001b]8;;javascript:alert(1)\u0007link\u001b]8;;\u0007" }),
  );
  session.result(
    `"><script>window.pwned=1</script>`,
    "<b>tool</b>",
    `${attack}\u001b[31mred\u001b[0m\u001b[2J\u001b]0;title\u0007\nprogress 1 %\rprogress 100 %\n`,
  );
  session.message({
    role: "user",
    content: [
      { type: "image", mimeType: "image/png", data: "iVBORw0KGgo!!!broken" },
      { type: "image", mimeType: "image/png", data: "iVBORw0KGgoAAAA" },
      { type: "image", mimeType: "image/svg+xml", data: "PHN2Zz4=" },
    ],
  });
  session.message({ role: attack, content: attack });
  session.add({ type: "model_change", provider: attack, modelId: attack });
  session.add({ type: "custom_message", customType: attack, content: attack, display: true });
  session.add({ type: "label", targetId: "10000001", label: attack });
  session.add({ type: "branch_summary", fromId: null, summary: attack });
  session.add({ type: "unknown_kind", anything: attack });
  session.add({ type: "message", message: null });
  const before = session.add({ type: "message", message: { role: "assistant", content: "not a list", usage: "none" } });
  session.add({ type: "message", id: "loop", parentId: "loop", message: { role: "user", content: "its own parent", timestamp: 1 } });
  session.at(before);
  session.user(`${">".repeat(20_000)} deep`);
  session.user("[".repeat(40_000));
  session.user("*a **b ".repeat(8_000));
  session.assistant(call("huge", "bash", { command: "cat log" }));
  session.result("huge", "bash", `begin-of-log\n${"<b>0123456789</b>\u001b[32m".repeat(Math.ceil(outputBytes / 22))}\nend-of-log`);
  session.lines.push("this is not JSON", "[1,2]", "null");
  session.user("the last word");
  return session;
}

/** A long conversation without branches. */
export async function longSession(file: string, count: number): Promise<void> {
  const out = createWriteStream(file);
  const put = (line: object) => out.write(`${JSON.stringify(line)}\n`);
  put({ type: "session", version: 3, id: "long", timestamp: "2026-03-02T09:15:04.211Z", cwd: "/x" });
  const lines = Array.from({ length: 40 }, (_, index) => `-rw-r--r-- 1 root root ${index * 17} file-${index}.txt`).join("\n");
  let parentId: string | null = null;
  for (let index = 0; index < count; index++) {
    const id = `n${index}`;
    const usage = { input: 100, output: 200, cacheRead: (index % 400) * 200, cacheWrite: 50, totalTokens: 1, cost: { total: 0.001 } };
    const answer = { role: "assistant", api: "a", provider: "p", model: "m", usage, timestamp: index };
    const messages: object[] = [
      { role: "user", content: [text(`Question ${index}: what does **module ${index}** do?`)], timestamp: index },
      {
        ...answer,
        content: [thinking(`About ${index}`), text(`Answer ${index} with \`code\`.`), call(`c${index}`, "bash", { command: `ls ${index}` })],
        stopReason: "toolUse",
      },
      { role: "toolResult", toolCallId: `c${index - 1}`, toolName: "bash", content: [text(lines)], isError: false, timestamp: index },
      { ...answer, content: [text(`Done with ${index}.`)], stopReason: "stop" },
    ];
    put({ type: "message", id, parentId, timestamp: new Date(1772442904211 + index * 5000).toISOString(), message: messages[index % 4] });
    parentId = id;
  }
  out.end();
  await once(out, "close");
}
