/** Two requests side by side, as lines to read, without what may differ from run to run: ids, times and places. */
import { createHash } from "node:crypto";
import type { LlmMessage, UserContent } from "../../core/index.ts";
import type { RecordedRequest } from "./contract.ts";

export interface Places {
  cwd: string;
  home: string;
}

const CONTEXT = 3;
const LONGEST_DIFF = 60;

const months = "January|February|March|April|May|June|July|August|September|October|November|December";
const weekdays = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday";

/** In this order: the longer forms first. */
const varying: readonly [pattern: RegExp, name: string][] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "{id}"],
  [/\b\d{4}-\d\d-\d\dT\d\d[:-]\d\d([:-]\d\d([.-]\d+)?)?(Z|[+-]\d\d:?\d\d)?/g, "{time}"],
  [new RegExp(`\\b((${weekdays}), )?((${months}) \\d{1,2}, \\d{4}|\\d{1,2} (${months}) \\d{4})`, "g"), "{date}"],
  [/\b\d{4}-\d\d-\d\d\b/g, "{date}"],
  [/\b\d{1,2}:\d\d(:\d\d)?( ?[AP]M)?\b/g, "{time}"],
  [/\b\d+(\.\d+)? ?(ms|s|seconds?)\b/g, "{time}"],
  [/\b1\d{12}\b/g, "{time}"],
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b/gi, "{id}"],
];

/** The request as lines. Equal lines: the same request. */
export function linesOf(request: RecordedRequest, places: Places): string[] {
  const steady = steadier(places);
  const calls = new Map<string, string>();
  const lines = [`model: ${request.model.provider}/${request.model.id}`, `thinking: ${request.thinkingLevel}`];
  lines.push("system prompt:", ...indented(steady(request.systemPrompt)));
  for (const { name, description, parameters } of request.tools) {
    lines.push(`tool ${name}:`, ...indented(steady(description)), `  ${steady(JSON.stringify(parameters))}`);
  }
  for (const message of request.messages) lines.push(...messageLines(message, steady, calls));
  return lines;
}

/** What differs, with a little of what is around it; undefined: nothing. */
export function difference(recorded: readonly string[], now: readonly string[]): string | undefined {
  let start = 0;
  while (start < recorded.length && recorded[start] === now[start]) start++;
  if (start === recorded.length && start === now.length) return undefined;
  let end = 0;
  while (end < Math.min(recorded.length, now.length) - start && recorded[recorded.length - 1 - end] === now[now.length - 1 - end]) end++;
  const before = recorded.slice(Math.max(0, start - CONTEXT), start);
  const after = recorded.slice(recorded.length - end, recorded.length - end + CONTEXT);
  return [
    "--- recorded",
    "+++ now",
    ...before.map((line) => `  ${line}`),
    ...shortened(recorded.slice(start, recorded.length - end)).map((line) => `- ${line}`),
    ...shortened(now.slice(start, now.length - end)).map((line) => `+ ${line}`),
    ...after.map((line) => `  ${line}`),
  ].join("\n");
}

function steadier({ cwd, home }: Places): (text: string) => string {
  const places = [
    [cwd, "{cwd}"],
    [home, "{home}"],
  ]
    .filter(([path]) => path && path !== "/")
    .sort(([a = ""], [b = ""]) => b.length - a.length);
  return (text) => {
    let result = text;
    for (const [path = "", name = ""] of places) result = result.replaceAll(path, name);
    for (const [pattern, name] of varying) result = result.replace(pattern, name);
    return result;
  };
}

function messageLines(message: LlmMessage, steady: (text: string) => string, calls: Map<string, string>): string[] {
  if (message.role === "user") return ["user:", ...contentLines(message.content, steady)];
  if (message.role === "toolResult") {
    return [`result of ${callName(message.toolCallId, calls)}${message.isError ? " (error)" : ""}:`, ...contentLines(message.content, steady)];
  }
  return message.content.flatMap((block) => {
    if (block.type === "text") return ["assistant:", ...indented(steady(block.text))];
    if (block.type === "thinking") return ["thinking:", ...indented(steady(block.thinking))];
    return [`${callName(block.id, calls)}: ${block.name} ${steady(JSON.stringify(block.arguments))}`];
  });
}

/** Calls are known by their order. */
function callName(id: string, calls: Map<string, string>): string {
  const known = calls.get(id) ?? `call ${calls.size + 1}`;
  calls.set(id, known);
  return known;
}

function contentLines(content: string | readonly UserContent[], steady: (text: string) => string): string[] {
  if (typeof content === "string") return indented(steady(content));
  return content.flatMap((block) =>
    block.type === "text" ? indented(steady(block.text)) : [`  [${block.mimeType} ${createHash("sha256").update(block.data).digest("hex").slice(0, 12)}]`],
  );
}

function indented(text: string): string[] {
  return text.split("\n").map((line) => `  ${line}`);
}

function shortened(lines: readonly string[]): string[] {
  return lines.length <= LONGEST_DIFF ? [...lines] : [...lines.slice(0, LONGEST_DIFF), `  … ${lines.length - LONGEST_DIFF} more lines`];
}
