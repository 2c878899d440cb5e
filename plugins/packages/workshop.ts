/** What installing needs to know, from the settings. */
import type { PluginKernel } from "../../core/index.ts";
import type {} from "../settings/contract.ts";
import type { Workshop } from "./install.ts";

export function workshop(kernel: PluginKernel, options: Pick<Workshop, "signal"> & Partial<Workshop>): Workshop {
  const settings = kernel.service("settings");
  return {
    agentDir: settings.agentDir(),
    projectDir: settings.projectDir(),
    npmCommand: settings.get<string[]>("npmCommand") ?? ["npm"],
    scripts: false,
    ...options,
  };
}
