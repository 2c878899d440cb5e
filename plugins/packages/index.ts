/** Packages: extensions, skills and prompts from npm, git or a directory. */
import { definePlugin, messageOf, type PluginKernel, type PluginList, Stage } from "../../core/index.ts";
import type {} from "../process/contract.ts";
import type {} from "../settings/contract.ts";
import { complainer } from "../shared/complaints.ts";
import { isOffline } from "../shared/offline.ts";
import { parsePackageSource } from "../shared/package-source.ts";
import commands from "./commands.ts";
import { config } from "./config.ts";
import type { PackageScope } from "./contract.ts";
import { workshop } from "./workshop.ts";

const packages = definePlugin({
  name: "packages",
  requires: ["settings"],
  apply(kernel) {
    const stopped = new AbortController();
    const running = new Set<Promise<unknown>>();
    const complain = complainer(kernel, "packages");
    // All that a start installs shares one time limit.
    let starting: AbortSignal | undefined;
    let isStarting = true;
    const deadline = () => {
      const limit = kernel.service("settings").get<number>("packageInstallTimeoutMs") ?? 60_000;
      if (!isStarting) return AbortSignal.timeout(limit);
      starting ??= AbortSignal.timeout(limit);
      return starting;
    };
    kernel.provide("packages", {
      async directory(given, scope) {
        const locating = locate(kernel, given, scope, () => AbortSignal.any([stopped.signal, deadline()]));
        running.add(locating);
        try {
          return await locating;
        } catch (error) {
          complain(`${given} is not loaded: ${messageOf(error)}`);
          return undefined;
        } finally {
          running.delete(locating);
        }
      },
    });
    kernel.hooks.start.tap({ name: "packages", stage: Stage.listen }, () => {
      isStarting = false;
    });
    // What is interrupted is also taken back before the program ends.
    kernel.hooks.stop.tap("packages", async () => {
      stopped.abort();
      await Promise.allSettled(running);
    });
  },
});

export default [packages, commands, config] satisfies PluginList;

/** The package's directory, after installing it if need be. */
async function locate(kernel: PluginKernel, given: string, scope: PackageScope, patience: () => AbortSignal): Promise<string | undefined> {
  const source = parsePackageSource(given);
  if (source.kind === "local") return undefined;
  const { install, isInstalled, packageDirectory } = await import("./install.ts");
  const here = workshop(kernel, { signal: AbortSignal.abort() });
  if (isInstalled(source, scope, here)) return packageDirectory(source, scope, here);
  if (isOffline(kernel)) throw new Error("it is not installed, and this process is offline");
  kernel.tryService("process")?.io.stderr.write(`Installing ${given}…\n`);
  return install(source, scope, { ...here, signal: patience() });
}
