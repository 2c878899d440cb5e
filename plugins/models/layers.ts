/** One provider out of its layers: source, then models.json, then extensions, then the overrides of models.json. */
import type { Model } from "../../core/index.ts";
import { publicAddress } from "./address.ts";
import type { ModelConfig, ModelSource, ProviderConfig, ProviderLayer } from "./contract.ts";
import type { CustomProvider, ModelOverride } from "./custom.ts";

/** Where a configured key stands. */
export interface ConfiguredKey {
  value: string;
  from: "extension" | "models.json";
}

/** All that is known about a provider. */
export interface ProviderView {
  id: string;
  displayName: string;
  models: Model[];
  /** in the order in which they count */
  keys: ConfiguredKey[];
  /** header templates; values are filled in per request */
  headers: Record<string, string>;
  /** the same for single models */
  modelHeaders: Map<string, Record<string, string>>;
  authHeader: boolean;
  /** by the address that a model shows: the whole one, with the credentials in it */
  addresses: Map<string, string>;
  /** absent for a provider that only configuration knows */
  source?: ModelSource;
}

export interface Layers {
  id: string;
  source?: ModelSource;
  discovered?: readonly Model[];
  custom?: CustomProvider;
  extensions: readonly ProviderLayer[];
}

/** Throws if the part from models.json cannot be used; `buildProvider` without it then gives the rest. */
export function buildProvider({ id, source, discovered, custom, extensions }: Layers): ProviderView {
  const view: ProviderView = {
    id,
    displayName: source?.displayName ?? id,
    models: [],
    keys: source?.apiKey ? [{ value: source.apiKey, from: "extension" }] : [],
    headers: { ...source?.headers },
    modelHeaders: new Map(),
    authHeader: source?.authHeader ?? false,
    addresses: new Map(),
    ...(source && { source }),
  };
  const listed = () => merged(source?.models ?? [], discovered ?? []);
  const shown = (models: readonly Model[]) => models.map((model) => withoutSecrets(view, model));
  if (!custom && extensions.length === 0) return withModels(view, () => shown(listed()));
  view.models = listed();
  if (custom) applyCustom(view, custom);
  for (const layer of extensions) applyExtension(view, layer);
  for (const [modelId, override] of Object.entries(custom?.modelOverrides ?? {})) applyOverride(view, modelId, override);
  view.models = shown(view.models);
  return view;
}

/** Most providers are only asked whether there is a credential: their models are made when somebody wants them. */
function withModels(view: ProviderView, make: () => Model[]): ProviderView {
  return Object.defineProperty(view, "models", {
    configurable: true,
    enumerable: true,
    get() {
      const value = make();
      Object.defineProperty(view, "models", { value, writable: true });
      return value;
    },
  });
}

function applyCustom(view: ProviderView, custom: CustomProvider): void {
  // An api alone is for models that there are not.
  const { models, api, ...rest } = custom;
  if (!models?.length && Object.keys(rest).length === 0) throw new Error(`provider "${view.id}" says nothing`);
  applyCommon(view, custom);
  if (custom.apiKey) view.keys.push({ value: custom.apiKey, from: "models.json" });
  for (const entry of models ?? []) {
    const model = makeModel(view, custom, entry);
    const index = view.models.findIndex(({ id }) => id === entry.id);
    view.models = index < 0 ? [...view.models, model] : view.models.with(index, model);
  }
}

function applyExtension(view: ProviderView, layer: ProviderLayer): void {
  applyCommon(view, layer);
  if (layer.apiKey) view.keys.unshift({ value: layer.apiKey, from: "extension" });
  if (!layer.models) return;
  view.modelHeaders.clear();
  view.models = layer.models.map((entry) => makeModel(view, layer, entry));
}

/** What both layers may say about the provider as a whole, applied to the models that are there. */
function applyCommon(view: ProviderView, config: ProviderConfig): void {
  if (config.displayName !== undefined) view.displayName = config.displayName;
  if (config.authHeader !== undefined) view.authHeader = config.authHeader;
  Object.assign(view.headers, config.headers);
  const { baseUrl, compat } = config;
  if (baseUrl === undefined && compat === undefined) return;
  view.models = view.models.map((model) => ({
    ...model,
    ...(baseUrl !== undefined && { baseUrl }),
    ...(compat && { compat: { ...model.compat, ...compat } }),
  }));
}

/** A whole model out of an entry; api and address may come from a relative. */
function makeModel(view: ProviderView, config: ProviderConfig, entry: ModelConfig): Model {
  const same = view.models.find(({ id }) => id === entry.id);
  const relative = (api: string | undefined) =>
    same ?? view.models.find((model) => model.api === api) ?? view.models.find((model) => model.api === "openai-completions") ?? view.models[0];
  const api = entry.api ?? config.api ?? relative(undefined)?.api;
  if (!api) throw new Error(`provider "${view.id}", model "${entry.id}": no "api" is given`);
  const baseUrl = entry.baseUrl ?? config.baseUrl ?? relative(api)?.baseUrl;
  if (baseUrl === undefined) throw new Error(`provider "${view.id}", model "${entry.id}": no "baseUrl" is given`);
  if (entry.headers) view.modelHeaders.set(entry.id, entry.headers);
  const kin = relative(api);
  const compat = { ...(kin?.api === api && kin.compat), ...config.compat, ...entry.compat };
  return {
    id: entry.id,
    name: entry.name ?? entry.id,
    api,
    provider: view.id,
    baseUrl,
    reasoning: entry.reasoning ?? false,
    ...(entry.thinkingLevelMap && { thinkingLevelMap: entry.thinkingLevelMap }),
    input: entry.input ?? ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ...entry.cost },
    contextWindow: entry.contextWindow ?? 128_000,
    maxTokens: entry.maxTokens ?? 16_384,
    ...(Object.keys(compat).length > 0 && { compat }),
    ...(entry.inputLimits && { inputLimits: entry.inputLimits }),
    ...(entry.promptCache && { promptCache: entry.promptCache }),
    ...(entry.samplingParams && { samplingParams: entry.samplingParams }),
  };
}

function applyOverride(view: ProviderView, id: string, override: ModelOverride): void {
  const { headers, cost, compat, thinkingLevelMap, ...fields } = override;
  const index = view.models.findIndex((model) => model.id === id);
  const model = view.models[index];
  if (!model) return;
  if (headers) view.modelHeaders.set(id, { ...view.modelHeaders.get(id), ...headers });
  view.models = view.models.with(index, {
    ...model,
    ...fields,
    ...(cost && { cost: { ...model.cost, ...cost } }),
    ...(compat && { compat: { ...model.compat, ...compat } }),
    ...(thinkingLevelMap && { thinkingLevelMap: { ...model.thinkingLevelMap, ...thinkingLevelMap } }),
  });
}

function withoutSecrets(view: ProviderView, model: Model): Model {
  const baseUrl = publicAddress(model.baseUrl);
  if (baseUrl === model.baseUrl) return model;
  view.addresses.set(baseUrl, model.baseUrl);
  return { ...model, baseUrl };
}

function merged(listed: readonly Model[], discovered: readonly Model[]): Model[] {
  const known = new Set(listed.map(({ id }) => id));
  return [...listed, ...discovered.filter(({ id }) => !known.has(id))];
}
