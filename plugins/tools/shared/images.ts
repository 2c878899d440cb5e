/** Images on their way to a model: the right type, the right way up, and small enough. */
import type { ImageContent } from "../../../core/index.ts";
import { type ImageInfo, imageInfo, isWhole } from "./image-info.ts";
import { defaultLimits, type ImageLimits } from "./image-limits.ts";

/** The types that every provider takes. */
const accepted = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);
/** qualities tried after the configured one */
const furtherQualities = [85, 70, 55, 40];
/** Decoding more pixels than this would take gigabytes. */
const MAX_PIXELS = 100_000_000;

export interface Processed {
  /** undefined: it cannot be shown, and `hints` say why */
  image?: ImageContent;
  hints: string[];
  /** nothing is known about it but that it is no image we can decode */
  isUnreadable?: boolean;
}

export interface ProcessOptions {
  autoResize: boolean;
  limits?: Partial<ImageLimits>;
}

/** Makes an image fit, changing nothing about one that does. */
export async function toContent(bytes: Buffer, mimeType: string, { autoResize, limits: given }: ProcessOptions): Promise<Processed> {
  const limits = { ...defaultLimits, ...given };
  const info = imageInfo(bytes, mimeType);
  const isAccepted = accepted.has(mimeType);
  if (isAccepted && (!autoResize || (info && fits(bytes, info, limits) && isWhole(bytes, mimeType)))) return { image: toBlock(bytes, mimeType), hints: [] };
  if (info && info.width * info.height > MAX_PIXELS) return omitted(`${info.width}x${info.height} is too large to be resized`);
  const photon = await loadPhoton();
  if (!photon && info)
    return omitted(isAccepted ? `${info.width}x${info.height} exceeds the limits and cannot be resized here` : `${mimeType} cannot be converted here`);
  if (!photon) return unreadable;
  let picture: Picture;
  try {
    picture = decode(photon, bytes, info);
  } catch {
    return unreadable;
  }
  try {
    return shrink(photon, picture, mimeType, autoResize ? limits : undefined);
  } finally {
    picture.free();
  }
}

const base64Length = (bytes: number) => Math.ceil(bytes / 3) * 4;
const isTurned = (orientation: number) => orientation >= 5;

function fits(bytes: Buffer, { width, height, orientation }: ImageInfo, { maxWidth, maxHeight, maxBytes }: ImageLimits): boolean {
  const [shownWidth, shownHeight] = isTurned(orientation) ? [height, width] : [width, height];
  return shownWidth <= maxWidth && shownHeight <= maxHeight && base64Length(bytes.length) < maxBytes;
}

function toBlock(bytes: Uint8Array, mimeType: string): ImageContent {
  return { type: "image", data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"), mimeType };
}

function omitted(why: string): Processed {
  return { hints: [`[Image omitted: ${why}.]`] };
}

const unreadable: Processed = { ...omitted("it could not be decoded"), isUnreadable: true };

// ---------------------------------------------------------------- with photon

type Photon = typeof import("@silvia-odwyer/photon-node");
type Picture = InstanceType<Photon["PhotonImage"]>;

let loading: Promise<Photon | undefined> | undefined;

/** Loaded with the first image that is too large; a distribution may lack it. */
function loadPhoton(): Promise<Photon | undefined> {
  loading ??= import("@silvia-odwyer/photon-node").then(
    (module) => (module as { default?: Photon }).default ?? module,
    () => undefined,
  );
  return loading;
}

function decode(photon: Photon, bytes: Buffer, info: ImageInfo | undefined): Picture {
  const picture = photon.PhotonImage.new_from_byteslice(bytes);
  const orientation = info?.orientation ?? 1;
  if (orientation === 1) return picture;
  const turned = turn(photon, picture, orientation);
  picture.free();
  return turned;
}

/** Pixels in the order in which the camera's orientation means them. */
function turn(photon: Photon, picture: Picture, orientation: number): Picture {
  const [width, height] = [picture.get_width(), picture.get_height()];
  const [newWidth, newHeight] = isTurned(orientation) ? [height, width] : [width, height];
  const source = picture.get_raw_pixels();
  // As 32-bit words: one copy per pixel instead of four.
  const from = new Uint32Array(source.buffer, source.byteOffset, width * height);
  const to = new Uint32Array(width * height);
  for (let y = 0; y < newHeight; y++) {
    for (let x = 0; x < newWidth; x++) {
      const [sourceX, sourceY] = origin(orientation, x, y, width, height);
      to[y * newWidth + x] = from[sourceY * width + sourceX] as number;
    }
  }
  return new photon.PhotonImage(new Uint8Array(to.buffer), newWidth, newHeight);
}

/** Where the pixel shown at (x, y) lies in the stored image of this width and height. */
function origin(orientation: number, x: number, y: number, width: number, height: number): [number, number] {
  switch (orientation) {
    case 2:
      return [width - 1 - x, y];
    case 3:
      return [width - 1 - x, height - 1 - y];
    case 4:
      return [x, height - 1 - y];
    case 5:
      return [y, x];
    case 6:
      return [y, height - 1 - x];
    case 7:
      return [width - 1 - y, height - 1 - x];
    case 8:
      return [width - 1 - y, x];
    default:
      return [x, y];
  }
}

/** The first encoding that fits, at the largest size at which one does. Without limits: PNG as it is. */
function shrink(photon: Photon, picture: Picture, mimeType: string, limits: ImageLimits | undefined): Processed {
  const [originalWidth, originalHeight] = [picture.get_width(), picture.get_height()];
  const scale = limits ? Math.min(1, limits.maxWidth / originalWidth, limits.maxHeight / originalHeight) : 1;
  let width = Math.max(1, Math.round(originalWidth * scale));
  let height = Math.max(1, Math.round(originalHeight * scale));
  for (;;) {
    const resized = width === originalWidth && height === originalHeight ? undefined : photon.resize(picture, width, height, photon.SamplingFilter.Lanczos3);
    const encoded = encode(resized ?? picture, limits);
    resized?.free();
    if (encoded) {
      return { image: toBlock(encoded.bytes, encoded.mimeType), hints: hintsFor(mimeType, encoded.mimeType, originalWidth, originalHeight, width, height) };
    }
    if (width === 1 && height === 1) return omitted("it is too large in every encoding");
    width = Math.max(1, Math.floor(width * 0.75));
    height = Math.max(1, Math.floor(height * 0.75));
  }
}

function encode(picture: Picture, limits: ImageLimits | undefined): { bytes: Uint8Array; mimeType: string } | undefined {
  const png = picture.get_bytes();
  if (!limits || base64Length(png.length) < limits.maxBytes) return { bytes: png, mimeType: "image/png" };
  for (const quality of [limits.jpegQuality, ...furtherQualities]) {
    const jpeg = picture.get_bytes_jpeg(quality);
    if (base64Length(jpeg.length) < limits.maxBytes) return { bytes: jpeg, mimeType: "image/jpeg" };
  }
  return undefined;
}

function hintsFor(from: string, to: string, originalWidth: number, originalHeight: number, width: number, height: number): string[] {
  const hints: string[] = [];
  if (!accepted.has(from)) hints.push(`[Image converted from ${from} to ${to}.]`);
  if (width !== originalWidth || height !== originalHeight) {
    const factor = (originalWidth / width).toFixed(2);
    const sizes = `original ${originalWidth}x${originalHeight}, displayed at ${width}x${height}`;
    hints.push(`[Image: ${sizes}. Multiply coordinates by ${factor} to map to original image.]`);
  }
  return hints;
}
