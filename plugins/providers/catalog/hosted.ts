/** Other hosts that speak OpenAI's chat completions: address, key variable, what differs, and a few models each. */
import type { ModelSource } from "../../models/contract.ts";
import { type House, type Row, sourceOf, unknownModel } from "./rows.ts";

interface Preset {
  provider: string;
  displayName: string;
  baseUrl: string;
  variable: string;
  compat?: Record<string, unknown>;
  defaultModel?: string;
  rows?: () => readonly Row[];
}

const lowToHigh = { minimal: null };
const onlyHigh = { minimal: null, low: null, medium: null };
const takesEffort = { compat: { supportsReasoningEffort: true } } as const;
const gptOss = { context: 131_072, output: 65_536, thinking: lowToHigh } as const;

const presets: readonly Preset[] = [
  {
    provider: "google",
    displayName: "Google Gemini",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    variable: "GEMINI_API_KEY",
    defaultModel: "gemini-3.8-flash",
    rows: () => {
      const gemini = { context: 1_048_576, output: 65_536, images: true, thinking: {} } as const;
      return [
        { id: "gemini-3.8-flash", name: "Gemini 3.8 Flash", ...gemini, thinking: lowToHigh, prices: [0.75, 3.75, 0.075] },
        { id: "gemini-3.1-pro-preview", name: "Gemini 3.1 Pro Preview", ...gemini, thinking: lowToHigh, prices: [2, 12, 0.2], above: [200_000, [4, 18, 0.4]] },
        { id: "gemini-3.6-flash", name: "Gemini 3.6 Flash", ...gemini, prices: [1.5, 7.5, 0.15] },
        { id: "gemini-3.5-flash-lite", name: "Gemini 3.5 Flash-Lite", ...gemini, prices: [0.3, 2.5, 0.03] },
        { id: "gemini-2.5-pro", name: "Gemini 2.5 Pro", ...gemini, thinking: lowToHigh, prices: [1.25, 10, 0.125], above: [200_000, [2.5, 15, 0.25]] },
        { id: "gemini-2.5-flash", name: "Gemini 2.5 Flash", ...gemini, prices: [0.3, 2.5, 0.03] },
      ];
    },
  },
  {
    provider: "openrouter",
    displayName: "OpenRouter",
    baseUrl: "https://openrouter.ai/api/v1",
    variable: "OPENROUTER_API_KEY",
    compat: { thinkingFormat: "openrouter" },
    defaultModel: "anthropic/claude-sonnet-5.5",
    rows: () => {
      const claude = { context: 1_000_000, output: 128_000, images: true, thinking: {} } as const;
      return [
        { id: "anthropic/claude-sonnet-5.5", name: "Claude Sonnet 5.5", ...claude, prices: [2, 10, 0.1, 2.5] },
        { id: "anthropic/claude-opus-5.5", name: "Claude Opus 5.5", ...claude, prices: [4, 20, 0.2, 5] },
        { id: "openai/gpt-6.1-sol", name: "GPT-6.1 Sol", context: 1_050_000, output: 128_000, images: true, thinking: lowToHigh, prices: [2, 10, 0.1, 2.5] },
        {
          id: "google/gemini-3.8-flash",
          name: "Gemini 3.8 Flash",
          context: 1_048_576,
          output: 65_536,
          images: true,
          thinking: lowToHigh,
          prices: [0.75, 3.75, 0.075],
        },
        { id: "deepseek/deepseek-v4-pro", name: "DeepSeek V4 Pro", context: 1_000_000, output: 131_072, thinking: {}, prices: [1.32, 3.96, 0.044] },
        { id: "openai/gpt-oss-120b", name: "GPT-OSS 120B", ...gptOss, prices: [0.15, 0.6] },
      ];
    },
  },
  {
    provider: "groq",
    displayName: "Groq",
    baseUrl: "https://api.groq.com/openai/v1",
    variable: "GROQ_API_KEY",
    defaultModel: "openai/gpt-oss-120b",
    rows: () => [
      { id: "openai/gpt-oss-120b", name: "GPT-OSS 120B", ...gptOss, prices: [0.15, 0.6, 0.075] },
      { id: "openai/gpt-oss-20b", name: "GPT-OSS 20B", ...gptOss, prices: [0.075, 0.3, 0.0375] },
    ],
  },
  {
    provider: "xai",
    displayName: "xAI",
    baseUrl: "https://api.x.ai/v1",
    variable: "XAI_API_KEY",
    defaultModel: "grok-4.7",
    rows: () => {
      const grok = { context: 500_000, output: 64_000, images: true, ...takesEffort } as const;
      return [
        { id: "grok-4.7", name: "Grok 4.7", ...grok, thinking: { minimal: null, xhigh: "xhigh" }, prices: [2, 6, 0.5], above: [200_000, [4, 12, 1]] },
        { id: "grok-4.5", name: "Grok 4.5", ...grok, thinking: lowToHigh, prices: [2, 6, 0.5] },
        { id: "grok-4.3", name: "Grok 4.3", context: 1_000_000, output: 64_000, images: true, thinking: {}, prices: [1.25, 2.5, 0.2] },
      ];
    },
  },
  {
    provider: "mistral",
    displayName: "Mistral",
    baseUrl: "https://api.mistral.ai/v1",
    variable: "MISTRAL_API_KEY",
    defaultModel: "mistral-medium-latest",
    rows: () => {
      const mistral = { context: 256_000, output: 64_000, images: true, thinking: onlyHigh, ...takesEffort } as const;
      return [
        { id: "mistral-medium-latest", name: "Mistral Medium", ...mistral, prices: [1.5, 7.5] },
        { id: "mistral-large-4", name: "Mistral Large 4", ...mistral, prices: [1.36, 4.18, 0.14] },
        { id: "devstral-2512", name: "Devstral 2", context: 262_144, output: 64_000, prices: [0.4, 2] },
        { id: "codestral-latest", name: "Codestral", context: 256_000, output: 16_384, prices: [0.3, 0.9] },
      ];
    },
  },
  {
    provider: "deepseek",
    displayName: "DeepSeek",
    baseUrl: "https://api.deepseek.com",
    variable: "DEEPSEEK_API_KEY",
    defaultModel: "deepseek-v4-pro",
    rows: () => {
      const v4 = { context: 1_000_000, output: 131_072, ...takesEffort } as const;
      return [
        { id: "deepseek-v4-pro", name: "DeepSeek V4 Pro", ...v4, thinking: { ...onlyHigh, max: "max" }, prices: [1.32, 3.96, 0.044] },
        { id: "deepseek-v4-flash", name: "DeepSeek V4 Flash", ...v4, thinking: { minimal: null, medium: null, max: "max" }, prices: [0.22, 0.66, 0.007] },
      ];
    },
  },
  {
    provider: "cerebras",
    displayName: "Cerebras",
    baseUrl: "https://api.cerebras.ai/v1",
    variable: "CEREBRAS_API_KEY",
    defaultModel: "gpt-oss-120b",
    rows: () => [
      { id: "gpt-oss-120b", name: "GPT-OSS 120B", ...gptOss, output: 32_768, prices: [0.35, 0.75] },
      {
        id: "qwen-3.8-27b",
        name: "Qwen 3.8 27B",
        context: 65_536,
        output: 32_768,
        images: true,
        thinking: { off: "none", minimal: null },
        prices: [0.99, 1.49],
      },
    ],
  },
  {
    provider: "together",
    displayName: "Together",
    baseUrl: "https://api.together.xyz/v1",
    variable: "TOGETHER_API_KEY",
    defaultModel: "openai/gpt-oss-120b",
    rows: () => [
      { id: "openai/gpt-oss-120b", name: "GPT-OSS 120B", ...gptOss, prices: [0.15, 0.6] },
      { id: "openai/gpt-oss-20b", name: "GPT-OSS 20B", ...gptOss, prices: [0.05, 0.2] },
    ],
  },
  {
    provider: "fireworks",
    displayName: "Fireworks",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    variable: "FIREWORKS_API_KEY",
    defaultModel: "accounts/fireworks/models/gpt-oss-120b",
    rows: () => [
      { id: "accounts/fireworks/models/gpt-oss-120b", name: "GPT-OSS 120B", ...gptOss, prices: [0.15, 0.6] },
      { id: "accounts/fireworks/models/gpt-oss-20b", name: "GPT-OSS 20B", ...gptOss, prices: [0.07, 0.3] },
    ],
  },
  {
    provider: "github-models",
    displayName: "GitHub Models",
    baseUrl: "https://models.github.ai/inference",
    // Not GITHUB_TOKEN: many have that one set for git, and would find themselves asking models with it.
    variable: "GITHUB_MODELS_TOKEN",
    compat: { maxTokensField: "max_completion_tokens" },
    defaultModel: "openai/gpt-5-mini",
    rows: () => [
      { id: "openai/gpt-5-mini", name: "GPT-5 mini", context: 200_000, output: 100_000, images: true, thinking: {}, prices: [0.25, 2, 0.025] },
      { id: "openai/gpt-4.1", name: "GPT-4.1", context: 1_047_576, output: 32_768, images: true, prices: [2, 8, 0.5] },
    ],
  },
  // Reachable with --model provider/id; their lists change too often to be kept here.
  { provider: "vercel-ai-gateway", displayName: "Vercel AI Gateway", baseUrl: "https://ai-gateway.vercel.sh/v1", variable: "AI_GATEWAY_API_KEY" },
  { provider: "zai", displayName: "Z.ai", baseUrl: "https://api.z.ai/api/paas/v4", variable: "ZAI_API_KEY", compat: { thinkingFormat: "zai" } },
  { provider: "huggingface", displayName: "Hugging Face", baseUrl: "https://router.huggingface.co/v1", variable: "HF_TOKEN" },
  { provider: "moonshotai", displayName: "Moonshot AI", baseUrl: "https://api.moonshot.ai/v1", variable: "MOONSHOT_API_KEY" },
  { provider: "minimax", displayName: "MiniMax", baseUrl: "https://api.minimax.io/v1", variable: "MINIMAX_API_KEY" },
  { provider: "nvidia", displayName: "NVIDIA", baseUrl: "https://integrate.api.nvidia.com/v1", variable: "NVIDIA_API_KEY" },
  { provider: "opencode", displayName: "OpenCode Zen", baseUrl: "https://opencode.ai/zen/v1", variable: "OPENCODE_API_KEY" },
];

export const hosted: readonly ModelSource[] = presets.map(({ provider, displayName, baseUrl, variable, compat, defaultModel, rows = () => [] }) => {
  const house: House = { provider, api: "openai-completions", baseUrl, compat: { supportsPromptCacheKey: false, ...compat } };
  return sourceOf(house, rows, { displayName, keyVariables: [variable], defaultModel, template: (id) => unknownModel(house, id) });
});
