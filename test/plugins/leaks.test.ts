/** What a prompt leaves behind in the real process: nothing. Counted after collecting garbage, over HTTP to a model server. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { wires } from "../helpers/model-server/agent.ts";
import { ModelServer } from "../helpers/model-server.ts";
import { startRpc, tempDir } from "../helpers/pi.ts";

const LONG = process.env.PI_TEST_LONG === "1";
const PROMPTS = LONG ? 1000 : 100;

/** Runs before the program: counts on demand what lives. */
const counting = `
const v8 = require("node:v8"), http = require("node:http"), fs = require("node:fs");
process.on("SIGUSR2", () => {
  const counts = {
    requests: v8.queryObjects(http.ClientRequest, { format: "count" }),
    controllers: v8.queryObjects(AbortController, { format: "count" }),
    signals: v8.queryObjects(AbortSignal, { format: "count" }),
    timers: process.getActiveResourcesInfo().filter((name) => name === "Timeout").length,
  };
  fs.writeFileSync(process.env.COUNTS + "~", JSON.stringify(counts));
  fs.renameSync(process.env.COUNTS + "~", process.env.COUNTS);
});
`;

test.each(wires)("%s: many prompts hold no more than a few", async (wire) => {
  const server = await ModelServer.start();
  server.fallback = { text: ["Some ", "words."] };
  const directory = tempDir();
  const preload = join(directory, "counting.cjs");
  const file = join(directory, "counts.json");
  writeFileSync(preload, counting);
  const model = { id: "m", name: "m", reasoning: false, input: ["text"], contextWindow: 1_000_000, maxTokens: 1000 };
  const rpc = startRpc({
    args: ["--model", "local/m", "--no-session", "--no-hot-reload"],
    agentFiles: { "models.json": JSON.stringify({ providers: { local: { baseUrl: server.baseUrl(wire), api: wire, apiKey: "none", models: [model] } } }) },
    env: { NODE_OPTIONS: `--require ${preload}`, COUNTS: file },
  });
  const promptTimes = async (times: number) => {
    for (let count = 0; count < times; count++) {
      await rpc.prompt("hello");
      if (count % 20 === 19) await rpc.ask("new_session");
    }
  };
  const count = async (): Promise<Record<string, number>> => {
    rmSync(file, { force: true });
    rpc.child.kill("SIGUSR2");
    while (!existsSync(file)) await rpc.ask("get_state");
    return JSON.parse(readFileSync(file, "utf8"));
  };
  await promptTimes(20);
  const before = await count();
  await promptTimes(PROMPTS);
  const after = await count();
  for (const [kind, number] of Object.entries(after)) expect(number, `${kind}, before ${before[kind]}`).toBeLessThan((before[kind] as number) + 10);
  await server.close();
});
