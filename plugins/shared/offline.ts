/** Whether this process goes to the network only where it is told to. */
import type { PluginKernel } from "../../core/index.ts";
import type {} from "../settings/contract.ts";

export function isOffline(kernel: PluginKernel): boolean {
  return kernel.options.offline === true || /^(1|true|yes)$/i.test(kernel.tryService("settings")?.ownEnv("OFFLINE") ?? "");
}
