/** Makes the images of a prompt or a result fit. */
import type { ImageContent, PluginKernel, PromptDraft, ToolOutcome, UserContent } from "../../../core/index.ts";
import type {} from "../../settings/contract.ts";
import { detectImage, HEAD_BYTES } from "../shared/image-info.ts";
import { defaultLimits, limitsOf } from "../shared/image-limits.ts";
import { type Processed, toContent } from "../shared/images.ts";

export async function fitPrompt(kernel: PluginKernel, draft: PromptDraft): Promise<void> {
  const processed = await Promise.all(draft.images.map((image) => madeToFit(kernel, image)));
  const hints = processed.flatMap(({ hints }) => hints);
  draft.images = processed.flatMap(({ image }) => (image ? [image] : []));
  if (hints.length > 0) draft.text = [draft.text, ...hints].filter((line) => line !== "").join("\n");
}

export async function fitResult(kernel: PluginKernel, outcome: ToolOutcome): Promise<ToolOutcome> {
  const blocks = await Promise.all(outcome.content.map((block) => (block.type === "image" ? withHints(kernel, block) : [block])));
  return { ...outcome, content: blocks.flat() };
}

/** What a tool gave is kept if nothing can be done about it. */
async function withHints(kernel: PluginKernel, block: ImageContent): Promise<UserContent[]> {
  const { image, hints } = await madeToFit(kernel, block);
  if (!image) return [block];
  return hints.length > 0 ? [image, { type: "text", text: hints.join("\n") }] : [image];
}

async function madeToFit(kernel: PluginKernel, image: ImageContent): Promise<Processed> {
  if (typeof image.data !== "string") return { image, hints: [] };
  const processed = await readableFit(kernel, image);
  // Small and not understood: the provider may know better.
  const isSmall = image.data.length < (limitsOf(kernel.tryService("model")?.current())?.maxBytes ?? defaultLimits.maxBytes);
  return processed.isUnreadable && isSmall ? { image, hints: [] } : processed;
}

/** For images that were found by their bytes, as in a file: one that cannot be decoded is damaged, and is left out. */
export async function readableFit(kernel: PluginKernel, image: ImageContent): Promise<Processed> {
  const bytes = Buffer.from(image.data, "base64");
  const mimeType = detectImage(bytes.subarray(0, HEAD_BYTES)) ?? image.mimeType;
  const autoResize = kernel.tryService("settings")?.get<boolean>("images.autoResize") !== false;
  return toContent(bytes, mimeType, { autoResize, limits: limitsOf(kernel.tryService("model")?.current()) });
}
