/** Scripts of the model `scripted`, and how one is played. */
import { setTimeout as sleep } from "node:timers/promises";
import { ABORTED, type AssistantMessageEvent, emptyMessage, type Model, type ModelRequest, textOf, type Usage, zeroUsage } from "../../core/index.ts";
import { calculateCost } from "../shared/cost.ts";
import { flawOfResponse } from "./scripted-flaws.ts";
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

async function responseOf(script: ScriptModule, request: ModelRequest, index: number): Promise<ScriptResponse> {
  const listed = (list: Script) => list.responses[index] ?? (list.repeat ? list.responses.at(-1) : undefined);
  const answer = typeof script === "function" ? await script(request, index) : listed(script);
  if (answer === undefined) return { error: `The script has no response for request ${index + 1}.` };
  if (typeof answer === "string") return { text: answer };
  const flaw = flawOfResponse(answer, index);
  return flaw === undefined ? answer : { error: flaw };
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
