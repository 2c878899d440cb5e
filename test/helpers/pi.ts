/** Starts the real program in a home of its own and speaks to it through its pipes. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export const repositoryRoot = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
/** The built program. */
export const programPath = join(resolve(repositoryRoot, process.env.PI_DIST || "dist"), "pi.cjs");

/** A record on the wire. */
export type Frame = { type: string; [field: string]: any };

export interface PiOptions {
  args?: string[];
  /** files to write into the working directory before the start */
  files?: Record<string, string>;
  /** files to write into the agent directory (~/.pi/agent) before the start */
  agentFiles?: Record<string, string>;
  cwd?: string;
  home?: string;
  env?: Record<string, string | undefined>;
  /** a script for the model `scripted/<file>`; `--model` is added */
  script?: unknown;
}

export interface Places {
  home: string;
  cwd: string;
  agentDir: string;
  env: NodeJS.ProcessEnv;
  args: string[];
}

/** A temporary directory that goes away with the test. */
export function tempDir(prefix = "pi-test-"): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), prefix)));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

/** Prepares home, working directory and environment. */
export function preparePlaces(options: PiOptions = {}): Places {
  const home = options.home ?? tempDir("pi-home-");
  const cwd = options.cwd ?? tempDir("pi-cwd-");
  const agentDir = join(home, ".pi/agent");
  writeFiles(cwd, options.files);
  writeFiles(agentDir, options.agentFiles);
  const args = [...(options.args ?? [])];
  if (options.script !== undefined) {
    const file = join(tempDir("pi-script-"), "model.json");
    writeFileSync(file, JSON.stringify(options.script));
    args.push("--model", `scripted/${file}`);
  }
  // Only what the program needs: no key and no setting of the machine gets in.
  const inherited = Object.fromEntries(["PATH", "LANG", "TMPDIR", "SYSTEMROOT"].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  return { home, cwd, agentDir, args, env: { ...inherited, HOME: home, ...options.env } };
}

function writeFiles(directory: string, files: Record<string, string> | undefined): void {
  for (const [name, content] of Object.entries(files ?? {})) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
}

export interface Finished {
  stdout: string;
  stderr: string;
  status: number | null;
  signal: NodeJS.Signals | null;
}

/** Runs the program to its end. */
export function runPi(options: PiOptions & { input?: string } = {}): Promise<Finished> {
  const { cwd, env, args } = preparePlaces(options);
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [programPath, ...args], { cwd, env });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
    });
    child.on("error", fail);
    child.on("close", (status, signal) => done({ stdout, stderr, status, signal }));
    child.stdin.on("error", () => {});
    child.stdin.end(options.input ?? "");
  });
}

/** A running `pi --mode rpc`. */
export class RpcProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly places: Places;
  /** everything received, in order */
  readonly frames: Frame[] = [];
  stderr = "";
  readonly exited: Promise<{ status: number | null; signal: NodeJS.Signals | null }>;
  #read = 0;
  #waiting: (() => void)[] = [];
  #ended = false;
  #nextId = 1;

  constructor(places: Places) {
    this.places = places;
    this.child = spawn(process.execPath, [programPath, "--mode", "rpc", ...places.args], { cwd: places.cwd, env: places.env });
    let rest = "";
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.frames.push(JSON.parse(line));
      this.#wake();
    });
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.child.stdin.on("error", () => {});
    this.exited = new Promise((done) => {
      this.child.on("close", (status, signal) => {
        this.#ended = true;
        this.#wake();
        done({ status, signal });
      });
    });
  }

  send(record: object): void {
    this.child.stdin.write(`${JSON.stringify(record)}\n`);
  }

  /** Sends a command and resolves with its response. */
  async call(type: string, params: object = {}): Promise<Frame> {
    const id = `t${this.#nextId++}`;
    this.send({ id, type, ...params });
    return this.find((frame) => frame.type === "response" && frame.id === id);
  }

  /** Like `call`, but fails unless it succeeded; answers `data`. */
  async ask<T = any>(type: string, params: object = {}): Promise<T> {
    const response = await this.call(type, params);
    if (!response.success) throw new Error(`${type}: ${response.error}`);
    return response.data as T;
  }

  /** Submits a prompt and resolves with all frames up to agent_settled. */
  async prompt(message: string, params: object = {}): Promise<Frame[]> {
    const from = this.frames.length;
    await this.ask("prompt", { message, ...params });
    await this.find((frame) => frame.type === "agent_settled", from);
    return this.frames.slice(from);
  }

  /** The next frame that was not handed out by `next` yet. */
  async next(matches: (frame: Frame) => boolean = () => true): Promise<Frame> {
    for (;;) {
      while (this.#read < this.frames.length) {
        const frame = this.frames[this.#read++] as Frame;
        if (matches(frame)) return frame;
      }
      await this.#more();
    }
  }

  /** The first frame from `from` on that matches, now or later. */
  async find(matches: (frame: Frame) => boolean, from = 0): Promise<Frame> {
    for (let index = from; ; index++) {
      while (index >= this.frames.length) await this.#more();
      const frame = this.frames[index] as Frame;
      if (matches(frame)) return frame;
    }
  }

  /** Closes stdin and resolves with the exit. */
  async stop(): Promise<{ status: number | null; signal: NodeJS.Signals | null }> {
    this.child.stdin.end();
    return this.exited;
  }

  #more(): Promise<void> {
    if (this.#ended) {
      const last = this.frames.slice(-5).map((frame) => JSON.stringify(frame));
      throw new Error(`The program ended while a frame was awaited. stderr:\n${this.stderr}\nlast frames:\n${last.join("\n")}`);
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Starts `pi --mode rpc`; the test's end kills it. */
export function startRpc(options: PiOptions = {}): RpcProcess {
  const rpc = new RpcProcess(preparePlaces(options));
  onTestFinished(async () => {
    rpc.child.kill("SIGKILL");
    await rpc.exited;
    // Another distribution has another protocol.
    if (!options.args?.includes("--distribution")) (await import("./seen.ts")).checkFrames(rpc.frames);
  });
  return rpc;
}
