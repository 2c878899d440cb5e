/** Helpers for tests of extensions: start the program with extension files, and read what they say. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Frame, type PiOptions, type RpcProcess, startRpc } from "../helpers/pi.ts";

export interface ExtensionOptions extends PiOptions {
  /** by file name, in the user's extensions directory */
  extensions?: Record<string, string>;
}

const plain = { responses: ["fine"], repeat: true };

/** A running agent with these extensions and a model that always answers. */
export function startWith(extensions: Record<string, string>, options: ExtensionOptions = {}): RpcProcess {
  const agentFiles = Object.fromEntries(Object.entries(extensions).map(([name, source]) => [`extensions/${name}`, source]));
  return startRpc({ script: plain, ...options, agentFiles: { ...agentFiles, ...options.agentFiles } });
}

/** Replaces an extension file. */
export function rewrite(rpc: RpcProcess, name: string, source: string): void {
  writeFileSync(join(rpc.places.agentDir, "extensions", name), source);
}

export function pathOf(rpc: RpcProcess, name: string): string {
  return join(rpc.places.agentDir, "extensions", name);
}

/** The texts of all notices so far. */
export function notices(rpc: RpcProcess): string[] {
  return rpc.frames.filter(isNotice).map(({ message }) => message);
}

/** The next notice that matches, now or later. */
export async function notice(rpc: RpcProcess, text: string | RegExp, from = 0): Promise<string> {
  const frame = await rpc.find((found) => isNotice(found) && (typeof text === "string" ? found.message === text : text.test(found.message)), from);
  return frame.message;
}

const isNotice = (frame: Frame): boolean => frame.type === "extension_ui_request" && frame.method === "notify";

/** Runs a slash command and answers what it notified. */
export async function command(rpc: RpcProcess, text: string): Promise<string[]> {
  const from = rpc.frames.length;
  await rpc.ask("prompt", { message: text });
  return rpc.frames
    .slice(from)
    .filter(isNotice)
    .map(({ message }) => message);
}

export function errors(rpc: RpcProcess): { extensionPath: string; event: string; error: string }[] {
  return rpc.frames.filter(({ type }) => type === "extension_error").map(({ extensionPath, event, error }) => ({ extensionPath, event, error }));
}

export async function error(rpc: RpcProcess, event: string, from = 0): Promise<Frame> {
  return rpc.find((frame) => frame.type === "extension_error" && frame.event === event, from);
}

/** The wire announces each attempt to reload. */
export async function reloaded(rpc: RpcProcess, from: number): Promise<Frame> {
  return rpc.find(({ type }) => type === "extension_reload", from);
}

/** The texts of an assistant's answers among frames. */
export function answers(frames: readonly Frame[]): string[] {
  return frames
    .filter(({ type, message }) => type === "message_end" && message.role === "assistant")
    .map(({ message }) => message.content.map((block: { text?: string }) => block.text ?? "").join(""));
}

/** The tool results among frames. */
export function toolResults(frames: readonly Frame[]): { text: string; isError: boolean; details: any }[] {
  return frames
    .filter(({ type, message }) => type === "message_end" && message.role === "toolResult")
    .map(({ message }) => ({
      text: message.content.map((block: { text?: string }) => block.text ?? "").join(""),
      isError: message.isError,
      details: message.details,
    }));
}

export async function extensionList(rpc: RpcProcess): Promise<any[]> {
  return (await rpc.ask("get_extensions")).extensions;
}
