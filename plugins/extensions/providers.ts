/** Providers of extensions: models laid over the catalogue, and streams in the extension's own words. */
import type { ProviderLayer } from "../models/contract.ts";
import type { Instance } from "./instance.ts";
import { streamFrom } from "./provider-stream.ts";
import type { Runtime } from "./runtime.ts";
import type { ProviderConfig } from "./types.ts";

/** What takes a provider's registration out of the registries again, by instance and provider. */
const registered = new WeakMap<Instance, Map<string, (() => void)[]>>();

/** Streams that extensions make for APIs that nobody else speaks. */
const ownStreams = new WeakSet<object>();

/** While the factory runs it is only noted; later it takes effect at once, or throws. */
export function registerProvider(runtime: Runtime, instance: Instance, name: unknown, config: ProviderConfig | undefined): void {
  if (typeof name !== "string") {
    const error = new Error("registerProvider takes a name and a configuration; provider objects are not supported.");
    if (instance.state !== "loading") throw error;
    // The rest of the extension may well work without it.
    runtime.kernel.fault({ from: instance.path, during: "register_provider", error });
    return;
  }
  const merged = { ...instance.providers.get(name), ...withoutUndefined(config ?? {}) };
  if (instance.state !== "loading") apply(runtime, instance, name, merged);
  instance.providers.set(name, merged);
}

/** Puts the registrations of the load phase into effect; a bad one is dropped and reported. */
export function applyProviders(runtime: Runtime, instance: Instance): void {
  for (const [name, config] of [...instance.providers]) {
    try {
      apply(runtime, instance, name, config);
    } catch (error) {
      instance.providers.delete(name);
      runtime.kernel.fault({ from: instance.path, during: "register_provider", error });
    }
  }
}

export function unregisterProvider(instance: Instance, name: string): void {
  instance.providers.delete(name);
  takeBack(instance, name);
}

function apply(runtime: Runtime, instance: Instance, name: string, config: ProviderConfig): void {
  const { kernel } = instance;
  const undo: (() => void)[] = [];
  try {
    if (config.oauth) undo.push(kernel.registry("oauth").add(oauthOf(runtime, instance, name, config.oauth)));
    const layer = layerOf(instance, name, config);
    runtime.kernel.tryService("models")?.checkLayer(layer);
    undo.push(kernel.registry("modelLayers").add(layer));
    if (config.streamSimple) {
      if (!config.api) throw new Error(`Provider "${name}" has a streamSimple function but names no "api".`);
      const { api } = config;
      const stream = streamFrom(runtime, instance, config.streamSimple);
      const speakers = kernel.registry("providers");
      undo.push(speakers.add({ name: `${api}@${name}`, stream }));
      // An API of its own is everybody's; one that is built in goes on speaking for other providers.
      const known = runtime.kernel.registry("providers").get(api);
      if (!known || ownStreams.has(known.stream)) {
        ownStreams.add(stream);
        undo.push(speakers.add({ name: api, stream }));
      }
    }
  } catch (error) {
    for (const back of undo) back();
    throw error;
  }
  if (config.refreshModels) refreshSoon(runtime, instance, name, config);
  takeBack(instance, name);
  const known = registered.get(instance) ?? new Map<string, (() => void)[]>();
  registered.set(instance, known.set(name, undo));
}

/** Registrations whose models have been asked for; one question each. */
const asked = new WeakSet<object>();

/** Asks the provider for its models; the answer replaces what it registered. */
function refreshSoon(runtime: Runtime, instance: Instance, name: string, config: ProviderConfig): void {
  const ask = config.refreshModels;
  if (!ask || asked.has(ask)) return;
  asked.add(ask);
  const isCurrent = () => instance.state === "active" && instance.providers.get(name)?.refreshModels === ask;
  const publish = (models: ProviderConfig["models"]) => {
    if (models && isCurrent()) runtime.leave(() => registerProvider(runtime, instance, name, { models }));
  };
  const { kernel } = runtime;
  const context = {
    credential: kernel.tryService("models")?.credential(name),
    stored: config.models ?? [],
    publish,
    allowNetwork: kernel.options.offline !== true,
    signal: new AbortController().signal,
  };
  const asking = Promise.resolve().then(() => runtime.runAs(instance, () => ask(context)));
  asking.then(publish).catch((error) => runtime.report(instance, "register_provider", error));
}

function takeBack(instance: Instance, name: string): void {
  for (const undo of registered.get(instance)?.get(name) ?? []) undo();
  registered.get(instance)?.delete(name);
}

function layerOf(instance: Instance, provider: string, config: ProviderConfig): ProviderLayer {
  const { name: displayName, baseUrl, apiKey, api, headers, authHeader, models } = config;
  return withoutUndefined({ name: `${provider}@${instance.path}`, provider, displayName, baseUrl, apiKey, api, headers, authHeader, models }) as ProviderLayer;
}

function oauthOf(runtime: Runtime, instance: Instance, name: string, oauth: NonNullable<ProviderConfig["oauth"]>) {
  return {
    name,
    displayName: oauth.name,
    refreshToken: (credential: any, signal?: AbortSignal) => runtime.runAs(instance, () => oauth.refreshToken(credential, signal)),
    getApiKey: (credential: any) => runtime.runAs(instance, () => oauth.getApiKey(credential)),
  };
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}
