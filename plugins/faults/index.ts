/** Tells people on stderr what went wrong where nobody was waiting. */
import { definePlugin, messageOf, Stage } from "../../core/index.ts";
import type {} from "../process/contract.ts";
import type {} from "../settings/contract.ts";
import { textFor } from "../shared/terminal-text.ts";

export const faults = definePlugin({
  name: "faults",
  apply(kernel) {
    kernel.hooks.fault.tap({ name: "faults", stage: Stage.listen }, ({ from, during, error }) => {
      const stderr = kernel.tryService("process")?.io.stderr;
      if (!stderr) return;
      const isVerbose = kernel.options.verbose === true || kernel.tryService("settings")?.ownEnv("DEBUG") === "1";
      const detail = isVerbose && error instanceof Error && error.stack ? error.stack : messageOf(error);
      stderr.write(`${textFor(stderr, `${from} (${during}): ${detail}`)}\n`);
    });
  },
});

export default [faults];
