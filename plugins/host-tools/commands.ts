/** The host's side of the wire: declaring tools and answering their calls. */
import { Type } from "typebox";
import { type Call, command, definePlugin } from "../../core/index.ts";
import type {} from "./contract.ts";

const HostToolDefinition = () =>
  Type.Object({
    name: Type.String({ pattern: "^[A-Za-z0-9_-]{1,64}$", expected: "1-64 characters of A-Z, a-z, 0-9, _ and -" }),
    label: Type.Optional(Type.String()),
    description: Type.String({ minLength: 1 }),
    parameters: Type.Unsafe<Record<string, unknown>>({ type: "object", expected: "a JSON Schema of type object" }),
  });

const setHostTools = command({
  name: "set_host_tools",
  requires: ["hostTools"],
  params: () => Type.Object({ tools: Type.Array(HostToolDefinition()) }),
  result: () => Type.Object({ toolNames: Type.Array(Type.String()) }),
  run: ({ tools }, kernel) => ({ toolNames: kernel.service("hostTools").declare(tools) }),
});

// Nobody answers these two records, so a shape that is off must not become a parameter error: the tool call itself says it.

const hostToolUpdate = command({
  name: "host_tool_update",
  requires: ["hostTools"],
  lane: "immediate",
  silent: true,
  params: () => Type.Object({ id: Type.Optional(Type.Unknown()), partialResult: Type.Optional(Type.Unknown()) }),
  run: ({ id, partialResult }, kernel, call) => kernel.service("hostTools").update(idOf(id, call), partialResult),
});

const hostToolResult = command({
  name: "host_tool_result",
  requires: ["hostTools"],
  lane: "immediate",
  silent: true,
  params: () => Type.Object({ id: Type.Optional(Type.Unknown()), result: Type.Optional(Type.Unknown()), isError: Type.Optional(Type.Unknown()) }),
  run: ({ id, result, isError }, kernel, call) => kernel.service("hostTools").settle(idOf(id, call), result, isError === true),
});

/** A transport may take the record's id for the call's. */
function idOf(id: unknown, call: Call): string {
  return String(id ?? call.id);
}

/** The two records that exist on the RPC wire only. */
const hostToolRecords = definePlugin({
  name: "host-tools:records",
  apply(kernel) {
    const events = kernel.registry("events");
    events.add({
      name: "host_tool_call",
      schema: () =>
        Type.Object({
          type: Type.Literal("host_tool_call"),
          id: Type.String(),
          toolCallId: Type.String(),
          toolName: Type.String(),
          arguments: Type.Record(Type.String(), Type.Unknown()),
        }),
    });
    events.add({
      name: "host_tool_cancel",
      schema: () => Type.Object({ type: Type.Literal("host_tool_cancel"), id: Type.String(), targetId: Type.String() }),
    });
  },
});

export const hostToolCommands = [setHostTools, hostToolUpdate, hostToolResult, hostToolRecords];
