/** Dialect `xcsh`: early acknowledgement, no `partial`, failures without `id` where a client could not have sent one. */
import { definePlugin } from "../../core/index.ts";
import type { Dialect, RpcCall } from "../rpc/contract.ts";
import { pi } from "./pi.ts";
import { autoCompaction } from "./shared/compaction.ts";

const reminders = { "todo.reminders": true };

export const xcsh: Dialect = {
  ...pi,
  name: "xcsh",
  defaults: reminders,
  // What users set for these does not count here; every client starts from the same behaviour.
  overrides: { ...reminders, "todo.reminders.max": 3, "todo.autoClear": true },
  acknowledges: "early",
  sendsPartial: false,
  hidesTitles: true,

  reply(reply, call) {
    if (reply.success) return pi.reply(reply, call);
    if (reply.kind === "parse" || reply.kind === "exception") return pi.reply(reply, undefined);
    return pi.reply(reply, reply.kind === "unknown" ? withoutId(call) : call);
  },

  event: (event) => autoCompaction(event) ?? pi.event(event),
};

function withoutId(call: RpcCall | undefined): RpcCall | undefined {
  return call && { command: call.command, params: call.params };
}

export const xcshDialect = definePlugin({ name: "dialect:xcsh", apply: (kernel) => void kernel.registry("dialects").add(xcsh) });
