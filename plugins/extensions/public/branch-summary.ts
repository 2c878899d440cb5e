/** `generateBranchSummary`: what happened on a branch, in the words of a model that the extension chooses. */
import { type Model, textOf } from "../../../core/index.ts";
import { detailsOf, fileBlocks, filesOf, newFileOps } from "../../compaction/files.ts";
import { BRANCH_LEAD_IN, branchPrompt, SUMMARY_SYSTEM_PROMPT } from "../../compaction/prompts.ts";
import type { SessionEntry } from "../../session/contract.ts";
import { convertToLlm, serializeConversation } from "../../shared/conversation.ts";
import { contextMessages } from "../../shared/session-context.ts";
import { complete } from "../model-calls.ts";
import type { Runtime } from "../runtime.ts";

const MAX_TOKENS = 4096;

interface Options {
  model: Model;
  apiKey?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  customInstructions?: string;
  replaceInstructions?: boolean;
}

interface BranchSummary {
  summary?: string;
  readFiles?: string[];
  modifiedFiles?: string[];
  aborted?: boolean;
  error?: string;
}

export async function generateBranchSummary(runtime: Runtime, entries: readonly SessionEntry[], options: Options): Promise<BranchSummary> {
  const { model, apiKey, headers, signal, customInstructions: instructions, replaceInstructions: replace } = options;
  const messages = contextMessages(entries).flatMap((message) => message ?? []);
  if (messages.length === 0) return { summary: "No content to summarize" };
  const conversation = serializeConversation(convertToLlm(messages.filter(({ role }) => role !== "toolResult")));
  const prompt = branchPrompt(conversation, { ...(instructions !== undefined && { instructions }), ...(replace && { replace }) });
  const answer = await complete(
    runtime,
    model,
    { systemPrompt: SUMMARY_SYSTEM_PROMPT, messages: [{ role: "user", content: [{ type: "text", text: prompt }], timestamp: Date.now() }] },
    { maxTokens: MAX_TOKENS, ...(apiKey !== undefined && { apiKey }), ...(headers && { headers }), ...(signal && { signal }) },
  );
  if (answer.stopReason === "aborted") return { aborted: true };
  if (answer.stopReason === "error") return { error: answer.errorMessage ?? "The model failed without saying why." };
  const files = newFileOps();
  filesOf(messages, files);
  const details = detailsOf(files);
  return { summary: BRANCH_LEAD_IN + textOf(answer.content) + fileBlocks(details), ...details };
}
