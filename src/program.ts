/** What belongs to the program itself: its flags, and the commands that make and show distributions. */
import { definePlugin, type PluginKernel } from "../core/index.ts";
import type { Branding } from "../plugins/settings/contract.ts";
import { packageRoot } from "./package-root.ts";

declare const PI_BUILT: boolean | undefined;

export const programPlugin = (branding: Branding) =>
  definePlugin({
    name: "program",
    apply(kernel) {
      const flags = kernel.registry("flags");
      flags.add({ name: "mode", type: "string", placeholder: "<mode>", group: "Mode", description: "How to talk: text, json or rpc" });
      flags.add({ name: "verbose", type: "boolean", group: "Other", description: "Say more on stderr when something goes wrong" });
      flags.add({ name: "help", alias: "h", type: "boolean", group: "Other", description: "Show this help" });
      flags.add({ name: "version", alias: "v", type: "boolean", group: "Other", description: "Show the version" });
      // A built distribution is finished: it neither builds nor runs others.
      if (typeof PI_BUILT === "undefined") addBuildCommands(kernel, branding);
    },
  });

function addBuildCommands(kernel: PluginKernel, branding: Branding): void {
  const cwd = () => kernel.options.cwd ?? "";
  kernel.registry("flags").add({
    name: "distribution",
    type: "string",
    placeholder: "<file>",
    group: "Other",
    description: "Run the distribution of a file instead",
  });
  kernel.registry("cliCommands").add({
    name: "build",
    usage: "build <distribution.ts> --out <directory> [--chunks] [--exe]",
    description: "Make one file out of a distribution",
    run: async (args, io) => (await import("./build/index.ts")).buildDistribution(args, io, cwd(), packageRoot()),
  });
  kernel.registry("cliCommands").add({
    name: "inspect",
    usage: "inspect [distribution.ts] [--json]",
    description: "Show what this distribution (or one in a file) contains",
    run: async (args, io) => (await import("./build/index.ts")).inspectDistribution(args, io, cwd(), branding, kernel),
  });
}
