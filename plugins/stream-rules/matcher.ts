/** Matches rules against a growing stream. Each increment costs a bounded window, never the whole text again. */
import type { BlockEvent } from "../../core/index.ts";
import { type Rule, scopeOf } from "./rule.ts";

/** How many characters before an increment a pattern can see; a match may be at most that much longer than one increment. */
const LOOKBACK = 1024;

interface Block {
  /** the end of what came before, one character more than patterns may match */
  tail: string;
  /** undoes JSON's escapes in tool arguments, so that patterns see the text that will be written */
  decoder?: EscapeDecoder;
  hasDeltas: boolean;
}

export class StreamMatcher {
  readonly #rules: readonly Rule[];
  readonly #blocks = new Map<number, Block>();

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
  }

  /** The rules that this increment breaks. */
  feed(event: BlockEvent): Rule[] {
    const scope = scopeOf(event);
    const watching = this.#rules.filter(({ scopes }) => scopes.has(scope));
    if (watching.length === 0) return [];
    if (event.type.endsWith("_start")) {
      this.#blocks.set(event.contentIndex, { tail: "", hasDeltas: false, ...(scope === "toolcall" && { decoder: new EscapeDecoder() }) });
      return [];
    }
    const block = this.#blocks.get(event.contentIndex);
    if (!block) return [];
    if ("delta" in event) {
      block.hasDeltas = true;
      return this.#match(watching, block, event.delta);
    }
    this.#blocks.delete(event.contentIndex);
    // Some providers bring a block as a whole.
    return block.hasDeltas ? [] : this.#match(watching, block, wholeOf(event));
  }

  #match(rules: readonly Rule[], block: Block, delta: string): Rule[] {
    const window = block.tail + (block.decoder ? block.decoder.decode(delta) : delta);
    // A full tail begins in the middle of the text: its first character is only there for ^, \b and lookbehinds.
    const from = block.tail.length > LOOKBACK ? 1 : 0;
    block.tail = window.slice(-(LOOKBACK + 1));
    return rules.filter(({ patterns }) =>
      patterns.some((pattern) => {
        pattern.lastIndex = from;
        return pattern.test(window);
      }),
    );
  }
}

function wholeOf(event: BlockEvent): string {
  if (event.type === "toolcall_end") return JSON.stringify(event.toolCall.arguments);
  return "content" in event ? event.content : "";
}

const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/** Undoes the backslash escapes of JSON strings in a text that arrives in pieces. */
class EscapeDecoder {
  #held = "";

  decode(piece: string): string {
    const text = this.#held + piece;
    this.#held = "";
    if (!text.includes("\\")) return text;
    let decoded = "";
    let from = 0;
    for (let at = text.indexOf("\\"); at >= 0; at = text.indexOf("\\", from)) {
      decoded += text.slice(from, at);
      const length = text[at + 1] === "u" ? 6 : 2;
      if (at + length > text.length) {
        this.#held = text.slice(at);
        return decoded;
      }
      decoded += plain(text.slice(at, at + length));
      from = at + length;
    }
    return decoded + text.slice(from);
  }
}

function plain(sequence: string): string {
  const letter = sequence[1] as string;
  if (letter !== "u") return escapes[letter] ?? letter;
  const code = Number.parseInt(sequence.slice(2), 16);
  return Number.isNaN(code) ? sequence : String.fromCharCode(code);
}
