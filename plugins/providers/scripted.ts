/** The model `scripted/<file>`: answers from a JSON or TypeScript script. For tests, demos and offline work. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ABORTED,
  type AssistantMessageEvent,
  definePlugin,
  emptyMessage,
  KernelError,
  type Model,
  type ModelRequest,
  messageOf,
  type PluginKernel,
  textOf,
  type Usage,
  zeroUsage,
} from "../../core/index.ts";
import type {} from "../loader/contract.ts";
import type {} from "../models/contract.ts";
import type {} from "../settings/contract.ts";
import { calculateCost } from "../shared/cost.ts";
import { MessageBuilder } from "./shared/builder.ts";

/** One part of an answer, streamed in order. Strings may be given in pieces. */
export type ScriptStep =
  | { text: string | string[]; delayMs?: number }
  | { thinking: string | string[]; delayMs?: number }
  | { toolCall: { name: string; arguments?: Record<string, unknown>; json?: string[]; id?: string } }
  | { delay: number }
  | { hang: true }
  | { error: string };

/** What the model answers to one request. */
export interface ScriptResponse {
  steps?: ScriptStep[];
  /** short forms, streamed in this order */
  thinking?: string | string[];
  text?: string | string[];
  toolCalls?: { name: string; arguments?: Record<string, unknown>; json?: string[]; id?: string }[];
  error?: string;
  hang?: true;
  /** before the first word */
  delayMs?: number;
  stopReason?: "stop" | "length" | "toolUse";
  usage?: Partial<Usage>;
  /** What the request must look like; a mismatch is the model's error. */
  expect?: { lastText?: string; systemPromptIncludes?: string; tools?: string[]; messageCount?: number };
}

export interface Script {
  /** fields of the model, e.g. a small contextWindow */
  model?: Partial<Model>;
  /** in order; the last one is repeated if `repeat` is set */
  responses: (ScriptResponse | string)[];
  repeat?: boolean;
}

/** The default export of a TypeScript script: a script, or a function asked for each request. */
export type ScriptModule = Script | ((request: ModelRequest, index: number) => ScriptResponse | string | Promise<ScriptResponse | string>);

const api = "scripted";

export const scripted = definePlugin({
  name: "provider:scripted",
  apply(kernel) {
    const scripts = new Map<string, Promise<ScriptModule>>();
    const asked = new Map<string, number>();
    kernel.registry("modelSources").add({
      name: api,
      displayName: "Scripted",
      models: [],
      keyless: true,
      hidden: true,
      resolve: (id) => scriptedModel(kernel, id),
    });
    kernel.registry("providers").add({
      name: api,
      async *stream(request) {
        const path = request.model.id;
        const index = asked.get(path) ?? 0;
        asked.set(path, index + 1);
        let script = scripts.get(path);
        if (!script) {
          script = readScript(kernel, path);
          scripts.set(path, script);
        }
        yield* play(request, await script, index);
      },
    });
  },
});

function scriptedModel(kernel: PluginKernel, id: string): Model {
  return {
    id,
    name: `Script ${id}`,
    api,
    provider: api,
    baseUrl: "",
    reasoning: true,
    input: ["text", "image"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 200_000,
    maxTokens: 16_384,
    ...overridesOf(pathOf(kernel, id)),
  };
}

/** A JSON script may set fields of its model. An unreadable one is reported by the first request. */
function overridesOf(file: string): Partial<Model> | undefined {
  if (!file.endsWith(".json")) return undefined;
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as Script).model;
  } catch {
    return undefined;
  }
}

function pathOf(kernel: PluginKernel, path: string): string {
  return isAbsolute(path) ? path : resolve(kernel.service("settings").cwd(), path);
}

async function readScript(kernel: PluginKernel, path: string): Promise<ScriptModule> {
  const file = pathOf(kernel, path);
  try {
    if (!file.endsWith(".json")) return (await kernel.service("loader").load(file)).default as ScriptModule;
    const script = JSON.parse(await readFile(file, "utf8")) as Script | ScriptResponse[];
    return Array.isArray(script) ? { responses: script } : script;
  } catch (error) {
    throw new KernelError("E_REFUSED", `The model script ${path} cannot be used: ${messageOf(error)}`);
  }
}

async function responseOf(script: ScriptModule, request: ModelRequest, index: number): Promise<ScriptResponse> {
  const listed = (list: Script) => list.responses[index] ?? (list.repeat ? list.responses.at(-1) : undefined);
  const answer = typeof script === "function" ? await script(request, index) : listed(script);
  if (answer === undefined) return { error: `The script has no response for request ${index + 1}.` };
  return typeof answer === "string" ? { text: answer } : answer;
}

/** Plays the response for the `index`-th request. */
export async function* play(request: ModelRequest, script: ScriptModule, index: number): AsyncGenerator<AssistantMessageEvent> {
  const response = await responseOf(script, request, index);
  const tools = request.tools.map(({ name }) => name);
  const payload = await request.onPayload({ model: request.model.id, system: request.systemPrompt, messages: request.messages, tools });
  const complaint = mismatch(request, response.expect);
  const steps = complaint ? [{ error: complaint }] : stepsOf(response);
  await request.onResponse({ status: 200, headers: {} });
  const builder = new MessageBuilder(request.model);
  try {
    if (response.delayMs) await sleep(response.delayMs, undefined, { signal: request.signal });
    if (!("error" in (steps[0] ?? {}))) yield builder.start();
    for (const step of steps) {
      if ("error" in step) {
        yield builder.fail("error", step.error);
        return;
      }
      yield* playStep(step, builder, request.signal);
    }
    builder.setUsage(usageOf(request.model, payload, builder.textLength, response.usage));
    yield builder.done(response.stopReason);
  } catch (error) {
    if (!request.signal.aborted) throw error;
    const partial = builder.partial ?? emptyMessage(request.model, "aborted");
    yield { type: "error", reason: "aborted", error: { ...partial, stopReason: "aborted", errorMessage: ABORTED } };
  }
}

async function* playStep(step: ScriptStep, builder: MessageBuilder, signal: AbortSignal): AsyncGenerator<AssistantMessageEvent> {
  if ("delay" in step) await sleep(step.delay, undefined, { signal });
  else if ("hang" in step) await sleep(2 ** 31 - 1, undefined, { signal });
  else if ("toolCall" in step) {
    const { name, id, arguments: args = {}, json } = step.toolCall;
    yield* builder.toolCall(name, json ?? [JSON.stringify(args)], id);
  } else if ("text" in step || "thinking" in step) {
    const kind = "text" in step ? "text" : "thinking";
    const pieces = [("text" in step ? step.text : step.thinking) ?? ""].flat();
    yield builder.open(kind);
    for (const piece of pieces) {
      if (step.delayMs) await sleep(step.delayMs, undefined, { signal });
      else signal.throwIfAborted();
      yield builder.append(piece);
    }
    yield builder.close();
  }
}

function stepsOf(response: ScriptResponse): ScriptStep[] {
  if (response.steps) return response.steps;
  const steps: ScriptStep[] = [];
  if (response.thinking !== undefined) steps.push({ thinking: response.thinking });
  if (response.text !== undefined) steps.push({ text: response.text });
  for (const toolCall of response.toolCalls ?? []) steps.push({ toolCall });
  if (response.hang) steps.push({ hang: true });
  if (response.error !== undefined) steps.push({ error: response.error });
  return steps;
}

function mismatch(request: ModelRequest, expect: ScriptResponse["expect"]): string | undefined {
  if (!expect) return undefined;
  const last = request.messages.at(-1);
  const lastText = last ? textOf(last.content) : "";
  const names = request.tools.map(({ name }) => name);
  if (expect.lastText !== undefined && expect.lastText !== lastText) return `The script expected the last text "${expect.lastText}", got "${lastText}".`;
  if (expect.systemPromptIncludes && !request.systemPrompt.includes(expect.systemPromptIncludes)) {
    return `The script expected the system prompt to include "${expect.systemPromptIncludes}".`;
  }
  if (expect.tools && expect.tools.join() !== names.join()) return `The script expected the tools ${expect.tools.join(", ")}, got ${names.join(", ")}.`;
  if (expect.messageCount !== undefined && expect.messageCount !== request.messages.length) {
    return `The script expected ${expect.messageCount} messages, got ${request.messages.length}.`;
  }
  return undefined;
}

/** Plausible numbers: a token for four characters, unless the script says. */
export function usageOf(model: Model, payload: unknown, outputLength: number, given: Partial<Usage> = {}): Usage {
  const usage: Usage = { ...zeroUsage(), input: Math.ceil(JSON.stringify(payload).length / 4), output: Math.ceil(outputLength / 4), ...given };
  usage.totalTokens = given.totalTokens ?? usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
  usage.cost = given.cost ?? calculateCost(model, usage);
  return usage;
}
