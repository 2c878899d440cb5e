/** What `import … from "pi-kernel/plugin"` gives: all that a plugin is made with. */
import type { Plugin } from "../core/index.ts";
// The services and registries that features add are part of what a plugin sees.
import type {} from "../plugins/compaction/contract.ts";
import type {} from "../plugins/extensions/contract.ts";
import type {} from "../plugins/host-tools/contract.ts";
import type {} from "../plugins/loader/contract.ts";
import type {} from "../plugins/models/contract.ts";
import type {} from "../plugins/packages/contract.ts";
import type {} from "../plugins/print/contract.ts";
import type {} from "../plugins/process/contract.ts";
import type {} from "../plugins/resources/contract.ts";
import type {} from "../plugins/retry/contract.ts";
import type { Dialect } from "../plugins/rpc/contract.ts";
import type {} from "../plugins/session/contract.ts";
import type {} from "../plugins/settings/contract.ts";
import type {} from "../plugins/skills/contract.ts";
import type {} from "../plugins/stream-rules/contract.ts";
import type {} from "../plugins/system-prompt/contract.ts";
import type {} from "../plugins/todos/contract.ts";
import type {} from "../plugins/tools/contract.ts";
import type {} from "../plugins/user-bash/contract.ts";

export { Type } from "typebox";
export type * from "../core/index.ts";
export { command, definePlugin, KernelError, messageOf, promptTemplate, provider, Stage, slashCommand, textOf, tool, transport } from "../core/index.ts";
export type { Dialect } from "../plugins/rpc/contract.ts";

/** A dialect as a plugin. */
export function dialect(definition: Dialect): Plugin {
  return { name: `dialect:${definition.name}`, apply: (kernel) => void kernel.registry("dialects").add(definition) };
}
