/** What `import … from "pi-kernel/plugin"` gives: all that a plugin is made with. */
export { Type } from "typebox";
export type * from "../core/index.ts";
export {
  command,
  definePlugin,
  emptyMessage,
  KernelError,
  messageOf,
  promptTemplate,
  provider,
  Stage,
  slashCommand,
  textOf,
  tool,
  transport,
} from "../core/index.ts";
export { dialect } from "../plugins/extensions/public/pi-kernel.ts";
export type { Dialect } from "../plugins/rpc/contract.ts";
export type * as contracts from "./contracts.ts";
// `declare module "pi-kernel"` finds only what a file of the program imports.
export type { Agent } from "./index.ts";
