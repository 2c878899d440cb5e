/** Compaction: a summary takes the place of the older part of a conversation, by command, in time, or when a request was too long. */
import { Type } from "typebox";
import { command, definePlugin, type PluginKernel, type PluginList } from "../../core/index.ts";
import type {} from "../session/contract.ts";
import { eventSchema, nullable, once, oneOf, usageSchema } from "../shared/schemas.ts";
import { summarizeBranch } from "./branch-summary.ts";
import { Compactor } from "./compactor.ts";
import type {} from "./contract.ts";

const compaction = definePlugin({
  name: "compaction",
  requires: ["session", "settings"],
  apply(kernel) {
    const compactor = new Compactor(kernel);
    kernel.provide("compaction", compactor);
    kernel.hooks.admit.tap("compaction", () => compactor.refusePrompts());
    kernel.hooks.beforeRun.tap("compaction", () => compactor.refusePrompts());
    kernel.hooks.boundary.tap("compaction", async ({ at, signal }) => {
      if (at !== "settle") await compactor.compactIfLarge(at, signal);
    });
    kernel.hooks.afterRun.tap("compaction", async (outcome, signal) => {
      if (outcome.status === "aborted" || signal.aborted) return;
      if (await compactor.recover(outcome, signal)) return "continue";
      await compactor.compactIfLarge("end", signal);
    });
    kernel.own(kernel.service("session").hooks).summarizeBranch.tap("compaction", (change) => summarizeBranch(kernel, change));
    kernel.hooks.describe.tap("compaction", (state) => {
      state.isCompacting = compactor.inProgress();
      state.autoCompactionEnabled = compactor.enabled();
    });
    addEvents(kernel);
  },
});

const reasonSchema = once(() => oneOf("manual", "threshold", "overflow"));
const count = () => Type.Integer({ minimum: 0 });

const resultSchema = once(() =>
  Type.Object({
    summary: Type.String(),
    firstKeptEntryId: Type.String(),
    tokensBefore: count(),
    estimatedTokensAfter: Type.Optional(count()),
    usage: Type.Optional(usageSchema()),
    details: Type.Optional(Type.Unknown()),
  }),
);

function addEvents(kernel: PluginKernel): void {
  const add = (name: string, fields: () => Parameters<typeof eventSchema>[1]) =>
    kernel.registry("events").add({ name, schema: () => eventSchema(name, fields()) });
  add("compaction_start", () => ({ reason: reasonSchema() }));
  add("compaction_end", () => ({
    reason: reasonSchema(),
    result: nullable(resultSchema()),
    aborted: Type.Boolean(),
    willRetry: Type.Boolean(),
    errorMessage: Type.Optional(Type.String()),
  }));
  add("summarization_retry_scheduled", () => ({ attempt: count(), maxAttempts: count(), delayMs: count(), errorMessage: Type.String() }));
  add("summarization_retry_attempt_start", () => ({ source: oneOf("compaction", "branchSummary"), reason: Type.Optional(reasonSchema()) }));
  add("summarization_retry_finished", () => ({}));
}

const compact = command({
  name: "compact",
  params: () => Type.Object({ customInstructions: Type.Optional(Type.String()) }),
  result: resultSchema,
  lane: "background",
  run: (params, kernel) => kernel.service("compaction").compact(params),
});

const setAutoCompaction = command({
  name: "set_auto_compaction",
  params: () => Type.Object({ enabled: Type.Boolean() }),
  run: ({ enabled }, kernel) => kernel.service("compaction").setEnabled(enabled),
});

export default [compaction, compact, setAutoCompaction] satisfies PluginList;
