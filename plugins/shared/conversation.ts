/** Conversations as models, summaries and token estimates see them: pure functions over messages. */
import type { AgentMessage, AssistantMessage, LlmMessage, Usage, UserContent, UserMessage } from "../../core/index.ts";
import type {} from "../session/contract.ts";
import type {} from "../user-bash/contract.ts";

/** What an image counts as, in characters. */
const IMAGE_CHARACTERS = 4800;
const CHARACTERS_PER_TOKEN = 4;
/** How much of a tool's result a summary request shows. */
const RESULT_CHARACTERS = 2000;

// ---------------------------------------------------------------- for the model

/** How the summary of a compaction looks to the model. */
export function compactionSummaryText(summary: string): string {
  return `The conversation before this point was compacted. This summary stands for it:\n\n<summary>\n${summary}\n</summary>`;
}

/** How the summary of an abandoned branch looks to the model. */
export function branchSummaryText(summary: string): string {
  return `The conversation was taken back to this point from another branch. This summary tells what happened on that branch:\n\n<summary>\n${summary}\n</summary>`;
}

type BashExecution = Extract<AgentMessage, { role: "bashExecution" }>;

/** How a shell command of the user looks to the model. */
export function bashExecutionText({ command, output, exitCode, cancelled, truncated, fullOutputPath }: BashExecution): string {
  const parts = [`Ran \`${command}\`\n${output === "" ? "(no output)" : fenced(output)}`];
  if (cancelled) parts.push("(command cancelled)");
  else if (exitCode !== null && exitCode !== undefined && exitCode !== 0) parts.push(`Command exited with code ${exitCode}`);
  if (truncated && fullOutputPath) parts.push(`[Output truncated. Full output: ${fullOutputPath}]`);
  return parts.join("\n\n");
}

/** A fence longer than any run of backticks inside. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

/** The messages as models understand them; roles that nobody knows are left out. */
export function convertToLlm(messages: readonly AgentMessage[], translate?: (message: AgentMessage) => UserMessage | undefined): LlmMessage[] {
  return messages.flatMap((message): LlmMessage[] => {
    switch (message.role) {
      case "user":
      case "assistant":
      case "toolResult":
        return [message];
      case "custom":
        return [asUser(message.content, message.timestamp)];
      case "bashExecution":
        return message.excludeFromContext ? [] : [asUser(bashExecutionText(message), message.timestamp)];
      case "compactionSummary":
        return [asUser(compactionSummaryText(message.summary), message.timestamp)];
      case "branchSummary":
        return [asUser(branchSummaryText(message.summary), message.timestamp)];
      default: {
        const translated = translate?.(message);
        return translated ? [translated] : [];
      }
    }
  });
}

function asUser(content: string | UserContent[], timestamp: number): UserMessage {
  return { role: "user", content: typeof content === "string" ? [{ type: "text", text: content }] : content, timestamp };
}

// ---------------------------------------------------------------- for summaries

/** A conversation as text, so that a model summarizes it instead of going on with it. */
export function serializeConversation(messages: readonly LlmMessage[]): string {
  const blocks: string[] = [];
  for (const message of messages) {
    if (message.role === "assistant") blocks.push(...assistantBlocks(message));
    else if (message.role === "user") pushUnlessEmpty(blocks, "[User]", plainText(message.content));
    else if (message.role === "toolResult") pushUnlessEmpty(blocks, "[Tool result]", shortened(plainText(message.content)));
  }
  return blocks.join("\n\n");
}

function assistantBlocks({ content }: AssistantMessage): string[] {
  const blocks: string[] = [];
  const calls = content.flatMap((block) => (block.type === "toolCall" ? [`${block.name}(${argumentList(block.arguments)})`] : []));
  pushUnlessEmpty(blocks, "[Assistant thinking]", content.flatMap((block) => (block.type === "thinking" ? [block.thinking] : [])).join("\n"));
  pushUnlessEmpty(blocks, "[Assistant]", content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n"));
  pushUnlessEmpty(blocks, "[Assistant tool calls]", calls.join("; "));
  return blocks;
}

function pushUnlessEmpty(blocks: string[], heading: string, text: string): void {
  if (text) blocks.push(`${heading}: ${text}`);
}

function argumentList(given: Record<string, unknown>): string {
  return Object.entries(given ?? {})
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(", ");
}

function shortened(text: string): string {
  if (text.length <= RESULT_CHARACTERS) return text;
  return `${text.slice(0, RESULT_CHARACTERS)}\n\n[... ${text.length - RESULT_CHARACTERS} more characters truncated]`;
}

function plainText(content: string | readonly { type: string }[]): string {
  if (typeof content === "string") return content;
  return content.flatMap((block) => ("text" in block && typeof block.text === "string" ? [block.text] : [])).join("");
}

// ---------------------------------------------------------------- sizes

/** About how many tokens a message takes: four characters count as one. */
export function estimateTokens(message: AgentMessage): number {
  return Math.ceil(charactersOf(message) / CHARACTERS_PER_TOKEN);
}

function charactersOf(message: AgentMessage): number {
  switch (message.role) {
    case "assistant":
      return message.content.reduce((sum, block) => sum + blockLength(block), 0);
    case "user":
    case "toolResult":
    case "custom":
      return typeof message.content === "string" ? message.content.length : message.content.reduce((sum, block) => sum + blockLength(block), 0);
    case "bashExecution":
      return message.excludeFromContext ? 0 : message.command.length + message.output.length;
    case "branchSummary":
    case "compactionSummary":
      return message.summary.length;
    default:
      return 0;
  }
}

function blockLength(block: AssistantMessage["content"][number] | UserContent): number {
  switch (block.type) {
    case "text":
      return block.text.length;
    case "thinking":
      return block.thinking.length;
    case "toolCall":
      return block.name.length + JSON.stringify(block.arguments ?? {}).length;
    case "image":
      return IMAGE_CHARACTERS;
    default:
      return 0;
  }
}

/** How many tokens of the window a request and its answer took. */
export function calculateContextTokens(usage: Usage): number {
  return usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
}
