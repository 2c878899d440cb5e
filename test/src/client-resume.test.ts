/** Clients that crash and come back: no event is missed, none comes twice, or the client is told to rebuild. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { PassThrough, Writable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { type ClientEvent, type HostTool, RpcClient } from "../../src/client/index.ts";
import { type PiOptions, preparePlaces, programPath } from "../helpers/pi.ts";

/** Keeps one agent alive while clients come and go. What nobody reads is lost. */
class Keeper {
  readonly child: ChildProcessWithoutNullStreams;
  #client: PassThrough | undefined;

  constructor(options: PiOptions, updates = "delta") {
    const { cwd, env, args } = preparePlaces(options);
    this.child = spawn(process.execPath, [programPath, "--mode", "rpc", "--rpc-seq", "--rpc-updates", updates, ...args], { cwd, env });
    this.child.stdout.on("data", (bytes) => this.#client?.write(bytes));
    this.child.stderr.resume();
    onTestFinished(async () => {
      this.child.kill("SIGKILL");
    });
  }

  /** Streams for one client; `crash` takes them away, in the middle of a record if it so happens. */
  connect(): { input: Writable; output: Readable; crash(): void } {
    const output = new PassThrough();
    this.#client = output;
    let isGone = false;
    const input = new Writable({ write: (bytes, _, done) => (isGone ? done() : void this.child.stdin.write(bytes, () => done())), final: (done) => done() });
    const crash = () => {
      isGone = true;
      if (this.#client === output) this.#client = undefined;
      output.destroy();
    };
    return { input, output, crash };
  }
}

const text = (pieces: number) => ({ steps: [{ text: Array.from({ length: pieces }, (_, index) => `${index} `), delayMs: 2 }] });
const numbers = (events: ClientEvent[]) => events.map(({ seq }) => seq);

test("a client that crashes again and again misses nothing and sees nothing twice", async () => {
  const keeper = new Keeper({ script: { responses: [{ ...text(200), toolCalls: [] }, "unused"] } });
  const events: ClientEvent[] = [];
  let message: unknown;
  let crashes = 0;
  let after: number | undefined;
  for (let isDone = false; !isDone; ) {
    const { crash, ...streams } = keeper.connect();
    const client = new RpcClient({ streams, ...(after !== undefined && { after }) });
    const life = client.events();
    const started = client.start().then(async ({ complete }) => {
      expect(complete).toBe(true);
      if (after === undefined) await client.prompt({ message: "count" });
    });
    started.catch(() => {});
    let handled = 0;
    try {
      for await (const event of life) {
        events.push(event);
        after = event.seq;
        if (event.type === "message_end") message = event.message;
        isDone = event.type === "agent_settled";
        if (isDone) break;
        if (++handled > 20 + crashes * 7 && crashes < 8) {
          crashes++;
          crash();
          // The agent goes on alone for a while.
          await new Promise((resolve) => setTimeout(resolve, 30));
          break;
        }
      }
    } finally {
      crash();
      await client.closed.catch(() => {});
    }
  }
  const seqs = numbers(events) as number[];
  expect(crashes).toBeGreaterThan(2);
  expect(new Set(seqs).size).toBe(seqs.length);
  expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  const deltas = events.flatMap((event) =>
    event.type === "message_update" && event.assistantMessageEvent.type === "text_delta" ? [event.assistantMessageEvent.delta] : [],
  );
  const whole = Array.from({ length: 200 }, (_, index) => `${index} `).join("");
  expect(deltas.join("")).toBe(whole);
  expect(message).toMatchObject({ role: "assistant", content: [{ type: "text", text: whole }] });
  expect(events.map(({ type }) => type)).toEqual([
    ...["agent_start", "turn_start", "message_start", "message_end", "message_start"],
    ...Array.from({ length: events.length - 9 }, () => "message_update"),
    ...["message_end", "turn_end", "agent_end", "agent_settled"],
  ]);
});

test("a client is told when the events are gone", async () => {
  // More than the agent keeps.
  const script = { model: { contextWindow: 100_000_000 }, responses: [{ steps: [{ text: Array.from({ length: 200 }, () => "y".repeat(65_536)) }] }, "small"] };
  const keeper = new Keeper({ script });
  const first = keeper.connect();
  const one = new RpcClient({ streams: first });
  await one.start();
  const after = one.lastSeq as number;
  await one.promptAndWait("much");
  first.crash();

  const two = new RpcClient({ streams: keeper.connect(), after });
  const events = two.events();
  expect(await two.start()).toEqual({ complete: false });
  expect((await two.getMessages()).messages).toHaveLength(2);
  // It goes on from there.
  expect((await two.promptAndWait("more")).text).toBe("small");
  expect((await events.next()).value).toMatchObject({ type: "agent_start" });
});

test("a client that finds another agent is told so", async () => {
  const two = new RpcClient({ streams: new Keeper({ script: ["hello"] }).connect(), after: 500 });
  expect(await two.start()).toEqual({ complete: false });
  expect((await two.promptAndWait("hi")).text).toBe("hello");
});

test("without numbers nothing can be resumed", async () => {
  const { cwd, env, args } = preparePlaces({ script: ["x"] });
  const child = spawn(process.execPath, [programPath, "--mode", "rpc", ...args], { cwd, env });
  onTestFinished(() => void child.kill("SIGKILL"));
  const client = new RpcClient({ streams: { input: child.stdin, output: child.stdout }, after: 1 });
  await expect(client.start()).rejects.toThrow("Unknown command: resume_events");
});

test("a call of a host tool that the crashed client did not answer goes to the next one, an answered one does not", async () => {
  const call = (word: string) => ({ toolCalls: [{ name: "lookup", arguments: { word } }] });
  const keeper = new Keeper({ script: { responses: [call("tea"), call("milk"), "done"] } });
  const words: string[] = [];
  const tool = (run: HostTool["run"]): HostTool => ({
    name: "lookup",
    description: "Look up",
    parameters: { type: "object", properties: { word: { type: "string" } } },
    run,
  });
  let onMilk = () => {};
  const milk = new Promise<void>((resolve) => {
    onMilk = resolve;
  });
  const first = keeper.connect();
  const one = new RpcClient({
    streams: first,
    hostTools: [
      tool(({ word }) => {
        words.push(`one ${word}`);
        if (word === "tea") return "a drink";
        onMilk();
        return new Promise<string>(() => {});
      }),
    ],
  });
  await one.start();
  const after = one.lastSeq as number;
  await one.prompt({ message: "go" });
  await milk;
  first.crash();

  const two = new RpcClient({
    streams: keeper.connect(),
    after,
    hostTools: [
      tool(({ word }) => {
        words.push(`two ${word}`);
        return "white";
      }),
    ],
  });
  const settled = (async () => {
    for await (const { type } of two.events()) if (type === "agent_settled") return;
  })();
  expect(await two.start()).toEqual({ complete: true });
  await settled;
  expect(words).toEqual(["one tea", "one milk", "two milk"]);
  expect((await two.getLastAssistantText()).text).toBe("done");
});
