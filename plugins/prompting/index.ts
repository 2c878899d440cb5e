/** Prompting: the commands that feed a run, and the modes of the queues as the settings want them. */
import { definePlugin, Stage } from "../../core/index.ts";
import type {} from "../settings/contract.ts";
import { promptingCommands } from "./commands.ts";

const queueModes = definePlugin({
  name: "queue-modes",
  apply(kernel) {
    kernel.hooks.start.tap({ name: "queue-modes", stage: Stage.commands }, () => {
      const settings = kernel.tryService("settings");
      if (!settings) return;
      const wanted = new Map<string, unknown>();
      // Only what the settings changed: a mode that a client has chosen stays.
      const follow = () => {
        for (const key of ["steeringMode", "followUpMode", "interruptMode"] as const) {
          const mode = settings.get(key);
          if (mode === undefined || mode === wanted.get(key)) continue;
          wanted.set(key, mode);
          Object.assign(kernel.queue, { [key]: mode });
        }
      };
      follow();
      kernel.own(settings.hooks).changed.tap("queue-modes", follow);
    });
  },
});

export default [queueModes, promptingCommands];
