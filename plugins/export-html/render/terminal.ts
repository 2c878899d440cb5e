/** Terminal output as HTML: colours stay, everything else that a terminal would act on is dropped. */
import { escapeHtml } from "./escape.ts";

// One alternative each: CSI (parameters, final byte), OSC up to its end, other escapes, control characters.
const control = /\x1b\[([0-9:;<=>?]*)[ -/]*([@-~])|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

interface Style {
  color?: string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
}

export function renderTerminal(text: string): string {
  const plain = overwriteLines(text);
  let html = "";
  let from = 0;
  let style: Style = {};
  for (const match of plain.matchAll(control)) {
    html += span(plain.slice(from, match.index), style);
    from = match.index + match[0].length;
    if (match[2] === "m") style = applySgr(style, match[1] ?? "");
  }
  return html + span(plain.slice(from), style);
}

/** The same without any markup, e.g. for one-line summaries. */
export function stripTerminal(text: string): string {
  return overwriteLines(text).replace(control, "");
}

/** A carriage return starts the line anew: of a progress bar only the last state is left. */
function overwriteLines(text: string): string {
  if (!text.includes("\r")) return text;
  // By lines and not by one pattern, which would look for a return from every character of a long line.
  return text
    .split("\n")
    .map((line) => {
      const visible = line.replace(/\r+$/, "");
      return visible.slice(visible.lastIndexOf("\r") + 1);
    })
    .join("\n");
}

function span(text: string, style: Style): string {
  if (text === "") return "";
  const classes = [
    style.color && `ansi-${style.color}`,
    style.bold && "ansi-bold",
    style.dim && "ansi-dim",
    style.italic && "ansi-italic",
    style.underline && "ansi-underline",
  ].filter(Boolean);
  return classes.length > 0 ? `<span class="${classes.join(" ")}">${escapeHtml(text)}</span>` : escapeHtml(text);
}

function applySgr(style: Style, parameters: string): Style {
  let next = { ...style };
  const codes = parameters.split(/[;:]/).map(Number);
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] as number;
    if (code === 0) next = {};
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 4) next.underline = true;
    else if (code === 22) next = { ...next, bold: false, dim: false };
    else if (code === 23) next.italic = false;
    else if (code === 24) next.underline = false;
    else if (code === 39) next.color = undefined;
    else if (code >= 30 && code <= 37) next.color = names[code - 30];
    else if (code >= 90 && code <= 97) next.color = names[code - 90];
    else if (code === 38 || code === 48) {
      // 256 colours and true colour: the sixteen basic ones are kept, others are shown without.
      const isIndexed = codes[index + 1] === 5;
      const color = codes[index + 2] as number;
      if (code === 38 && isIndexed && color < 16) next.color = names[color % 8];
      index += isIndexed ? 2 : 4;
    }
  }
  return next;
}
