/** Commands that show and choose tools. */
import { Type } from "typebox";
import { command, KernelError } from "../../core/index.ts";
import { sourceOf } from "./active.ts";

const getTools = command({
  name: "get_tools",
  result: () =>
    Type.Object({
      tools: Type.Array(
        Type.Object({
          name: Type.String(),
          label: Type.String(),
          description: Type.String(),
          parameters: Type.Unsafe<Record<string, unknown>>({ type: "object" }),
          active: Type.Boolean(),
          source: Type.String(),
        }),
      ),
    }),
  run(_, kernel) {
    const active = new Set(kernel.service("activeTools").names());
    const tools = kernel.registry("tools").all();
    return {
      tools: tools.map((tool) => ({
        name: tool.name,
        label: tool.label,
        description: tool.description,
        parameters: tool.parameters,
        active: active.has(tool.name),
        source: sourceOf(tool),
      })),
    };
  },
});

const setActiveTools = command({
  name: "set_active_tools",
  params: () => Type.Object({ names: Type.Array(Type.String()) }),
  result: () => Type.Object({ toolNames: Type.Array(Type.String()) }),
  run({ names }, kernel) {
    const unknown = names.find((name) => !kernel.registry("tools").has(name));
    if (unknown !== undefined) throw new KernelError("E_REFUSED", `Unknown tool: ${unknown}`);
    const active = kernel.service("activeTools");
    active.set(names);
    return { toolNames: active.names() };
  },
});

export const toolCommands = [getTools, setActiveTools];
