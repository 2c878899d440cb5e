/** Arguments of the package commands. */
import { KernelError, type PluginKernel } from "../../core/index.ts";
import type {} from "../settings/contract.ts";

export interface PackageArguments {
  words: string[];
  flags: ReadonlySet<string>;
  scope: "user" | "project";
}

const spellings: Record<string, string> = {
  "-l": "local",
  "--local": "local",
  "-a": "approve",
  "--approve": "approve",
  "-na": "no-approve",
  "--no-approve": "no-approve",
};

/** Sorts words from flags, and asks for trust where the project's files are meant. */
export async function readArguments(kernel: PluginKernel, args: readonly string[], own: readonly string[] = []): Promise<PackageArguments> {
  const words: string[] = [];
  const flags = new Set<string>();
  for (const arg of args) {
    const flag = spellings[arg] ?? own.find((name) => arg === `--${name}`);
    if (flag) flags.add(flag);
    else if (arg.startsWith("-")) throw new KernelError("E_USAGE", `Unknown option: ${arg}`);
    else words.push(arg);
  }
  if (flags.has("approve")) kernel.options.approve = true;
  if (flags.has("no-approve")) kernel.options.approve = false;
  const cwd = kernel.service("settings").cwd();
  const isTrusted = (await kernel.tryService("trust")?.decide(cwd)) ?? false;
  if (flags.has("local") && !isTrusted) {
    throw new KernelError("E_REFUSED", `${cwd} is not a trusted project, so -l does nothing here; add --approve if you trust it.`);
  }
  return { words, flags, scope: flags.has("local") ? "project" : "user" };
}

/** A list as it stands in a settings file that is about to be changed. */
export function listIn<T>(value: unknown, file: string, key: string): T[] {
  if (value === undefined || Array.isArray(value)) return value ?? [];
  throw new KernelError("E_REFUSED", `${file}: "${key}" is not a list. Repair it first; nothing was changed.`);
}
