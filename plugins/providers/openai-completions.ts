/** OpenAI's chat completions, as OpenAI and many other servers speak them. */
import type { OpenAI as Sdk } from "openai";
import type { AssistantMessageEvent, ModelRequest } from "../../core/index.ts";
import { callIdsOf, completionsPayload } from "./openai-completions-convert.ts";
import { CompletionsReader } from "./openai-completions-read.ts";
import { compatOf } from "./shared/compat.ts";
import type { Environment } from "./shared/environment.ts";
import { exchange, type WireApi } from "./shared/exchange.ts";
import { keyHeaders, openaiTarget } from "./shared/openai-address.ts";

type Payload = Sdk.Chat.ChatCompletionCreateParamsStreaming;
type Chunk = Sdk.Chat.ChatCompletionChunk;

export function streamCompletions(request: ModelRequest, environment: Environment): AsyncGenerator<AssistantMessageEvent> {
  return exchange(api, request, environment);
}

const api: WireApi<Payload, Chunk> = {
  limits: (model) => ({ callIds: callIdsOf(compatOf(model, model.baseUrl)) }),
  payload: completionsPayload,
  headers: ({ model }, { auth, baseUrl }) => keyHeaders(model, auth, baseUrl),
  target: (address, { model }, environment) => openaiTarget("/chat/completions", model, address, environment),
  failure: (chunk) => (chunk as { error?: unknown }).error,
  reader: (draft) => new CompletionsReader(draft),
};
