/** Attachments, the oldest way to send files: images become image blocks, documents become text blocks. */
import { type Attachment, type ImageContent, KernelError, type TextContent, textBlock } from "../../core/index.ts";

const textTypes = /^(text\/|application\/(json|xml)$)/;

export function readAttachments(attachments: readonly Attachment[]): { images: ImageContent[]; documents: TextContent[] } {
  return {
    images: attachments.filter(({ type }) => type === "image").map(({ content, mimeType }) => ({ type: "image", data: content, mimeType })),
    documents: attachments.filter(({ type }) => type === "document").map((document) => textBlock(wrapped(document))),
  };
}

function wrapped(document: Attachment): string {
  return `<attachment name="${document.fileName}">\n${textOf(document)}\n</attachment>`;
}

function textOf({ fileName, mimeType, content, extractedText }: Attachment): string {
  if (typeof extractedText === "string") return extractedText;
  // Parameters such as the character set do not change what kind it is.
  if (textTypes.test(mimeType.split(";", 1)[0]?.trim() ?? "")) return Buffer.from(content, "base64").toString("utf8");
  throw new KernelError("E_REFUSED", `Unsupported attachment: ${fileName} (${mimeType})`);
}
