/** The agent as a child process: started, watched, ended. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { AgentGoneError, type Exit } from "./errors.ts";

/** How much of stderr is kept for error messages. */
const KEPT_STDERR = 4096;
/** A child of the agent may hold its output open: the rest of the agent's own comes within this time. */
const LAST_OUTPUT_MS = 1000;

export interface ProcessOptions {
  command: string[];
  args: string[];
  cwd?: string;
  env?: Record<string, string | undefined>;
  onStderr?(text: string): void;
}

export class AgentProcess {
  readonly input: Writable;
  readonly output: Readable;
  /** Resolves with the end of the process, or with the reason why it could not be started. */
  readonly exited: Promise<Exit | Error>;
  readonly #child: ChildProcess;
  readonly #cwd: string | undefined;
  #stderr = "";

  constructor({ command: [program = "", ...first], args, cwd, env, onStderr }: ProcessOptions) {
    this.#cwd = cwd;
    this.#child = spawn(program, [...first, ...args], { ...(cwd && { cwd }), env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
    const { stdin, stdout, stderr } = this.#child;
    this.input = stdin as Writable;
    this.output = stdout as Readable;
    // Drained, whether somebody looks or not: a full pipe would stop the agent.
    stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-KEPT_STDERR);
      onStderr?.(text);
    });
    this.exited = new Promise((resolve) => {
      this.#child.once("error", (error) => {
        if (this.#child.pid === undefined) resolve(error);
      });
      let lastOutput: NodeJS.Timeout | undefined;
      this.#child.once("exit", (code, signal) => {
        lastOutput = setTimeout(() => resolve({ code, signal }), LAST_OUTPUT_MS);
      });
      this.#child.once("close", (code, signal) => {
        clearTimeout(lastOutput);
        resolve({ code, signal });
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Why nothing more comes from it. */
  goneError(end: Exit | Error): AgentGoneError {
    if (end instanceof Error) return new AgentGoneError(`The agent could not be started: ${this.#whyNot(end)}`);
    const how = end.signal ? `was ended by ${end.signal}` : `ended with status ${end.code}`;
    return new AgentGoneError(`The agent ${how}.`, end, this.#stderr);
  }

  /** Node blames the program also where the directory is missing. */
  #whyNot(error: Error): string {
    return this.#cwd !== undefined && !existsSync(this.#cwd) ? `the directory ${this.#cwd} does not exist` : error.message;
  }
}
