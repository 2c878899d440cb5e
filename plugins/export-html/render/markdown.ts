/** Markdown as HTML: no raw HTML, no scripts behind links, nothing loaded from anywhere. */
import { Marked, type Tokens } from "marked";
import { renderCode } from "./code.ts";
import { escapeHtml, escapeMarkdown, renderClipped } from "./escape.ts";

// Parsers of Markdown have their bad cases: time that grows with the square of the marks in a paragraph, or with the depth of
// lists in lists. Texts beyond what people and models write are shown as they are.
const MAX_PARSED = 64 * 1024;
const MAX_MARKS_PER_PARAGRAPH = 600;
const DEEP_NESTING = /^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*){24}|^[ \t]{48,}(?:[-*+]|\d{1,9}[.)])[ \t]/;

const marked = new Marked({
  gfm: true,
  // Without these two, raw HTML is ordinary text.
  tokenizer: { html: () => undefined, tag: () => undefined },
  renderer: {
    text(token) {
      return "tokens" in token && token.tokens ? this.parser.parseInline(token.tokens) : escapeMarkdown(token.text);
    },
    html: ({ text }) => escapeHtml(text),
    code: ({ text, lang }) => renderCode(text, lang?.trim().split(/\s/)[0]),
    codespan: ({ text }) => `<code>${escapeHtml(text)}</code>`,
    heading({ tokens, depth }) {
      // The page's own headings come first.
      const level = Math.min(depth + 2, 6);
      return `<h${level} class="h${depth}">${this.parser.parseInline(tokens)}</h${level}>`;
    },
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      const target = safeLink(href);
      return target ? `<a href="${escapeHtml(target)}" rel="noopener noreferrer" target="_blank">${text}</a>` : `<span class="dead-link">${text}</span>`;
    },
    image: ({ href, text }) => renderImageReference(href, text),
    checkbox: ({ checked }) => `<span class="check" role="img" aria-label="${checked ? "done" : "open"}">${checked ? "☑" : "☐"}</span> `,
    table(token) {
      const cells = (row: Tokens.TableCell[], tag: string) => row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("");
      const rows = token.rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("");
      return `<div class="table" tabindex="0"><table><thead><tr>${cells(token.header, "th")}</tr></thead><tbody>${rows}</tbody></table></div>`;
    },
  },
});

export function renderMarkdown(text: string): string {
  if (text.length > MAX_PARSED || !isOrdinary(text)) return renderPlain(text);
  try {
    return `<div class="md">${marked.parse(text, { async: false })}</div>`;
  } catch {
    // Nesting beyond all reason ends in a full stack; the text itself is still worth showing.
    return renderPlain(text);
  }
}

/** Whether a text is of the kind that is parsed quickly. Code in fences does not count. */
function isOrdinary(text: string): boolean {
  let fence: string | undefined;
  let marks = 0;
  for (const line of text.split("\n")) {
    const found = /^ {0,3}(`{3,9}|~{3,9})(?![`~])/.exec(line)?.[1];
    if (fence) {
      if (found?.startsWith(fence)) fence = undefined;
      continue;
    }
    fence = found;
    if (line.trim() === "") marks = 0;
    if (DEEP_NESTING.test(line)) return false;
    for (const character of line) if ("*_~`[]<".includes(character)) marks++;
    if (marks > MAX_MARKS_PER_PARAGRAPH) return false;
  }
  return true;
}

export function renderPlain(text: string): string {
  return renderClipped(text, (part) => `<div class="plain">${escapeHtml(part)}</div>`);
}

/** An address that a click may open; undefined for anything that runs code or leads nowhere. */
export function safeLink(href: string): string | undefined {
  // Browsers skip white space and control characters inside of a scheme.
  const target = href.replace(/[\u0000-\u0020\u007f-\u009f]/g, "");
  return /^(?:https?:\/\/|mailto:)/i.test(target) ? target : undefined;
}

function renderImageReference(href: string, alt: string): string {
  const embedded = /^data:(image\/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=]+)$/.exec(href);
  if (embedded) return `<img class="image" alt="${escapeHtml(alt)}" src="${href}">`;
  const target = safeLink(href);
  const label = escapeHtml(alt || href);
  return target ? `<a href="${escapeHtml(target)}" rel="noopener noreferrer" target="_blank">${label}</a>` : `<span class="dead-link">${label}</span>`;
}
