/** The TypeScript client against the real program: every method, and what happens when things end. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { AgentGoneError, type ClientEvent, type HostTool, RpcClient, RpcError } from "../../src/client/index.ts";
import { CommandMethods } from "../../src/client/protocol.ts";
import { preparePlaces, programPath, repositoryRoot } from "../helpers/pi.ts";
import { optionsFor, startClient } from "./client-helpers.ts";

const asker = `
export default function (pi) {
  pi.registerCommand("ask", { description: "Ask everything", async handler(args, ctx) {
    const answers = [
      await ctx.ui.select("Which?", ["a", "b"]),
      await ctx.ui.confirm("Sure?", "Really."),
      await ctx.ui.input("Name?", "a name"),
      await ctx.ui.editor("Text", "draft"),
    ];
    ctx.ui.notify(JSON.stringify(answers));
  } });
}`;

const untilEvent = async (client: RpcClient, type: string) => {
  for await (const event of client.events()) if (event.type === type) return event;
  throw new Error(`no ${type}`);
};

describe("types", () => {
  test("are those that the program prints", () => {
    execFileSync(process.execPath, [join(repositoryRoot, "scripts/generate-client-types.mjs"), "--check"], { stdio: "pipe" });
  });

  test("the built client imports nothing of the program", () => {
    const folder = join(dirname(programPath), "lib");
    const seen = new Map<string, string>();
    const visit = (file: string) => {
      if (seen.has(file)) return;
      const text = readFileSync(file, "utf8");
      seen.set(file, text);
      for (const [, specifier = ""] of text.matchAll(/^(?:import|export)[^'"\n]*["']([^"']+)["']/gm)) {
        if (specifier.startsWith(".")) visit(join(dirname(file), specifier));
        else expect(specifier).toMatch(/^node:/);
      }
    };
    visit(join(folder, "client.js"));
    expect(Math.max(...[...seen].filter(([file]) => !file.endsWith("client.js")).map(([, text]) => text.length))).toBeLessThan(2000);
  });
});

test("every method", async () => {
  const say = (text: string) => ({ text, usage: { input: 10, output: 1, totalTokens: 11 } });
  const client = await startClient(
    {
      env: { ANTHROPIC_API_KEY: "not-a-key" },
      script: { responses: [say("one"), say("two"), say("three")], repeat: true },
      agentFiles: { "settings.json": JSON.stringify({ compaction: { keepRecentTokens: 1 } }), "extensions/ask.ts": asker },
    },
    { numbered: true },
  );
  const called = new Set<string>(["call"]);
  const methods = new Proxy(client, {
    get(target, name) {
      called.add(String(name));
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

  expect(await methods.getState()).toMatchObject({ isStreaming: false, model: { provider: "scripted" }, protocol: { dialect: "pi", updates: "delta" } });
  expect(await methods.promptAndWait("first")).toMatchObject({
    text: "one",
    message: { stopReason: "stop" },
    messages: [{ role: "user" }, { role: "assistant" }],
  });
  const settled = untilEvent(client, "agent_settled");
  await methods.prompt({ message: "second" });
  await settled;
  expect(await methods.getLastAssistantText()).toEqual({ text: "two" });
  expect((await methods.getMessages()).messages).toHaveLength(4);
  expect(await methods.getSessionStats()).toMatchObject({ userMessages: 2, assistantMessages: 2 });

  expect(await methods.steer({ message: "s" })).toBeUndefined();
  expect(await methods.followUp({ message: "f" })).toBeUndefined();
  expect(await methods.clearQueue()).toEqual({ steering: ["s"], followUp: ["f"] });
  await methods.abort();
  const again = untilEvent(client, "agent_settled");
  await methods.abortAndPrompt({ message: "third" });
  await again;

  await methods.setSteeringMode({ mode: "all" });
  await methods.setFollowUpMode({ mode: "all" });
  await methods.setInterruptMode({ mode: "immediate" });
  await methods.setAutoRetry({ enabled: false });
  await methods.setAutoCompaction({ enabled: false });
  await methods.setSessionName({ name: "a name" });
  expect(await methods.getState()).toMatchObject({
    steeringMode: "all",
    followUpMode: "all",
    interruptMode: "immediate",
    autoCompactionEnabled: false,
    sessionName: "a name",
  });
  await methods.abortRetry();

  const { models } = await methods.getAvailableModels();
  expect(models.length).toBeGreaterThan(0);
  const { model } = await methods.getState();
  expect(await methods.setModel({ provider: model?.provider ?? "", modelId: model?.id ?? "" })).toMatchObject({ provider: "scripted" });
  await methods.cycleModel();
  await methods.setModel({ provider: model?.provider ?? "", modelId: model?.id ?? "" });
  await methods.setThinkingLevel({ level: "off" });
  await methods.cycleThinkingLevel();
  expect((await methods.getAvailableThinkingLevels()).levels).toContain("off");

  let output = "";
  const result = await methods.bash({ command: "echo from bash" }, (text) => {
    output += text;
  });
  expect(result).toMatchObject({ output: "from bash\n", exitCode: 0 });
  expect(output).toBe("from bash\n");
  let onOutput = (_text: string) => {};
  const begun = new Promise<string>((resolve) => {
    onOutput = resolve;
  });
  const sleeping = methods.bash({ command: "echo begun; sleep 60" }, onOutput);
  await begun;
  await methods.abortBash();
  expect(await sleeping).toMatchObject({ cancelled: true });

  const { tools } = await methods.getTools();
  expect(tools.map(({ name }) => name)).toContain("read");
  expect(await methods.setActiveTools({ names: ["read"] })).toEqual({ toolNames: ["read"] });
  await expect(methods.setActiveTools({ names: ["nothing"] })).rejects.toThrow("Unknown tool: nothing");
  expect(await methods.setHostTools({ tools: [] })).toEqual({ toolNames: [] });
  expect((await methods.setTodos({ phases: [{ name: "P", tasks: [{ content: "t" }] }] })).todoPhases).toHaveLength(1);
  expect((await methods.getExtensions()).extensions).toMatchObject([{ state: "active", owns: { commands: ["ask"] } }]);
  expect((await methods.reload()).failed).toEqual([]);
  expect((await methods.getCommands()).commands.map(({ name }) => name)).toContain("ask");
  expect(Object.keys((await methods.getProtocol()).commands)).toContain("resume_events");
  expect(await methods.setUpdateMode({ mode: "full" })).toEqual({ mode: "full", previous: "delta" });

  const { entries } = await methods.getEntries();
  const first = entries.find((entry) => entry.type === "message")?.id ?? "";
  await methods.setLabel({ entryId: first, label: "start" });
  expect(JSON.stringify(await methods.getTree())).toContain('"label":"start"');
  const { messages: forks } = await methods.getForkMessages();
  expect(await methods.getBranchMessages()).toEqual({ messages: forks });
  expect(forks[0]).toMatchObject({ text: "first" });
  expect(await methods.compact()).toMatchObject({ summary: expect.any(String) });
  expect(await methods.navigateTree({ targetId: forks[1]?.entryId ?? "" })).toEqual({ cancelled: false, editorText: "second" });
  const { path } = await methods.exportHtml({ outputPath: "out.html" });
  expect(existsSync(path)).toBe(true);

  const { sessions } = await methods.listSessions();
  const { sessionFile } = await methods.getState();
  expect(sessions.map((session) => session.path)).toContain(sessionFile);
  expect(await methods.clone()).toEqual({ cancelled: false });
  expect(await methods.switchSession({ sessionPath: sessionFile ?? "" })).toEqual({ cancelled: false });
  expect(await methods.fork({ entryId: forks[0]?.entryId ?? "" })).toEqual({ text: "first", cancelled: false });
  await methods.switchSession({ sessionPath: sessionFile ?? "" });
  expect(await methods.branch({ entryId: forks[0]?.entryId ?? "" })).toEqual({ text: "first", cancelled: false });
  expect(await methods.newSession()).toEqual({ cancelled: false });
  expect(await methods.resumeEvents({ after: client.lastSeq ?? 0 })).toMatchObject({ to: expect.any(Number) });

  const untested = Object.getOwnPropertyNames(CommandMethods.prototype).filter((name) => name !== "constructor" && !called.has(name));
  expect(untested).toEqual([]);
});

describe("prompting", () => {
  test("a refusal is an RpcError with the agent's sentence", async () => {
    const client = await startClient({ script: ["x"] });
    const error = await client.setSteeringMode({ mode: "some" as "all" }).catch((error) => error);
    expect(error).toBeInstanceOf(RpcError);
    expect(error.message).toBe('Invalid parameter "mode": expected one of all, one-at-a-time');
    expect(error.command).toBe("set_steering_mode");
  });

  test("who awaits a response misses no event after it", async () => {
    const client = await startClient({ script: { responses: ["yes"], repeat: true } });
    for (let round = 0; round < 5; round++) {
      await client.prompt({ message: "go" });
      const types: string[] = [];
      for await (const { type } of client.events()) {
        types.push(type);
        if (type === "agent_settled") break;
      }
      expect(types[0]).toBe("agent_start");
    }
  });

  test("a failed run is told, a slash command without a run returns at once", async () => {
    const client = await startClient(
      { script: [{ error: "400 bad request" }], agentFiles: { "extensions/ask.ts": asker } },
      { dialogs: { select: () => "b", confirm: () => true, input: async () => "Ada", editor: ({ prefill }) => `${prefill}!` } },
    );
    const notices: string[] = [];
    client.onEvent((event) => {
      if (event.type === "extension_ui_request" && event.method === "notify") notices.push(event.message);
    });
    expect(await client.promptAndWait("/ask")).toEqual({ text: "", messages: [] });
    expect(notices).toEqual(['["b",true,"Ada","draft!"]']);
    expect(await client.promptAndWait("hello")).toMatchObject({ error: expect.stringContaining("400 bad request"), message: { stopReason: "error" } });
  });

  test("dialogs without a handler, and of one that fails, are declined", async () => {
    const fails = () => {
      throw new Error("no");
    };
    const client = await startClient({ script: ["x"], agentFiles: { "extensions/ask.ts": asker } }, { dialogs: { select: fails } });
    const notice = untilEvent(client, "extension_ui_request");
    const seen: ClientEvent[] = [];
    client.onEvent((event) => seen.push(event));
    await client.promptAndWait("/ask");
    await notice;
    expect(seen.at(-1)).toMatchObject({ method: "notify", message: "[null,false,null,null]" });
  });

  test("a signal aborts the run", async () => {
    const client = await startClient({ script: [{ hang: true }] });
    const controller = new AbortController();
    const running = client.promptAndWait("wait", { signal: controller.signal });
    await untilEvent(client, "turn_start");
    controller.abort();
    expect(await running).toMatchObject({ message: { stopReason: "aborted" } });
    await expect(client.promptAndWait("again", { signal: controller.signal })).rejects.toThrow("aborted");
  });
});

test("a listener that throws is reported as uncaught, and the client reads on", async () => {
  const client = await startClient({ script: ["yes"] });
  const uncaught: unknown[] = [];
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => uncaught.push(error.message));
  onTestFinished(() => {
    process.removeAllListeners("uncaughtException");
    for (const other of others) process.on("uncaughtException", other);
  });
  client.onEvent(({ type }) => {
    if (type === "agent_start") throw new Error("my mistake");
  });
  expect((await client.promptAndWait("go")).text).toBe("yes");
  expect(uncaught).toEqual(["my mistake"]);
});

describe("streaming", () => {
  const script = {
    responses: [
      {
        steps: [
          { thinking: ["Let ", "me ", "see."] },
          { text: ["I ", "look: ", "\u2028 ä€😀"] },
          { toolCall: { id: "call_1", name: "ls", json: ['{"pa', 'th":', '"."}'] } },
        ],
      },
      { text: ["Two", " files."] },
    ],
  };

  const reconstructed = async (updates: "full" | "delta") => {
    const client = await startClient({ script, files: { a: "", b: "" } }, { updates });
    const seen: unknown[] = [];
    client.onEvent((event) => {
      if (event.type === "message_update") seen.push([event.assistantMessageEvent, event.message]);
      if (event.type === "message_start" || event.type === "message_end") seen.push([event.type, event.message]);
    });
    await client.promptAndWait("look");
    return JSON.parse(JSON.stringify(seen, (key, value) => (key === "timestamp" ? 0 : key === "model" ? "" : value)));
  };

  test("messages are the same in both update modes, and each snapshot keeps its state", async () => {
    const [full, delta] = await Promise.all([reconstructed("full"), reconstructed("delta")]);
    expect(delta).toEqual(full);
    const texts = delta
      .filter(([event]: any) => event.type === "text_delta")
      .map(([, message]: any) => message.content.find(({ type }: any) => type === "text").text);
    expect(texts.at(0)).toBe("I ");
    expect(texts).toContain("I look: \u2028 ä€😀");
  });
});

describe("host tools", () => {
  const tool = (run: HostTool["run"]): HostTool => ({
    name: "lookup",
    description: "Look a word up",
    parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
    run,
  });
  const script = { responses: [{ toolCalls: [{ name: "lookup", arguments: { word: "tea" } }] }, "done"] };

  test("are plain functions with progress", async () => {
    const hostTools = [
      tool(async ({ word }, { update }) => {
        await update(`looking for ${word}`);
        return `${word}: a drink`;
      }),
    ];
    const client = await startClient({ script }, { hostTools });
    const progress: unknown[] = [];
    client.onEvent((event) => {
      if (event.type === "tool_execution_update") progress.push(event.partialResult.content);
    });
    const { messages, text } = await client.promptAndWait("What is tea?");
    expect(progress).toEqual([[{ type: "text", text: "looking for tea" }]]);
    expect(messages[2]).toMatchObject({ role: "toolResult", isError: false, content: [{ type: "text", text: "tea: a drink" }] });
    expect(text).toBe("done");
  });

  test("what they throw is the model's to see", async () => {
    const client = await startClient({ script });
    const names = await client.useHostTools([
      tool(() => {
        throw new Error("no dictionary");
      }),
    ]);
    expect(names).toEqual(["lookup"]);
    const { messages } = await client.promptAndWait("What is tea?");
    expect(messages[2]).toMatchObject({ role: "toolResult", isError: true, content: [{ type: "text", text: "no dictionary" }] });
  });

  test("hear of an abort", async () => {
    let onStart = () => {};
    let onStop = () => {};
    const started = new Promise<void>((resolve) => {
      onStart = resolve;
    });
    const stopped = new Promise<void>((resolve) => {
      onStop = resolve;
    });
    const hang = tool((_, { signal }) => {
      onStart();
      return new Promise<string>(() => signal.addEventListener("abort", onStop));
    });
    const client = await startClient({ script }, { hostTools: [hang] });
    const running = client.promptAndWait("What is tea?");
    await started;
    await client.abort();
    await stopped;
    expect((await running).messages.find(({ role }) => role === "toolResult")).toMatchObject({ isError: true });
  });
});

describe("the end", () => {
  test("stop ends the process and the iteration", async () => {
    const client = await startClient({ script: [{ hang: true }] });
    await client.prompt({ message: "go" });
    const types: string[] = [];
    const iterating = (async () => {
      for await (const { type } of client.events()) types.push(type);
    })();
    expect(await client.stop()).toEqual({ code: 0, signal: null });
    await iterating;
    expect(types).toContain("agent_settled");
    await expect(client.getState()).rejects.toBeInstanceOf(AgentGoneError);
  });

  test("a child that dies takes every pending call, wait and loop with it", async () => {
    const client = await startClient({ script: [{ hang: true }] });
    const hangs = [client.promptAndWait("go"), client.bash({ command: "sleep 60" })];
    const loop = (async () => {
      for await (const _ of client.events());
    })();
    await untilEvent(client, "turn_start");
    process.kill(client.pid as number, "SIGKILL");
    for (const waiting of [...hangs, loop]) {
      const error = await waiting.catch((error: unknown) => error);
      expect(error).toBeInstanceOf(AgentGoneError);
      expect(error).toMatchObject({ message: expect.stringContaining("SIGKILL"), exit: { signal: "SIGKILL" } });
    }
    expect(await client.closed).toEqual({ code: null, signal: "SIGKILL" });
  });

  test("a program that is not there, one that refuses its options", async () => {
    await expect(new RpcClient({ command: "/no/such/program" }).start()).rejects.toThrow(/could not be started: .*ENOENT/);
    const options = optionsFor(preparePlaces());
    await expect(new RpcClient({ ...options, cwd: "/no/such/place" }).start()).rejects.toThrow("the directory /no/such/place does not exist");
    await expect(new RpcClient({ ...options, args: ["--thinking", "very"] }).start()).rejects.toThrow(/ended with status 1[\s\S]*thinking/i);
    await expect(new RpcClient(options).getState()).rejects.toThrow("call start() first");
  });
});

test("a client that joined over streams leaves them", async () => {
  const input = new PassThrough();
  const client = new RpcClient({ streams: { input, output: new PassThrough() } });
  const starting = client.start().catch((error) => error);
  expect(await client.stop({ timeoutMs: 50 })).toEqual({ code: null, signal: null });
  expect(input.writableEnded).toBe(true);
  expect(await starting).toBeInstanceOf(AgentGoneError);
});

describe("backpressure", () => {
  test("a consumer that falls behind stops the agent; a command gets through nevertheless", async () => {
    // 24 MiB in pieces of 64 KiB: far more than pipes and queues may hold together.
    const piece = "x".repeat(65_536);
    const pieces = 384;
    const client = await startClient({ script: [{ steps: [{ text: Array.from({ length: pieces }, () => piece) }] }] });
    const events = client.events();
    await client.prompt({ message: "much" });
    let received = 0;
    client.onEvent((event) => {
      if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") received += event.assistantMessageEvent.delta.length;
    });
    await events.next();
    // It stalls: nothing more comes for a while, long before the end.
    let before = -1;
    while (before !== received) {
      before = received;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    expect(received).toBeLessThan((pieces * piece.length) / 2);
    expect((await client.getState()).isStreaming).toBe(true);
    for await (const { type } of events) if (type === "agent_settled") break;
    expect(received).toBe(pieces * piece.length);
  });

  test("writing waits for a reader", async () => {
    const input = new PassThrough({ highWaterMark: 1024 });
    const output = new PassThrough();
    const client = new RpcClient({ streams: { input, output } });
    const starting = client.start().catch((error) => error);
    const calls = Array.from({ length: 100 }, () => client.prompt({ message: "x".repeat(1000) }).catch((error) => error));
    await new Promise((resolve) => setImmediate(resolve));
    expect(input.readableLength + input.writableLength).toBeLessThan(5000);
    let lines = 0;
    input.on("data", (bytes) => {
      lines += String(bytes).split("\n").length - 1;
    });
    while (lines < 101) await new Promise((resolve) => setTimeout(resolve, 5));
    output.end();
    expect(await starting).toBeInstanceOf(AgentGoneError);
    for (const call of calls) expect(await call).toBeInstanceOf(AgentGoneError);
  });
});
