/** What settings say about shells and the programs that children find. */
import { join } from "node:path";
import type { PluginKernel } from "../../core/index.ts";
import type {} from "../settings/contract.ts";
import { expandPath } from "./paths.ts";
import type { EnvironmentOptions } from "./shell.ts";

/** Where children of this agent find their variables and programs. */
export function environmentOptions(kernel: PluginKernel): EnvironmentOptions {
  const settings = kernel.tryService("settings");
  return {
    base: kernel.options.env as NodeJS.ProcessEnv | undefined,
    ...(settings && { binDir: join(settings.agentDir(), "bin"), name: settings.branding.name, prefix: settings.branding.envPrefix }),
  };
}

/** The configured shell; relative to the agent's directory, as every path in its settings. */
export function shellPath(kernel: PluginKernel): string | undefined {
  const settings = kernel.tryService("settings");
  const path = settings?.get<string>("shellPath");
  return settings && path ? expandPath(path, settings.agentDir(), settings.home()) : undefined;
}

/** The command with what the user wants before every command. */
export function withPrefix(kernel: PluginKernel, command: string): string {
  const prefix = kernel.tryService("settings")?.get<string>("shellCommandPrefix");
  return prefix ? `${prefix}\n${command}` : command;
}
