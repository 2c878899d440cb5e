/** Thinking levels in the words of the wire. */
import type { Model, ThinkingLevel } from "../../../core/index.ts";

/** What the model's map says for a level, else the level's own name; undefined: say nothing. */
export function effortOf(model: Model, level: ThinkingLevel): string | undefined {
  if (!model.reasoning) return undefined;
  const mapped = model.thinkingLevelMap?.[level];
  if (mapped) return mapped;
  return level === "off" || mapped === null ? undefined : level;
}
