/** `ctx.modelRegistry`: models and credentials, and model calls of one's own. */
import { messageOf } from "../../core/index.ts";
import type { Models } from "../models/contract.ts";
import type { Instance } from "./instance.ts";
import { complete, streamSimple } from "./model-calls.ts";
import { knownProvider } from "./provider-object.ts";
import { refreshProviders, registerProvider, unregisterProvider } from "./providers.ts";
import type { Runtime } from "./runtime.ts";
import type { ModelRegistry } from "./types.ts";

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
    async getProviderAuth(provider) {
      const auth = await usable(() => models().providerAuth(provider));
      const { source } = models().authStatus(provider);
      // Newer versions of the API have what authorizes in a field of its own.
      return auth && { ...auth, auth, ...(source && { source }) };
    },
    getProvider: (id) => usable(() => knownProvider(runtime, id)),
    getRegisteredProviderConfig: (provider) => usable(() => runtime.instances.find(({ providers }) => providers.has(provider))?.providers.get(provider)),
    complete: (model, context, options) => usable(() => complete(runtime, model, context, options)),
    stream: (model, context, options) => usable(() => streamSimple(runtime, model, context, options)),
    streamSimple: (model, context, options) => usable(() => streamSimple(runtime, model, context, options)),
    async refresh(options = {}) {
      await usable(() => models().refresh());
      const errors = await usable(() => refreshProviders(runtime, options));
      return { aborted: options.signal?.aborted === true, errors };
    },
    getError: () => models().error(),
    registerProvider: (name, config) => usable(() => registerProvider(runtime, instance, name, config)),
    unregisterProvider: (name) => usable(() => unregisterProvider(instance, name)),
    authStorage: {
      get: (provider) => models().credential(provider),
      has: (provider) => models().credential(provider) !== undefined,
      hasAuth: (provider) => models().authStatus(provider).configured,
      set: (provider, credential) => usable(() => models().setCredential(provider, credential)),
      remove: (provider) => usable(() => models().setCredential(provider, undefined)),
      getApiKey: providerKey,
    },
  };
}
