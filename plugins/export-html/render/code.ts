/** Code with highlighting, for languages that are known and pieces that are not too long. */
import hljs from "highlight.js/lib/common";
import { escapeHtml, renderClipped } from "./escape.ts";

/** Highlighting costs about a microsecond per character. */
const MAX_HIGHLIGHTED = 16 * 1024;

/** Names that highlight.js does not know by itself. */
const aliases: Record<string, string> = {
  mts: "typescript",
  cts: "typescript",
  console: "bash",
  shellsession: "bash",
  dockerfile: "bash",
  jsonc: "json",
  jsonl: "json",
};

export function highlight(code: string, language: string | undefined): string {
  const wanted = language?.toLowerCase() ?? "";
  const name = Object.hasOwn(aliases, wanted) ? (aliases[wanted] as string) : wanted;
  if (!name || code.length > MAX_HIGHLIGHTED || !hljs.getLanguage(name)) return escapeHtml(code);
  try {
    return hljs.highlight(code, { language: name, ignoreIllegals: true }).value;
  } catch {
    return escapeHtml(code);
  }
}

/** A block of code as its own box. */
export function renderCode(code: string, language?: string): string {
  const label = language && /^[\w+#.-]{1,24}$/.test(language) ? ` data-language="${language}"` : "";
  return renderClipped(code.replace(/\n$/, ""), (part) => `<pre class="code" tabindex="0"${label}><code>${highlight(part, language)}</code></pre>`);
}

/** The language that a file's name suggests. */
export function languageOf(path: string): string | undefined {
  return /\.([A-Za-z0-9]{1,8})$/.exec(path)?.[1]?.toLowerCase();
}
