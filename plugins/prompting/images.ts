/** Images as clients send them: flat, nested, or by address. All become the form that is stored. */
import { type ImageContent, KernelError, messageOf, type PluginKernel } from "../../core/index.ts";
import type {} from "../settings/contract.ts";

type Flat = { type: "image"; data: string; mimeType: string };
type Nested = { type: "image"; source: { type: "base64"; mediaType: string; data: string } | { type: "url"; url: string } };
export type ImageInput = Flat | Nested;

const types = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const MAX_BYTES = 20 * 1024 * 1024;
const LOADING_MS = 30_000;
const schemes = new Set(["https:", "http:", "data:"]);
const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/;
const DATA_URL = /^data:[^,]*,/;

/** Some have to be fetched, which takes its time. */
export function areRemote(inputs: readonly ImageInput[]): boolean {
  return inputs.some((input) => !isFlat(input) && input.source.type === "url");
}

/** Throws `Failed to load image: …`. */
export async function loadImages(inputs: readonly ImageInput[], kernel: PluginKernel, signal?: AbortSignal): Promise<ImageContent[]> {
  return Promise.all(inputs.map((input) => loadImage(input, kernel, signal)));
}

async function loadImage(input: ImageInput, kernel: PluginKernel, signal: AbortSignal | undefined): Promise<ImageContent> {
  if (isFlat(input)) return inline(input.data, input.mimeType);
  if (input.source.type === "base64") return inline(input.source.data, input.source.mediaType);
  try {
    return await fromUrl(input.source.url, kernel, signal);
  } catch (error) {
    if (error instanceof KernelError) throw error;
    throw refused(messageOf((error as { cause?: unknown }).cause ?? error));
  }
}

/** Whole in one form: what it has of the other was not looked at. */
function isFlat(input: ImageInput): input is Flat {
  const { data, mimeType } = input as Partial<Flat>;
  return typeof data === "string" && typeof mimeType === "string";
}

function refused(reason: string): KernelError {
  return new KernelError("E_REFUSED", `Failed to load image: ${reason}`);
}

function inline(data: string, mimeType: string): ImageContent {
  const bare = data.replace(DATA_URL, "");
  if (!types.has(mimeType)) throw refused(`unsupported media type ${mimeType || "(none)"}`);
  if (!BASE64.test(bare) || bare.trim() === "") throw refused("the data is not base64");
  return { type: "image", data: bare, mimeType };
}

async function fromUrl(text: string, kernel: PluginKernel, signal: AbortSignal | undefined): Promise<ImageContent> {
  if (!URL.canParse(text)) throw refused(`not a URL: ${text.slice(0, 200)}`);
  const { protocol } = new URL(text);
  if (!schemes.has(protocol)) throw refused(`unsupported scheme ${protocol}`);
  if (protocol !== "data:" && isOffline(kernel)) throw refused("offline mode");
  const timeout = AbortSignal.timeout(LOADING_MS);
  try {
    const response = await fetch(text, { signal: signal ? AbortSignal.any([timeout, signal]) : timeout });
    if (!response.ok) throw refused(`the server answered ${response.status}`);
    const mimeType = (response.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
    if (!types.has(mimeType)) throw refused(`unsupported media type ${mimeType || "(none)"}`);
    return { type: "image", data: (await bounded(response)).toString("base64"), mimeType };
  } catch (error) {
    if (signal?.aborted) throw refused("the prompt was aborted");
    throw timeout.aborted ? refused(`not loaded within ${LOADING_MS / 1000} seconds`) : error;
  }
}

function tooLarge(): KernelError {
  return refused(`larger than ${MAX_BYTES} bytes`);
}

/** The body, given up on as soon as it is too large. */
async function bounded(response: Response): Promise<Buffer> {
  if (Number(response.headers.get("content-length")) > MAX_BYTES) {
    await response.body?.cancel();
    throw tooLarge();
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function isOffline(kernel: PluginKernel): boolean {
  const variable = kernel.tryService("settings")?.ownEnv("OFFLINE")?.toLowerCase();
  return kernel.options.offline === true || variable === "1" || variable === "true" || variable === "yes";
}
