/** Takes known secrets out of an entry before anything of it is rendered. */

const MASK = "••••••••";
/** Shorter values are no secrets, and masking them would eat ordinary words. */
const MIN_LENGTH = 8;

/** A function that masks every known secret in all strings of a value, keys included. */
export function createMask(secrets: readonly string[]): <T>(value: T) => T {
  // In JSON's spelling: whole entries are masked as text, so no field can be forgotten.
  const spelled = [...new Set(secrets)].filter(({ length }) => length >= MIN_LENGTH).map((secret) => JSON.stringify(secret).slice(1, -1));
  if (spelled.length === 0) return (value) => value;
  const longestFirst = spelled.sort((a, b) => b.length - a.length);
  const pattern = new RegExp(longestFirst.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "g");
  return (value) => {
    const json = JSON.stringify(value);
    if (json === undefined || json.search(pattern) < 0) return value;
    return JSON.parse(json.replace(pattern, MASK));
  };
}
