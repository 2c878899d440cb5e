/** A request in Anthropic's words, with the marks that let its beginning be cached. */
import type { Anthropic as Sdk } from "@anthropic-ai/sdk";
import type { AssistantContent, AssistantMessage, LlmMessage, ModelRequest, ToolResultMessage, UserContent } from "../../core/index.ts";
import type { Environment } from "./shared/environment.ts";
import { Conversations } from "./shared/memory.ts";
import { effortOf } from "./shared/thinking.ts";

type Payload = Sdk.Messages.MessageCreateParamsStreaming;
type Message = Sdk.Messages.MessageParam & { content: Sdk.Messages.ContentBlockParam[] };
type Mark = Sdk.Messages.CacheControlEphemeral;

export const callIds = { longest: 64, forbidden: /[^a-zA-Z0-9_-]/g };

/** What must remain for the answer when a budget for thinking is taken off. */
const ANSWER_TOKENS = 1024;
const SMALLEST_BUDGET = 1024;
/** Older models count the room for the answer against the window, so it is not made larger than useful. */
const OLDER_OUTPUT = 32_000;

export function anthropicPayload(request: ModelRequest, environment: Environment): Payload {
  const { model, systemPrompt, tools } = request;
  const mark: Mark | undefined = request.cache === false ? undefined : { type: "ephemeral", ...(environment.longCache && { ttl: "1h" }) };
  const messages = toMessages(request.messages);
  if (mark) markEnds(messages, mark);
  const thinking = thinkingOf(request, environment);
  return {
    ...model.samplingParams,
    model: model.id,
    max_tokens: maxTokensOf(request),
    ...(systemPrompt && { system: [{ type: "text", text: systemPrompt, ...(mark && { cache_control: mark }) }] }),
    messages,
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }, index) => ({
        name,
        description,
        input_schema: parameters as Sdk.Messages.Tool.InputSchema,
        ...(mark && index === tools.length - 1 && { cache_control: mark }),
      })),
    }),
    ...thinking,
    // Thinking models accept no other temperature than their own.
    ...(request.temperature !== undefined && !thinking && { temperature: request.temperature }),
    stream: true,
  };
}

/** Models whose map names efforts decide themselves how much to think; the others are given a budget. */
function isAdaptive({ model }: ModelRequest): boolean {
  const format = model.compat?.thinkingFormat;
  if (format === "adaptive" || format === "budget") return format === "adaptive";
  return Object.values(model.thinkingLevelMap ?? {}).some((value) => typeof value === "string");
}

function maxTokensOf(request: ModelRequest): number {
  const { model } = request;
  const usual = model.reasoning && isAdaptive(request) ? model.maxTokens : Math.min(model.maxTokens, OLDER_OUTPUT);
  return Math.min(request.maxTokens ?? usual, model.maxTokens || Number.MAX_SAFE_INTEGER);
}

function thinkingOf(request: ModelRequest, environment: Environment): Pick<Payload, "thinking" | "output_config"> | undefined {
  const { model, thinkingLevel } = request;
  if (!model.reasoning) return undefined;
  const effort = effortOf(model, thinkingLevel);
  if (thinkingLevel === "off") return effort === "disabled" ? { thinking: { type: "disabled" } } : undefined;
  if (isAdaptive(request))
    return { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: effort as Sdk.Messages.OutputConfig["effort"] } };
  if (isBegunWithoutThinking(request.messages)) return undefined;
  const budget = Math.min(environment.budget(thinkingLevel), maxTokensOf(request) - ANSWER_TOKENS);
  return budget < SMALLEST_BUDGET ? undefined : { thinking: { type: "enabled", budget_tokens: budget } };
}

/** With a budget the API wants a turn of tool calls to begin with thinking; one that another model began does not. */
function isBegunWithoutThinking(messages: readonly LlmMessage[]): boolean {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const first = messages.slice(asked + 1).find(({ role }) => role === "assistant") as AssistantMessage | undefined;
  return first !== undefined && first.content[0]?.type !== "thinking";
}

const conversations = new Conversations<Message>();

/** The results of one answer are one message; all else keeps its own. */
function toMessages(messages: readonly LlmMessage[]): Message[] {
  return conversations.of(messages, "", (result, from) => {
    for (let index = from; index < messages.length; index++) {
      const message = messages[index] as LlmMessage;
      const made = toMessage(message);
      const isFurther = message.role === "toolResult" && messages[index - 1]?.role === "toolResult";
      if (!isFurther) result.push(made);
      else result.push({ role: "user", content: [...(result.pop()?.content ?? []), ...made.content] });
    }
  });
}

function toMessage(message: LlmMessage): Message {
  if (message.role === "toolResult") return { role: "user", content: [toResult(message)] };
  if (message.role === "user") return { role: "user", content: toContent(message.content as UserContent[]) };
  return { role: "assistant", content: message.content.map(toBlock) };
}

function toBlock(block: AssistantContent): Sdk.Messages.ContentBlockParam {
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type === "toolCall") return { type: "tool_use", id: block.id, name: block.name, input: block.arguments };
  if (block.redacted) return { type: "redacted_thinking", data: block.thinkingSignature ?? "" };
  // Without its signature the API would refuse it.
  if (!block.thinkingSignature) return { type: "text", text: block.thinking };
  return { type: "thinking", thinking: block.thinking, signature: block.thinkingSignature };
}

function toResult({ toolCallId, content, isError }: ToolResultMessage): Sdk.Messages.ToolResultBlockParam {
  // The API refuses errors that hold anything but text.
  const isMarked = isError && content.every(({ type }) => type === "text");
  return { type: "tool_result", tool_use_id: toolCallId, content: toContent(content), ...(isMarked && { is_error: true }) };
}

function toContent(content: readonly UserContent[]): (Sdk.Messages.TextBlockParam | Sdk.Messages.ImageBlockParam)[] {
  return content.map((block) =>
    block.type === "text"
      ? { type: "text", text: block.text }
      : { type: "image", source: { type: "base64", media_type: block.mimeType as Sdk.Messages.Base64ImageSource["media_type"], data: block.data } },
  );
}

/** Marks the two newest messages from the user's side: the newer writes the cache, the older finds what the request before wrote. */
function markEnds(messages: Message[], mark: Mark): void {
  let marks = 2;
  for (let index = messages.length - 1; index >= 0 && marks > 0; index--) {
    const message = messages[index] as Message;
    if (message.role !== "user") continue;
    marks--;
    const content = [...message.content] as Sdk.Messages.ContentBlockParam[];
    const last = content.pop() as Sdk.Messages.TextBlockParam | undefined;
    if (last) messages[index] = { role: "user", content: [...content, { ...last, cache_control: mark }] };
  }
}
