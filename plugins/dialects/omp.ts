/** Dialect `omp`: oh-my-pi 12.x. Early acknowledgement, nested images, other names for compactions. */
import { definePlugin } from "../../core/index.ts";
import type { Dialect } from "../rpc/contract.ts";
import { pi } from "./pi.ts";
import { autoCompaction } from "./shared/compaction.ts";
import { withImageSources } from "./shared/images.ts";

export const omp: Dialect = {
  ...pi,
  name: "omp",
  defaults: { interruptMode: "immediate", "todo.reminders": true },
  acknowledges: "early",
  reply: (reply, call) => pi.reply(reply.success ? { ...reply, data: withImageSources(reply.data) } : reply, call),
  event: (event) => (autoCompaction(event) ?? pi.event(event)).map(withImageSources),
};

export const ompDialect = definePlugin({ name: "dialect:omp", apply: (kernel) => void kernel.registry("dialects").add(omp) });
