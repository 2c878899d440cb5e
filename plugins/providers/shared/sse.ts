/** Server-sent events, one pass over the text: the SDKs' own readers copy each byte several times and hop through generators. */

/** A longer event is no model's: whoever sends it would fill our memory. */
const LONGEST_EVENT = 64 * 1024 * 1024;

/** Takes bytes cut anywhere. Lines may end in LF, CRLF or CR, as the format allows. */
export class EventReader {
  readonly #decoder = new TextDecoder();
  /** a CR at the end, which may be half of a CRLF */
  #held = "";
  /** the line that is not complete yet */
  #rest = "";
  #data: string | undefined;

  /** The `data` of each event that is complete by now, in order. */
  push(bytes: Uint8Array): string[] {
    let text = this.#held + this.#decoder.decode(bytes, { stream: true });
    this.#held = text.endsWith("\r") ? "\r" : "";
    if (this.#held) text = text.slice(0, -1);
    return this.#read(text);
  }

  /** The stream is over: what is left counts as if it ended properly. */
  end(): string[] {
    return this.#read(`${this.#held}${this.#decoder.decode()}\n\n`);
  }

  #read(given: string): string[] {
    const fresh = given.includes("\r") ? given.replace(/\r\n?/g, "\n") : given;
    const found: string[] = [];
    // A long line is not looked through again with each piece of it.
    if (!fresh.includes("\n")) {
      this.#rest += fresh;
      this.#refuseTooLong();
      return found;
    }
    const text = this.#rest + fresh;
    let from = 0;
    for (let to = text.indexOf("\n"); to >= 0; to = text.indexOf("\n", from)) {
      if (to === from) {
        if (this.#data !== undefined) found.push(this.#data);
        this.#data = undefined;
      } else if (text.startsWith("data:", from)) {
        const value = text.slice(text.charCodeAt(from + 5) === 0x20 ? from + 6 : from + 5, to);
        this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
      }
      from = to + 1;
    }
    this.#rest = text.slice(from);
    this.#refuseTooLong();
    return found;
  }

  #refuseTooLong(): void {
    if (this.#rest.length + (this.#data?.length ?? 0) > LONGEST_EVENT) throw new Error("The server sent an event that does not end.");
  }
}
