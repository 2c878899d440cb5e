/** Images and attachments on their way into a message. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { Plugin, Transcript } from "../../core/index.ts";
import { type MemoryRpc, memoryRpc } from "../helpers/memory-rpc.ts";

const PIXEL = "iVBORw0KGgo=";
const messages: any[] = [];

/** Takes prompts and answers nothing. */
const conversation: Plugin = {
  name: "conversation",
  apply(kernel) {
    const transcript: Transcript = { sessionId: () => "s", messages: () => messages, append: (message) => void messages.push(message) };
    kernel.provide("transcript", transcript);
    kernel.provide("model", { current: () => ({ id: "m", name: "M", api: "none", provider: "p" }) as any, thinkingLevel: () => "off" });
    kernel.registry("providers").add({
      name: "none",
      async *stream() {
        yield* [];
      },
    });
  },
};

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Sends a prompt and answers the user message that it became. */
async function submit(rpc: MemoryRpc, params: object): Promise<any> {
  const from = rpc.frames.length;
  rpc.send({ id: from, type: "prompt", ...params });
  const response = await rpc.response(from);
  if (!response.success) return response.error;
  const { message } = await rpc.find(({ type, message }) => type === "message_end" && message.role === "user", from);
  await rpc.find(({ type }) => type === "agent_settled", from);
  return message;
}

const url = (address: string) => ({ message: "look", images: [{ type: "image", source: { type: "url", url: address } }] });
const flat = { type: "image", data: PIXEL, mimeType: "image/png" };
const text = { type: "text", text: "look" };

test("all three shapes of images become the flat one", async () => {
  const rpc = await memoryRpc([conversation]);
  const address = await serve((_, response) => response.setHeader("content-type", "image/png; x=y").end(Buffer.from(PIXEL, "base64")));
  const nested = { type: "image", source: { type: "base64", mediaType: "image/png", data: PIXEL } };
  const prefixed = { ...flat, data: `data:image/png;base64,${PIXEL}` };
  expect((await submit(rpc, { message: "look", images: [flat, nested, prefixed] })).content).toEqual([text, flat, flat, flat]);
  const mixed = [
    { ...flat, source: null },
    { ...flat, source: 5 },
    { ...nested, data: null },
    { ...nested, data: "x" },
  ];
  expect((await submit(rpc, { message: "look", images: mixed })).content).toEqual([text, flat, flat, flat, flat]);
  expect((await submit(rpc, url(address))).content).toEqual([text, flat]);
  expect((await submit(rpc, url(`data:image/png;base64,${PIXEL}`))).content).toEqual([text, flat]);
  expect((await submit(rpc, { message: "", images: [flat] })).content).toEqual([flat]);
  rpc.send({ id: "s", type: "steer", message: "", images: [flat] });
  expect((await rpc.response("s")).success).toBe(true);
});

test("images that cannot be loaded refuse the prompt with a reason", async () => {
  const rpc = await memoryRpc([conversation]);
  const address = await serve((request, response) => {
    if (request.url === "/missing") response.writeHead(404).end();
    else if (request.url === "/html") response.setHeader("content-type", "text/html").end("<p>");
    else if (request.url === "/announced") response.writeHead(200, { "content-type": "image/png", "content-length": 30 * 1024 * 1024 }).write("x");
    else if (request.url === "/endless") {
      response.writeHead(200, { "content-type": "image/png" });
      const piece = Buffer.alloc(1024 * 1024);
      const more = () => {
        if (!response.destroyed) response.write(piece, () => setImmediate(more));
      };
      more();
    } else request.socket.destroy();
  });
  const reasons = {
    "/missing": "the server answered 404",
    "/html": "unsupported media type text/html",
    "/announced": "larger than 20971520 bytes",
    "/endless": "larger than 20971520 bytes",
  };
  for (const [path, reason] of Object.entries(reasons)) expect(await submit(rpc, url(`${address}${path}`))).toBe(`Failed to load image: ${reason}`);
  expect(await submit(rpc, url(`${address}/cut`))).toMatch(/^Failed to load image: ./);
  expect(await submit(rpc, url("http://127.0.0.1:1/"))).toMatch(/^Failed to load image: ./);
  expect(await submit(rpc, url("data:text/plain,hello"))).toBe("Failed to load image: unsupported media type text/plain");
  expect(await submit(rpc, url("data:nonsense"))).toMatch(/^Failed to load image: ./);
});

test("an abort calls off a prompt whose image is still being loaded: no run begins behind its back", async () => {
  const rpc = await memoryRpc([conversation]);
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const address = await serve(() => asked());
  rpc.send({ id: "p", type: "prompt", ...url(address) });
  await isAsked;
  rpc.send({ id: "a", type: "abort" });
  expect(await rpc.response("p")).toMatchObject({ success: false, error: "Failed to load image: the prompt was aborted" });
  expect(await rpc.response("a")).toMatchObject({ success: true });
  expect(rpc.frames.filter(({ type }) => type !== "response")).toEqual([]);
  expect((await submit(rpc, { message: "look" })).content).toEqual([text]);
});

test.each([{ offline: true }, { env: { PI_OFFLINE: "yes" } }])("nothing is loaded offline: %j", async (options) => {
  const rpc = await memoryRpc([conversation], options);
  expect(await submit(rpc, url("https://example.invalid/a.png"))).toBe("Failed to load image: offline mode");
  expect((await submit(rpc, url(`data:image/png;base64,${PIXEL}`))).content).toEqual([text, flat]);
});

test("attachments: images as blocks, documents as text, kept as sent", async () => {
  const rpc = await memoryRpc([conversation]);
  const attachment = (fields: object) => ({ id: "a", type: "document", fileName: "n.txt", mimeType: "text/plain", size: 2, content: "aGk=", ...fields });
  const attachments = [
    attachment({ type: "image", mimeType: "image/png", content: PIXEL }),
    attachment({}),
    attachment({ fileName: "d.pdf", mimeType: "application/pdf", extractedText: "from the pdf", preview: null }),
    attachment({ fileName: "c.json", mimeType: "application/json; charset=utf-8", extractedText: null }),
  ];
  const wrapped = (name: string, content: string) => ({ type: "text", text: `<attachment name="${name}">\n${content}\n</attachment>` });
  const message = await submit(rpc, { message: "look", attachments });
  expect(message.content).toEqual([text, wrapped("n.txt", "hi"), wrapped("d.pdf", "from the pdf"), wrapped("c.json", "hi"), flat]);
  expect(message.attachments).toMatchObject(attachments.map(({ fileName, content }) => ({ fileName, content })));
  expect((await submit(rpc, { message: " ", attachments: attachments.slice(1, 2) })).content).toEqual([wrapped("n.txt", "hi")]);
});
