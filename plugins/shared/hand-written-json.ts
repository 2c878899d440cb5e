/** JSON that people write by hand: a mistake is told with its line, and nothing is quoted, as keys may stand there. */
import { messageOf } from "../../core/index.ts";

/** How much of the text before a mistake the parser quotes; of a short text it quotes all. */
const QUOTED_BEFORE = 10;

/** Throws a sentence about the file. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = messageOf(error)
      .replace(/(^|, )(\.\.\.)?".* is not valid JSON$| (in|after) JSON( at position .*)?$/s, "")
      .replaceAll("\n", "\\n");
    throw new Error(`it is not valid JSON (line ${lineOfMistake(error, text)}${reason && `: ${reason}`})`, { cause: error });
  }
}

export function lineOfMistake(error: unknown, text: string): number {
  // What is missing at the end is missing in the last line that holds something.
  return text
    .trimEnd()
    .slice(0, offsetOfMistake(messageOf(error), text))
    .split("\n").length;
}

/** The parser tells a position, or quotes what is around it, or wants more than there is. */
function offsetOfMistake(message: string, text: string): number {
  const [, position] = / at position (\d+)/.exec(message) ?? [];
  if (position !== undefined) return Number(position);
  const [, token, dots, quoted] = /^Unexpected token '(.*)', (\.\.\.)?"(.*)"(?:\.\.\.)? is not valid JSON$/s.exec(message) ?? [];
  if (token === undefined || quoted === undefined) return text.length;
  return dots ? text.indexOf(quoted) + QUOTED_BEFORE : quoted.lastIndexOf(token);
}
