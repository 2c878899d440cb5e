/** Keeps keys and tokens out of what the program writes. */

const HIDDEN = "[secret]";
/** Shorter values are no secrets but place-holders, and would mask ordinary words. */
const SHORTEST_SECRET = 8;

/** The text without the secrets, however JSON or an address spells them. */
export function hideSecrets(text: string, secrets: Iterable<string | undefined>): string {
  let result = text;
  // The longest first: one secret may contain another.
  const known = [...new Set(secrets)].filter((secret): secret is string => secret !== undefined && secret.length >= SHORTEST_SECRET);
  for (const secret of known.sort((a, b) => b.length - a.length)) {
    for (const form of new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])) result = result.replaceAll(form, HIDDEN);
  }
  return result;
}
