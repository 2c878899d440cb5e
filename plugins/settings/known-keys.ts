/** The settings that features read: what each may hold, and its value when nobody says otherwise. Unknown keys are kept and not judged. */
import { isTree } from "./layers.ts";

/** What a value must be; `expected` completes "must be …". */
interface Shape {
  expected: string;
  fits(value: unknown): boolean;
}

const text: Shape = { expected: "a string", fits: (value) => typeof value === "string" };
const bool: Shape = { expected: "true or false", fits: (value) => typeof value === "boolean" };
const count: Shape = { expected: "a whole number of at least 0", fits: (value) => Number.isSafeInteger(value) && (value as number) >= 0 };
const texts: Shape = { expected: "a list of strings", fits: (value) => Array.isArray(value) && value.every((item) => typeof item === "string") };
const someTexts: Shape = { expected: "a non-empty list of strings", fits: (value) => texts.fits(value) && (value as string[]).length > 0 };
const anything: Shape = { expected: "anything", fits: () => true };
const group: Shape = { expected: "an object", fits: isTree };

const oneOf = (...words: string[]): Shape => ({ expected: `one of ${words.join(", ")}`, fits: (value) => words.includes(value as string) });

const level = oneOf("off", "minimal", "low", "medium", "high", "xhigh", "max");
const queueMode = oneOf("one-at-a-time", "all");

const levels: Shape = { expected: `an object of levels (${level.expected})`, fits: (value) => isTree(value) && Object.values(value).every(level.fits) };

const isPackageEntry = (item: unknown): boolean =>
  isTree(item) &&
  typeof item.source === "string" &&
  ["extensions", "skills", "prompts", "themes"].every((kind) => item[kind] === undefined || texts.fits(item[kind]));

const packages: Shape = {
  expected: 'a list of strings or objects with a "source" and lists of patterns',
  fits: (value) => Array.isArray(value) && value.every((item) => typeof item === "string" || isPackageEntry(item)),
};

/** Key, shape, default. Compaction numbers are judged by their reader, which then refuses to compact instead of guessing. */
const known: readonly (readonly [key: string, shape: Shape, fallback?: unknown])[] = [
  ["defaultProvider", text],
  ["defaultModel", text],
  ["defaultThinkingLevel", level, "medium"],
  ["modelThinkingLevels", levels, {}],
  ["thinkingBudgets.minimal", count, 1024],
  ["thinkingBudgets.low", count, 2048],
  ["thinkingBudgets.medium", count, 8192],
  ["thinkingBudgets.high", count, 16384],
  ["enabledModels", texts],
  ["steeringMode", queueMode, "one-at-a-time"],
  ["followUpMode", queueMode, "one-at-a-time"],
  ["interruptMode", oneOf("immediate", "wait")],
  ["defaultTools", texts, ["read", "bash", "edit", "write"]],
  ["sessionDir", text],
  ["compaction.enabled", bool, true],
  ["compaction.reserveTokens", anything, 16384],
  ["compaction.keepRecentTokens", anything, 20000],
  ["compaction.modelOverrides", group, {}],
  ["branchSummary.reserveTokens", count, 16384],
  ["branchSummary.skipPrompt", bool, false],
  ["retry.enabled", bool, true],
  ["retry.maxRetries", count, 3],
  ["retry.baseDelayMs", count, 2000],
  ["retry.maxAgentDelayMs", count, 60_000],
  ["retry.provider.timeoutMs", count],
  ["retry.provider.maxRetries", count, 0],
  ["retry.provider.maxRetryDelayMs", count, 60_000],
  ["httpIdleTimeoutMs", count, 300_000],
  ["websocketConnectTimeoutMs", count, 15_000],
  ["transport", oneOf("auto", "sse", "websocket", "websocket-cached"), "auto"],
  ["httpProxy", text],
  ["images.autoResize", bool, true],
  ["images.blockImages", bool, false],
  ["shellPath", text],
  ["shellCommandPrefix", text],
  ["npmCommand", someTexts, ["npm"]],
  ["packageInstallTimeoutMs", count, 60_000],
  ["packages", packages, []],
  ["extensions", texts, []],
  ["skills", texts, []],
  ["prompts", texts, []],
  ["themes", texts, []],
  ["enableSkillCommands", bool, true],
  ["defaultProjectTrust", oneOf("ask", "always", "never"), "ask"],
  ["cacheWarming", anything, "streaming"],
  ["extensionsHotReload", bool, true],
  ["extensionsDeadlineMs", count],
];

/** What a project may not decide about its user. */
export const userOnly: ReadonlySet<string> = new Set(["defaultProjectTrust", "httpProxy", "cacheWarming"]);

/** Groups first, so that `"retry": 5` is one problem and not seven. */
export const shapes: ReadonlyMap<string, Shape> = new Map([
  ...known.flatMap(([key]) => groupsOf(key).map((name) => [name, group] as const)),
  ...known.map(([key, shape]) => [key, shape] as const),
]);

export const builtinDefaults: Readonly<Record<string, unknown>> = Object.fromEntries(
  known.filter(([, , fallback]) => fallback !== undefined).map(([key, , fallback]) => [key, fallback]),
);

function groupsOf(key: string): string[] {
  const names = key.split(".").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("."));
}
