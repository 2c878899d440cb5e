/** Patterns such as `sonnet`, `openai/gpt-5:high` or `anthropic/*`, and the models they mean. */
import { KernelError, type Model, type ThinkingLevel } from "../../core/index.ts";
import { isThinkingLevel } from "../shared/thinking.ts";
import type { ScopedModel } from "./contract.ts";
import type { ProviderView } from "./layers.ts";

export interface Parsed {
  model?: Model;
  thinkingLevel?: ThinkingLevel;
  warning?: string;
}

const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
export const nameOf = (model: Pick<Model, "provider" | "id">): string => `${model.provider}/${model.id}`;

/** The model that a pattern without a level means: exact names first, then the best partial match. */
export function match(pattern: string, models: readonly Model[]): Model | undefined {
  return exactly(pattern, models) ?? onlyOne(models.filter(({ id }) => same(id, pattern))) ?? partly(pattern, models);
}

function exactly(pattern: string, models: readonly Model[]): Model | undefined {
  const slash = pattern.indexOf("/");
  if (slash < 0) return undefined;
  const [provider, id] = [pattern.slice(0, slash), pattern.slice(slash + 1)];
  return onlyOne(models.filter((model) => same(nameOf(model), pattern))) ?? models.find((model) => same(model.provider, provider) && model.id === id);
}

function partly(pattern: string, models: readonly Model[]): Model | undefined {
  const wanted = pattern.toLowerCase();
  if (wanted === "") return undefined;
  const hits = models.filter(({ id, name }) => id.toLowerCase().includes(wanted) || name.toLowerCase().includes(wanted));
  const aliases = hits.filter(({ id }) => dateOf(id) === undefined);
  if (aliases.length > 0) return highest(aliases, ({ id }) => id);
  return highest(hits, ({ id }) => `${dateOf(id)} ${id}`);
}

/** The date of a dated release; an alias has none. */
function dateOf(id: string): string | undefined {
  return id.endsWith("-latest") ? undefined : /-(\d{8})$/.exec(id)?.[1];
}

function highest(models: readonly Model[], key: (model: Model) => string): Model | undefined {
  return models.reduce<Model | undefined>((best, model) => (best === undefined || key(model) > key(best) ? model : best), undefined);
}

function onlyOne<T>(found: readonly T[]): T | undefined {
  return found.length === 1 ? found[0] : undefined;
}

/** A pattern with an optional `:level`. In lists a wrong suffix is passed over with a warning; alone it is no match. */
export function parse(pattern: string, models: readonly Model[], isList = false): Parsed {
  const model = match(pattern, models);
  if (model) return { model };
  const colon = pattern.lastIndexOf(":");
  if (colon < 0) return {};
  const [prefix, suffix] = [pattern.slice(0, colon), pattern.slice(colon + 1)];
  if (isThinkingLevel(suffix)) {
    const found = parse(prefix, models, isList);
    return found.model ? { ...found, thinkingLevel: suffix } : {};
  }
  if (!isList) return {};
  const found = parse(prefix, models, isList);
  return found.model ? { ...found, warning: `"${suffix}" in "${pattern}" is no thinking level` } : {};
}

// ---------------------------------------------------------------- lists

/** The models of `--models` or `enabledModels`, in order and once each. */
export function resolveScope(patterns: readonly string[], available: readonly Model[]): { scoped: ScopedModel[]; warnings: string[] } {
  const scoped = new Map<string, ScopedModel>();
  const warnings: string[] = [];
  for (const pattern of patterns.map((text) => text.trim()).filter((text) => text !== "")) {
    const { models, thinkingLevel, warning } = isGlob(pattern) ? glob(pattern, available) : asList(parse(pattern, available, true));
    if (warning) warnings.push(warning);
    if (models.length === 0) warnings.push(`No available model matches "${pattern}"`);
    for (const model of models) if (!scoped.has(nameOf(model))) scoped.set(nameOf(model), { model, ...(thinkingLevel && { thinkingLevel }) });
  }
  return { scoped: [...scoped.values()], warnings };
}

interface Hits {
  models: Model[];
  thinkingLevel?: ThinkingLevel;
  warning?: string;
}

function asList({ model, ...rest }: Parsed): Hits {
  return { models: model ? [model] : [], ...rest };
}

const isGlob = (pattern: string): boolean => /[*?[]/.test(pattern);

function glob(pattern: string, available: readonly Model[]): Hits {
  const { id, thinkingLevel } = splitLevel(pattern);
  const expression = globExpression(id);
  const models = available.filter((model) => expression?.test(nameOf(model)) || expression?.test(model.id));
  return { models, ...(thinkingLevel && { thinkingLevel }) };
}

/** `*` also crosses slashes: ids of routers such as OpenRouter contain them. Undefined for a range such as `[z-a]`, which nothing matches. */
function globExpression(pattern: string): RegExp | undefined {
  const source = pattern.replace(/\[(!?)([^\]]+)\]|[\s\S]/g, (token, not: string | undefined, set: string | undefined) => {
    if (set !== undefined) return `[${not ? "^" : ""}${set.replace(/[\\\]^]/g, "\\$&")}]`;
    if (token === "*") return ".*";
    return token === "?" ? "." : token.replace(/[\\^$.|+()[\]{}]/, "\\$&");
  });
  try {
    return new RegExp(`^${source}$`, "i");
  } catch {
    return undefined;
  }
}

// ---------------------------------------------------------------- --model

/** What the search for `--model` may ask. */
export interface Market {
  /** every listed model, with or without a credential */
  models(): Model[];
  ids(): string[];
  provider(id: string): ProviderView | undefined;
  hasAuth(model: Model): boolean;
  discover(provider: string): Promise<void>;
}

export interface Chosen {
  model: Model;
  thinkingLevel?: ThinkingLevel;
  warning?: string;
  /** nobody lists it */
  isAdhoc?: boolean;
}

/** The model that `--provider` and `--model` mean, or an error that says what to do. */
export async function resolveModelOption(market: Market, pattern: string, options: { provider?: string; wantsThinking: boolean }): Promise<Chosen> {
  const named = options.provider === undefined ? undefined : requireProvider(market, options.provider);
  const slash = pattern.indexOf("/");
  const inferred = named || slash < 0 ? undefined : market.ids().find((id) => same(id, pattern.slice(0, slash)));
  const provider = named ?? inferred;
  if (!provider) {
    const found = exactId(market, pattern) ?? chosen(parse(pattern, market.models()));
    if (found) return found;
    throw notFound(pattern);
  }
  const rest = inferred ? pattern.slice(slash + 1) : pattern;
  await market.discover(provider);
  const view = market.provider(provider);
  const found = chosen(parse(rest, view?.models ?? [])) ?? fromSource(view, rest) ?? (inferred ? exactId(market, pattern) : undefined);
  return found ?? adhoc(view, rest, pattern, options.wantsThinking);
}

function chosen({ model, ...rest }: Parsed): Chosen | undefined {
  return model && { model, ...rest };
}

export function requireProvider(market: Pick<Market, "ids">, wanted: string): string {
  const provider = market.ids().find((id) => same(id, wanted));
  if (provider) return provider;
  throw new KernelError("E_USAGE", `Unknown provider "${wanted}"; --list-models shows what is there.`);
}

/** The whole text as an id, else what stands before its level. */
function exactId(market: Market, text: string): Chosen | undefined {
  const whole = amongProviders(market, text);
  if (whole) return whole;
  const { id, thinkingLevel } = splitLevel(text);
  const found = thinkingLevel && amongProviders(market, id);
  return found && { ...found, thinkingLevel };
}

/** A bare id, exactly; of several providers the only one with a credential. */
function amongProviders(market: Market, id: string): Chosen | undefined {
  const found = market.models().filter((model) => same(model.id, id));
  if (found.length <= 1) return found[0] && { model: found[0] };
  const model = onlyOne(found.filter((candidate) => market.hasAuth(candidate)));
  if (model) return { model };
  throw new KernelError("E_USAGE", `Several providers have the model "${id}": ${found.map(nameOf).join(", ")}. Name one of them.`);
}

function fromSource(view: ProviderView | undefined, text: string): Chosen | undefined {
  const { id, thinkingLevel } = splitLevel(text);
  const model = id === "" ? undefined : view?.source?.resolve?.(id);
  return model && { model, ...(thinkingLevel && { thinkingLevel }) };
}

/** A model that nobody lists, in the likeness of the provider's default. */
function adhoc(view: ProviderView | undefined, text: string, pattern: string, wantsThinking: boolean): Chosen {
  const { id, thinkingLevel } = splitLevel(text);
  const template = view && (view.source?.template?.(id) ?? view.models.find((model) => model.id === view.source?.defaultModel) ?? view.models[0]);
  if (!template || id === "") throw notFound(pattern);
  const model = { ...template, id, name: id, reasoning: template.reasoning || wantsThinking || thinkingLevel !== undefined };
  const likeness = template.id === id ? "with careful limits" : `as if it were ${template.id}`;
  return { model, ...(thinkingLevel && { thinkingLevel }), warning: `${nameOf(model)} is not in the list of models; it is used ${likeness}.`, isAdhoc: true };
}

function splitLevel(text: string): { id: string; thinkingLevel?: ThinkingLevel } {
  const colon = text.lastIndexOf(":");
  const suffix = text.slice(colon + 1);
  return colon >= 0 && isThinkingLevel(suffix) ? { id: text.slice(0, colon), thinkingLevel: suffix } : { id: text };
}

function notFound(pattern: string): KernelError {
  return new KernelError("E_USAGE", `Model not found: ${pattern} (--list-models shows what is there)`);
}
