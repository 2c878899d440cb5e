/** Text from a session as text in a page: nothing of it may become markup. */

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] as string);
}

/** The same for Markdown text, where `&copy;` is meant as a character. */
export function escapeMarkdown(text: string): string {
  return text.replace(/&(?!(?:#\d{1,7}|#[Xx][\da-fA-F]{1,6}|[A-Za-z][\dA-Za-z]{1,31});)|[<>"']/g, (character) => entities[character] as string);
}

/** JSON inside of a <script> element: nothing in it ends the element or opens a comment. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll("</", "<\\/")
    .replaceAll("<!", "\\u003c!")
    .replace(/<(?=script)/gi, "\\u003c")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}

/** What is shown of one piece of text at most: a page is for reading, not for 50 MB of log. */
const MAX_SHOWN = 256 * 1024;
const MAX_TAIL = 64 * 1024;

export interface Clipped {
  head: string;
  /** number of characters left out between head and tail */
  omitted: number;
  tail: string;
}

export function clip(text: string, max = MAX_SHOWN, tail = MAX_TAIL): Clipped {
  if (text.length <= max) return { head: text, omitted: 0, tail: "" };
  return { head: text.slice(0, max - tail), omitted: text.length - max, tail: text.slice(-tail) };
}

/** Renders a long text in two halves with a word on what is missing. */
export function renderClipped(text: string, render: (part: string) => string, max?: number, tail?: number): string {
  const { head, omitted, tail: end } = clip(text, max, tail);
  if (omitted === 0) return render(head);
  return `${render(head)}<p class="omitted">${omitted.toLocaleString("en")} characters are not shown.</p>${render(end)}`;
}
