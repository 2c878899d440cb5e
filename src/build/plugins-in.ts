/** The plugins that a module exports, alone or in lists. */
import type { Plugin } from "../../core/index.ts";

const isPlugin = (value: unknown): value is Plugin =>
  typeof value === "object" && value !== null && typeof (value as Plugin).name === "string" && typeof (value as Plugin).apply === "function";

export function pluginsIn(exported: unknown): Plugin[] {
  if (isPlugin(exported)) return [exported];
  return Array.isArray(exported) ? exported.flatMap(pluginsIn) : [];
}
