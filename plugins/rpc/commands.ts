/** Commands about the protocol itself. */
import { Type } from "typebox";
import { command, definePlugin, type Io, type PluginKernel } from "../../core/index.ts";
import { chosenDialect, chosenUpdates } from "../shared/frames/choice.ts";
import { toJson } from "../shared/frames/serialize.ts";
import { updateModeSchema } from "../shared/schemas.ts";
import type {} from "./contract.ts";

const PROTOCOL_VERSION = 1;

const setUpdateMode = command({
  name: "set_update_mode",
  params: () => Type.Object({ mode: updateModeSchema() }),
  result: () => Type.Object({ mode: updateModeSchema(), previous: updateModeSchema() }),
  run({ mode }, kernel, call) {
    const wire = kernel.service("wire");
    // With the reply: every update before it has the old shape, every one after it the new.
    call.after(() => wire.setUpdateMode(mode));
    return { mode, previous: wire.updateMode() };
  },
});

const anyObject = () => Type.Unsafe<Record<string, unknown>>({ type: "object" });

const getProtocol = command({
  name: "get_protocol",
  result: () =>
    Type.Object({
      version: Type.Integer(),
      dialect: Type.String(),
      updateMode: updateModeSchema(),
      commands: anyObject(),
      inbound: anyObject(),
      events: anyObject(),
    }),
  run: (_, kernel) => describeProtocol(kernel),
});

/** Schemas of what this distribution contains, in this dialect. */
function describeProtocol(kernel: PluginKernel): object {
  const wire = kernel.tryService("wire");
  const dialect = wire?.dialect() ?? chosenDialect(kernel);
  const known = kernel
    .registry("commands")
    .all()
    .filter(({ name }) => !dialect.hides?.has(name));
  const commands = known.filter(({ silent }) => !silent).map(({ name, params, result }) => [name, { params: params(), result: result?.() ?? null }]);
  const inbound = known.filter(({ silent }) => silent).map(({ name, params }) => [name, params()]);
  const events = kernel
    .registry("events")
    .all()
    .map(({ name, schema }) => [name, schema()]);
  return {
    version: PROTOCOL_VERSION,
    dialect: dialect.name,
    updateMode: wire?.updateMode() ?? chosenUpdates(kernel),
    commands: Object.fromEntries(commands),
    inbound: Object.fromEntries(inbound),
    events: Object.fromEntries(events),
  };
}

const printSchema = definePlugin({
  name: "flag:print-schema",
  apply(kernel) {
    kernel.registry("flags").add({
      name: "print-schema",
      type: "boolean",
      group: "RPC and JSON mode",
      description: "Print JSON Schemas of the protocol and exit",
      async action(_: unknown, io: Io) {
        io.stdout.write(`${toJson(describeProtocol(kernel))}\n`);
        return 0;
      },
    });
  },
});

export const protocolCommands = [setUpdateMode, getProtocol, printSchema];
