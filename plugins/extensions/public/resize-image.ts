/** `resizeImage`: an image within limits, as bytes or as a block of content; null if it cannot be decoded. */
import type { ImageContent } from "../../../core/index.ts";
import { imageInfo } from "../../tools/shared/image-info.ts";
import type { ImageLimits } from "../../tools/shared/image-limits.ts";
import { toContent } from "../../tools/shared/images.ts";

export interface ResizedImage {
  /** base64 */
  data: string;
  mimeType: string;
  originalWidth: number;
  originalHeight: number;
  width: number;
  height: number;
  wasResized: boolean;
}

/** Newer extensions give bytes and their type, older ones a block. */
export async function resizeImage(
  ...given: [image: ImageContent, limits?: Partial<ImageLimits>] | [bytes: Uint8Array, mimeType: string, limits?: Partial<ImageLimits>]
): Promise<ResizedImage | null> {
  const [image] = given;
  const isBlock = "data" in image;
  const bytes = isBlock ? Buffer.from(image.data, "base64") : Buffer.from(image);
  const mimeType = isBlock ? image.mimeType : String(given[1]);
  const limits = (isBlock ? given[1] : given[2]) as Partial<ImageLimits> | undefined;
  const before = imageInfo(bytes, mimeType);
  const { image: result } = await toContent(bytes, mimeType, { autoResize: true, ...(limits && { limits }) });
  if (!before || !result) return null;
  const { width, height } = imageInfo(Buffer.from(result.data, "base64"), result.mimeType) ?? before;
  const { data, mimeType: type } = result;
  const [originalWidth, originalHeight] = [before.width, before.height];
  return { data, mimeType: type, originalWidth, originalHeight, width, height, wasResized: width !== originalWidth || height !== originalHeight };
}
