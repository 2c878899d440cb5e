/** The numbers of compaction and the model that summarizes. */
import { KernelError, type Model, type PluginKernel } from "../../core/index.ts";
import type {} from "../models/contract.ts";
import type {} from "../settings/contract.ts";
import { type CompactionSettings, DEFAULT_COMPACTION_SETTINGS } from "./cut.ts";

const NO_MODEL = "No model selected. Use set_model or start pi with --model (--model offline/demo needs no key).";

/** Settings for a model. A number that is none is an error: guessing could throw a conversation away. */
export function settingsFor(kernel: PluginKernel, model: Model | undefined, enabled: boolean): CompactionSettings {
  const settings = kernel.service("settings");
  const overrides = settings.get<Record<string, Record<string, unknown>>>("compaction.modelOverrides");
  const own = model && overrides?.[`${model.provider}/${model.id}`];
  const number = (key: "reserveTokens" | "keepRecentTokens") =>
    wholeNumber(own?.[key] ?? settings.get(`compaction.${key}`) ?? DEFAULT_COMPACTION_SETTINGS[key], `compaction.${key}`);
  return { enabled, reserveTokens: number("reserveTokens"), keepRecentTokens: number("keepRecentTokens") };
}

export function wholeNumber(value: unknown, key: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new KernelError("E_REFUSED", `Setting ${key} must be a whole number of at least 0, not ${JSON.stringify(value)}`);
}

/** The current model with a usable credential. */
export async function requireModel(kernel: PluginKernel): Promise<Model> {
  const model = kernel.service("model").current();
  if (!model) throw new KernelError("E_REFUSED", NO_MODEL);
  await kernel.tryService("models")?.requireAuth(model);
  return model;
}
