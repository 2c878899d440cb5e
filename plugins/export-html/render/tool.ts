/** Tool calls and their results. */
import type { ToolCall, ToolResultMessage } from "../../../core/index.ts";
import { highlight, languageOf, renderCode } from "./code.ts";
import { renderDiff, renderReplacement } from "./diff.ts";
import { escapeHtml, renderClipped } from "./escape.ts";
import { renderImage } from "./image.ts";
import { oneLine } from "./summary.ts";
import { renderTerminal } from "./terminal.ts";

type Arguments = Record<string, unknown>;

/** What a call is about, in one line. */
export function titleOf({ arguments: args }: Pick<ToolCall, "arguments">): string {
  const given = isObject(args) ? args : {};
  const first = ["command", "path", "file_path", "pattern", "query", "url"].map((name) => given[name]).find((value) => typeof value === "string");
  return oneLine(String(first ?? Object.values(given).find((value) => typeof value === "string") ?? ""), 160);
}

/** A call as a fold of its own; the page puts its result inside. */
export function renderToolCall(call: ToolCall): string {
  const name = escapeHtml(String(call.name));
  const isOpen = call.name === "edit" ? " open" : "";
  return (
    `<details class="tool" data-call="${escapeHtml(String(call.id))}"${isOpen}><summary><span class="tool-name">${name}</span> ` +
    `<span class="tool-title">${escapeHtml(titleOf(call))}</span></summary><div class="tool-body">${renderArguments(call)}</div></details>`
  );
}

function renderArguments({ name, arguments: given }: ToolCall): string {
  const args: Arguments = isObject(given) ? given : {};
  if (name === "bash" && typeof args.command === "string") return renderCode(args.command, "bash");
  if (name === "write" && typeof args.content === "string") return renderCode(args.content, languageOf(String(args.path)));
  if (name === "edit" && Array.isArray(args.edits)) return `<div class="wanted">${args.edits.map(renderEdit).join("")}</div>`;
  // What the title says already needs no second place.
  if (Object.keys(args).length === 0 || (Object.keys(args).length === 1 && titleOf({ arguments: args }) === Object.values(args)[0])) return "";
  return renderCode(JSON.stringify(args, null, 2), "json");
}

function renderEdit(edit: unknown): string {
  if (!isObject(edit)) return "";
  return renderReplacement(String(edit.oldText ?? ""), String(edit.newText ?? ""));
}

export interface RenderedResult {
  html: string;
  /** a word on its size, for the fold's head */
  stat: string;
}

/** What a tool brought. `call` is what it was asked, if that is known. */
export function renderToolResult(message: ToolResultMessage, call: ToolCall | undefined): RenderedResult {
  const blocks = Array.isArray(message.content) ? message.content : [];
  const texts = blocks.filter((block) => block?.type === "text").map((block) => String(block.text ?? ""));
  const images = blocks.filter((block) => block?.type === "image").map((block) => renderImage(block.data, block.mimeType));
  const text = texts.join("\n");
  const diff = isObject(message.details) && typeof message.details.diff === "string" && !message.isError ? renderDiff(message.details.diff) : undefined;
  if (diff) return { html: diff.html + images.join(""), stat: `+${diff.added} −${diff.removed}` };
  const output = text === "" ? "" : renderOutput(message, text, call);
  return { html: output + images.join(""), stat: text === "" || message.toolName === "write" ? "" : lines(text) };
}

function renderOutput({ toolName, isError }: ToolResultMessage, text: string, call: ToolCall | undefined): string {
  const path = isObject(call?.arguments) ? call.arguments.path : undefined;
  const language = toolName === "read" && !isError && typeof path === "string" ? languageOf(path) : undefined;
  const render = (part: string) => `<pre class="term"><code>${language ? highlight(part, language) : renderTerminal(part)}</code></pre>`;
  return renderClipped(text, render);
}

function lines(text: string): string {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < text.length - 1; at = text.indexOf("\n", at + 1)) count++;
  return count === 1 ? "1 line" : `${count.toLocaleString("en")} lines`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
