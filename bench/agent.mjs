/** One agent under measurement: its process in a home of its own, what it says, and what it costs. */
import { execFileSync, spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A home with a model that our server plays, and a working directory. */
export function makePlaces(baseUrl, { extensions = 0 } = {}) {
  const root = mkdtempSync(join(tmpdir(), "pi-bench-"));
  const home = join(root, "home");
  const cwd = join(root, "work");
  const agentDir = join(home, ".pi/agent");
  mkdirSync(cwd, { recursive: true });
  const model = { id: "bench", name: "bench", reasoning: false, input: ["text"], contextWindow: 100_000_000, maxTokens: 1_000_000 };
  write(agentDir, "models.json", JSON.stringify({ providers: { bench: { baseUrl, api: "openai-completions", apiKey: "none", models: [model] } } }));
  for (let index = 0; index < extensions; index++) write(agentDir, `extensions/bench${index}.ts`, extension(index));
  write(cwd, "read.txt", "one line of text\n".repeat(40));
  return { root, home, cwd, agentDir, remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }) };
}

export const extension = (index, version = 1) => `import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
interface Count { turns: number }
export default function (pi: ExtensionAPI) {
  const count: Count = { turns: ${version} };
  pi.on("turn_end", async () => { count.turns++; });
  pi.registerCommand("bench${index}", { description: "Command ${index}", handler: async (_args, ctx) => { ctx.ui.notify(String(count.turns)); } });
}
`;

function write(directory, name, text) {
  mkdirSync(dirname(join(directory, name)), { recursive: true });
  writeFileSync(join(directory, name), text);
}

/** Only what a program needs; extra certificates would be parsed at each start. */
export const environment = (home, more) => ({ PATH: process.env.PATH, LANG: "C.UTF-8", HOME: home, ...more });

/** Both ends of a pipe as programs in other languages make them; Node gives its children sockets. */
function makePipe(file) {
  execFileSync("mkfifo", [file]);
  // While both ends are open in one, opening the single ones waits for nobody.
  const both = openSync(file, "r+");
  const ends = { reader: openSync(file, "r"), writer: openSync(file, "w") };
  closeSync(both);
  rmSync(file);
  return ends;
}

export class Agent {
  bytes = 0;
  stderr = "";
  #tail = Buffer.alloc(0);
  #waiting = [];
  #next = 1;

  constructor(command, places, { args = ["--no-session"], env, hasPipes = false } = {}) {
    const [input, output] = hasPipes ? ["stdin", "stdout"].map((name) => makePipe(join(places.root, name))) : [];
    this.started = performance.now();
    const [program, ...first] = command;
    this.child = spawn(program, [...first, "--mode", "rpc", "--model", "bench/bench", ...args], {
      cwd: places.cwd,
      env: environment(places.home, env),
      stdio: [input?.reader ?? "pipe", output?.writer ?? "pipe", "pipe"],
    });
    if (hasPipes) for (const end of [input.reader, output.writer]) closeSync(end);
    this.stdin = hasPipes ? new Socket({ fd: input.writer, readable: false }) : this.child.stdin;
    this.stdout = hasPipes ? new Socket({ fd: output.reader, writable: false }) : this.child.stdout;
    this.stdin.on("error", () => {});
    this.child.stderr.on("data", (data) => {
      this.stderr = (this.stderr + data).slice(-20000);
    });
    this.stdout.on("data", (data) => this.#read(data));
    this.exited = new Promise((resolve) => {
      this.child.on("close", (status, signal) => {
        this.isOver = true;
        for (const { fail } of this.#waiting.splice(0))
          fail(new Error(`the program ended (${status ?? signal}): ${this.stderr.trim().split("\n").at(-1)?.slice(0, 200)}`));
        resolve();
      });
    });
  }

  /** Looks for texts in the bytes; whole lines are not parsed, so that the reader costs little. */
  #read(data) {
    this.bytes += data.length;
    const text = this.#tail.length > 0 ? Buffer.concat([this.#tail, data]) : data;
    for (const waiting of [...this.#waiting]) {
      if (waiting.onData) waiting.onData(data);
      if (!waiting.texts.some((wanted) => text.includes(wanted))) continue;
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.resolve();
    }
    this.#tail = Buffer.from(text.subarray(Math.max(0, text.length - 256)));
  }

  send(record) {
    this.stdin.write(`${JSON.stringify(record)}\n`);
  }

  /** Resolves when one of the texts has been read. */
  seen(texts, { onData, timeout = 60_000 } = {}) {
    if (this.isOver) return Promise.reject(new Error(`the program ended: ${this.stderr.slice(-200)}`));
    // What was said before is not an answer.
    this.#tail = Buffer.alloc(0);
    return new Promise((resolve, fail) => {
      const timer = setTimeout(() => fail(new Error(`nothing after ${timeout / 1000} s`)), timeout);
      const done = (then) => (value) => {
        clearTimeout(timer);
        then(value);
      };
      this.#waiting.push({ texts: [texts].flat(), onData, resolve: done(resolve), fail: done(fail) });
    });
  }

  /** Sends a command and resolves when it is answered. */
  call(type, params = {}, options) {
    const id = `b${this.#next++}`;
    const seen = this.seen(`"id":"${id}","type":"response"`, options);
    this.send({ id, type, ...params });
    return seen;
  }

  /** Submits a prompt and resolves when its run has ended; `settled` says when the next may come. */
  async prompt(message, options) {
    const seen = this.seen(['{"type":"agent_settled"', '{"type":"agent_end"'], options);
    this.send({ id: `b${this.#next++}`, type: "prompt", message });
    await seen;
  }

  /** Not every agent announces that it has settled: one more answer and a short rest will do for all. */
  async settled() {
    await this.call("get_state");
    await new Promise((resolve) => setTimeout(resolve, 150));
  }

  /** CPU milliseconds of all its threads so far. */
  cpu() {
    const tasks = `/proc/${this.child.pid}/task`;
    return readdirSync(tasks).reduce((sum, task) => sum + Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ", 1)[0]), 0) / 1e6;
  }

  /** MiB of memory: now ("VmRSS") or at most so far ("VmHWM"). */
  memory(field = "VmRSS") {
    return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${this.child.pid}/status`, "utf8"))?.[1]) / 1024;
  }

  async stop() {
    this.stdin.end();
    const timer = setTimeout(() => this.child.kill("SIGKILL"), 3000);
    await this.exited;
    clearTimeout(timer);
  }
}
