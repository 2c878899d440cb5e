/** OpenAI's chat completions, as OpenAI and many other servers speak them. */
import type { OpenAI as Sdk } from "openai";
import type { AssistantMessageEvent, ModelRequest } from "../../core/index.ts";
import { callIdsOf, completionsPayload } from "./openai-completions-convert.ts";
import { CompletionsReader } from "./openai-completions-read.ts";
import { compatOf } from "./shared/compat.ts";
import type { Environment } from "./shared/environment.ts";
import { exchange, type WireApi } from "./shared/exchange.ts";
import { deploymentOf, keyHeaders, openaiClient } from "./shared/openai-client.ts";
import { sseData } from "./shared/sse.ts";

type Payload = Sdk.Chat.ChatCompletionCreateParamsStreaming;
type Chunk = Sdk.Chat.ChatCompletionChunk;

export function streamCompletions(request: ModelRequest, environment: Environment): AsyncGenerator<AssistantMessageEvent> {
  return exchange(api, request, environment);
}

const api: WireApi<Payload, Chunk> = {
  limits: (model) => ({ callIds: callIdsOf(compatOf(model, model.baseUrl)) }),
  payload: completionsPayload,
  headers: ({ model }, { auth, baseUrl }) => keyHeaders(model, auth, baseUrl),
  async open(payload, address, { model }, environment) {
    const client = await openaiClient(model, address, environment);
    const body = { ...payload, model: deploymentOf(payload.model, model, environment) };
    const response = await client.chat.completions.create(body, { signal: address.signal }).asResponse();
    return chunksOf(response, client);
  },
  reader: (draft) => new CompletionsReader(draft),
};

/** The chunks of an answer, and its failures, as the SDK would give them. */
async function* chunksOf(response: Response, client: Sdk): AsyncGenerator<Chunk> {
  if (!response.body) return;
  for await (const data of sseData(response.body)) {
    if (data.startsWith("[DONE]")) return;
    const chunk = JSON.parse(data);
    if (chunk?.error) throw new (client.constructor as typeof Sdk).APIError(undefined, chunk.error, undefined, response.headers);
    yield chunk;
  }
}
