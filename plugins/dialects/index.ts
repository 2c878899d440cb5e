/** Dialects: how families of clients spell the protocol. One is chosen at start, for all transports that write JSON lines. */
import { definePlugin, Stage } from "../../core/index.ts";
import type {} from "../rpc/contract.ts";
import type {} from "../settings/contract.ts";
import { chosenDialect, chosenUpdates } from "../shared/frames/choice.ts";
import { dialectRecords } from "./events.ts";
import { legacyDialect } from "./legacy.ts";
import { ompDialect } from "./omp.ts";
import { piDialect } from "./pi.ts";
import { xcshDialect } from "./xcsh.ts";

const modes = new Set<unknown>(["rpc", "json"]);

const dialects = definePlugin({
  name: "dialects",
  apply(kernel) {
    const flags = kernel.registry("flags");
    const group = "RPC and JSON mode";
    flags.add({ name: "rpc-dialect", type: "string", placeholder: "<name>", group, description: "How to spell the protocol: pi, omp, xcsh or legacy" });
    flags.add({ name: "rpc-updates", type: "string", placeholder: "<mode>", group, description: "Streaming messages whole (full) or by increments (delta)" });

    // Among the first: a wrong word ends the start, and what the dialect presets must be there when others read settings.
    kernel.hooks.start.tap({ name: "dialects", stage: Stage.open }, () => {
      if (!modes.has(kernel.options.mode)) return;
      const dialect = chosenDialect(kernel);
      chosenUpdates(kernel);
      const settings = kernel.tryService("settings");
      if (settings) kernel.defer(settings.defaults(dialect.defaults));
      for (const [key, value] of Object.entries(dialect.overrides ?? {})) settings?.override(key, value);
    });
  },
});

export default [dialects, dialectRecords, piDialect, ompDialect, xcshDialect, legacyDialect];
