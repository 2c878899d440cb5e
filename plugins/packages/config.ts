/** `pi config`: what loads and why, and switching single resources off and on. */
import { definePlugin } from "../../core/index.ts";
import { failing } from "./commands.ts";

export const config = definePlugin({
  name: "package-config",
  requires: ["settings"],
  apply(kernel) {
    kernel.registry("cliCommands").add({
      name: "config",
      usage: "config [enable|disable <path or name>]",
      description: "Show which extensions, skills and prompt templates load and why; switch one on or off",
      run: (args, io) => failing(io, async () => (await import("./survey.ts")).runConfig(kernel, args, io)),
    });
  },
});
