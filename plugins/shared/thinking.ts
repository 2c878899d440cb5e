/** Thinking levels: which ones a model has, and what becomes of a level it does not have. */
import type { Model, ThinkingLevel } from "../../core/index.ts";

/** ascending */
export const thinkingLevels: readonly ThinkingLevel[] = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

export function isThinkingLevel(text: unknown): text is ThinkingLevel {
  return thinkingLevels.includes(text as ThinkingLevel);
}

/** The levels of a model in ascending order. The two highest exist only where the model's map names them. */
export function supportedLevels(model: Pick<Model, "reasoning" | "thinkingLevelMap"> | undefined): ThinkingLevel[] {
  if (!model?.reasoning) return ["off"];
  const map = model.thinkingLevelMap ?? {};
  return thinkingLevels.filter((level) => (level === "xhigh" || level === "max" ? typeof map[level] === "string" : map[level] !== null));
}

/** The level, else the next higher one, else the next lower: what a model switch does. */
export function clampUp(level: ThinkingLevel, supported: readonly ThinkingLevel[]): ThinkingLevel {
  const wanted = thinkingLevels.indexOf(level);
  return supported.find((other) => thinkingLevels.indexOf(other) >= wanted) ?? supported.at(-1) ?? "off";
}

/** The highest level that is not above the request, else the lowest one: what an explicit request gets. */
export function clampDown(level: ThinkingLevel, supported: readonly ThinkingLevel[]): ThinkingLevel {
  const wanted = thinkingLevels.indexOf(level);
  return supported.findLast((other) => thinkingLevels.indexOf(other) <= wanted) ?? supported[0] ?? "off";
}
