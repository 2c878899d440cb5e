/** OpenAI's chat completions, as OpenAI and many other servers speak them. */
import type { OpenAI as Sdk } from "openai";
import { type AssistantMessageEvent, definePlugin, type ModelRequest } from "../../core/index.ts";
import { callIdsOf, completionsPayload } from "./openai-completions-convert.ts";
import { CompletionsReader } from "./openai-completions-read.ts";
import { compatOf } from "./shared/compat.ts";
import { type Environment, environmentOf } from "./shared/environment.ts";
import { exchange, type WireApi } from "./shared/exchange.ts";
import { deploymentOf, keyHeaders, openaiClient } from "./shared/openai-client.ts";

type Payload = Sdk.Chat.ChatCompletionCreateParamsStreaming;
type Chunk = Sdk.Chat.ChatCompletionChunk;

export const openaiCompletions = definePlugin({
  name: "provider:openai-completions",
  apply(kernel) {
    const environment = environmentOf(kernel);
    kernel.registry("providers").add({ name: "openai-completions", stream: (request) => streamCompletions(request, environment) });
  },
});

export function streamCompletions(request: ModelRequest, environment: Environment): AsyncGenerator<AssistantMessageEvent> {
  return exchange(api, request, environment);
}

const api: WireApi<Payload, Chunk> = {
  limits: (model) => ({ callIds: callIdsOf(compatOf(model, model.baseUrl)) }),
  payload: completionsPayload,
  headers: (_, { auth, baseUrl }) => keyHeaders(auth, baseUrl),
  async open(payload, address, _, environment) {
    const client = await openaiClient(address, environment);
    return client.chat.completions.create({ ...payload, model: deploymentOf(payload.model, address.baseUrl, environment) }, { signal: address.signal });
  },
  reader: (draft) => new CompletionsReader(draft),
};
