/** A session is written down with a real provider and answered from the file by another process, elsewhere and without a network. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type AnswerSource, ModelServer } from "../helpers/model-server.ts";
import { type Frame, repositoryRoot, runPi, startRpc, tempDir } from "../helpers/pi.ts";

const KEY = "sk-recorded-key-123456";

async function recorded(answers: AnswerSource[], prompts: string[]) {
  const server = await ModelServer.start(...answers);
  onTestFinished(() => server.close());
  const file = join(tempDir(), "talk.jsonl");
  const mine = { baseUrl: server.origin, api: "anthropic-messages", apiKey: "$MINE_KEY", models: [{ id: "m", reasoning: true }] };
  const rpc = startRpc({
    args: ["--model", "mine/m", "--record", file],
    agentFiles: { "models.json": JSON.stringify({ providers: { mine } }), "settings.json": JSON.stringify({ retry: { baseDelayMs: 1 } }) },
    files: { "a.txt": "content of a" },
    env: { MINE_KEY: KEY },
  });
  const frames: Frame[] = [];
  for (const prompt of prompts) frames.push(...(await rpc.prompt(prompt)));
  await rpc.stop();
  await server.close();
  return { file, frames };
}

const toolTalk: AnswerSource[] = [
  { blocks: [{ thinking: ["Look ", "first."] }, { text: ["Reading", "."] }, { toolCall: { id: "toolu_1", name: "read", json: ['{"path":"a', '.txt"}'] } }] },
  { status: 529, body: { type: "error", error: { type: "overloaded_error", message: `Overloaded, ${KEY}` } } },
  { text: ["It says: ", "content of a 🌍"] },
  "And again.",
];

/** What a client sees of the answers. */
const answers = (frames: Frame[]) =>
  frames.flatMap((frame) => {
    if (frame.type === "message_update") return [frame.assistantMessageEvent.type + (frame.assistantMessageEvent.delta ?? "")];
    if (frame.type !== "message_end" || frame.message.role !== "assistant") return [];
    const { content, stopReason, usage, errorMessage } = frame.message;
    return [{ content, stopReason, usage, errorMessage }];
  });

test("a conversation with tools, a failure and a retry is the same when it is replayed", async () => {
  const { file, frames } = await recorded(toolTalk, ["Read a.txt", "Once more"]);
  expect(answers(frames).filter((seen) => typeof seen === "object")).toHaveLength(4);
  const text = readFileSync(file, "utf8");
  expect(text).not.toContain(KEY);
  expect(text).toContain("[secret]");
  expect(statSync(file).mode & 0o077).toBe(0);

  const rpc = startRpc({
    args: ["--replay", file],
    files: { "a.txt": "content of a" },
    agentFiles: { "settings.json": JSON.stringify({ retry: { baseDelayMs: 1 } }) },
  });
  const again = [...(await rpc.prompt("Read a.txt")), ...(await rpc.prompt("Once more"))];
  expect(answers(again)).toEqual(answers(frames));
  expect(again.filter(({ type }) => type === "auto_retry_start")).toHaveLength(1);
});

test("a request that differs is refused with the difference, and not tried again", async () => {
  const { file } = await recorded(["Hello."], ["Say hello"]);
  const rpc = startRpc({ args: ["--replay", file] });
  const frames = await rpc.prompt("Say goodbye, server error 500");
  const { message } = frames.find(({ type, message }) => type === "message_end" && message.role === "assistant") as Frame;
  expect(message.stopReason).toBe("error");
  expect(message.errorMessage).toMatch(/^Replay refused: the request differs from request 1 of .*talk\.jsonl\.\n--- recorded\n\+\+\+ now\n/);
  expect(message.errorMessage).toMatch(/\n {2}user:\n- {3}Say hello\n\+ {3}Say goodbye, server error 500$/);
  expect(frames.some(({ type }) => type === "auto_retry_start")).toBe(false);
  const more = await startRpc({ args: ["--replay", file] });
  await more.prompt("Say hello");
  const over = await more.prompt("And now?");
  expect(JSON.stringify(over)).toContain("has no further request; all 1 were answered.");
});

test.each([
  [["--replay", "missing.jsonl"], /recording .*missing\.jsonl cannot be read/],
  [["--replay", "a.txt"], /a\.txt, line 1: not JSON/],
  [["--replay", "b.json"], /b\.json is not a recording/],
  [["--record", "x.jsonl", "--replay", "b.json"], /exclude each other|not a recording/],
  [["--record", "no/such/dir/x.jsonl"], /--record no\/such\/dir\/x\.jsonl cannot be written/],
])("%j is an error at the start", async (args, text) => {
  const { status, stderr } = await runPi({ args: [...args, "-p", "Hi"], files: { "a.txt": "no", "b.json": "{}" } });
  expect(status).toBe(1);
  expect(stderr).toMatch(text);
});

test("the example of the documentation runs", async () => {
  const page = readFileSync(join(repositoryRoot, "docs/record-replay.md"), "utf8");
  const block = (name: string) => new RegExp(`<!-- ${name} -->\\n\`\`\`\\w+\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? "";
  const cwd = tempDir();
  writeFileSync(join(cwd, "talk.jsonl"), block("recording"));
  const [program, ...args] = (block("command").match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^"|"$/g, ""));
  expect(program).toBe("pi");
  const { stdout, stderr, status } = await runPi({ cwd, args });
  expect({ stdout, stderr, status }).toEqual({ stdout: "Hello there!\n", stderr: "", status: 0 });
});
