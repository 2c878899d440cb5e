/** Model calls that summarize: no tools, no cache, repeated after transient failures. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type AgentMessage,
  type AssistantMessage,
  KernelError,
  type Model,
  type PluginKernel,
  textBlock,
  textOf,
  type Usage,
  zeroUsage,
} from "../../core/index.ts";
import type {} from "../retry/contract.ts";
import { convertToLlm, serializeConversation } from "../shared/conversation.ts";
import { uuidv7 } from "../shared/ids.ts";
import type { CompactionReason } from "./contract.ts";
import { SUMMARY_SYSTEM_PROMPT } from "./prompts.ts";

/** `abort`, or an extension, ended it. */
export class Cancelled extends KernelError {
  constructor(message = "Compaction cancelled") {
    super("E_ABORTED", message);
  }
}

export interface SummaryRequest {
  model: Model;
  prompt: string;
  maxTokens: number;
  signal: AbortSignal;
  source: { source: "compaction"; reason: CompactionReason } | { source: "branchSummary" };
}

export interface Summary {
  text: string;
  usage: Usage;
}

/** The conversation as the text that a summary is made of. */
export function conversationText(kernel: PluginKernel, messages: readonly AgentMessage[]): string {
  const roles = kernel.registry("roles");
  return serializeConversation(convertToLlm(messages, (message) => roles.get((message as { role: string }).role)?.toModel(message)));
}

/** Asks until there is a summary, a failure that stays, or an abort. */
export async function summarize(kernel: PluginKernel, request: SummaryRequest): Promise<Summary> {
  const { signal, source } = request;
  let retries = 0;
  try {
    for (;;) {
      const answer = await ask(kernel, request);
      if (signal.aborted) throw new Cancelled();
      if (answer.stopReason !== "error") return summaryOf(answer);
      const errorMessage = answer.errorMessage || "The model failed without saying why.";
      const retry = kernel.tryService("retry");
      if (!retry?.enabled() || !retry.isTransient(errorMessage) || retries >= retry.maxAttempts()) throw new KernelError("E_REFUSED", errorMessage);
      retries++;
      const delayMs = retry.delayFor(retries);
      kernel.emit({ type: "summarization_retry_scheduled", attempt: retries, maxAttempts: retry.maxAttempts(), delayMs, errorMessage });
      await sleep(delayMs, undefined, { signal }).catch(() => {
        throw new Cancelled();
      });
      kernel.emit({ type: "summarization_retry_attempt_start", ...source });
    }
  } finally {
    if (retries > 0) kernel.emit({ type: "summarization_retry_finished" });
  }
}

export function summaryOf(answer: AssistantMessage): Summary {
  if (answer.stopReason === "length") throw new KernelError("E_REFUSED", "The summary was cut off by the output limit.");
  if (answer.content.some(({ type }) => type === "toolCall")) throw new KernelError("E_REFUSED", "The model called a tool instead of writing a summary.");
  const text = textOf(answer.content, "\n").trim();
  if (!text) throw new KernelError("E_REFUSED", "The model wrote an empty summary.");
  return { text, usage: answer.usage };
}

/** One model call to its end. An abort is not waited for. */
async function ask(kernel: PluginKernel, { model, prompt, maxTokens, signal }: SummaryRequest): Promise<AssistantMessage> {
  const stream = kernel.stream({
    model,
    thinkingLevel: kernel.service("model").thinkingLevel(),
    systemPrompt: SUMMARY_SYSTEM_PROMPT,
    messages: [{ role: "user", content: [textBlock(prompt)], timestamp: Date.now() }],
    signal,
    sessionId: uuidv7(),
    cache: false,
    ...(maxTokens > 0 && { maxTokens }),
  });
  return orAborted(finalMessage(stream), signal);
}

async function finalMessage(stream: ReturnType<PluginKernel["stream"]>): Promise<AssistantMessage> {
  for await (const event of stream) {
    if (event.type === "done") return { ...event.message, stopReason: event.reason };
    if (event.type === "error") return { ...event.error, stopReason: event.reason };
  }
  throw new KernelError("E_REFUSED", "The model's stream ended without a final message.");
}

/** The work's value, or `Cancelled` as soon as the signal says so. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new Cancelled());
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** How long a summary may get: a share of the reserve, never more than the model can. */
export function outputLimit(model: Model, tokens: number): number {
  const wanted = Math.floor(tokens);
  return model.maxTokens > 0 ? Math.min(wanted, model.maxTokens) : wanted;
}

export function addUsage(a: Usage, b: Usage): Usage {
  const sum = zeroUsage();
  for (const key of ["input", "output", "cacheRead", "cacheWrite", "totalTokens"] as const) sum[key] = a[key] + b[key];
  for (const key of ["input", "output", "cacheRead", "cacheWrite", "total"] as const) sum.cost[key] = a.cost[key] + b.cost[key];
  return sum;
}
