/** Lines in and text out of a terminal. */
import { createInterface, type Interface } from "node:readline";
import type { Io } from "../../core/index.ts";
import { terminalText } from "../shared/terminal-text.ts";

const styles = { plain: ["", ""], dim: ["\u001b[2m", "\u001b[22m"] } as const;

export class Terminal {
  readonly #lines: Interface;
  readonly #out: NodeJS.WritableStream;
  readonly #read: string[] = [];
  #waiting: ((line: string | undefined) => void) | undefined;
  #isClosed = false;
  #isMidLine = false;

  constructor(io: Io) {
    this.#out = io.stdout;
    this.#lines = createInterface({ input: io.stdin, output: io.stdout, terminal: io.stdin.isTTY === true });
    this.#lines.on("line", (line) => {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      if (waiting) waiting(line);
      else this.#read.push(line);
    });
    this.#lines.on("close", () => {
      this.#isClosed = true;
      this.#waiting?.(undefined);
    });
  }

  /** The next line; undefined at the end of input. */
  ask(prompt: string): Promise<string | undefined> {
    this.endStream();
    const read = this.#read.shift();
    if (read !== undefined) return Promise.resolve(read);
    if (this.#isClosed) return Promise.resolve(undefined);
    this.#lines.setPrompt(terminalText(prompt));
    this.#lines.prompt();
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  line(text: string, style: keyof typeof styles = "plain"): void {
    this.endStream();
    this.stream(text, style);
    this.endStream();
  }

  /** Writes a part of a line. */
  stream(text: string, style: keyof typeof styles = "plain"): void {
    const [before, after] = styles[style];
    this.#out.write(`${before}${terminalText(text)}${after}`);
    this.#isMidLine = !text.endsWith("\n");
  }

  endStream(): void {
    if (this.#isMidLine) this.#out.write("\n");
    this.#isMidLine = false;
  }

  /** Ctrl-C: the handler says whether it had something to stop; if not, the chat ends. */
  onInterrupt(handler: () => boolean): void {
    this.#lines.on("SIGINT", () => {
      if (!handler()) this.#lines.close();
    });
  }

  close(): void {
    this.#lines.close();
  }
}
