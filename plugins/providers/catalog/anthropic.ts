/** Anthropic's models. */
import { type Row, sourceOf } from "./rows.ts";

/** The newer models decide themselves how much to think; effort steers them. */
const efforts = { minimal: "low", xhigh: "xhigh", max: "max" };
const effortsWithoutXhigh = { minimal: "low", max: "max" };
/** Older ones are given a budget. */
const budget = {};

const big = { context: 1_000_000, output: 128_000, images: true, thinking: efforts } as const;
const small = { context: 200_000, output: 64_000, images: true, thinking: budget } as const;

const rows = (): Row[] => [
  { id: "claude-fable-5-2", name: "Claude Fable 5.2", ...big, prices: [8, 40, 0.2, 10] },
  { id: "claude-opus-5-5", name: "Claude Opus 5.5", ...big, prices: [4, 20, 0.2, 5] },
  { id: "claude-sonnet-5-5", name: "Claude Sonnet 5.5", ...big, prices: [2, 10, 0.1, 2.5] },
  { id: "claude-haiku-5-5", name: "Claude Haiku 5.5", ...big, prices: [0.1, 0.5, 0.01, 0.125], above: [100_000, [0.5, 2.5, 0.05, 0.625]] },
  { id: "claude-mythos-5-2", name: "Claude Mythos 5.2", ...big, prices: [8, 40, 0.2, 10] },
  { id: "claude-fable-5-1", name: "Claude Fable 5.1", ...big, prices: [10, 50, 0.25, 12.5] },
  { id: "claude-mythos-5-1", name: "Claude Mythos 5.1", ...big, prices: [10, 50, 0.25, 12.5] },
  { id: "claude-sonnet-5", name: "Claude Sonnet 5", ...big, prices: [2, 10, 0.2, 2.5] },
  { id: "claude-fable-5", name: "Claude Fable 5", ...big, prices: [10, 50, 1, 12.5] },
  { id: "claude-mythos-5", name: "Claude Mythos 5", ...big, prices: [10, 50, 1, 12.5] },
  { id: "claude-opus-5", name: "Claude Opus 5", ...big, prices: [5, 25, 0.5, 6.25] },
  { id: "claude-opus-4-8", name: "Claude Opus 4.8", ...big, prices: [5, 25, 0.5, 6.25] },
  { id: "claude-opus-4-7", name: "Claude Opus 4.7", ...big, prices: [5, 25, 0.5, 6.25] },
  { id: "claude-opus-4-6", name: "Claude Opus 4.6", ...big, thinking: effortsWithoutXhigh, prices: [5, 25, 0.5, 6.25] },
  { id: "claude-sonnet-4-6", name: "Claude Sonnet 4.6", ...big, thinking: effortsWithoutXhigh, output: 64_000, prices: [3, 15, 0.3, 3.75] },
  { id: "claude-opus-4-5", name: "Claude Opus 4.5", ...small, prices: [5, 25, 0.5, 6.25] },
  { id: "claude-opus-4-5-20251101", name: "Claude Opus 4.5", ...small, prices: [5, 25, 0.5, 6.25] },
  { id: "claude-sonnet-4-5", name: "Claude Sonnet 4.5", ...small, prices: [3, 15, 0.3, 3.75] },
  { id: "claude-sonnet-4-5-20250929", name: "Claude Sonnet 4.5", ...small, prices: [3, 15, 0.3, 3.75] },
  { id: "claude-haiku-4-5", name: "Claude Haiku 4.5", ...small, prices: [1, 5, 0.1, 1.25] },
  { id: "claude-haiku-4-5-20251001", name: "Claude Haiku 4.5", ...small, prices: [1, 5, 0.1, 1.25] },
  { id: "claude-opus-4-1-20250805", name: "Claude Opus 4.1", ...small, output: 32_000, prices: [15, 75, 1.5, 18.75] },
  { id: "claude-opus-4-20250514", name: "Claude Opus 4", ...small, output: 32_000, prices: [15, 75, 1.5, 18.75] },
  { id: "claude-sonnet-4-20250514", name: "Claude Sonnet 4", ...small, prices: [3, 15, 0.3, 3.75] },
];

export const anthropic = sourceOf({ provider: "anthropic", api: "anthropic-messages", baseUrl: "https://api.anthropic.com" }, rows, {
  displayName: "Anthropic",
  keyVariables: ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"],
  bearerVariables: { ANTHROPIC_AUTH_TOKEN: {}, ANTHROPIC_OAUTH_TOKEN: { "anthropic-beta": "oauth-2025-04-20" } },
  defaultModel: "claude-opus-5-5",
});
