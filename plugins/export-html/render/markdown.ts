/** Markdown as HTML: no raw HTML, no scripts behind links, nothing loaded from anywhere. */
import { Marked, type Tokens } from "marked";
import { renderCode } from "./code.ts";
import { escapeHtml, escapeMarkdown, renderClipped } from "./escape.ts";

/** Longer texts are shown as they are: parsers of Markdown have their bad cases. */
const MAX_PARSED = 96 * 1024;

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
  if (text.length > MAX_PARSED) return renderPlain(text);
  try {
    return `<div class="md">${marked.parse(text, { async: false })}</div>`;
  } catch {
    // Nesting beyond all reason ends in a full stack; the text itself is still worth showing.
    return renderPlain(text);
  }
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
