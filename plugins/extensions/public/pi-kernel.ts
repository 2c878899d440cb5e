/** What `import … from "pi-kernel/plugin"` is to a plugin that is loaded as an extension: the running kernel's own helpers. */
import type { Plugin } from "../../../core/index.ts";
import type { Dialect } from "../../rpc/contract.ts";

export { Type } from "typebox";
export * from "../../../core/index.ts";

/** A dialect as a plugin. */
export function dialect(definition: Dialect): Plugin {
  return { name: `dialect:${definition.name}`, apply: (kernel) => void kernel.registry("dialects").add(definition) };
}
