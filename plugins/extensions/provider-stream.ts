/** A model stream that an extension makes (`streamSimple`), as the kernel's providers are: snapshots, one final word, no throw. */
import {
  type AssistantMessage,
  type AssistantMessageEvent,
  emptyMessage,
  type Model,
  type ModelRequest,
  messageOf,
  type Provider,
  type StopReason,
  type ToolCall,
  zeroUsage,
} from "../../core/index.ts";
import { calculateCost } from "../shared/cost.ts";
import type { Instance } from "./instance.ts";
import { dualContext } from "./public/dual-context.ts";
import type { Runtime } from "./runtime.ts";
import { ToldContent } from "./told-content.ts";
import type { Context, StreamSimple } from "./types.ts";

export function streamFrom(runtime: Runtime, instance: Instance, streamSimple: StreamSimple): Provider["stream"] {
  return async function* stream(request) {
    const leave = instance.enter();
    const told = new ToldContent();
    let isStarted = false;
    let last: AssistantMessage | undefined;
    try {
      instance.assertUsable();
      const options = await optionsOf(runtime, request);
      const context = dualContext(request) as unknown as Context;
      // Some are async functions, which answer a promise of the stream.
      const events = await runtime.runAs(instance, () => streamSimple(request.model, context, options));
      if (typeof events?.[Symbol.asyncIterator] !== "function") throw new Error(`The provider ${request.model.provider} answered no stream.`);
      for await (const event of owned(runtime, instance, events)) {
        const clean = cleaned(event, request.model, told);
        if (!clean || (clean.type === "start" && isStarted)) continue;
        if (clean.type === "done" || clean.type === "error") {
          yield clean;
          return;
        }
        isStarted = true;
        last = clean.partial;
        yield clean;
      }
      yield { type: "error", reason: "error", error: ended(last, request.model, "error", "The provider's stream ended without a final message.") };
    } catch (error) {
      const reason = request.signal.aborted ? "aborted" : "error";
      yield { type: "error", reason, error: ended(last, request.model, reason, messageOf(error)) };
    } finally {
      leave();
    }
  };
}

/** Pulls the extension's iterator as the extension. */
async function* owned(runtime: Runtime, instance: Instance, events: AsyncIterable<AssistantMessageEvent>): AsyncGenerator<AssistantMessageEvent> {
  const iterator = runtime.runAs(instance, () => events[Symbol.asyncIterator]());
  try {
    for (;;) {
      const step = await runtime.runAs(instance, () => iterator.next());
      if (step.done) return;
      yield step.value;
    }
  } finally {
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

/** What the extension may need; nothing of the agent's loop. */
async function optionsOf(runtime: Runtime, request: ModelRequest): Promise<Record<string, unknown>> {
  const { model, signal, thinkingLevel, sessionId, maxTokens, temperature, onPayload, onResponse } = request;
  const auth = request.apiKey === undefined ? await runtime.kernel.tryService("models")?.auth(model) : { apiKey: request.apiKey };
  const headers: Record<string, string | null> = { ...auth?.headers, ...request.headers };
  await request.onHeaders(headers);
  const kept = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null));
  const fields: Record<string, unknown> = {
    signal,
    apiKey: auth?.apiKey,
    headers: Object.keys(kept).length > 0 ? kept : undefined,
    env: auth?.env,
    reasoning: thinkingLevel === "off" ? undefined : thinkingLevel,
    maxTokens,
    temperature,
    sessionId,
    cacheRetention: request.cache === false ? "none" : undefined,
    timeoutMs: 600_000,
    maxRetries: 0,
    maxRetryDelayMs: 60_000,
    onPayload: (payload: unknown) => runtime.leave(() => onPayload(payload)),
    onResponse: (response: { status: number; headers: Record<string, string> }) => runtime.leave(() => onResponse(response)),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The event with a snapshot of its message: the extension's own goes on growing. */
function cleaned(event: any, model: Model, told: ToldContent): AssistantMessageEvent | undefined {
  if (event.type === "done") {
    const reason = (["stop", "length", "toolUse"] as const).find((known) => known === event.reason) ?? "stop";
    return { type: "done", reason, message: completed(event.message, model, reason) };
  }
  if (event.type === "error") {
    const reason = event.reason === "aborted" ? "aborted" : "error";
    return { type: "error", reason, error: completed(event.error, model, reason) };
  }
  if (!event.partial) return undefined;
  const content = event.type === "start" ? [] : told.after(event, event.partial.content);
  const partial: AssistantMessage = { ...snapshot({ ...event.partial, content: [] }, model), content, stopReason: "stop" };
  const block = content[event.contentIndex] as ToolCall | undefined;
  if (event.type === "toolcall_end") return { ...event, toolCall: block, partial };
  if (event.type !== "toolcall_start") return { ...event, partial };
  return { ...event, id: event.id ?? block?.id ?? "", toolName: event.toolName ?? block?.name ?? "", partial };
}

function snapshot(message: AssistantMessage, model: Model): AssistantMessage {
  return {
    ...message,
    role: "assistant",
    api: message.api ?? model.api,
    provider: message.provider ?? model.provider,
    model: message.model ?? model.id,
    content: (message.content ?? []).map((block) => ({ ...block })),
    usage: { ...zeroUsage(), ...message.usage },
    timestamp: message.timestamp ?? Date.now(),
  };
}

function completed(message: AssistantMessage | undefined, model: Model, stopReason: StopReason): AssistantMessage {
  const final = snapshot(message ?? emptyMessage(model, stopReason), model);
  const { usage } = final;
  const totalTokens = usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
  return { ...final, stopReason, usage: { ...usage, totalTokens, cost: message?.usage?.cost ?? calculateCost(model, usage) } };
}

function ended(last: AssistantMessage | undefined, model: Model, stopReason: "error" | "aborted", errorMessage: string): AssistantMessage {
  return { ...(last ?? emptyMessage(model, stopReason)), stopReason, errorMessage };
}
