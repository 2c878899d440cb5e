/** `ctx.modelRegistry`: models and credentials, and model calls of one's own. */
import { type Model, messageOf } from "../../core/index.ts";
import type { Models } from "../models/contract.ts";
import type { Instance } from "./instance.ts";
import { complete, streamSimple } from "./model-calls.ts";
import { registerProvider, unregisterProvider } from "./providers.ts";
import type { Runtime } from "./runtime.ts";
import type { Context, ModelRegistry, StreamOptions } from "./types.ts";

export function createModelRegistry(runtime: Runtime, instance: Instance): ModelRegistry {
  const models = (): Models => {
    instance.assertUsable();
    return runtime.kernel.service("models");
  };
  const usable = <T>(work: () => T): T => {
    instance.assertUsable();
    return runtime.leave(work);
  };
  const providerKey = async (provider: string) => (await usable(() => models().providerAuth(provider)))?.apiKey;
  return {
    getAll: () => models().all(),
    getAvailable: () => models().available(),
    find: (provider, id) => models().find(provider, id),
    hasConfiguredAuth: (model) => models().hasAuth(model),
    isUsingOAuth: (model) => models().usesOAuth(model.provider),
    getProviderAuthStatus: (provider) => models().authStatus(provider),
    getProviderDisplayName: (provider) => models().displayName(provider),
    async getApiKeyAndHeaders(model) {
      instance.assertUsable();
      try {
        return { ok: true, ...(await runtime.leave(() => models().requireAuth(model))) };
      } catch (error) {
        return { ok: false, error: messageOf(error) };
      }
    },
    getApiKey: async (model) => (await usable(() => models().auth(model)))?.apiKey,
    getApiKeyForProvider: providerKey,
    getProviderAuth: (provider) => usable(() => models().providerAuth(provider)),
    getProvider(id) {
      const known = models();
      const getModels = () => known.all().filter(({ provider }) => provider === id);
      if (getModels().length === 0 && !known.providers().includes(id)) return undefined;
      const open = (model: Model, context: Context, options?: StreamOptions) => usable(() => streamSimple(runtime, model, context, options));
      return { id, name: known.displayName(id), getModels, stream: open, streamSimple: open };
    },
    getRegisteredProviderConfig: (provider) => usable(() => runtime.instances.find(({ providers }) => providers.has(provider))?.providers.get(provider)),
    complete: (model, context, options) => usable(() => complete(runtime, model, context, options)),
    stream: (model, context, options) => usable(() => streamSimple(runtime, model, context, options)),
    streamSimple: (model, context, options) => usable(() => streamSimple(runtime, model, context, options)),
    refresh: () => usable(() => models().refresh()),
    getError: () => models().error(),
    registerProvider: (name, config) => usable(() => registerProvider(runtime, instance, name, config)),
    unregisterProvider: (name) => usable(() => unregisterProvider(instance, name)),
    authStorage: { get: (provider) => models().credential(provider), getApiKey: providerKey },
  };
}
