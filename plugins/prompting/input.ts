/** A prompt's parameters in the kernel's words. */
import { Type } from "typebox";
import { type Attachment, KernelError, type PluginKernel, type PromptInput } from "../../core/index.ts";
import { attachmentSchema, imageInputSchema } from "../shared/schemas.ts";
import { readAttachments } from "./attachments.ts";
import { type ImageInput, loadImages } from "./images.ts";

export interface PromptParams {
  message: string;
  images?: ImageInput[];
  attachments?: Attachment[];
}

export const messageParams = () => ({ message: Type.String(), images: Type.Optional(Type.Array(imageInputSchema())) });
export const attachmentParams = () => ({ attachments: Type.Optional(Type.Array(attachmentSchema())) });

/** The last check of parameters: a prompt says something. */
export function checkMessage({ message, images = [], attachments = [] }: PromptParams): void {
  if (message.trim() !== "" || images.length > 0 || attachments.length > 0) return;
  throw new KernelError("E_PARAMETER", 'Invalid parameter "message": expected a non-empty string');
}

/** Loads what must be loaded. Throws the sentence of what cannot. */
export async function readPrompt({ message, images = [], attachments = [] }: PromptParams, kernel: PluginKernel, signal: AbortSignal): Promise<PromptInput> {
  const attached = readAttachments(attachments);
  const loaded = await loadImages([...images, ...attached.images], kernel, signal);
  return {
    text: message,
    ...(loaded.length > 0 && { images: loaded }),
    ...(attached.documents.length > 0 && { blocks: attached.documents }),
    ...(attachments.length > 0 && { extra: { attachments } }),
    source: "rpc",
  };
}
