/** Terminal output without what only a terminal understands, also if a sequence is cut in two. */
import { isAscii } from "node:buffer";
import { StringDecoder } from "node:string_decoder";

const ESC = "\u001b";
const sequence = new RegExp(
  [
    // colours, cursor movements
    `${ESC}\\[[0-?]*[ -/]*[@-~]`,
    // titles, links
    `${ESC}\\][^\\u0007${ESC}]*(?:\\u0007|${ESC}\\\\)`,
    // device strings
    `${ESC}[PX^_][^${ESC}]*${ESC}\\\\`,
    // the rest: two characters, or some more to choose a character set
    `${ESC}[ -/]*[0-OQ-WYZ\\\\\`-~]`,
  ].join("|"),
  "g",
);
/** The beginning of a sequence at the end of a text. */
const unfinished = new RegExp(`${ESC}(?:\\[[0-?]*[ -/]*|\\][^\\u0007${ESC}]*${ESC}?|[PX^_][^${ESC}]*${ESC}?|[ -/]*)$`);
/** All control characters but line feed and tab. */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Nearly all output has none of them, and one look at it is enough. */
const hasControls = new RegExp(controls.source);
/** What is longer is no sequence. */
const MAX_SEQUENCE = 4096;

export class PlainText {
  readonly #decoder = new StringDecoder("utf8");
  #held = "";

  /** The next part of the text, and as bytes; the start of a sequence waits for its rest. */
  push(given: Buffer): { text: string; bytes: Buffer } {
    const hadHeld = this.#held !== "";
    const text = this.#next(given);
    // Nothing was held, here or by the decoder, and nothing was added or taken out: it has not to be encoded again.
    const isSame = !hadHeld && text.length === given.length && text.charCodeAt(0) === given[0] && isAscii(given);
    return { text, bytes: isSame ? given : Buffer.from(text) };
  }

  #next(bytes: Buffer): string {
    const text = this.#held + this.#decoder.write(bytes);
    if (!hasControls.test(text)) {
      this.#held = "";
      return text;
    }
    const start = unfinished.exec(text)?.index ?? text.length;
    const isHeld = text.length - start <= MAX_SEQUENCE;
    this.#held = isHeld ? text.slice(start) : "";
    return strip(isHeld ? text.slice(0, start) : text);
  }

  end(): { text: string; bytes: Buffer } {
    const text = strip(this.#held + this.#decoder.end());
    this.#held = "";
    return { text, bytes: Buffer.from(text) };
  }
}

function strip(text: string): string {
  return text.replace(sequence, "").replace(controls, "");
}
