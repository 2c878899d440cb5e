/** Every provider and model that is known, from all sources; computed when asked for and kept until a source changes. */
import { type Contributions, type Model, messageOf, type PluginKernel } from "../../core/index.ts";
import type { ModelSource, ProviderLayer } from "./contract.ts";
import type { CustomModels } from "./custom.ts";
import { buildProvider, type ProviderView } from "./layers.ts";

export class Catalogue {
  readonly #sources: Contributions<ModelSource>;
  readonly #layers: Contributions<ProviderLayer>;
  readonly #custom: CustomModels;
  readonly #discovered = new Map<string, Model[]>();
  /** models that only the command line knows */
  readonly #adhoc = new Map<string, Model>();
  #views = new Map<string, ProviderView>();
  #problems = new Map<string, string>();
  #basis: { sources?: unknown; layers?: unknown; custom?: unknown } = {};

  constructor(kernel: PluginKernel, custom: CustomModels) {
    this.#sources = kernel.registry("modelSources");
    this.#layers = kernel.registry("modelLayers");
    this.#custom = custom;
  }

  /** Provider ids in order: sources, then models.json, then extensions. */
  ids(options: { withHidden?: boolean } = {}): string[] {
    const sources = this.#sources.all();
    const hidden = new Set(sources.flatMap((source) => (source.hidden && !options.withHidden ? [source.name] : [])));
    const all = [...sources.map(({ name }) => name), ...this.#custom.providers.keys(), ...this.#layers.all().map(({ provider }) => provider)];
    return [...new Set(all)].filter((id) => !hidden.has(id));
  }

  provider(id: string): ProviderView | undefined {
    this.#dropOld();
    const known = this.#views.get(id);
    if (known) return known;
    const source = this.#sources.get(id);
    const custom = this.#custom.providers.get(id);
    const extensions = this.#layers.all().filter(({ provider }) => provider === id);
    if (!source && !custom && extensions.length === 0) return undefined;
    const layers = { id, source, discovered: this.#discovered.get(id), extensions };
    // What cannot be used is left out, and the rest goes on.
    const view = this.#build({ ...layers, custom }) ?? this.#build(layers) ?? this.#build({ ...layers, custom, extensions: [] });
    if (view) this.#views.set(id, view);
    return view;
  }

  /** Every model but hidden ones. */
  models(): Model[] {
    return this.ids().flatMap((id) => this.provider(id)?.models ?? []);
  }

  find(provider: string, id: string): Model | undefined {
    return this.listed(provider, id) ?? this.#adhoc.get(`${provider}/${id}`) ?? this.provider(provider)?.source?.resolve?.(id);
  }

  /** Only what a source or a file lists: no model is made for the occasion. */
  listed(provider: string, id: string): Model | undefined {
    return this.provider(provider)?.models.find((model) => model.id === id);
  }

  /** Remembers a model that nobody lists. */
  remember(model: Model): void {
    this.#adhoc.set(`${model.provider}/${model.id}`, model);
  }

  /** Asks the provider's server what it has; without one, or if it is silent, nothing changes. */
  async discover(id: string): Promise<void> {
    const discover = this.provider(id)?.source?.discover;
    if (!discover) return;
    const found = await discover(this.#custom.providers.get(id)?.baseUrl).catch(() => undefined);
    if (!found) return;
    this.#discovered.set(id, found);
    this.#views.delete(id);
  }

  /** What is wrong with models.json. */
  error(): string | undefined {
    this.#dropOld();
    for (const id of this.#custom.providers.keys()) this.provider(id);
    return [...(this.#custom.error ? [this.#custom.error] : []), ...this.#problems.values()].join("\n") || undefined;
  }

  #build(layers: Parameters<typeof buildProvider>[0]): ProviderView | undefined {
    if (!layers.source && !layers.custom && layers.extensions.length === 0) return undefined;
    try {
      return buildProvider(layers);
    } catch (error) {
      this.#problems.set(layers.id, `models.json: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** The lists are new objects after every change. */
  #dropOld(): void {
    const sources = this.#sources.all();
    const layers = this.#layers.all();
    const custom = this.#custom.providers;
    const known = this.#basis;
    if (known.sources === sources && known.layers === layers && known.custom === custom) return;
    this.#basis = { sources, layers, custom };
    this.#views = new Map();
    this.#problems = new Map();
  }
}
