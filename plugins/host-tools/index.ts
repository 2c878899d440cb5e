/** Host tools: the client declares them, the model calls them, the client executes them. */
import { type Draft, definePlugin, KernelError, Stage, type Tool } from "../../core/index.ts";
import type {} from "../tools/contract.ts";
import { HostCalls } from "./calls.ts";
import { hostToolCommands } from "./commands.ts";
import type { HostToolDefinition } from "./contract.ts";

/** After all contributions (the host's layer lies on top) and before the filters of `--tools` and the like. */
const HOST_LAYER = 10;

export const hostTools = definePlugin({
  name: "host-tools",
  apply(kernel) {
    const tools = kernel.registry("tools");
    const calls = new HostCalls(kernel);
    let names: string[] = [];
    let retract = () => {};

    kernel.provide("hostTools", {
      declare(definitions) {
        check(definitions, (name) => tools.has(name) && !names.includes(name));
        const added = definitions.map(({ name }) => name).filter((name) => !names.includes(name));
        const declared = definitions.map((definition) => toTool(definition, calls));
        const retractOld = retract;
        retract = tools.filter((draft) => lay(draft, declared, kernel.name), HOST_LAYER);
        retractOld();
        names = declared.map(({ name }) => name);
        kernel.tryService("activeTools")?.activate(...added);
        return names;
      },
      update: (id, partialResult) => calls.update(id, partialResult),
      settle: (id, result, isError) => calls.settle(id, result, isError),
    });

    // First of all taps: extensions must see the host's verdict.
    kernel.hooks.toolResult.tap({ name: kernel.name, stage: Stage.open }, (outcome) => {
      if (calls.isError(outcome.content)) return { ...outcome, isError: true };
    });
    kernel.hooks.stopping.tap(kernel.name, () => calls.abandon());
    return () => calls.abandon();
  },
});

/** Refuses a set as a whole. */
function check(definitions: readonly HostToolDefinition[], isTaken: (name: string) => boolean): void {
  for (const [index, { parameters }] of definitions.entries()) {
    if (isObjectSchema(parameters)) continue;
    throw new KernelError("E_PARAMETER", `Invalid parameter "tools[${index}].parameters": expected a JSON Schema of type object`);
  }
  const seen = new Set<string>();
  for (const { name } of definitions) {
    if (seen.has(name)) throw new KernelError("E_REFUSED", `Duplicate host tool: ${name}`);
    seen.add(name);
  }
  for (const { name } of definitions) {
    if (isTaken(name)) throw new KernelError("E_REFUSED", `Host tool conflicts with an existing tool: ${name}`);
  }
}

/** Providers refuse the whole request for one tool with a broken schema. */
function isObjectSchema({ type, properties, required }: Record<string, unknown>): boolean {
  const hasProperties = properties === undefined || (typeof properties === "object" && properties !== null && !Array.isArray(properties));
  const hasRequired = required === undefined || (Array.isArray(required) && required.every((name) => typeof name === "string"));
  return type === "object" && hasProperties && hasRequired;
}

function toTool({ name, label, description, parameters }: HostToolDefinition, calls: HostCalls): Tool {
  return {
    name,
    label: label ?? name,
    description,
    parameters,
    sourceInfo: { path: `<host:${name}>`, source: "host", scope: "temporary", origin: "top-level" },
    execute: (invocation) => calls.ask(name, invocation),
  };
}

function lay(draft: Draft<Tool>, tools: readonly Tool[], owner: string): void {
  for (const tool of tools) {
    // Deleted first: host tools are listed after all others, in the order of their declaration.
    draft.delete(tool.name);
    draft.set(tool.name, tool);
    draft.owners.set(tool.name, owner);
  }
}

export default [hostTools, hostToolCommands];
