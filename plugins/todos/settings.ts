/** How the list behaves: the settings `todo.*`. */
import type { PluginKernel } from "../../core/index.ts";
import type {} from "../rpc/contract.ts";
import type {} from "../settings/contract.ts";

const DEFAULT_MAX = 3;

export function clearsAutomatically(kernel: PluginKernel): boolean {
  return kernel.tryService("settings")?.get("todo.autoClear") !== false;
}

/** How often the model is reminded per user message; 0 if reminders are off. */
export function maxReminders(kernel: PluginKernel): number {
  const settings = kernel.tryService("settings");
  const given = settings?.get<boolean | { enabled?: boolean }>("todo.reminders");
  // `todo: { reminders: { max: 5 } }` says nothing about on or off.
  const isOn = typeof given === "object" ? (given.enabled ?? kernel.tryService("wire")?.dialect().defaults["todo.reminders"]) : given;
  if (isOn !== true) return 0;
  const max = settings?.get("todo.reminders.max");
  return Number.isSafeInteger(max) && (max as number) >= 0 ? (max as number) : DEFAULT_MAX;
}
