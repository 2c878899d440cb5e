/** What `read` does: finds out what a file is, and shows the part that was asked for. */
import type { ToolResult } from "../../../core/index.ts";
import { DEFAULT_MAX_BYTES, formatSize, type TruncationResult, truncateHead } from "../../shared/truncate.ts";
import type { ReadDetails, ReadOperations, ReadParams, ReadToolOptions } from "../definitions/read.ts";
import { checkAbort, text } from "../shared/definition.ts";
import { openRegular, readSmall } from "../shared/files.ts";
import { detectImage, HEAD_BYTES } from "../shared/image-info.ts";
import { toContent } from "../shared/images.ts";
import { chunksOf, type Excerpt, excerpt } from "../shared/lines.ts";
import { resolveExisting } from "../shared/paths.ts";

/** More than this many bytes of an image file are not decoded. */
const MAX_IMAGE_BYTES = 64 * 1024 * 1024;
/** Kept beyond the limit, so that the cut is noticed. */
const MARGIN = 8;

export async function read(cwd: string, params: ReadParams, options: ReadToolOptions, signal?: AbortSignal): Promise<ToolResult<ReadDetails>> {
  checkAbort(signal);
  return options.operations ? readWith(options.operations, cwd, params, options, signal) : readLocal(cwd, params, options, signal);
}

async function readLocal(cwd: string, params: ReadParams, options: ReadToolOptions, signal?: AbortSignal): Promise<ToolResult<ReadDetails>> {
  const path = await resolveExisting(params.path, cwd);
  const small = await readSmall(path);
  if (small) return bytesResult(small, imageTypeOf(small), params, options);
  const file = await openRegular(path);
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    const { bytesRead } = await file.read(head, 0, HEAD_BYTES, 0);
    const mimeType = detectImage(head.subarray(0, bytesRead));
    if (!mimeType) return textResult(params, await excerpt(chunksOf(file, signal), selection(params)));
    const { size } = await file.stat();
    if (size > MAX_IMAGE_BYTES) return omitted(mimeType, `the file has ${formatSize(size)}`);
    return await imageResult(await file.readFile(), mimeType, options);
  } finally {
    await file.close();
  }
}

async function readWith(
  operations: ReadOperations,
  cwd: string,
  params: ReadParams,
  options: ReadToolOptions,
  signal?: AbortSignal,
): Promise<ToolResult<ReadDetails>> {
  const exists = (candidate: string) =>
    operations.access(candidate).then(
      () => true,
      () => false,
    );
  const path = await resolveExisting(params.path, cwd, exists);
  await operations.access(path);
  checkAbort(signal);
  const bytes = await operations.readFile(path);
  checkAbort(signal);
  return bytesResult(bytes, operations.detectImageMimeType ? await operations.detectImageMimeType(path) : imageTypeOf(bytes), params, options);
}

const imageTypeOf = (bytes: Buffer) => detectImage(bytes.subarray(0, HEAD_BYTES));

async function bytesResult(bytes: Buffer, mimeType: string | null | undefined, params: ReadParams, options: ReadToolOptions): Promise<ToolResult<ReadDetails>> {
  if (mimeType) return imageResult(bytes, mimeType, options);
  return textResult(params, await excerpt([bytes], selection(params)));
}

function selection({ offset, limit }: ReadParams) {
  const start = Math.max(0, Math.trunc(offset ?? 1) - 1);
  return { start, ...(limit !== undefined && { limit: Math.max(0, Math.trunc(limit)) }), maxBytes: DEFAULT_MAX_BYTES + MARGIN };
}

/** The lines with a word on what is missing and how to get it. The details do not repeat the text: it would double every session file. */
function textResult(params: ReadParams, found: Excerpt): ToolResult<ReadDetails> {
  const { start, limit } = selection(params);
  const { totalLines } = found;
  if (start >= totalLines) throw new Error(`Offset ${params.offset} is beyond end of file (${totalLines} lines total)`);
  const first = start + 1;
  const truncation: TruncationResult = { ...truncateHead(found.bytes.toString("utf8")), totalLines: found.selectedLines, totalBytes: found.selectedBytes };
  const details = { truncation: { ...truncation, content: "" } };
  if (truncation.firstLineExceedsLimit) {
    const size = formatSize(found.firstLineBytes);
    const advice = `Use bash: sed -n '${first}p' ${params.path} | head -c ${DEFAULT_MAX_BYTES}`;
    return { ...text(`[Line ${first} is ${size}, exceeds ${formatSize(DEFAULT_MAX_BYTES)} limit. ${advice}]`), details };
  }
  if (truncation.truncated) {
    const last = start + truncation.outputLines;
    const why = truncation.truncatedBy === "bytes" ? ` (${formatSize(DEFAULT_MAX_BYTES)} limit)` : "";
    const notice = `[Showing lines ${first}-${last} of ${totalLines}${why}. Use offset=${last + 1} to continue.]`;
    return { ...text(`${truncation.content}\n\n${notice}`), details };
  }
  if (limit !== undefined && start + limit < totalLines) {
    const rest = totalLines - start - limit;
    return text(`${truncation.content}\n\n[${rest} more lines in file. Use offset=${start + limit + 1} to continue.]`);
  }
  return text(truncation.content);
}

async function imageResult(bytes: Buffer, mimeType: string, options: ReadToolOptions): Promise<ToolResult<ReadDetails>> {
  const { image, hints } = await toContent(bytes, mimeType, { autoResize: options.autoResizeImages !== false, limits: options.resizeOptions });
  const lines = [`Read image file [${image?.mimeType ?? mimeType}]`, ...hints];
  if (options.modelSeesImages === false) lines.push("[The current model cannot see images. The image will be left out of the request.]");
  return { content: [{ type: "text", text: lines.join("\n") }, ...(image ? [image] : [])] };
}

function omitted(mimeType: string, why: string): ToolResult<ReadDetails> {
  return text(`Read image file [${mimeType}]\n[Image omitted: ${why}, which is too large to be shown.]`);
}
