/** What `import … from "pi-kernel/plugin"` gives: all that a plugin is made with. */
import type { Plugin } from "../core/index.ts";
import type { Dialect } from "../plugins/rpc/contract.ts";

export { Type } from "typebox";
export type * from "../core/index.ts";
export { command, definePlugin, KernelError, messageOf, promptTemplate, provider, Stage, slashCommand, textOf, tool, transport } from "../core/index.ts";
export type { Dialect } from "../plugins/rpc/contract.ts";
export type * as contracts from "./contracts.ts";

/** A dialect as a plugin. */
export function dialect(definition: Dialect): Plugin {
  return { name: `dialect:${definition.name}`, apply: (kernel) => void kernel.registry("dialects").add(definition) };
}
