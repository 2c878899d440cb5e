/** The RPC mode: a transport of JSON lines over stdin and stdout. */
import { Type } from "typebox";
import { definePlugin, type Io, KernelError, type PluginKernel, Stage } from "../../core/index.ts";
import type {} from "../print/contract.ts";
import type {} from "../process/contract.ts";
import { protocolCommands } from "./commands.ts";
import { Connection } from "./connection.ts";
import { wireRecords } from "./events.ts";

const MODE = "rpc";

const rpc = definePlugin({
  name: "transport:rpc",
  apply(kernel) {
    let connection: Connection | undefined;
    const connect = () => {
      connection ??= join(kernel);
      return connection;
    };
    kernel.registry("transports").add({ name: MODE, mode: MODE, serve: (io: Io) => connect().serve(io) });
    kernel.registry("commands").add({
      name: "extension_ui_response",
      lane: "immediate",
      silent: true,
      // Anything goes: a wrong answer settles its dialog to the default, and nobody is told.
      params: () =>
        Type.Object({
          id: Type.Optional(Type.Unknown()),
          value: Type.Optional(Type.Unknown()),
          confirmed: Type.Optional(Type.Unknown()),
          cancelled: Type.Optional(Type.Unknown()),
        }),
      run: ({ id, ...answer }) => connection?.ui.answer(String(id), answer),
    });
    kernel.registry("flags").add({
      name: "rpc-seq",
      type: "boolean",
      group: "RPC and JSON mode",
      description: "Number outbound records, so that lost ones can be asked for again",
    });
    // Before extensions load: what they say and ask at start belongs to the client.
    kernel.hooks.start.tap({ name: "rpc", stage: Stage.open }, () => {
      if (kernel.options.mode !== MODE) return;
      checkWords(kernel);
      connect();
    });
  },
});

/** The client's side of the kernel: services and taps. */
function join(kernel: PluginKernel): Connection {
  const connection = new Connection(kernel);
  const { out, ui, history } = connection;
  kernel.provide("wire", out);
  kernel.provide("ui", ui);
  connection.join();
  if (history) {
    kernel.registry("commands").add({
      name: "resume_events",
      params: () => Type.Object({ after: Type.Integer({ minimum: 0, expected: "a number" }) }),
      result: () => Type.Object({ from: Type.Integer(), to: Type.Integer() }),
      run({ after }, call) {
        const lines = history.since(after);
        call.after(() => out.replay(lines));
        return { from: after + 1, to: history.last };
      },
    });
  }
  return connection;
}

/** A first prompt belongs into a command. */
function checkWords(kernel: PluginKernel): void {
  const { files = [], prompts = [] } = kernel.options;
  if (files.length > 0) throw new KernelError("E_USAGE", "@file arguments are not supported in RPC mode");
  if (prompts.length === 0) return;
  kernel.tryService("process")?.io.stderr.write(`Warning: arguments are ignored in RPC mode: ${prompts.join(" ")}\n`);
}

export default [rpc, wireRecords, protocolCommands];
