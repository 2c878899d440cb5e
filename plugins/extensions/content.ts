/** Content of messages and results as extensions write it, who are not always type-checked. */
import type { UserContent } from "../../core/index.ts";
import { assertJson } from "./json.ts";

/** The block as the kernel knows it; `whose` begins the complaint about anything else. */
export function checkedBlock(given: unknown, whose: string): UserContent {
  const block = contentBlock(given);
  if (!block) throw new TypeError(`${whose} a content block that is neither text nor image.`);
  return block;
}

/** The block as the kernel knows it; undefined if it is neither text nor image. */
function contentBlock(block: unknown): UserContent | undefined {
  if (typeof block === "string") return { type: "text", text: block };
  const { type, text, data, mimeType } = (block ?? {}) as Record<string, unknown>;
  if (type === "text") return typeof text === "string" ? writable(block) : { type: "text", text: text === undefined || text === null ? "" : String(text) };
  if (type === "image" && typeof data === "string" && typeof mimeType === "string") return writable(block);
  return undefined;
}

/** A block may have fields that we do not know. */
function writable(block: unknown): UserContent {
  if (Object.values(block as object).some((value) => typeof value !== "string")) assertJson(block, "content block");
  return block as UserContent;
}

/** The content of a message: a text, or blocks. Throws a sentence otherwise. */
export function messageContent(content: unknown): string | UserContent[] {
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content;
  const blocks = Array.isArray(content) ? content.map(contentBlock) : [undefined];
  if (blocks.every((block) => block !== undefined)) return blocks;
  throw new TypeError("The content of a message must be a text or a list of text and image blocks.");
}
