/** What `import … from "@mariozechner/pi-ai"` gives extensions at run time, sub-paths included. */
import { type AssistantMessage, coerce, type Model, type ModelRequest, type ThinkingLevel, type Usage } from "../../../core/index.ts";
import { calculateCost } from "../../shared/cost.ts";
import { uuidv7 } from "../../shared/ids.ts";
import { isContextOverflow } from "../../shared/overflow.ts";
import { clampUp, supportedLevels } from "../../shared/thinking.ts";
import { complete, streamSimple } from "../model-calls.ts";
import { createProvider, envApiKeyAuth, knownProvider, lazyOAuth } from "../provider-object.ts";
import type { Runtime } from "../runtime.ts";
import type { Context, StreamOptions } from "../types.ts";
import { collapseSystemMessages, getCurrentSystemMessage, getCurrentSystemPrompt, getCurrentTools, readContext } from "./dual-context.ts";
import { AssistantMessageEventStream, createAssistantMessageEventStream, EventStream } from "./event-stream.ts";
import { parseJsonWithRepair, parseStreamingJson, repairJson } from "./lenient-json.ts";
import { typebox } from "./typebox.ts";

/** Wire APIs by the words that function names use for them. */
const apis: Record<string, string> = {
  anthropicMessages: "anthropic-messages",
  openAICompletions: "openai-completions",
  openAIResponses: "openai-responses",
  openAICodexResponses: "openai-codex-responses",
  azureOpenAIResponses: "azure-openai-responses",
  googleGenerativeAI: "google-generative-ai",
  googleVertex: "google-vertex",
  mistralConversations: "mistral-conversations",
  bedrockConverseStream: "bedrock-converse-stream",
};

/** Older names of the same functions. */
const olderNames: Record<string, string> = {
  Anthropic: "anthropicMessages",
  Google: "googleGenerativeAI",
  Mistral: "mistralConversations",
  Bedrock: "bedrockConverseStream",
};

export function createAiModule(runtime: Runtime): object {
  const models = () => runtime.kernel.tryService("models");
  const stream = (model: Model, context: Context, options?: StreamOptions) => streamSimple(runtime, model, context, options);
  const modelsOf = (provider: string) =>
    models()
      ?.all()
      .filter((model) => model.provider === provider) ?? [];
  const call = (model: Model, context: Context, options?: StreamOptions) => complete(runtime, model, context, options);
  return {
    Type: typebox.Type,
    StringEnum: (values: readonly string[], options: object = {}) => typebox.Type.Unsafe({ type: "string", enum: [...values], ...options }),
    uuidv7,

    // model calls
    complete: call,
    completeSimple: call,
    stream,
    streamSimple: stream,
    EventStream,
    AssistantMessageEventStream,
    createAssistantMessageEventStream,
    ...builtinStreams(runtime),
    registerApiProvider: () => {},
    unregisterApiProviders: () => {},
    getApiProvider: (api: string) => apiOf(runtime, api),

    // models
    getModel: (provider: string, id: string) => models()?.find(provider, id),
    getModels: modelsOf,
    getProviders: () => models()?.providers() ?? [],
    getEnvApiKey: (provider: string) => envApiKey(runtime, provider),
    createProvider,
    envApiKeyAuth,
    lazyOAuth,
    getBuiltinModels: modelsOf,
    getBuiltinProviders: () => models()?.providers() ?? [],
    getBuiltinModelDataGeneratedAt: () => undefined,
    builtinProviders: () => (models()?.providers() ?? []).flatMap((id) => knownProvider(runtime, id) ?? []),
    calculateCost: (model: Model, usage: Usage) => {
      usage.cost = calculateCost(model, usage);
      return usage.cost;
    },
    getSupportedThinkingLevels: (model: Model) => supportedLevels(model),
    clampThinkingLevel: (model: Model, level: ThinkingLevel) => clampUp(level, supportedLevels(model)),
    supportsXhigh: (model: Model) => supportedLevels(model).includes("xhigh"),
    modelsAreEqual: (a: Model | undefined, b: Model | undefined) => a !== undefined && b !== undefined && a.id === b.id && a.provider === b.provider,

    // messages
    contentText,
    getCurrentSystemMessage,
    getCurrentSystemPrompt,
    getCurrentTools,
    collapseSystemMessages,
    isContextOverflow: (message: AssistantMessage, window?: number) => isContextOverflow(message, window),
    validateToolArguments: (tool: { parameters: object }, { arguments: given }: { arguments: unknown }) => coerce(tool.parameters, structuredClone(given)),
    validateToolCall: (tools: readonly { name: string; parameters: object }[], { name, arguments: given }: { name: string; arguments: unknown }) => {
      const tool = tools.find((known) => known.name === name);
      if (!tool) throw new Error(`Tool "${name}" not found`);
      return coerce(tool.parameters, structuredClone(given));
    },
    repairJson,
    parseJsonWithRepair,
    parseStreamingJson,
    extractDiagnosticError: (error: unknown) => ({ message: error instanceof Error ? error.message : String(error) }),
    getOAuthProvider: () => undefined,
    getOAuthProviders: () => [],
  };
}

function contentText(content: string | { type: string; text?: string }[], separator = "\n"): string {
  if (typeof content === "string") return content;
  return content.flatMap(({ type, text }) => (type === "text" && text !== undefined ? [text] : [])).join(separator);
}

/** The built-in streams, each under the spellings of both generations. */
function builtinStreams(runtime: Runtime): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [word, api] of Object.entries(apis)) result[`${word}Api`] = () => apiOf(runtime, api);
  const words = { ...olderNames, ...Object.fromEntries(Object.keys(apis).map((word) => [word.charAt(0).toUpperCase() + word.slice(1), word])) };
  for (const [name, word] of Object.entries(words)) {
    const { stream, streamSimple: simple } = apiOf(runtime, apis[word] as string);
    result[`stream${name}`] = stream;
    result[`streamSimple${name}`] = simple;
  }
  return result;
}

/** One wire API, whoever the model's provider is: an extension's own stream may be built on it. */
function apiOf(runtime: Runtime, api: string) {
  const open = (model: Model, context: Context, options: StreamOptions = {}) => {
    const spoken = { ...model, api };
    const providers = runtime.kernel.registry("providers");
    const own = providers.get(api);
    if (!own || !providers.has(`${api}@${model.provider}`)) return streamSimple(runtime, spoken, context, options);
    // Asking the kernel would lead back to the extension.
    const stream = new AssistantMessageEventStream();
    void runtime.leave(async () => {
      for await (const event of own.stream(directRequest(spoken, context, options))) stream.push(event);
      stream.end();
    });
    return stream;
  };
  return { stream: open, streamSimple: open };
}

function directRequest(model: Model, context: Context, options: StreamOptions): ModelRequest {
  const { onPayload, onResponse } = options as { onPayload?(payload: unknown): unknown; onResponse?(response: unknown): unknown };
  return {
    model,
    ...readContext(context as never),
    thinkingLevel: options.reasoning ?? "off",
    signal: options.signal ?? new AbortController().signal,
    sessionId: options.sessionId ?? "",
    ...(options.apiKey !== undefined && { apiKey: options.apiKey }),
    ...(options.headers && { headers: options.headers }),
    ...(options.maxTokens !== undefined && { maxTokens: options.maxTokens }),
    onPayload: async (payload) => (await onPayload?.(payload)) ?? payload,
    onHeaders: async () => {},
    onResponse: async (response) => void (await onResponse?.(response)),
  };
}

function envApiKey({ kernel }: Runtime, provider: string): string | undefined {
  const settings = kernel.tryService("settings");
  const variables = kernel.registry("modelSources").get(provider)?.keyVariables ?? [];
  return variables.map((name) => settings?.env(name)).find((value) => value);
}
