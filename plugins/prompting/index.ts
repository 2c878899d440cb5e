/** Prompting: the commands that feed a run, and the modes of the queues as the settings want them. */
import { definePlugin, type InterruptMode, type QueueMode, Stage } from "../../core/index.ts";
import type {} from "../settings/contract.ts";
import { promptingCommands } from "./commands.ts";

const queueModes = definePlugin({
  name: "queue-modes",
  apply(kernel) {
    kernel.hooks.start.tap({ name: "queue-modes", stage: Stage.commands }, () => {
      const settings = kernel.tryService("settings");
      const { queue } = kernel;
      queue.steeringMode = settings?.get<QueueMode>("steeringMode") ?? queue.steeringMode;
      queue.followUpMode = settings?.get<QueueMode>("followUpMode") ?? queue.followUpMode;
      queue.interruptMode = settings?.get<InterruptMode>("interruptMode") ?? queue.interruptMode;
    });
  },
});

export default [queueModes, promptingCommands];
