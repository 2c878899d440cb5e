/** Images: recognised by content, brought into the model's limits, with hints on what was done. */
import { randomFillSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { ImageContent, ToolResult } from "../../core/index.ts";
import { createReadTool, type ReadToolOptions } from "../../plugins/tools/definitions/read.ts";
import { detectImage, imageInfo } from "../../plugins/tools/shared/image-info.ts";
import { toContent } from "../../plugins/tools/shared/images.ts";
import { runPi, startRpc, tempDir } from "../helpers/pi.ts";
import { recordingModel } from "../helpers/recording-model.ts";

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

function crc(data: Buffer): number {
  let value = ~0;
  for (const byte of data) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  }
  return ~value >>> 0;
}

function png(width: number, height: number, { isNoise = false, isAnimated = false } = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.alloc(height * (1 + width * 3));
  if (isNoise) randomFillSync(rows);
  for (let row = 0; row < height; row++) rows[row * (1 + width * 3)] = 0;
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    ...(isAnimated ? [chunk("acTL", Buffer.alloc(8))] : []),
    chunk("IDAT", deflateSync(rows, { level: isNoise ? 0 : 6 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** 24 bits; the pixel at the top left is red, all others blue. */
function bmp(width: number, height: number): Buffer {
  const stride = Math.ceil((width * 3) / 4) * 4;
  const file = Buffer.alloc(54 + stride * height);
  file.write("BM", "latin1");
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(54, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(width, 18);
  file.writeInt32LE(height, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(24, 28);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      // Rows go from the bottom to the top.
      const at = 54 + (height - 1 - y) * stride + x * 3;
      file.set(x === 0 && y === 0 ? [0, 0, 255] : [255, 0, 0], at);
    }
  }
  return file;
}

const photon = async () => {
  const module = (await import("@silvia-odwyer/photon-node")) as any;
  return module.default ?? module;
};

/** A photograph, wide, red at its left edge, with the camera's orientation. */
async function jpeg(width: number, height: number, orientation: number): Promise<Buffer> {
  const { PhotonImage } = await photon();
  const pixels = new Uint8Array(width * height * 4);
  for (let at = 0; at < pixels.length; at += 4) pixels.set((at / 4) % width < width / 4 ? [255, 0, 0, 255] : [0, 0, 255, 255], at);
  const plain = Buffer.from(new PhotonImage(pixels, width, height).get_bytes_jpeg(90));
  const exif = Buffer.from(`45786966000049492a0008000000010012010300010000000${orientation}00000000000000`, "hex");
  const length = Buffer.alloc(2);
  length.writeUInt16BE(exif.length + 2);
  return Buffer.concat([plain.subarray(0, 2), Buffer.from([0xff, 0xe1]), length, exif, plain.subarray(2)]);
}

async function read(content: Buffer, name = "picture", options: ReadToolOptions = {}) {
  const dir = tempDir();
  writeFileSync(join(dir, name), content);
  const result = (await createReadTool(dir, options).execute("1", { path: name })) as ToolResult;
  const image = result.content.find((block): block is ImageContent => block.type === "image");
  const [first] = result.content;
  return { text: first?.type === "text" ? first.text : "", image, bytes: Buffer.from(image?.data ?? "", "base64"), result };
}

describe("recognition", () => {
  it("goes by content, not by name", async () => {
    expect((await read(png(3, 2), "picture.txt")).text).toBe("Read image file [image/png]");
    expect((await read(Buffer.from("plain"), "picture.png")).text).toBe("plain");
    expect((await read(Buffer.from("BMW is a car maker, and this is a text"), "text")).text).toContain("car maker");
    expect(detectImage(Buffer.from("GIF89a"))).toBe("image/gif");
    expect(detectImage(Buffer.from("RIFF\0\0\0\0WEBPVP8 "))).toBe("image/webp");
    expect(detectImage(png(1, 1, { isAnimated: true }))).toBeUndefined();
  });

  it("reads sizes and orientation from headers", async () => {
    expect(imageInfo(png(300, 200), "image/png")).toEqual({ width: 300, height: 200, orientation: 1 });
    expect(imageInfo(bmp(5, 4), "image/bmp")).toEqual({ width: 5, height: 4, orientation: 1 });
    expect(imageInfo(await jpeg(40, 20, 6), "image/jpeg")).toEqual({ width: 40, height: 20, orientation: 6 });
    const { PhotonImage } = await photon();
    const webp = Buffer.from(new PhotonImage(new Uint8Array(7 * 5 * 4), 7, 5).get_bytes_webp());
    expect(imageInfo(webp, "image/webp")).toEqual({ width: 7, height: 5, orientation: 1 });
    expect(imageInfo(Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), "image/png")).toBeUndefined();
  });
});

describe("read", () => {
  it("passes an image on that is within the limits", async () => {
    const { image, bytes } = await read(png(2000, 2000));
    expect(image?.mimeType).toBe("image/png");
    expect(bytes.equals(png(2000, 2000))).toBe(true);
  });

  it("scales a large one down and tells how to map coordinates", async () => {
    const { text, bytes } = await read(png(3000, 1500));
    expect(text).toBe(
      "Read image file [image/png]\n[Image: original 3000x1500, displayed at 2000x1000. Multiply coordinates by 1.50 to map to original image.]",
    );
    expect(imageInfo(bytes, "image/png")).toMatchObject({ width: 2000, height: 1000 });
  });

  it("turns a photograph upright before it scales it", async () => {
    const { text, bytes, image } = await read(await jpeg(2400, 1200, 6));
    expect(text).toContain("original 1200x2400, displayed at 1000x2000");
    const { PhotonImage } = await photon();
    const picture = PhotonImage.new_from_byteslice(bytes);
    const pixels = picture.get_raw_pixels();
    // Turned clockwise, the left edge comes to the top.
    expect(pixels[0]).toBeGreaterThan(200);
    expect(pixels[pixels.length - 2]).toBeGreaterThan(200);
    expect(image?.mimeType).toBe("image/png");
  });

  it("leaves a small photograph as it is, whatever its orientation", async () => {
    const original = await jpeg(40, 20, 6);
    expect((await read(original)).bytes.equals(original)).toBe(true);
  });

  it("converts BMP and says so", async () => {
    const { text, bytes, image } = await read(bmp(4, 3), "a.bmp");
    expect(text).toBe("Read image file [image/png]\n[Image converted from image/bmp to image/png.]");
    expect(image?.mimeType).toBe("image/png");
    const { PhotonImage } = await photon();
    expect([...PhotonImage.new_from_byteslice(bytes).get_raw_pixels().slice(0, 8)]).toEqual([255, 0, 0, 255, 0, 0, 255, 255]);
  });

  it("takes JPEG where PNG would be too many bytes, and smaller sizes where both are", async () => {
    const noise = png(1400, 1400, { isNoise: true });
    const large = await toContent(noise, "image/png", { autoResize: true });
    expect(large.image?.mimeType).toBe("image/jpeg");
    expect(large.image?.data.length).toBeLessThan(4.5 * 1024 * 1024);
    const tiny = await toContent(png(200, 200, { isNoise: true }), "image/png", { autoResize: true, limits: { maxBytes: 3000 } });
    expect(tiny.image?.data.length).toBeLessThan(3000);
    expect(tiny.hints[0]).toMatch(/original 200x200, displayed at \d+x\d+/);
  });

  it("follows the model's own limits and the switch", async () => {
    expect((await read(png(300, 100), "a", { resizeOptions: { maxWidth: 150 } })).text).toContain("displayed at 150x50. Multiply coordinates by 2.00");
    expect((await read(png(2500, 10), "a", { autoResizeImages: false })).text).toBe("Read image file [image/png]");
    expect((await read(png(1, 1), "a", { modelSeesImages: false })).result.content).toMatchObject([
      { text: expect.stringContaining("cannot see images") },
      { type: "image" },
    ]);
  });

  it("leaves out what cannot be shown, with a note", async () => {
    const damaged = png(3000, 3000).subarray(0, 200);
    const { text, image } = await read(damaged);
    expect(text).toMatch(/^Read image file \[image\/png\]\n\[Image omitted: /);
    expect(image).toBeUndefined();
    // Small enough, but providers refuse it, and with it the whole conversation.
    expect((await read(png(100, 100).subarray(0, 60))).text).toContain("[Image omitted: it could not be decoded.]");
    const header = png(1, 1);
    header.writeUInt32BE(60_000, 16);
    header.writeUInt32BE(60_000, 20);
    expect((await read(header)).text).toContain("[Image omitted: 60000x60000 is too large");
  });
});

describe("images.blockImages", () => {
  const images = [1, 2].map(() => ({ type: "image", data: png(2, 2).toString("base64"), mimeType: "image/png" }));
  const agentFiles = { "settings.json": JSON.stringify({ images: { blockImages: true } }) };

  it("holds for embedded models, and the conversation keeps the images", async () => {
    const model = recordingModel();
    const rpc = startRpc({ args: model.args, agentFiles });
    await rpc.prompt("Look", { images });
    const sent = model.requests()[0]?.messages.at(-1).content;
    expect(sent).toEqual([
      { type: "text", text: "Look" },
      { type: "text", text: "Image reading is disabled." },
    ]);
    const [message] = (await rpc.ask("get_messages")).messages;
    expect(message.content.filter(({ type }: { type: string }) => type === "image")).toHaveLength(2);
  });

  it("holds for the providers of extensions", async () => {
    const provider = `import { createAssistantMessageEventStream } from "@mariozechner/pi-ai";
      export default (pi) => pi.registerProvider("own", { baseUrl: "http://x", apiKey: "k", api: "own-api",
        models: [{ id: "m", name: "m", reasoning: false, input: ["text", "image"], contextWindow: 1000, maxTokens: 100, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }],
        streamSimple(model, context) {
          const stream = createAssistantMessageEventStream();
          const kinds = context.messages.at(-1).content.map(({ type }) => type).join();
          const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
          const message = { role: "assistant", content: [{ type: "text", text: kinds }], api: model.api, provider: model.provider, model: model.id, usage, stopReason: "stop", timestamp: Date.now() };
          queueMicrotask(() => { stream.push({ type: "start", partial: message }); stream.push({ type: "done", reason: "stop", message }); stream.end(); });
          return stream;
        } });`;
    const ask = async (files: Record<string, string>) => {
      const rpc = startRpc({ args: ["--model", "own/m"], agentFiles: { ...files, "extensions/own.ts": provider } });
      await rpc.prompt("Look", { images });
      return (await rpc.ask("get_last_assistant_text")).text;
    };
    expect(await ask({})).toBe("text,image,image");
    expect(await ask(agentFiles)).toBe("text,text");
  });
});

it("what was done to an image of the command line stands in its file's tag", async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, "wide.png"), png(3000, 10));
  writeFileSync(join(cwd, "small.png"), png(3, 3));
  // Half a download: providers refuse it, and with it every request of the session.
  writeFileSync(join(cwd, "half.png"), png(3, 3).subarray(0, 50));
  writeFileSync(
    join(cwd, "model.ts"),
    "export default ({ messages }) => JSON.stringify(messages.at(-1).content.map((block) => block.text ?? block.mimeType));",
  );
  const { stdout } = await runPi({ cwd, args: ["-p", "--model", "scripted/model.ts", "@wide.png", "@small.png", "@half.png", "Compare"] });
  const hint = "[Image: original 3000x10, displayed at 2000x7. Multiply coordinates by 1.50 to map to original image.]";
  const omitted = `<file name="${cwd}/half.png">[Image omitted: it could not be decoded.]</file>`;
  const tags = `<file name="${cwd}/wide.png">${hint}</file>\n<file name="${cwd}/small.png"></file>\n${omitted}`;
  expect(JSON.parse(stdout)).toEqual([`${tags}\n\nCompare`, "image/png", "image/png"]);
});
