/** `@file` arguments of the command line: texts become blocks of the prompt, images become attachments. */
import { readFile } from "node:fs/promises";
import { type ImageContent, KernelError } from "../../core/index.ts";
import { expandPath, homeDirectory } from "./paths.ts";

export interface FileArguments {
  /** the blocks, one after the other; empty if there are none */
  text: string;
  images: ImageContent[];
}

/** Makes an image fit and says what that takes. */
export type PrepareImage = (image: ImageContent) => Promise<{ image?: ImageContent; hints: string[] }>;

const asItIs: PrepareImage = async (image) => ({ image, hints: [] });

/** Reads the files in their order. A missing file is an error; an empty one is skipped. */
export async function readFileArguments(files: readonly string[], cwd: string, home = homeDirectory(), prepare = asItIs): Promise<FileArguments> {
  const blocks: string[] = [];
  const images: ImageContent[] = [];
  for (const file of files) {
    const path = expandPath(file, cwd, home);
    const data = await read(path, file);
    if (data.length === 0) continue;
    const mimeType = imageType(data);
    if (!mimeType) {
      blocks.push(`<file name="${path}">\n${data.toString("utf8").replace(/^\uFEFF/, "")}\n</file>`);
      continue;
    }
    const { image, hints } = await prepare({ type: "image", data: data.toString("base64"), mimeType });
    if (image) images.push(image);
    blocks.push(`<file name="${path}">${hints.join("\n")}</file>`);
  }
  return { text: blocks.join("\n"), images };
}

async function read(path: string, given: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const reasons: Record<string, string> = { ENOENT: "File not found", EISDIR: "Is a directory, not a file", EACCES: "Not allowed to read" };
    const { code = "", message } = error as NodeJS.ErrnoException;
    throw new KernelError("E_USAGE", reasons[code] ? `${reasons[code]}: ${path}` : `Cannot read @${given}: ${message}`);
  }
}

/** The type of an image by its first bytes; names say nothing. An animated PNG counts as a file. */
function imageType(data: Buffer): string | undefined {
  const starts = (bytes: string, at = 0) => data.subarray(at, at + bytes.length).equals(Buffer.from(bytes, "latin1"));
  if (starts("\xff\xd8\xff")) return "image/jpeg";
  if (starts("\x89PNG\r\n\x1a\n")) return data.subarray(0, 4100).includes("acTL") ? undefined : "image/png";
  if (starts("GIF87a") || starts("GIF89a")) return "image/gif";
  if (starts("RIFF") && starts("WEBP", 8)) return "image/webp";
  if (starts("BM") && data.length >= 26 && data.readUInt32LE(10) < data.length) return "image/bmp";
  return undefined;
}
