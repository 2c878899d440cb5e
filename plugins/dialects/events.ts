/** Records that only some dialects know. */
import { Type } from "typebox";
import { definePlugin } from "../../core/index.ts";
import { bashExecutionMessageSchema, eventSchema, nullable, oneOf } from "../shared/schemas.ts";

export const dialectRecords = definePlugin({
  name: "dialects:records",
  apply(kernel) {
    const events = kernel.registry("events");
    events.add({ name: "auto_compaction_start", schema: () => eventSchema("auto_compaction_start", { reason: oneOf("threshold", "overflow") }) });
    events.add({
      name: "auto_compaction_end",
      schema: () =>
        eventSchema("auto_compaction_end", {
          reason: Type.Optional(oneOf("threshold", "overflow")),
          result: nullable(Type.Unsafe<object>({ type: "object" })),
          aborted: Type.Boolean(),
          willRetry: Type.Boolean(),
          errorMessage: Type.Optional(Type.String()),
        }),
    });
    events.add({
      name: "compaction",
      schema: () => eventSchema("compaction", { summary: Type.String(), tokensBefore: Type.Integer({ minimum: 0 }), auto: Type.Optional(Type.Literal(true)) }),
    });
    events.add({ name: "bash_end", schema: () => eventSchema("bash_end", { message: bashExecutionMessageSchema() }) });
    events.add({ name: "error", schema: () => eventSchema("error", { error: Type.String() }) });
  },
});
