/** Images of messages, embedded if they are what they say. */
import { escapeHtml } from "./escape.ts";

const MAX_BASE64 = 12 * 1024 * 1024;
/** First characters in base64 of what browsers are given to decode. */
const beginnings: Record<string, RegExp> = { "image/png": /^iVBORw0KGgo/, "image/jpeg": /^\/9j\//, "image/gif": /^R0lGOD/, "image/webp": /^UklGR/ };

export function renderImage(data: unknown, mimeType: unknown): string {
  const type = String(mimeType).toLowerCase();
  const beginning = Object.hasOwn(beginnings, type) ? beginnings[type] : undefined;
  if (typeof data !== "string" || !beginning) return missing(`An image of type ${String(mimeType).slice(0, 60)} is not shown.`);
  if (data.length > MAX_BASE64) return missing(`An image of ${((data.length * 0.75) / 1024 / 1024).toFixed(1)} MB is not shown.`);
  if (!beginning.test(data) || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return missing("An image that cannot be decoded is not shown.");
  return `<img class="image" alt="Image in this message" loading="lazy" src="data:${type};base64,${data}">`;
}

function missing(text: string): string {
  return `<p class="omitted">${escapeHtml(text)}</p>`;
}
