/** Which dialect and update mode the command line or the environment asks for. */
import { KernelError, type PluginKernel } from "../../../core/index.ts";
import type { Dialect } from "../../rpc/contract.ts";
import type {} from "../../settings/contract.ts";
import type { UpdateMode } from "./updates.ts";

/** The dialect of `--rpc-dialect`, `PI_RPC_DIALECT`, or the default. Throws the sentence for stderr. */
export function chosenDialect(kernel: PluginKernel): Dialect {
  const dialects = kernel.registry("dialects");
  const asked = kernel.options["rpc-dialect"] ?? (kernel.tryService("settings")?.ownEnv("RPC_DIALECT") || undefined);
  const dialect = dialects.get(asked ?? "pi") ?? (asked === undefined ? dialects.all()[0] : undefined);
  if (dialect) return dialect;
  const names = dialects.all().map(({ name }) => name);
  throw new KernelError("E_USAGE", `Invalid --rpc-dialect "${asked ?? "pi"}" (expected ${listed(names)})`);
}

/** The update mode of `--rpc-updates`, `PI_RPC_UPDATES`, or the default. Throws the sentence for stderr. */
export function chosenUpdates(kernel: PluginKernel): UpdateMode {
  const asked = kernel.options["rpc-updates"] ?? (kernel.tryService("settings")?.ownEnv("RPC_UPDATES") || "full");
  if (asked === "full" || asked === "delta") return asked;
  throw new KernelError("E_USAGE", `Invalid --rpc-updates "${asked}" (expected full or delta)`);
}

/** "a, b or c" */
function listed(names: string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
