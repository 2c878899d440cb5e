/** OpenAI's Responses API, there and on Azure. */
import type { OpenAI as Sdk } from "openai";
import type { AssistantMessageEvent, ModelRequest } from "../../core/index.ts";
import { callIds, responsesPayload } from "./openai-responses-convert.ts";
import { ResponsesReader } from "./openai-responses-read.ts";
import type { Environment } from "./shared/environment.ts";
import { exchange, type WireApi } from "./shared/exchange.ts";
import { keyHeaders, openaiTarget } from "./shared/openai-address.ts";

type Payload = Sdk.Responses.ResponseCreateParamsStreaming;
type Chunk = Sdk.Responses.ResponseStreamEvent;

export function streamResponses(request: ModelRequest, environment: Environment): AsyncGenerator<AssistantMessageEvent> {
  return exchange(api, request, environment);
}

const api: WireApi<Payload, Chunk> = {
  limits: () => ({ callIds }),
  payload: responsesPayload,
  headers: ({ model }, { auth, baseUrl }) => keyHeaders(model, auth, baseUrl),
  target: (address, { model }, environment) => openaiTarget("/responses", model, address, environment),
  failure: (chunk) => (chunk as { error?: unknown }).error,
  reader: (draft) => new ResponsesReader(draft),
};
