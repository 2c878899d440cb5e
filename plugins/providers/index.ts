/** The wire APIs. Each is a plugin of its own; it and its SDK are read at the first request. */
import { type AssistantMessageEvent, definePlugin, type ModelRequest, type Plugin } from "../../core/index.ts";
import { type Environment, environmentOf } from "./shared/environment.ts";

type Stream = (request: ModelRequest, environment: Environment) => AsyncIterable<AssistantMessageEvent>;

export default [
  wireApi("anthropic-messages", async () => (await import("./anthropic-messages.ts")).streamAnthropic),
  wireApi("openai-completions", async () => (await import("./openai-completions.ts")).streamCompletions),
  wireApi("openai-responses", async () => (await import("./openai-responses.ts")).streamResponses),
];

function wireApi(name: string, load: () => Promise<Stream>): Plugin {
  return definePlugin({
    name: `provider:${name}`,
    apply(kernel) {
      const environment = environmentOf(kernel);
      kernel.registry("providers").add({
        name,
        async *stream(request) {
          const stream = await load();
          yield* stream(request, environment);
        },
      });
    },
  });
}
