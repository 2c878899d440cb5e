/** How servers differ from the API they imitate: what a model's `compat` says, else what its address tells. */
import type { Model } from "../../../core/index.ts";

export interface Compat {
  /** takes `store` */
  supportsStore: boolean;
  /** the system prompt of thinking models has the role `developer` */
  supportsDeveloperRole: boolean;
  /** takes `reasoning_effort` */
  supportsReasoningEffort: boolean;
  /** takes `stream_options.include_usage` */
  supportsUsageInStreaming: boolean;
  /** takes `prompt_cache_key` */
  supportsPromptCacheKey: boolean;
  /** takes `prompt_cache_retention` */
  supportsLongCacheRetention: boolean;
  /** takes `strict` in tools */
  supportsStrictMode: boolean;
  maxTokensField: "max_completion_tokens" | "max_tokens";
  /** results of tools carry the tool's name */
  requiresToolResultName: boolean;
  /** a user's message must not follow a tool's result directly */
  requiresAssistantAfterToolResult: boolean;
  /** earlier thinking goes back as text */
  requiresThinkingAsText: boolean;
  /** ids of tool calls have exactly nine letters or digits */
  requiresMistralToolIds: boolean;
  thinkingFormat: "openai" | "openrouter" | "deepseek" | "zai" | "qwen" | "qwen-chat-template";
  /** "anthropic": the server passes on `cache_control` marks */
  cacheControlFormat: "anthropic" | undefined;
}

export function compatOf(model: Model, baseUrl: string): Compat {
  const known = detected(model, hostOf(baseUrl));
  const given = Object.entries(model.compat ?? {}).filter(([key, value]) => key in known && value !== undefined);
  return { ...known, ...Object.fromEntries(given) };
}

function detected(model: Model, host: string): Compat {
  const at = (...names: string[]) => names.some((name) => host === name || host.endsWith(`.${name}`));
  const isOfficial = at("openai.com") || isAzureHost(host);
  const isMistral = at("mistral.ai");
  const isZai = at("z.ai", "bigmodel.cn");
  const isOpenRouter = at("openrouter.ai");
  return {
    supportsStore: isOfficial,
    supportsDeveloperRole: isOfficial,
    supportsReasoningEffort: !at("x.ai") && !isMistral && !isZai,
    supportsUsageInStreaming: true,
    supportsPromptCacheKey: !isMistral,
    supportsLongCacheRetention: isOfficial,
    supportsStrictMode: isOfficial,
    maxTokensField: isOfficial ? "max_completion_tokens" : "max_tokens",
    requiresToolResultName: isMistral,
    requiresAssistantAfterToolResult: false,
    requiresThinkingAsText: isMistral,
    requiresMistralToolIds: isMistral,
    thinkingFormat: isOpenRouter ? "openrouter" : isZai ? "zai" : at("deepseek.com") ? "deepseek" : "openai",
    cacheControlFormat: isOpenRouter && model.id.startsWith("anthropic/") ? "anthropic" : undefined,
  };
}

export function isAzureHost(host: string): boolean {
  return /\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)$/.test(host);
}

const hosts = new Map<string, string>();

/** Addresses are few and asked about several times with every request. */
export function hostOf(url: string): string {
  let host = hosts.get(url);
  if (host === undefined) {
    host = URL.canParse(url) ? new URL(url).hostname : "";
    hosts.set(url, host);
  }
  return host;
}
