/** Image blocks in the nested form that older clients know. */

/** Where messages and their content are found; nothing else is looked into, arguments, details and extensions' data least of all. */
const holders = new Set(["message", "messages", "toolResults", "result", "partialResult", "content", "entry", "entries", "tree", "children", "replacement"]);

/** The value with every image block as `{type, source}`; the same object if there is none. */
export function withImageSources<T>(value: T): T {
  if (Array.isArray(value)) return changed(value, value.map(withImageSources)) as T;
  if (typeof value !== "object" || value === null) return value;
  if (isFlatImage(value)) return { type: "image", source: { type: "base64", mediaType: value.mimeType, data: value.data } } as T;
  const converted: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    if (!holders.has(key)) continue;
    const fresh = withImageSources(inner);
    if (fresh !== inner) converted[key] = fresh;
  }
  return Object.keys(converted).length > 0 ? { ...value, ...converted } : value;
}

function changed<T>(old: T[], fresh: T[]): T[] {
  return fresh.some((item, index) => item !== old[index]) ? fresh : old;
}

function isFlatImage(value: object): value is { data: string; mimeType: string } {
  const { type, data, mimeType } = value as Record<string, unknown>;
  return type === "image" && typeof data === "string" && typeof mimeType === "string";
}
