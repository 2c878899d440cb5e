/** Model calls that extensions make themselves: the kernel's providers, with the configured credential. */
import { type AssistantMessage, emptyMessage, type Model, messageOf } from "../../core/index.ts";
import { readContext } from "./public/dual-context.ts";
import { AssistantMessageEventStream } from "./public/event-stream.ts";
import type { Runtime } from "./runtime.ts";
import type { Context, StreamOptions } from "./types.ts";

/** Opens a stream. It never throws; failure is its last event. */
export function streamSimple(runtime: Runtime, model: Model, context: Context, options: StreamOptions = {}): AssistantMessageEventStream {
  const stream = new AssistantMessageEventStream();
  const pump = async () => {
    for await (const event of runtime.kernel.stream(requestOf(model, context, options))) stream.push(event);
    stream.end();
  };
  runtime.leave(pump).catch((error) => {
    stream.push({ type: "error", reason: "error", error: emptyMessage(model, "error", messageOf(error)) });
    stream.end();
  });
  return stream;
}

export function complete(runtime: Runtime, model: Model, context: Context, options?: StreamOptions): Promise<AssistantMessage> {
  return streamSimple(runtime, model, context, options).result();
}

function requestOf(model: Model, context: Context, options: StreamOptions) {
  const { apiKey, headers, signal, maxTokens, temperature, sessionId, reasoning, cacheRetention } = options;
  return {
    model,
    ...readContext(context as never),
    ...(apiKey !== undefined && { apiKey }),
    ...(headers && { headers }),
    ...(signal && { signal }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(sessionId !== undefined && { sessionId }),
    ...(reasoning && { thinkingLevel: reasoning }),
    ...(cacheRetention === "none" && { cache: false }),
  };
}
