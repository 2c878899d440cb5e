/** Providers of extensions: models laid over the catalogue, and streams in the extension's own words. */
import type { Provider } from "../../core/index.ts";
import type { ProviderLayer } from "../models/contract.ts";
import type { Instance } from "./instance.ts";
import { type ModelList, type RefreshOptions, refreshModels, refreshSoon, restoreModels } from "./provider-models.ts";
import { authOf, isProviderObject, literal, type Registration, registrationOf } from "./provider-object.ts";
import { streamFrom } from "./provider-stream.ts";
import type { Runtime } from "./runtime.ts";
import type { ProviderConfig, ProviderObject } from "./types.ts";

/** What takes a provider's registration out of the registries again, by instance and provider. */
const registered = new WeakMap<Instance, Map<string, (() => void)[]>>();

/** Streams that extensions make for APIs that nobody else speaks. */
const ownStreams = new WeakSet<object>();

/** While the factory runs it is only noted; later it takes effect at once, or throws. */
export function registerProvider(runtime: Runtime, instance: Instance, name: unknown, config: ProviderConfig | undefined): void {
  if (isProviderObject(name)) {
    registerObject(runtime, instance, name);
    return;
  }
  if (typeof name !== "string") {
    const error = new Error("registerProvider takes a name and a configuration, or a provider object with an id, getModels and streamSimple.");
    if (instance.state !== "loading") throw error;
    // The rest of the extension may well work without it.
    runtime.kernel.fault({ from: instance.path, during: "register_provider", error });
    return;
  }
  register(runtime, instance, name, { ...instance.providers.get(name), ...withoutUndefined(config ?? {}) });
}

function register(runtime: Runtime, instance: Instance, name: string, registration: Registration): void {
  if (instance.state !== "loading") apply(runtime, instance, name, registration);
  instance.providers.set(name, registration);
  const list = modelListOf(runtime, instance, name, registration);
  if (list && instance.state === "loading") instance.preparing.push(restoreModels(runtime, instance, list));
}

/** The list of models that a registration can bring up to date, if it can. */
function modelListOf(runtime: Runtime, instance: Instance, name: string, { refreshModels: ask, apis, configured }: Registration): ModelList | undefined {
  if (!ask) return undefined;
  const registered = () => instance.providers.get(name);
  return {
    name,
    ask,
    configured,
    isCurrent: () => (instance.state === "loading" || instance.state === "active") && registered()?.refreshModels === ask,
    take(models) {
      const spoken = apis && [...new Set(models.flatMap(({ api }) => api ?? []))];
      runtime.leave(() => register(runtime, instance, name, { ...registered(), models, ...(spoken && { apis: spoken }) }));
    },
  };
}

/** Brings the models of all extensions' providers up to date; the answer is what failed, by provider. */
export async function refreshProviders(runtime: Runtime, options: RefreshOptions): Promise<Map<string, Error>> {
  const errors = new Map<string, Error>();
  const refresh = async (instance: Instance, list: ModelList) => {
    try {
      await refreshModels(runtime, instance, list, options);
    } catch (error) {
      errors.set(list.name, error instanceof Error ? error : new Error(String(error)));
    }
  };
  const all = runtime.instances.flatMap((instance) =>
    [...instance.providers].flatMap(([name, registration]) => {
      const list = modelListOf(runtime, instance, name, registration);
      return list ? [refresh(instance, list)] : [];
    }),
  );
  await Promise.all(all);
  return errors;
}

/** It counts at once; whether it has a credential is its own question, which may take a moment. The start waits for the answer. */
function registerObject(runtime: Runtime, instance: Instance, provider: ProviderObject): void {
  const registration = registrationOf(runtime, instance, provider);
  const configure = async () => {
    const auth = await runtime.runAs(instance, () => authOf(runtime, provider));
    const registered = instance.providers.get(provider.id);
    const isCurrent = registered?.streamSimple === registration.streamSimple && instance.state !== "stale";
    // A provider that needs no key is configured all the same; its stream gets what it resolves for each request.
    if (auth && isCurrent) register(runtime, instance, provider.id, { ...registered, apiKey: literal(auth.apiKey ?? "none") });
  };
  registration.configured = Promise.resolve()
    .then(configure)
    .catch((error) => runtime.report(instance, "register_provider", error));
  register(runtime, instance, provider.id, registration);
  if (instance.state === "loading") instance.preparing.push(registration.configured);
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

function apply(runtime: Runtime, instance: Instance, name: string, config: Registration): void {
  const { kernel } = instance;
  const undo: (() => void)[] = [];
  try {
    if (config.oauth) undo.push(kernel.registry("oauth").add(oauthOf(runtime, instance, name, config.oauth)));
    const layer = layerOf(instance, name, config);
    runtime.kernel.tryService("models")?.checkLayer(layer);
    undo.push(kernel.registry("modelLayers").add(layer));
    if (config.streamSimple) {
      if (!config.api && !config.apis) throw new Error(`Provider "${name}" has a streamSimple function but names no "api".`);
      const stream = streamFrom(runtime, instance, config.streamSimple);
      for (const api of config.apis ?? [config.api as string]) undo.push(...speak(runtime, instance, { api, name, stream }));
    }
  } catch (error) {
    for (const back of undo) back();
    throw error;
  }
  const list = modelListOf(runtime, instance, name, config);
  if (list) refreshSoon(runtime, instance, list);
  takeBack(instance, name);
  const known = registered.get(instance) ?? new Map<string, (() => void)[]>();
  registered.set(instance, known.set(name, undo));
}

/** The stream serves the provider's models of this API. */
function speak(runtime: Runtime, instance: Instance, { api, name, stream }: { api: string; name: string; stream: Provider["stream"] }): (() => void)[] {
  const speakers = instance.kernel.registry("providers");
  const undo = [speakers.add({ name: `${api}@${name}`, stream })];
  // An API of its own is everybody's; one that is built in goes on speaking for other providers.
  const known = runtime.kernel.registry("providers").get(api);
  if (known && !ownStreams.has(known.stream)) return undo;
  ownStreams.add(stream);
  return [...undo, speakers.add({ name: api, stream })];
}

function takeBack(instance: Instance, name: string): void {
  for (const undo of registered.get(instance)?.get(name) ?? []) undo();
  registered.get(instance)?.delete(name);
}

function layerOf(instance: Instance, provider: string, config: Registration): ProviderLayer {
  const { name: displayName, baseUrl, apiKey, api, headers, authHeader, models, ownAuth } = config;
  const layer = { name: `${provider}@${instance.path}`, provider, displayName, baseUrl, apiKey, api, headers, authHeader, models, ownAuth };
  return withoutUndefined(layer) as ProviderLayer;
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
