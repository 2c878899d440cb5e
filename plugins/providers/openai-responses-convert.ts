/** A request in the words of the Responses API. Nothing is stored at the provider: thinking goes back in its encrypted form. */
import type { OpenAI as Sdk } from "openai";
import { type AssistantContent, type LlmMessage, type ModelRequest, type ToolSpec, textOf, type UserContent } from "../../core/index.ts";
import { compatOf } from "./shared/compat.ts";
import type { Environment } from "./shared/environment.ts";
import { Conversations, Memory } from "./shared/memory.ts";
import { deploymentOf } from "./shared/openai-address.ts";
import { effortOf } from "./shared/thinking.ts";

type Payload = Sdk.Responses.ResponseCreateParamsStreaming;
type Item = Sdk.Responses.ResponseInputItem;

export const callIds = { longest: 64, forbidden: /[^a-zA-Z0-9_-]/g };
/** The API takes no smaller limit. */
const SMALLEST_OUTPUT = 16;

/** What identifies a text block at the provider. */
export interface TextMark {
  id: string;
  phase?: "commentary" | "final_answer";
}

export function responsesPayload(request: ModelRequest, environment: Environment): Payload {
  const { model, tools, systemPrompt } = request;
  const isCached = request.cache !== false;
  const compat = compatOf(model, model.baseUrl);
  const effort = effortOf(model, request.thinkingLevel);
  return {
    ...model.samplingParams,
    model: deploymentOf(model, environment),
    ...(systemPrompt && { instructions: systemPrompt }),
    input: conversations.of(request.messages, "", (made, from) => made.push(...request.messages.slice(from).flatMap(toInput))),
    ...(tools.length > 0 && { tools: tools.map((tool) => functions.of(tool, "", () => toFunction(tool))) }),
    ...(effort && { reasoning: { effort: effort as Sdk.ReasoningEffort, ...(request.thinkingLevel !== "off" && { summary: "auto" as const }) } }),
    ...(model.reasoning && { include: ["reasoning.encrypted_content" as const] }),
    ...(request.maxTokens !== undefined && { max_output_tokens: Math.max(SMALLEST_OUTPUT, Math.min(request.maxTokens, model.maxTokens || request.maxTokens)) }),
    ...(request.temperature !== undefined && !model.reasoning && { temperature: request.temperature }),
    ...(isCached && compat.supportsPromptCacheKey && request.sessionId && { prompt_cache_key: request.sessionId }),
    ...(isCached && environment.longCache && compat.supportsLongCacheRetention && { prompt_cache_retention: "24h" as const }),
    store: false,
    stream: true,
  };
}

const conversations = new Conversations<Item>();
const functions = new Memory<ToolSpec, Sdk.Responses.FunctionTool>();

function toInput(message: LlmMessage): Item[] {
  if (message.role === "user") return [{ role: "user", content: toContent(message.content as UserContent[]) }];
  if (message.role === "assistant") return message.content.flatMap(toItems);
  const output = message.content.every(({ type }) => type === "text") ? textOf(message.content, "\n") : toContent(message.content);
  return [{ type: "function_call_output", call_id: message.toolCallId, output }];
}

function toFunction({ name, description, parameters }: ToolSpec): Sdk.Responses.FunctionTool {
  return { type: "function", name, description, parameters: parameters as Record<string, unknown>, strict: false };
}

function toContent(content: readonly UserContent[]): (Sdk.Responses.ResponseInputText | Sdk.Responses.ResponseInputImage)[] {
  return content.map((block) =>
    block.type === "text"
      ? { type: "input_text", text: block.text }
      : { type: "input_image", image_url: `data:${block.mimeType};base64,${block.data}`, detail: "auto" },
  );
}

function toItems(block: AssistantContent): Item[] {
  if (block.type === "toolCall") {
    return [{ type: "function_call", call_id: block.id, name: block.name, arguments: JSON.stringify(block.arguments) }];
  }
  if (block.type === "thinking") {
    const item = parsed<Sdk.Responses.ResponseReasoningItem>(block.thinkingSignature);
    // Without its encrypted form the provider would look for it among what it stored.
    return item?.type === "reasoning" && item.encrypted_content ? [item] : [];
  }
  const mark = parsed<TextMark>(block.textSignature);
  if (!mark?.id) return [{ role: "assistant", content: block.text }];
  const content = [{ type: "output_text" as const, text: block.text, annotations: [] }];
  return [{ type: "message", role: "assistant", id: mark.id, status: "completed", content, ...(mark.phase && { phase: mark.phase }) }];
}

function parsed<T>(text: string | undefined): T | undefined {
  if (!text?.startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}
