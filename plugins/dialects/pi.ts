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

/** In the order of the wire, where undefined is left out. */
function response(reply: Reply, call: RpcCall | undefined): object {
  const id = call?.id;
  const command = call?.command ?? "parse";
  if (!reply.success) return { id, type: "response", command, success: false, error: reply.error };
  return { id, type: "response", command, success: true, data: reply.data };
}

/** The extension that a fault belongs to: its file or `command:<name>`. Faults of our own parts go to stderr only. */
function extensionOf(from: string): string | undefined {
  if (from.startsWith("extension:")) return from.slice("extension:".length);
  return from.startsWith("command:") || from.startsWith("<") || /[\\/]/.test(from) ? from : undefined;
}

export const piDialect = definePlugin({ name: "dialect:pi", apply: (kernel) => void kernel.registry("dialects").add(pi) });
