/** `compact` and `generateSummary`: a conversation in the words of a model that the extension chooses. */
import { type AgentMessage, type AssistantMessage, type Model, type ThinkingLevel, textBlock } from "../../../core/index.ts";
import type { CompactionPreparation, CompactionResult } from "../../compaction/contract.ts";
import { detailsOf, fileBlocks } from "../../compaction/files.ts";
import { historyPrompt, SUMMARY_SYSTEM_PROMPT, splitTurnSummary, turnPrefixPrompt } from "../../compaction/prompts.ts";
import { addUsage, Cancelled, conversationText, outputLimit, type Summary, summaryOf } from "../../compaction/summarize.ts";
import { uuidv7 } from "../../shared/ids.ts";
import { streamSimple } from "../model-calls.ts";
import type { Runtime } from "../runtime.ts";
import type { Context, StreamOptions } from "../types.ts";
import { dualContext } from "./dual-context.ts";

type StreamFn = (
  model: Model,
  context: Context,
  options: StreamOptions,
) => { result(): Promise<AssistantMessage> } | Promise<{ result(): Promise<AssistantMessage> }>;

/** Whom to ask, and how. */
interface Asked {
  model: Model;
  apiKey: string | undefined;
  headers: Record<string, string> | undefined;
  signal: AbortSignal | undefined;
  thinkingLevel: ThinkingLevel | undefined;
  streamFn: StreamFn | undefined;
  env: Record<string, string> | undefined;
}

/** The parameters stand in the order of pi's API. */
export function summaryFunctions(runtime: Runtime) {
  const generateSummaryWithUsage = async (
    messages: AgentMessage[],
    model: Model,
    reserveTokens: number,
    apiKey?: string,
    headers?: Record<string, string>,
    signal?: AbortSignal,
    instructions?: string,
    previousSummary?: string,
    thinkingLevel?: ThinkingLevel,
    streamFn?: StreamFn,
    env?: Record<string, string>,
  ): Promise<Summary> => {
    const asked = { model, apiKey, headers, signal, thinkingLevel, streamFn, env };
    return history(runtime, asked, messages, {
      reserveTokens,
      ...(previousSummary !== undefined && { previousSummary }),
      ...(instructions !== undefined && { instructions }),
    });
  };
  return {
    generateSummaryWithUsage,
    generateSummary: async (...given: Parameters<typeof generateSummaryWithUsage>) => (await generateSummaryWithUsage(...given)).text,
    compact: async (
      preparation: CompactionPreparation,
      model: Model,
      apiKey?: string,
      headers?: Record<string, string>,
      instructions?: string,
      signal?: AbortSignal,
      thinkingLevel?: ThinkingLevel,
      streamFn?: StreamFn,
      env?: Record<string, string>,
    ) => compact(runtime, { model, apiKey, headers, signal, thinkingLevel, streamFn, env }, preparation, instructions),
  };
}

async function compact(runtime: Runtime, asked: Asked, preparation: CompactionPreparation, instructions: string | undefined): Promise<CompactionResult> {
  const { messagesToSummarize, turnPrefixMessages, previousSummary, settings, firstKeptEntryId, tokensBefore, fileOps } = preparation;
  const { reserveTokens } = settings;
  const focus = { reserveTokens, ...(previousSummary !== undefined && { previousSummary }), ...(instructions !== undefined && { instructions }) };
  const isWhole = turnPrefixMessages.length === 0;
  const before = messagesToSummarize.length > 0 || isWhole ? await history(runtime, asked, messagesToSummarize, focus) : undefined;
  const turn = isWhole
    ? undefined
    : await ask(
        runtime,
        asked,
        turnPrefixPrompt(conversationText(runtime.kernel, turnPrefixMessages), instructions),
        outputLimit(asked.model, reserveTokens * 0.5),
      );
  const body = turn ? splitTurnSummary(before?.text ?? previousSummary, turn.text) : (before as Summary).text;
  const usage = before && turn ? addUsage(before.usage, turn.usage) : (before ?? turn)?.usage;
  const details = detailsOf(fileOps);
  return { summary: body + fileBlocks(details), firstKeptEntryId, tokensBefore, details, ...(usage && { usage }) };
}

function history(
  runtime: Runtime,
  asked: Asked,
  messages: readonly AgentMessage[],
  { reserveTokens, ...focus }: { reserveTokens: number; previousSummary?: string; instructions?: string },
): Promise<Summary> {
  return ask(runtime, asked, historyPrompt(conversationText(runtime.kernel, messages), focus), outputLimit(asked.model, reserveTokens * 0.8));
}

async function ask(runtime: Runtime, asked: Asked, prompt: string, maxTokens: number): Promise<Summary> {
  const { model, apiKey, headers, signal, thinkingLevel, env } = asked;
  const context = dualContext({
    systemPrompt: SUMMARY_SYSTEM_PROMPT,
    tools: [],
    messages: [{ role: "user", content: [textBlock(prompt)], timestamp: Date.now() }],
  });
  const options = {
    maxTokens,
    sessionId: uuidv7(),
    cacheRetention: "none",
    ...(apiKey !== undefined && { apiKey }),
    ...(headers && { headers }),
    ...(signal && { signal }),
    ...(env && { env }),
    ...(model.reasoning && thinkingLevel && thinkingLevel !== "off" && { reasoning: thinkingLevel }),
  } as StreamOptions;
  const stream = asked.streamFn ? await asked.streamFn(model, context, options) : streamSimple(runtime, model, context, options);
  const answer = await stream.result();
  if (answer.stopReason === "aborted") throw new Cancelled();
  if (answer.stopReason === "error") throw new Error(`Summarization failed: ${answer.errorMessage || "the model did not say why"}`);
  return summaryOf(answer);
}
