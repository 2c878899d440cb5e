/** Cuts a byte stream into records: at LF only, whatever the pieces. */
import { StringDecoder } from "node:string_decoder";

export class LineSplitter {
  readonly #decoder = new StringDecoder("utf8");
  /** pieces of the line that is not complete yet; joined once, so that a long line costs its length only */
  #pieces: string[] = [];

  push(bytes: Buffer | string): string[] {
    return this.#cut(typeof bytes === "string" ? bytes : this.#decoder.write(bytes));
  }

  /** What stood after the last LF. */
  end(): string[] {
    return [...this.#cut(this.#decoder.end()), this.#take()].filter((line) => line.trim() !== "");
  }

  #cut(text: string): string[] {
    const parts = text.split("\n");
    const rest = parts.pop() as string;
    const lines = parts.map((part, index) => {
      if (index > 0) return trimmed(part);
      this.#pieces.push(part);
      return this.#take();
    });
    if (rest !== "") this.#pieces.push(rest);
    return lines.filter((line) => line.trim() !== "");
  }

  #take(): string {
    const line = this.#pieces.join("");
    this.#pieces = [];
    return trimmed(line);
  }
}

function trimmed(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
