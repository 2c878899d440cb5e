/** Lines in and out: a prompt on a terminal, plain lines through a pipe. */
import { createInterface, type Interface } from "node:readline";
import type { Io } from "../../core/index.ts";
import { terminalText } from "../shared/terminal-text.ts";

export class Lines {
  readonly #io: Io;
  #input: Interface | undefined;
  readonly #read: string[] = [];
  /** the last who asked is answered first: a dialog comes before the next prompt */
  readonly #waiting: { prompt: string; resolve: (line: string | undefined) => void }[] = [];
  readonly #onInterrupt: (() => boolean)[] = [];
  #isClosed = false;
  #isMidLine = false;

  constructor(io: Io) {
    this.#io = io;
  }

  /** The next line; undefined at the end of input. */
  ask(prompt: string): Promise<string | undefined> {
    this.#open();
    this.#endLine();
    const read = this.#read.shift();
    if (read !== undefined || this.#isClosed) return Promise.resolve(read);
    return new Promise((resolve) => {
      this.#waiting.push({ prompt, resolve });
      this.#show();
    });
  }

  say(text: string, style: "plain" | "dim" = "plain"): void {
    this.#endLine();
    const isColoured = style === "dim" && this.#io.stdout.isTTY;
    const isAsking = this.#waiting.length > 0 && this.#io.stdout.isTTY;
    const shown = terminalText(text);
    this.#io.stdout.write(`${isAsking ? "\r\u001b[K" : ""}${isColoured ? `\u001b[2m${shown}\u001b[22m` : shown}\n`);
    if (isAsking) this.#show();
  }

  /** Writes a part of a line. */
  stream(text: string): void {
    this.#io.stdout.write(terminalText(text));
    this.#isMidLine = !text.endsWith("\n");
  }

  /** Ctrl-C: the handler says whether it had something to stop; if not, the input ends. */
  onInterrupt(handler: () => boolean): void {
    this.#onInterrupt.push(handler);
  }

  close(): void {
    this.#input?.close();
  }

  #open(): void {
    if (this.#input) return;
    const { stdin, stdout } = this.#io;
    this.#input = createInterface({ input: stdin, ...(stdin.isTTY && { output: stdout, terminal: true }) });
    this.#input.on("line", (line) => {
      const asking = this.#waiting.pop();
      if (asking) asking.resolve(line);
      else this.#read.push(line);
    });
    this.#input.on("close", () => {
      this.#isClosed = true;
      for (const { resolve } of this.#waiting.splice(0)) resolve(undefined);
    });
    this.#input.on("SIGINT", () => {
      if (!this.#onInterrupt.some((handler) => handler())) this.#input?.close();
    });
  }

  #show(): void {
    const asking = this.#waiting.at(-1);
    if (!asking || !this.#io.stdout.isTTY) return;
    this.#input?.setPrompt(terminalText(asking.prompt));
    this.#input?.prompt(true);
  }

  #endLine(): void {
    if (this.#isMidLine) this.#io.stdout.write("\n");
    this.#isMidLine = false;
  }
}
