/** A request in the words of chat completions. */
import type { OpenAI as Sdk } from "openai";
import {
  type AssistantMessage,
  type LlmMessage,
  type ModelRequest,
  type TextContent,
  type ThinkingContent,
  type ToolCall,
  type ToolResultMessage,
  type ToolSpec,
  textOf,
  type UserContent,
} from "../../core/index.ts";
import { type Compat, compatOf } from "./shared/compat.ts";
import type { Environment } from "./shared/environment.ts";
import { Conversations, Memory } from "./shared/memory.ts";
import { deploymentOf } from "./shared/openai-address.ts";
import { effortOf } from "./shared/thinking.ts";
import type { Limits } from "./shared/transform.ts";

type Payload = Sdk.Chat.ChatCompletionCreateParamsStreaming;
type Message = Sdk.Chat.ChatCompletionMessageParam;
type Part = Sdk.Chat.ChatCompletionContentPartText | Sdk.Chat.ChatCompletionContentPartImage;

export function callIdsOf(compat: Compat): Limits["callIds"] {
  return compat.requiresMistralToolIds ? { shortest: 9, longest: 9, forbidden: /[^a-zA-Z0-9]/g } : { longest: 40, forbidden: /[^a-zA-Z0-9_-]/g };
}

export function completionsPayload(request: ModelRequest, environment: Environment): Payload {
  const { model, tools } = request;
  const compat = compatOf(model, model.baseUrl);
  const isCached = request.cache !== false;
  const messages = toMessages(request, compat);
  if (isCached && compat.cacheControlFormat === "anthropic") markEnds(messages);
  const maxTokens = maxTokensOf(request);
  return {
    ...model.samplingParams,
    model: deploymentOf(model, environment),
    messages,
    ...(tools.length > 0 && {
      tools: tools.map((tool) => functions.of(tool, `${compat.supportsStrictMode}`, () => toFunction(tool, compat))),
    }),
    ...(compat.supportsStore && { store: false }),
    ...(maxTokens !== undefined && { [compat.maxTokensField]: maxTokens }),
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...thinkingFields(request, compat),
    ...(isCached && compat.supportsPromptCacheKey && request.sessionId && { prompt_cache_key: request.sessionId }),
    ...(isCached && environment.longCache && compat.supportsLongCacheRetention && { prompt_cache_retention: "24h" as const }),
    ...(compat.supportsUsageInStreaming && { stream_options: { include_usage: true } }),
    stream: true,
  };
}

function toFunction({ name, description, parameters }: ToolSpec, { supportsStrictMode }: Compat): Sdk.Chat.ChatCompletionFunctionTool {
  return { type: "function", function: { name, description, parameters: parameters as Record<string, unknown>, ...(supportsStrictMode && { strict: false }) } };
}

/** Servers that add the room for the answer to the prompt would refuse long prompts: where it is half the window, they decide. */
function maxTokensOf({ model, maxTokens }: ModelRequest): number | undefined {
  if (maxTokens !== undefined) return model.maxTokens ? Math.min(maxTokens, model.maxTokens) : maxTokens;
  return model.maxTokens && model.maxTokens * 2 < model.contextWindow ? model.maxTokens : undefined;
}

function thinkingFields({ model, thinkingLevel }: ModelRequest, { thinkingFormat, supportsReasoningEffort }: Compat): object {
  if (!model.reasoning) return {};
  const isOn = thinkingLevel !== "off";
  const effort = effortOf(model, thinkingLevel);
  const words = supportsReasoningEffort && effort ? { reasoning_effort: effort } : {};
  if (thinkingFormat === "openrouter") return effort ? { reasoning: { effort } } : {};
  if (thinkingFormat === "zai") return { thinking: { type: isOn ? "enabled" : "disabled" } };
  if (thinkingFormat === "deepseek") return { thinking: { type: isOn ? "enabled" : "disabled" }, ...(isOn && words) };
  if (thinkingFormat === "qwen") return { enable_thinking: isOn };
  if (thinkingFormat === "qwen-chat-template") return { chat_template_kwargs: { enable_thinking: isOn } };
  return words;
}

const conversations = new Conversations<Message>();
const functions = new Memory<ToolSpec, Sdk.Chat.ChatCompletionFunctionTool>();

function toMessages({ model, systemPrompt, messages }: ModelRequest, compat: Compat): Message[] {
  const { requiresToolResultName, requiresThinkingAsText, requiresAssistantAfterToolResult } = compat;
  const key = `${requiresToolResultName} ${requiresThinkingAsText} ${requiresAssistantAfterToolResult}`;
  const made = conversations.of(messages, key, (result, from) => spell(messages.slice(from), compat, result));
  if (systemPrompt) made.unshift({ role: model.reasoning && compat.supportsDeveloperRole ? "developer" : "system", content: systemPrompt });
  return made;
}

function spell(messages: readonly LlmMessage[], compat: Compat, result: Message[]): void {
  /** images of the results before, which only a user may show */
  let images: Part[] = [];
  const showImages = () => {
    if (images.length > 0) {
      if (compat.requiresAssistantAfterToolResult) result.push({ role: "assistant", content: "I have the results." });
      result.push({ role: "user", content: [{ type: "text", text: "The images of the tool results:" }, ...images] });
    }
    images = [];
  };
  let last: string | undefined;
  for (const message of messages) {
    if (message.role === "toolResult") {
      result.push(toResult(message, compat));
      for (const block of message.content) if (block.type === "image") images.push(toPart(block));
    } else {
      const hadImages = images.length > 0;
      showImages();
      if (message.role === "assistant") {
        const spelled = toAssistant(message, compat);
        // Thinking alone, without a field to send it in, is no message.
        if (spelled.content || spelled.tool_calls) result.push(spelled);
      } else {
        if (compat.requiresAssistantAfterToolResult && last === "toolResult" && !hadImages) result.push({ role: "assistant", content: "I have the results." });
        result.push({ role: "user", content: toContent(message.content as UserContent[]) });
      }
    }
    last = message.role;
  }
  showImages();
}

function toContent(content: readonly UserContent[]): string | Part[] {
  return content.every(({ type }) => type === "text") ? textOf(content, "\n") : content.map(toPart);
}

function toPart(block: UserContent): Part {
  if (block.type === "text") return { type: "text", text: block.text };
  return { type: "image_url", image_url: { url: `data:${block.mimeType};base64,${block.data}` } };
}

function toResult({ toolCallId, toolName, content }: ToolResultMessage, compat: Compat): Message {
  const text = textOf(content, "\n") || "(see the image below)";
  return { role: "tool", tool_call_id: toolCallId, content: text, ...(compat.requiresToolResultName && { name: toolName }) };
}

function toAssistant({ content }: AssistantMessage, compat: Compat): Sdk.Chat.ChatCompletionAssistantMessageParam {
  const thoughts = content.filter((block): block is ThinkingContent => block.type === "thinking");
  const calls = content.filter((block): block is ToolCall => block.type === "toolCall");
  const asText: TextContent[] = compat.requiresThinkingAsText
    ? thoughts.filter(({ thinking }) => thinking).map(({ thinking }) => ({ type: "text", text: thinking }))
    : [];
  const text = textOf([...asText, ...content], "\n");
  return {
    role: "assistant",
    content: text || null,
    ...(!compat.requiresThinkingAsText && replayed(thoughts)),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, arguments: args, thoughtSignature }) => ({
        id,
        type: "function" as const,
        function: { name, arguments: JSON.stringify(args) },
        ...(thoughtSignature && { extra_content: parsed(thoughtSignature) }),
      })),
    }),
  };
}

/** Thinking goes back in the field it came in: that is its signature here. A list is what OpenRouter calls details. */
function replayed(thoughts: readonly ThinkingContent[]): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const { thinking, thinkingSignature } of thoughts) {
    if (thinkingSignature?.startsWith("[")) fields.reasoning_details = parsed(thinkingSignature);
    else if (thinkingSignature) fields[thinkingSignature] = `${fields[thinkingSignature] ?? ""}${thinking}`;
  }
  return fields;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Anthropic's cache marks, for servers that pass them on: the system prompt and the two newest messages of the user's side. */
function markEnds(messages: Message[]): void {
  const places = messages.map((_, index) => index);
  const roleAt = (index: number) => messages[index]?.role;
  const marked = [
    ...places.filter((index) => roleAt(index) === "system").slice(0, 1),
    ...places.filter((index) => roleAt(index) === "user" || roleAt(index) === "tool").slice(-2),
  ];
  for (const index of marked) {
    const message = messages[index] as Message;
    const parts: Part[] = typeof message.content === "string" ? [{ type: "text", text: message.content }] : ([...(message.content ?? [])] as Part[]);
    const last = parts.pop();
    if (last) messages[index] = { ...message, content: [...parts, { ...last, ...{ cache_control: { type: "ephemeral" } } }] } as Message;
  }
}
