/** Server-sent events, one pass over the text: the SDKs' own readers copy each byte several times and hop through generators. */

/** Takes bytes cut anywhere. Lines may end in LF, CRLF or CR, as the format allows. */
export class EventReader {
  readonly #decoder = new TextDecoder();
  #rest = "";
  #data: string | undefined;

  /** The `data` of each event that is complete by now, in order. */
  push(bytes: Uint8Array): string[] {
    let text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    // A CR at the end may be half of a CRLF: it waits for what follows.
    const held = text.endsWith("\r") ? "\r" : "";
    if (held) text = text.slice(0, -1);
    const found = this.#read(text);
    this.#rest += held;
    return found;
  }

  /** The stream is over: what is left counts as if it ended properly. */
  end(): string[] {
    const text = this.#rest + this.#decoder.decode();
    return this.#read(`${text}\n\n`);
  }

  #read(given: string): string[] {
    const text = given.includes("\r") ? given.replace(/\r\n?/g, "\n") : given;
    const found: string[] = [];
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
    return found;
  }
}
