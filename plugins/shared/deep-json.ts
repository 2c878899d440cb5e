/** JSON of values nested deeper than `JSON.stringify` can follow: the tree of a session has two levels per entry. */
import { ownJson } from "../../core/index.ts";

/** What is still to be written: a piece of text, a value, or the end of one. */
type Step = string | { value: unknown } | { end: object };

/** The JSON text of plain data; undefined if it holds itself. */
export function deepJson(root: unknown): string | undefined {
  const text: string[] = [];
  const open = new Set<object>();
  const steps: Step[] = [{ value: root }];
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    if (typeof step === "string") text.push(step);
    else if ("end" in step) open.delete(step.end);
    else if (typeof step.value !== "object" || step.value === null) text.push(ownJson.stringify(step.value) ?? "null");
    else {
      if (open.has(step.value)) return undefined;
      open.add(step.value);
      const parts = Array.isArray(step.value) ? listParts(step.value) : objectParts(step.value);
      steps.push({ end: step.value });
      for (let index = parts.length - 1; index >= 0; index--) steps.push(parts[index] as Step);
    }
  }
  return text.join("");
}

function listParts(list: readonly unknown[]): Step[] {
  return ["[", ...list.flatMap((value, index): Step[] => [index > 0 ? "," : "", { value }]), "]"];
}

function objectParts(object: object): Step[] {
  const fields = Object.entries(object).filter(([, value]) => value !== undefined && typeof value !== "function" && typeof value !== "symbol");
  return ["{", ...fields.flatMap(([name, value], index): Step[] => [`${index > 0 ? "," : ""}${ownJson.stringify(name)}:`, { value }]), "}"];
}
