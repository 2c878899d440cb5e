/** Which model and which thinking level a process begins with. */
import { KernelError, type Model, type Options, type ThinkingLevel } from "../../core/index.ts";
import { isThinkingLevel, thinkingLevels } from "../shared/thinking.ts";
import type { ScopedModel } from "./contract.ts";
import { type Market, nameOf, requireProvider, resolveModelOption, resolveScope } from "./resolve.ts";

/** What the choice depends on. */
export interface Beginning extends Market {
  options: Options;
  setting<T>(key: string): T | undefined;
  available(): Model[];
  find(provider: string, id: string): Model | undefined;
  /** what a resumed session last used */
  session?: { model?: { provider: string; modelId: string }; thinkingLevel?: ThinkingLevel };
}

export interface Start {
  model?: Model;
  /** what was asked for; clamped once there is a model */
  thinkingLevel: ThinkingLevel;
  scoped: ScopedModel[];
  warnings: string[];
  /** the model must be remembered: nobody lists it */
  isAdhoc?: boolean;
}

interface Choice {
  model: Model;
  thinkingLevel?: ThinkingLevel;
  isAdhoc?: boolean;
}

export async function chooseStart(from: Beginning): Promise<Start> {
  const thinking = thinkingOption(from.options.thinking);
  const warnings: string[] = [];
  const patterns = from.options.models?.split(",") ?? from.setting<string[]>("enabledModels") ?? [];
  const scope = resolveScope(patterns, patterns.length > 0 ? from.available() : []);
  warnings.push(...scope.warnings);

  const named = await namedModel(from, thinking !== undefined, warnings);
  const savedProvider = from.setting<string>("defaultProvider");
  if (!named && savedProvider !== undefined) await from.discover(savedProvider);
  const chosen = named ?? (from.session?.model ? undefined : fromScope(from, scope.scoped)) ?? (await fromSession(from, warnings)) ?? byDefault(from, warnings);
  return {
    ...(chosen && { model: chosen.model }),
    ...(chosen?.isAdhoc && { isAdhoc: true }),
    thinkingLevel: thinking ?? chosen?.thinkingLevel ?? from.session?.thinkingLevel ?? configuredLevel(from, chosen?.model) ?? "medium",
    scoped: scope.scoped,
    warnings,
  };
}

function thinkingOption(given: string | undefined): ThinkingLevel | undefined {
  if (given === undefined || isThinkingLevel(given)) return given;
  throw new KernelError("E_USAGE", `Invalid --thinking "${given}" (expected ${thinkingLevels.slice(0, -1).join(", ")} or ${thinkingLevels.at(-1)})`);
}

/** The level that settings give to a model. */
function configuredLevel(from: Pick<Beginning, "setting">, model: Model | undefined): ThinkingLevel | undefined {
  const perModel = model && from.setting<Record<string, unknown>>("modelThinkingLevels")?.[nameOf(model)];
  const level = perModel ?? from.setting("defaultThinkingLevel");
  return isThinkingLevel(level) ? level : undefined;
}

async function namedModel(from: Beginning, wantsThinking: boolean, warnings: string[]): Promise<Choice | undefined> {
  const { model: pattern, provider } = from.options;
  if (pattern !== undefined) {
    const { warning, ...chosen } = await resolveModelOption(from, pattern, { provider, wantsThinking });
    if (warning) warnings.push(warning);
    return chosen;
  }
  if (provider === undefined) return undefined;
  const id = requireProvider(from, provider);
  await from.discover(id);
  const saved = savedDefault(from);
  const model = saved?.provider === id ? saved : defaultOf(from, id);
  if (!model) throw new KernelError("E_USAGE", `Provider "${id}" lists no models; name one with --model ${id}/<id>.`);
  return { model };
}

/** A new session within a scope: the saved default if it is in there, else the first. */
function fromScope(from: Beginning, scoped: readonly ScopedModel[]): Choice | undefined {
  const saved = savedDefault(from);
  return scoped.find(({ model }) => saved && nameOf(model) === nameOf(saved)) ?? scoped[0];
}

async function fromSession(from: Beginning, warnings: string[]): Promise<Choice | undefined> {
  const last = from.session?.model;
  if (!last) return undefined;
  await from.discover(last.provider);
  const model = from.find(last.provider, last.modelId);
  if (model && from.hasAuth(model)) return { model };
  warnings.push(unusable("model of the session", `${last.provider}/${last.modelId}`, model));
  return undefined;
}

/** People who named a model should not have to find out by themselves that they talk to another one. */
export function unusable(what: string, name: string, found: Model | undefined): string {
  const why = found ? `there is no credential for ${found.provider}` : "it is not in the list of models";
  return `The ${what}, ${name}, cannot be used: ${why}`;
}

function byDefault(from: Beginning, warnings: string[]): Choice | undefined {
  const [provider, id] = [from.setting<string>("defaultProvider"), from.setting<string>("defaultModel")];
  const saved = savedDefault(from);
  if (saved && from.hasAuth(saved)) return { model: saved };
  if (provider !== undefined && id !== undefined) warnings.push(unusable("default model", `${provider}/${id}`, saved));
  const available = from.available();
  const providers = new Set(available.map(({ provider }) => provider));
  for (const id of providers) {
    const wanted = from.provider(id)?.source?.defaultModel;
    const model = available.find((candidate) => candidate.provider === id && candidate.id === wanted);
    if (model) return { model };
  }
  const model = available[0];
  return model && { model };
}

function savedDefault(from: Beginning): Model | undefined {
  const provider = from.setting<string>("defaultProvider");
  const id = from.setting<string>("defaultModel");
  return provider !== undefined && id !== undefined ? from.find(provider, id) : undefined;
}

function defaultOf(from: Beginning, provider: string): Model | undefined {
  const view = from.provider(provider);
  return view?.models.find(({ id }) => id === view.source?.defaultModel) ?? view?.models[0];
}
