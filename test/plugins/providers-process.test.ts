/** The wire APIs in the real program: nothing is read before it is used, keys stay inside, and arguments stream at a steady price. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { basename, dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type AnswerSource, ModelServer, type WireFormat } from "../helpers/model-server.ts";
import { type Frame, programPath, type RpcProcess, runPi, startRpc, tempDir } from "../helpers/pi.ts";

async function serve(...answers: AnswerSource[]): Promise<ModelServer> {
  const server = await ModelServer.start(...answers);
  onTestFinished(() => server.close());
  return server;
}

const KEY = "sk-process-key-abcdef";
const LOGIN = "login-name-abcdef:login-word-ghijkl";
const config = (server: ModelServer) => {
  const provider = (api: WireFormat) => ({ baseUrl: server.baseUrl(api), api, apiKey: KEY, models: [{ id: "m", reasoning: true }] });
  const providers = { a: provider("anthropic-messages"), c: provider("openai-completions"), r: provider("openai-responses") };
  return { "models.json": JSON.stringify({ providers }), "settings.json": JSON.stringify({ retry: { enabled: false } }) };
};
const lastAnswer = (frames: Frame[]) => frames.findLast(({ type, message }) => type === "message_end" && message.role === "assistant")?.message;

/** Which packages of interest a process has read, seen from inside. */
function watched(): { env: Record<string, string>; packages(): string[] } {
  const directory = tempDir();
  const log = join(directory, "read.txt");
  const preload = join(directory, "preload.cjs");
  const code = `const fs = require("node:fs");
    const open = fs.openSync;
    const files = [];
    fs.openSync = (file, ...rest) => (files.push(String(file)), open(file, ...rest));
    process.on("exit", () => fs.writeFileSync(${JSON.stringify(log)}, files.join("\\n")));`;
  writeFileSync(preload, code);
  const outputs: Record<string, { inputs: object }> = JSON.parse(readFileSync(join(dirname(programPath), "meta.json"), "utf8")).outputs;
  const inputs = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), Object.keys(output.inputs)]));
  return {
    env: { NODE_OPTIONS: `--require=${preload}` },
    packages() {
      const files = readFileSync(log, "utf8").split("\n");
      expect(files.some((file) => basename(file) === "core.cjs")).toBe(true);
      const found = files
        .flatMap((file) => inputs.get(basename(file)) ?? [])
        .map((input) => /node_modules\/(@anthropic-ai\/sdk|openai|undici)\//.exec(input)?.[1]);
      return [...new Set(found)].filter((name) => name !== undefined).sort();
    },
  };
}

test("a start without a request reads no SDK, and a request only its own", async () => {
  const server = await serve("Hi", "Hi");
  const idle = watched();
  const rpc = startRpc({ args: ["--no-session", "--model", "a/m"], agentFiles: config(server), env: idle.env });
  await rpc.ask("get_state");
  await rpc.stop();
  expect(idle.packages()).toEqual([]);
  for (const [provider, sdk] of [
    ["a", "@anthropic-ai/sdk"],
    ["c", "openai"],
  ]) {
    const asking = watched();
    const { stdout } = await runPi({ args: ["--no-session", "--model", `${provider}/m`, "-p", "Hello"], agentFiles: config(server), env: asking.env });
    expect(stdout).toBe("Hi\n");
    expect(asking.packages()).toEqual([sdk]);
  }
});

test("an update has the usage that the provider has reported by then; a message begins with none", async () => {
  const server = await serve({ text: ["one ", "two"], usage: { input: 100, output: 20 }, frameDelayMs: 5 });
  const rpc = startRpc({ args: ["--no-session", "--model", "a/m", "--rpc-updates", "delta"], agentFiles: config(server) });
  const frames = await rpc.prompt("hi");
  const start = frames.find(({ type, message }) => type === "message_start" && message.role === "assistant");
  expect(start?.message.usage).toMatchObject({ input: 0, totalTokens: 0 });
  const updates = frames.filter(({ type }) => type === "message_update");
  expect(updates.map(({ usage }) => usage.input)).toEqual(updates.map(() => 100));
  expect(lastAnswer(frames).usage).toMatchObject({ input: 100, output: 20 });
});

test("an answer that the server says its window cut off is made again after a compaction", async () => {
  const long = "word ".repeat(200);
  const server = await serve(long, { text: "Cut", stop: "model_context_window_exceeded" }, "SUMMARY", "Whole.");
  const settings = JSON.stringify({ compaction: { keepRecentTokens: 10 } });
  const rpc = startRpc({ args: ["--no-session", "--model", "a/m"], agentFiles: { ...config(server), "settings.json": settings } });
  await rpc.prompt("first");
  const frames = await rpc.prompt(`second ${long}`);
  expect(frames.find(({ type }) => type === "compaction_end")).toMatchObject({ reason: "overflow", result: { summary: "SUMMARY" }, willRetry: true });
  expect(lastAnswer(frames)).toMatchObject({ stopReason: "stop", content: [{ text: "Whole." }] });
});

test("a conversation changes between the APIs while its tools run", async () => {
  const call = (id: string, path: string): AnswerSource => ({
    blocks: [{ thinking: "Hm.", signature: "c2ln" }, { toolCall: { id, name: "read", arguments: { path } } }],
  });
  const server = await serve(call("toolu_1", "a.txt"), "One.", call("call_2", "a.txt"), "Two.", call("call_3", "a.txt"), "Three.", "Back.");
  const rpc = startRpc({ args: ["--no-session", "--model", "a/m"], agentFiles: config(server), files: { "a.txt": "content of a" } });
  expect(lastAnswer(await rpc.prompt("Read"))).toMatchObject({ content: [{ text: "One." }] });
  await rpc.ask("set_model", { provider: "c", modelId: "m" });
  expect(lastAnswer(await rpc.prompt("Again"))).toMatchObject({ content: [{ text: "Two." }] });
  await rpc.ask("set_model", { provider: "r", modelId: "m" });
  expect(lastAnswer(await rpc.prompt("Again"))).toMatchObject({ content: [{ text: "Three." }] });
  await rpc.ask("set_model", { provider: "a", modelId: "m" });
  expect(lastAnswer(await rpc.prompt("Back?"))).toMatchObject({ content: [{ text: "Back." }] });
  expect(server.requests.map(({ wire }) => wire)).toEqual([
    "anthropic-messages",
    "anthropic-messages",
    "openai-completions",
    "openai-completions",
    "openai-responses",
    "openai-responses",
    "anthropic-messages",
  ]);
  expect(server.requests.at(-1)?.raw.match(/content of a/g)).toHaveLength(3);
});

test("a key that servers repeat is in nothing that the program writes", async () => {
  const server = await serve(
    { status: 401, body: { type: "error", error: { type: "authentication_error", message: `invalid x-api-key: ${KEY}` } } },
    { text: "x", after: { frames: 3, next: { error: { type: "api_error", message: `bad ${KEY}` } } } },
    { status: 403, body: `No entry for ${KEY}.` },
  );
  const rpc = startRpc({ args: ["--model", "a/m"], agentFiles: config(server) });
  await rpc.prompt("One");
  await rpc.prompt("Two");
  await rpc.ask("set_model", { provider: "r", modelId: "m" });
  const frames = await rpc.prompt("Three");
  expect(lastAnswer(frames)?.errorMessage).toBe("403 No entry for [secret].");
  const { sessionFile } = await rpc.ask("get_state");
  await rpc.stop();
  expect(JSON.stringify(rpc.frames) + rpc.stderr + readFileSync(sessionFile, "utf8")).not.toContain(KEY);
  for (const file of filesUnder(rpc.places.agentDir).filter((path) => !path.endsWith("models.json"))) expect(readFileSync(file, "utf8")).not.toContain(KEY);
});

test("a login in an address goes to the server and into nothing that the program writes", async () => {
  const server = await serve((request) => ({ status: 400, body: `No: ${request.headers.authorization} ${LOGIN} ${request.path}` }));
  const address = server.baseUrl("anthropic-messages").replace("://", `://${LOGIN}@`);
  const provider = { baseUrl: address, api: "anthropic-messages", apiKey: KEY, models: [{ id: "m" }] };
  const rpc = startRpc({
    args: ["--model", "a/m", "--record", "record.jsonl"],
    agentFiles: { "models.json": JSON.stringify({ providers: { a: provider } }), "settings.json": JSON.stringify({ retry: { enabled: false } }) },
  });
  const { model, sessionFile } = await rpc.ask("get_state");
  expect(model.baseUrl).toBe(server.baseUrl("anthropic-messages"));
  const frames = await rpc.prompt("One");
  expect(lastAnswer(frames)?.errorMessage).toMatch(/^400 No: Basic \[secret\] \[secret\]:\[secret\] /);
  await rpc.ask("get_available_models");
  const page = join(rpc.places.cwd, "page.html");
  await rpc.ask("export_html", { outputPath: page });
  await rpc.stop();
  const basic = Buffer.from(LOGIN).toString("base64");
  expect(server.requests[0]?.headers.authorization).toBe(`Basic ${basic}`);
  const written = [
    JSON.stringify(rpc.frames),
    rpc.stderr,
    ...[sessionFile, page, join(rpc.places.cwd, "record.jsonl")].map((file) => readFileSync(file, "utf8")),
  ];
  for (const text of written) for (const secret of [...LOGIN.split(":"), basic]) expect(text).not.toContain(secret);
});

// The CPU of another process is read where Linux tells it.
test.skipIf(process.platform !== "linux").each(["a", "c", "r"])(
  "arguments of a tool call cost the same per delta in a long call as in a short one (%s)",
  async (provider) => {
    const long = process.env.PI_TEST_LONG ? 10_000 : 4000;
    const answer = (deltas: number): AnswerSource => ({
      blocks: [{ toolCall: { id: `call_${deltas}`, name: "write", json: pieces(deltas) } }],
    });
    const server = await serve(answer(1000), "ok");
    const rpc = startRpc({ args: ["--no-session", "--rpc-updates", "delta", "--model", `${provider}/m`], agentFiles: config(server) });
    await rpc.prompt("Warm up");
    const ratios: number[] = [];
    for (let round = 0; round < 3; round++) {
      let short = 0;
      for (let part = 0; part < long / 1000; part++) short += await cpuOf(rpc, server, answer(1000));
      ratios.push((await cpuOf(rpc, server, answer(long))) / short);
      if ((ratios.at(-1) as number) <= 1.3) break;
    }
    expect(Math.min(...ratios)).toBeLessThanOrEqual(1.3);
  },
);

function pieces(deltas: number): string[] {
  const text = JSON.stringify({ path: "big.txt", content: "0123456789\n".repeat(deltas) });
  return text.match(/[\s\S]{1,12}/g) ?? [];
}

/** CPU that the program used for a prompt. */
async function cpuOf(rpc: RpcProcess, server: ModelServer, answer: AnswerSource): Promise<number> {
  const used = () => {
    const fields = readFileSync(`/proc/${rpc.child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return Number(fields[11]) + Number(fields[12]);
  };
  await rpc.ask("new_session");
  server.answer(answer, "ok");
  const before = used();
  await rpc.prompt("Write");
  return used() - before;
}

function filesUnder(directory: string): string[] {
  return readdirSync(directory, { recursive: true })
    .map((name) => join(directory, String(name)))
    .filter((path) => statSync(path).isFile());
}

test.each(["localhost:1/v1", "127.0.0.1:1", "ftp://127.0.0.1/v1", "http://127.0.0.1:99999"])(
  "the address %s is told to be none, and not tried again",
  async (baseUrl) => {
    const models = { providers: { a: { baseUrl, api: "openai-completions", apiKey: KEY, models: [{ id: "m" }] } } };
    const rpc = startRpc({ args: ["--no-session", "--model", "a/m"], agentFiles: { "models.json": JSON.stringify(models) } });
    const frames = await rpc.prompt("Hi");
    expect(lastAnswer(frames).errorMessage).toBe("The baseUrl of the provider a is not an address that begins with http:// or https://");
    expect(frames.map(({ type }) => type)).not.toContain("auto_retry_start");
  },
);

test("a proxy carries the requests of the built program", async () => {
  const server = await serve("through");
  const targets: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, client) => {
    targets.push(request.url ?? "");
    const [host, port] = (request.url ?? "").split(":");
    const upstream = connect(Number(port), host, () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(upstream).pipe(client);
    });
    for (const socket of [client, upstream]) socket.on("error", () => undefined);
    onTestFinished(() => void upstream.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const env = { HTTP_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
  const { stdout, stderr } = await runPi({ args: ["-p", "--model", "c/m", "hello"], agentFiles: config(server), env });
  expect(stderr).toBe("");
  expect(stdout.trim()).toBe("through");
  expect(targets).toEqual([new URL(server.origin).host]);
});
