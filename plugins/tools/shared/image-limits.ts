/** How large images may be. */
import type { Model } from "../../../core/index.ts";

export interface ImageLimits {
  maxWidth: number;
  maxHeight: number;
  /** of the base64 text */
  maxBytes: number;
  jpegQuality: number;
}

export const defaultLimits: ImageLimits = { maxWidth: 2000, maxHeight: 2000, maxBytes: 4.5 * 1024 * 1024, jpegQuality: 80 };

/** What a model asks for, if its metadata says. */
export function limitsOf(model: Model | undefined): Partial<ImageLimits> | undefined {
  const images = model?.inputLimits?.images as { resize?: Partial<ImageLimits> } | undefined;
  return images?.resize;
}
