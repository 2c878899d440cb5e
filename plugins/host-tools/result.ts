/** What a host may answer: a result object, or a plain string that stands for one text block. */
import { type ToolResult, textBlock, type UserContent } from "../../core/index.ts";
import { type ReportedUsage, wholeUsage } from "../shared/usage.ts";

/** The result in our words; undefined if it is none. */
export function readResult(given: unknown): ToolResult | undefined {
  if (typeof given === "string") return { content: [textBlock(given)] };
  if (!isObject(given) || !Array.isArray(given.content)) return undefined;
  const content = given.content.map(readBlock);
  if (!content.every((block) => block !== undefined)) return undefined;
  const { details, usage } = given;
  if (usage !== undefined && !isUsage(usage)) return undefined;
  return { content, ...(details !== undefined && { details }), ...(usage !== undefined && { usage: wholeUsage(usage) }) };
}

/** Images may come in both spellings that prompts accept. */
function readBlock(block: unknown): UserContent | undefined {
  if (!isObject(block)) return undefined;
  if (block.type === "text" && typeof block.text === "string") return textBlock(block.text);
  if (block.type !== "image") return undefined;
  const source = isObject(block.source) && block.source.type === "base64" ? { data: block.source.data, mimeType: block.source.mediaType } : block;
  if (typeof source.data !== "string" || typeof source.mimeType !== "string") return undefined;
  return { type: "image", data: source.data.replace(/^data:[^,]*,/, ""), mimeType: source.mimeType };
}

function isUsage(value: unknown): value is ReportedUsage {
  if (!isObject(value) || !isObject(value.cost)) return false;
  return areNumbers(value, ["input", "output", "cacheRead", "cacheWrite"]) && areNumbers(value.cost, ["total"]);
}

function areNumbers(value: Record<string, unknown>, names: string[]): boolean {
  return names.every((name) => Number.isFinite(value[name]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
