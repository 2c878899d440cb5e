/** The prompts of a one-shot invocation: piped text and files first, then each argument. */
import type { ImageContent, Io, PluginKernel } from "../../core/index.ts";
import type {} from "../settings/contract.ts";
import { readFileArguments } from "../shared/file-arguments.ts";
import type {} from "../tools/contract.ts";
import type {} from "./contract.ts";

export interface OneShotPrompt {
  text: string;
  images: ImageContent[];
}

/** Standard input, `@file` arguments and the first word form the first prompt; each further word is one more. */
export async function collectPrompts(kernel: PluginKernel, io: Io): Promise<OneShotPrompt[]> {
  const words = kernel.options.prompts ?? [];
  const settings = kernel.service("settings");
  const images = kernel.tryService("images");
  const files = await readFileArguments(kernel.options.files ?? [], settings.cwd(), settings.home(), images && ((image) => images.prepare(image)));
  const piped = io.stdin.isTTY ? "" : (await readAll(io.stdin)).trimEnd();
  const [first, ...rest] = words;
  const text = [piped, files.text, first].filter((part) => part !== undefined && part !== "").join("\n\n");
  const prompts = rest.map((word) => ({ text: word, images: [] as ImageContent[] }));
  if (text !== "" || files.images.length > 0) prompts.unshift({ text, images: files.images });
  return prompts;
}

async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** Submits one prompt and resolves when nothing will happen by itself any more. */
export async function runPrompt(kernel: PluginKernel, prompt: OneShotPrompt): Promise<void> {
  const accepted = await kernel.prompt({ ...prompt, source: "interactive" });
  accepted.begin();
  await kernel.run.whenIdle();
  await kernel.flush();
}
