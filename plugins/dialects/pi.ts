/** Dialect `pi`: the kernel's own vocabulary, nearly the identity. The others start from it. */
import { definePlugin, messageOf } from "../../core/index.ts";
import type { Dialect, Reply, RpcCall } from "../rpc/contract.ts";

export const pi: Dialect = {
  name: "pi",
  defaults: {},
  acknowledges: "accepted",
  sendsPartial: true,

  call(frame) {
    const id = idOf(frame.id);
    const command = String(frame.type);
    return id === undefined ? { command, params: frame } : { id, command, params: frame };
  },

  reply: (reply, call) => [response(reply, call)],

  event: (event) => [event],

  fault({ from, during, error }) {
    const extensionPath = extensionOf(from);
    return extensionPath === undefined ? [] : [{ type: "extension_error", extensionPath, event: during, error: messageOf(error) }];
  },
};

/** A correlation id is a string or a finite number; anything else counts as absent. */
function idOf(id: unknown): string | number | undefined {
  return typeof id === "string" || (typeof id === "number" && Number.isFinite(id)) ? id : undefined;
}

function response(reply: Reply, call: RpcCall | undefined): object {
  // Field by field, in the order of the wire: this is made for every command.
  const record: Record<string, unknown> = {};
  if (call?.id !== undefined) record.id = call.id;
  record.type = "response";
  record.command = call?.command ?? "parse";
  record.success = reply.success;
  if (!reply.success) record.error = reply.error;
  else if (reply.data !== undefined) record.data = reply.data;
  return record;
}

/** The extension that a fault belongs to: its file or `command:<name>`. Faults of our own parts go to stderr only. */
function extensionOf(from: string): string | undefined {
  if (from.startsWith("extension:")) return from.slice("extension:".length);
  return from.startsWith("command:") || from.startsWith("<") || /[\\/]/.test(from) ? from : undefined;
}

export const piDialect = definePlugin({ name: "dialect:pi", apply: (kernel) => void kernel.registry("dialects").add(pi) });
