/** Notices changes of files while the agent runs, for all features that read some. */
import { definePlugin, type PluginKernel, type PluginList, Stage } from "../../core/index.ts";
import type {} from "../settings/contract.ts";
import { atLeisure } from "../shared/leisure.ts";
import { WatchingService } from "./service.ts";

const watching = definePlugin({
  name: "watching",
  apply(kernel) {
    const service = new WatchingService(
      () => isOn(kernel),
      (error) => kernel.fault({ during: "reload", error }),
    );
    kernel.provide("watching", service);
    kernel.registry("flags").add({
      name: "no-hot-reload",
      type: "boolean",
      group: "Resources",
      description: "Do not notice changes of extensions, templates, skills, context files and settings",
    });
    kernel.hooks.start.tap({ name: "watching", stage: Stage.open }, () => service.note());
    kernel.hooks.start.tap({ name: "watching", stage: Stage.listen }, () => {
      if (!isOn(kernel)) return;
      // chokidar's own switch.
      const polls = /^(1|true)$/i.test(kernel.tryService("settings")?.env("CHOKIDAR_USEPOLLING") ?? "");
      atLeisure(kernel, () => void service.begin(polls).catch((error) => kernel.fault({ during: "reload", error })));
    });
    kernel.hooks.stop.tap({ name: "watching", stage: Stage.open }, () => service.end());
    return () => service.end();
  },
});

function isOn(kernel: PluginKernel): boolean {
  const name = kernel.options.mode ?? "rpc";
  const mode = kernel.registry("transports").get(name)?.mode ?? name;
  if ((mode !== "rpc" && mode !== "tui") || kernel.options["no-hot-reload"]) return false;
  return kernel.tryService("settings")?.get("extensionsHotReload") !== false;
}

export default [watching] satisfies PluginList;
