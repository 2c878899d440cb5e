/** What an image's first bytes tell: its type, its size, and how a camera held it. */

/** as many bytes as recognition looks at */
export const HEAD_BYTES = 4100;

export interface ImageInfo {
  width: number;
  height: number;
  /** EXIF orientation, 1 to 8 */
  orientation: number;
}

/** The media type by content, whatever the name says; undefined for anything that models do not take. */
export function detectImage(head: Buffer): string | undefined {
  if (head.length >= 3 && head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff) return "image/jpeg";
  if (isPng(head)) return isAnimated(head) ? undefined : "image/png";
  if (["GIF87a", "GIF89a"].includes(head.toString("latin1", 0, 6))) return "image/gif";
  if (head.toString("latin1", 0, 4) === "RIFF" && head.toString("latin1", 8, 12) === "WEBP") return "image/webp";
  return isBmp(head) ? "image/bmp" : undefined;
}

/** Size and orientation; undefined if the header is damaged. */
export function imageInfo(bytes: Buffer, mimeType: string): ImageInfo | undefined {
  try {
    const info = readers[mimeType]?.(bytes);
    return info && info.width > 0 && info.height > 0 ? info : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const readers: Record<string, (bytes: Buffer) => ImageInfo | undefined> = {
  "image/png": (bytes) => (isPng(bytes) ? upright(bytes.readUInt32BE(16), bytes.readUInt32BE(20)) : undefined),
  "image/gif": (bytes) => upright(bytes.readUInt16LE(6), bytes.readUInt16LE(8)),
  "image/bmp": (bytes) => upright(Math.abs(bytes.readInt32LE(18)), Math.abs(bytes.readInt32LE(22))),
  "image/webp": webpInfo,
  "image/jpeg": jpegInfo,
};

/** Whether a file reaches its own end, as far as that can be told without decoding it: half a download does not. */
export function isWhole(bytes: Buffer, mimeType: string): boolean {
  return ends[mimeType]?.(bytes) ?? true;
}

const ends: Record<string, (bytes: Buffer) => boolean> = {
  "image/png": (bytes) => bytes.lastIndexOf("IEND", undefined, "latin1") > 0,
  "image/gif": (bytes) => bytes.lastIndexOf(0x3b) > 12,
  "image/webp": (bytes) => bytes.length >= bytes.readUInt32LE(4) + 8,
  "image/jpeg": (bytes) => bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > 0,
};

const upright = (width: number, height: number): ImageInfo => ({ width, height, orientation: 1 });

function isPng(bytes: Buffer): boolean {
  return bytes.length >= 8 && bytes.readUInt32BE(0) === 0x89504e47 && bytes.readUInt32BE(4) === 0x0d0a1a0a;
}

/** An animated PNG has an `acTL` chunk before its first image data. */
function isAnimated(png: Buffer): boolean {
  for (let at = 8; at + 8 <= png.length; at += 12 + png.readUInt32BE(at)) {
    const type = png.toString("latin1", at + 4, at + 8);
    if (type === "acTL") return true;
    if (type === "IDAT") return false;
  }
  return false;
}

/** "BM" alone is too little: texts begin with it too. The size of the second header must be a known one. */
function isBmp(bytes: Buffer): boolean {
  if (bytes.length < 26 || bytes.toString("latin1", 0, 2) !== "BM") return false;
  return [12, 40, 52, 56, 64, 108, 124].includes(bytes.readUInt32LE(14));
}

function webpInfo(bytes: Buffer): ImageInfo | undefined {
  const format = bytes.toString("latin1", 12, 16);
  if (format === "VP8X") return upright(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1);
  if (format === "VP8 ") return upright(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
  if (format !== "VP8L") return undefined;
  const packed = bytes.readUInt32LE(21);
  return upright((packed & 0x3fff) + 1, ((packed >> 14) & 0x3fff) + 1);
}

/** Walks the segments up to the frame header, picking up the orientation on the way. */
function jpegInfo(bytes: Buffer): ImageInfo | undefined {
  let orientation = 1;
  for (let at = 2; at + 9 < bytes.length; ) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] as number;
    // fill bytes, and markers without content
    if (marker === 0xff || (marker >= 0xd0 && marker <= 0xd8) || marker === 0x01) {
      at += marker === 0xff ? 1 : 2;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5), orientation };
    const length = bytes.readUInt16BE(at + 2);
    const isExif = marker === 0xe1 && bytes.toString("latin1", at + 4, at + 10) === "Exif\0\0";
    if (isExif) orientation = exifOrientation(bytes.subarray(at + 10, at + 2 + length)) ?? orientation;
    at += 2 + length;
  }
  return undefined;
}

function exifOrientation(tiff: Buffer): number | undefined {
  const isLittle = tiff.toString("latin1", 0, 2) === "II";
  const short = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const long = (at: number) => (isLittle ? tiff.readUInt32LE(at) : tiff.readUInt32BE(at));
  try {
    const directory = long(4);
    for (let index = 0; index < short(directory); index++) {
      const entry = directory + 2 + index * 12;
      if (short(entry) !== 0x0112) continue;
      const value = short(entry + 8);
      return value >= 1 && value <= 8 ? value : undefined;
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return undefined;
}
