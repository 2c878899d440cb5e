/** JSON as models write it: with raw line breaks and stray backslashes in texts, or broken off. */
import { PartialJson } from "../../shared/partial-json.ts";

const controls: Record<string, string> = { "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const pairs = /\\u[\da-fA-F]{4}|\\[\s\S]?/g;
const escapes = /^\\(?:["\\/bfnrt]|u[\da-fA-F]{4})$/;
const texts = /"(?:[^"\\]|\\[\s\S])*(?:"|$)/g;

/** Mends what stands in texts; the rest stays as it is. */
export function repairJson(text: string): string {
  return text.replace(texts, (string) => string.replace(pairs, (pair) => (escapes.test(pair) ? pair : `\\${pair}`)).replace(/[\0-\x1f]/g, escaped));
}

export function parseJsonWithRepair(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const repaired = repairJson(text);
    if (repaired === text) throw error;
    return JSON.parse(repaired);
  }
}

/** What is understood so far; `{}` if that is nothing. */
export function parseStreamingJson(text: string | undefined): unknown {
  if (!text?.trim()) return {};
  try {
    return parseJsonWithRepair(text);
  } catch {
    const json = new PartialJson();
    // Its reader takes objects only.
    json.feed(`{"value":${text}`);
    const { value } = json.end();
    return typeof value === "object" && value !== null ? value : {};
  }
}

const escaped = (character: string): string => controls[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
