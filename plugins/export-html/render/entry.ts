/** One session entry as a fragment of HTML and a row of the page's index. */
import { type AgentMessage, type AssistantMessage, type ToolCall, textOf, type Usage, type UserContent } from "../../../core/index.ts";
import type { SessionEntry } from "../../session/contract.ts";
import type {} from "../../user-bash/contract.ts";
import { renderCode } from "./code.ts";
import { escapeHtml, renderClipped } from "./escape.ts";
import { renderImage } from "./image.ts";
import { renderMarkdown } from "./markdown.ts";
import { gist, oneLine } from "./summary.ts";
import { renderTerminal } from "./terminal.ts";
import { renderToolCall, renderToolResult } from "./tool.ts";

/** What the page knows of an entry without its content. */
export interface Rendered {
  kind: "user" | "assistant" | "tool" | "bash" | "custom" | "compaction" | "branch" | "note" | "edit" | "none";
  /** absent: nothing to show */
  html?: string;
  summary?: string;
  /** of a tool result: its call */
  call?: string;
  /** a word on the size of a tool's result */
  stat?: string;
  isError?: boolean;
  model?: string;
  usage?: Usage;
  /** of a context edit: the entry that left the context */
  target?: string;
  time?: number;
}

/** Tool calls whose result may still come, by id; results are shown with what was asked. */
export type OpenCalls = Map<string, ToolCall>;

export function renderEntry(entry: SessionEntry, calls: OpenCalls): Rendered {
  try {
    return { time: Date.parse(entry.timestamp) || undefined, ...rendered(entry, calls) };
  } catch {
    // Files come from anywhere: an entry that is not what it says must not cost the rest of the page.
    return { kind: "note", html: `<p class="omitted">An entry of type ${escapeHtml(String(entry.type))} could not be shown.</p>`, summary: "unreadable entry" };
  }
}

function rendered(entry: SessionEntry, calls: OpenCalls): Rendered {
  switch (entry.type) {
    case "message":
      return renderMessage(entry.message, calls);
    case "custom_message":
      return renderCustom(entry.customType, entry.content, entry.display);
    case "compaction":
      return {
        kind: "compaction",
        html: fold(`${count(entry.tokensBefore)} tokens were summarized`, renderMarkdown(String(entry.summary ?? ""))),
        summary: "Compaction",
        usage: entry.usage,
      };
    case "branch_summary":
      return {
        kind: "branch",
        html: fold("Summary of another branch", renderMarkdown(String(entry.summary ?? ""))),
        summary: "Branch summary",
        usage: entry.usage,
      };
    case "model_change":
      return note(`Model: ${entry.provider}/${entry.modelId}`);
    case "thinking_level_change":
      return note(`Thinking: ${entry.thinkingLevel}`);
    case "context_edit":
      return { kind: "edit", target: entry.replacement === null ? String(entry.targetId) : undefined };
    case "usage":
      return { kind: "none", usage: entry.usage };
    default:
      return { kind: "none" };
  }
}

function renderMessage(message: AgentMessage, calls: OpenCalls): Rendered {
  switch (message.role) {
    case "user":
      return {
        kind: "user",
        html: renderContent(message.content) + renderAttachments(message.attachments),
        summary: gist(textOf(message.content, " ")) || "(image)",
      };
    case "assistant":
      return renderAssistant(message, calls);
    case "toolResult": {
      const result = renderToolResult(message, calls.get(message.toolCallId));
      calls.delete(message.toolCallId);
      return {
        kind: "tool",
        ...result,
        call: String(message.toolCallId),
        summary: oneLine(`${message.toolName}`),
        isError: message.isError === true,
        usage: message.usage,
      };
    }
    case "bashExecution": {
      const state = message.cancelled ? "cancelled" : message.exitCode ? `exit ${message.exitCode}` : "";
      const output = message.output ? renderClipped(message.output, (part) => `<pre class="term"><code>${renderTerminal(part)}</code></pre>`) : "";
      const title = `<span class="tool-name">!</span> <span class="tool-title">${escapeHtml(oneLine(message.command, 160))}</span>`;
      return {
        kind: "bash",
        html: fold(title, renderCode(message.command, "bash") + output, state),
        summary: oneLine(`! ${message.command}`),
        isError: Boolean(message.exitCode),
      };
    }
    case "custom":
      return renderCustom(message.customType, message.content, message.display);
    case "branchSummary":
      return { kind: "branch", html: fold("Summary of another branch", renderMarkdown(message.summary)), summary: "Branch summary" };
    case "compactionSummary":
      return { kind: "compaction", html: fold("Summary of what came before", renderMarkdown(message.summary)), summary: "Compaction" };
    default: {
      const role = String((message as { role?: unknown }).role);
      return { kind: "note", html: fold(`Message of role ${escapeHtml(role)}`, renderCode(JSON.stringify(message, null, 2), "json")), summary: role };
    }
  }
}

function renderAssistant(message: AssistantMessage, calls: OpenCalls): Rendered {
  const parts: string[] = [];
  for (const block of Array.isArray(message.content) ? message.content : []) {
    if (block.type === "text" && block.text.trim()) parts.push(renderMarkdown(block.text));
    if (block.type === "thinking" && (block.thinking.trim() || block.redacted)) parts.push(renderThinking(block.thinking, block.redacted));
    if (block.type === "toolCall") {
      calls.set(block.id, block);
      parts.push(renderToolCall(block));
    }
  }
  const hasFailed = message.stopReason === "error" || message.stopReason === "aborted";
  if (hasFailed) parts.push(`<p class="failure">${escapeHtml(message.errorMessage || `The answer ended with ${message.stopReason}.`)}</p>`);
  if (message.stopReason === "length") parts.push('<p class="failure">The answer reached the output limit.</p>');
  const text = textOf(message.content, " ");
  const tools = message.content.filter((block): block is ToolCall => block.type === "toolCall").map(({ name }) => name);
  return {
    kind: "assistant",
    html: parts.join(""),
    summary: gist(text) || (tools.length > 0 ? oneLine(tools.join(", ")) : hasFailed ? String(message.stopReason) : "(empty)"),
    model: oneLine(`${message.provider}/${message.model}`, 80),
    usage: message.usage,
    isError: hasFailed,
  };
}

function renderThinking(text: string, redacted: boolean | undefined): string {
  const body = redacted && !text.trim() ? "<p>The provider keeps this part to itself.</p>" : renderMarkdown(text);
  return `<details class="thinking"><summary>Thinking <span class="thought">${escapeHtml(gist(text, 90))}</span></summary>${body}</details>`;
}

function renderCustom(customType: string, content: string | UserContent[], display: boolean): Rendered {
  // Not meant for people, so not shown to them here either.
  if (display === false) return { kind: "none" };
  return { kind: "custom", html: `<p class="origin">${escapeHtml(String(customType))}</p>${renderContent(content)}`, summary: gist(textOf(content, " ")) };
}

function renderContent(content: string | UserContent[]): string {
  const blocks: UserContent[] = typeof content === "string" ? [{ type: "text", text: content }] : Array.isArray(content) ? content : [];
  return blocks.map((block) => (block.type === "image" ? renderImage(block.data, block.mimeType) : renderMarkdown(String(block.text ?? "")))).join("");
}

function renderAttachments(attachments: { fileName?: unknown }[] | undefined): string {
  if (!Array.isArray(attachments) || attachments.length === 0) return "";
  return `<p class="origin">Attached: ${escapeHtml(attachments.map(({ fileName }) => String(fileName)).join(", "))}</p>`;
}

function note(text: string): Rendered {
  return { kind: "note", html: `<p class="note">${escapeHtml(text)}</p>`, summary: text };
}

/** A fold; `title` is HTML. */
function fold(title: string, body: string, state = ""): string {
  const right = state ? `<span class="stat">${escapeHtml(state)}</span>` : "";
  return `<details class="tool"><summary>${title}${right}</summary><div class="tool-body">${body}</div></details>`;
}

function count(value: unknown): string {
  return Number.isFinite(value) ? (value as number).toLocaleString("en") : "Some";
}
