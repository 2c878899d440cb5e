/** OpenAI's Responses API, there and on Azure. */
import type { OpenAI as Sdk } from "openai";
import { type AssistantMessageEvent, definePlugin, type ModelRequest } from "../../core/index.ts";
import { callIds, responsesPayload } from "./openai-responses-convert.ts";
import { ResponsesReader } from "./openai-responses-read.ts";
import { type Environment, environmentOf } from "./shared/environment.ts";
import { exchange, type WireApi } from "./shared/exchange.ts";
import { deploymentOf, keyHeaders, openaiClient } from "./shared/openai-client.ts";

type Payload = Sdk.Responses.ResponseCreateParamsStreaming;
type Chunk = Sdk.Responses.ResponseStreamEvent;

export const openaiResponses = definePlugin({
  name: "provider:openai-responses",
  apply(kernel) {
    const environment = environmentOf(kernel);
    kernel.registry("providers").add({ name: "openai-responses", stream: (request) => streamResponses(request, environment) });
  },
});

export function streamResponses(request: ModelRequest, environment: Environment): AsyncGenerator<AssistantMessageEvent> {
  return exchange(api, request, environment);
}

const api: WireApi<Payload, Chunk> = {
  limits: () => ({ callIds }),
  payload: responsesPayload,
  headers: (_, { auth, baseUrl }) => keyHeaders(auth, baseUrl),
  async open(payload, address, _, environment) {
    const client = await openaiClient(address, environment);
    const model = deploymentOf(String(payload.model), address.baseUrl, environment);
    return client.responses.create({ ...payload, model }, { signal: address.signal });
  },
  reader: (draft) => new ResponsesReader(draft),
};
