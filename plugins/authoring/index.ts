/** For authors of extensions: a start to build on, a check, and a place to try things. All of it is loaded when it is asked for. */
import { definePlugin, KernelError, type PluginKernel, type PluginList } from "../../core/index.ts";
import type {} from "../settings/contract.ts";

const usages = {
  create: "create extension <name> [--package]",
  ext: "ext check <file>… [--json] [--strict] [--no-types]",
  dev: "dev <extension> [--model <model>] [options]",
};

const create = definePlugin({
  name: "authoring:create",
  requires: ["settings"],
  apply(kernel) {
    kernel.registry("cliCommands").add({
      name: "create",
      usage: usages.create,
      description: "Write a working extension to start from; --package: with manifest, types and a test",
      run: async (args, io) => (await (await import("./create.ts")).runCreate(kernel, args, io)) ?? misused(kernel, usages.create),
    });
  },
});

const check = definePlugin({
  name: "authoring:check",
  requires: ["settings"],
  apply(kernel) {
    kernel.registry("cliCommands").add({
      name: "ext",
      usage: usages.ext,
      description: "Load extensions in isolation and report what they register and what is wrong with them",
      expand: async ([verb, file, ...more]) =>
        verb === "inspect" && file !== undefined && more.length === 0 ? (await import("./inspect.ts")).prepareInspection(kernel, file) : undefined,
      run: async (args, io) => (await (await import("./check.ts")).runCheck(kernel, args, io)) ?? misused(kernel, usages.ext),
    });
  },
});

const dev = definePlugin({
  name: "authoring:dev",
  requires: ["settings"],
  apply(kernel) {
    kernel.registry("cliCommands").add({
      name: "dev",
      usage: usages.dev,
      description: "Try an extension and watch what it does, reloading it as you save; the offline model unless --model names another",
      expand: async ([extension, ...rest]) =>
        extension === undefined || extension.startsWith("-") ? undefined : (await import("./dev.ts")).prepareDev(kernel, extension, rest),
      run: async () => misused(kernel, usages.dev),
    });
  },
});

function misused(kernel: PluginKernel, usage: string): never {
  throw new KernelError("E_USAGE", `Usage: ${kernel.service("settings").branding.name} ${usage}`);
}

export default [create, check, dev] satisfies PluginList;
