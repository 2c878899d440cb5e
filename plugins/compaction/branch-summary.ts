/** Summaries of branches that are left. */
import type { AgentMessage, PluginKernel } from "../../core/index.ts";
import type { SessionEntry, TreeChange } from "../session/contract.ts";
import { estimateTokens } from "../shared/conversation.ts";
import { contextMessages } from "../shared/session-context.ts";
import { detailsOf, fileBlocks, filesOf, newFileOps } from "./files.ts";
import { BRANCH_LEAD_IN, branchPrompt } from "./prompts.ts";
import { requireModel, wholeNumber } from "./settings.ts";
import { Cancelled, conversationText, outputLimit, summarize } from "./summarize.ts";

const MAX_TOKENS = 4096;
/** A summary among the entries stands for so much that it may exceed a budget that is not nearly used up. */
const NEARLY = 0.9;

/** Undefined if it was aborted. */
export async function summarizeBranch(kernel: PluginKernel, change: TreeChange) {
  const { entriesToSummarize, customInstructions, replaceInstructions, signal } = change;
  const model = await requireModel(kernel);
  const reserve = wholeNumber(kernel.service("settings").get("branchSummary.reserveTokens") ?? 16384, "branchSummary.reserveTokens");
  const messages = fitting(entriesToSummarize, model.contextWindow > 0 ? model.contextWindow - reserve : Number.POSITIVE_INFINITY);
  const prompt = branchPrompt(conversationText(kernel, messages), { instructions: customInstructions, replace: replaceInstructions });
  const files = newFileOps(...entriesToSummarize.filter(({ type }) => type === "branch_summary"));
  filesOf(
    contextMessages(entriesToSummarize).flatMap((message) => message ?? []),
    files,
  );
  try {
    const { text, usage } = await summarize(kernel, { model, prompt, maxTokens: outputLimit(model, MAX_TOKENS), signal, source: { source: "branchSummary" } });
    const details = detailsOf(files);
    return { summary: BRANCH_LEAD_IN + text + fileBlocks(details), details, usage };
  } catch (error) {
    if (error instanceof Cancelled) return undefined;
    throw error;
  }
}

/** The newest messages that fit the budget, oldest first, without results of tools. */
function fitting(entries: readonly SessionEntry[], budget: number): AgentMessage[] {
  const messages = contextMessages(entries);
  const chosen: AgentMessage[] = [];
  let used = 0;
  for (let index = entries.length - 1; index >= 0; index--) {
    const message = messages[index];
    if (!message || message.role === "toolResult") continue;
    const tokens = estimateTokens(message);
    if (used + tokens > budget) {
      const isSummary = message.role === "compactionSummary" || message.role === "branchSummary";
      if (isSummary && used < budget * NEARLY) chosen.unshift(message);
      break;
    }
    used += tokens;
    chosen.unshift(message);
  }
  return chosen;
}
