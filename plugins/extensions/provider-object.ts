/** Providers that come as an object (`createProvider`) instead of a name and a configuration: translated into the latter. */
import { existsSync } from "node:fs";
import type { Model } from "../../core/index.ts";
import type { Credential, OAuthCredential } from "../models/contract.ts";
import type { Instance } from "./instance.ts";
import { streamSimple } from "./model-calls.ts";
import type { Runtime } from "./runtime.ts";
import type { ProviderConfig, ProviderObject, RequestAuth, StreamSimple } from "./types.ts";

/** A configuration with what only we write into it. */
export interface Registration extends ProviderConfig {
  /** It resolves credentials itself, and may have none now. */
  ownAuth?: boolean;
  /** APIs that its stream speaks; default: `api` alone */
  apis?: readonly string[];
  /** Resolves once it is known whether there is a credential. */
  configured?: Promise<unknown>;
}

export function isProviderObject(value: unknown): value is ProviderObject {
  const { id, getModels, streamSimple, stream } = (value ?? {}) as Partial<ProviderObject>;
  return typeof id === "string" && id !== "" && typeof getModels === "function" && typeof (streamSimple ?? stream) === "function";
}

export function registrationOf(runtime: Runtime, instance: Instance, provider: ProviderObject): Registration {
  const { name, baseUrl, auth } = provider;
  const models = modelsOf(runtime, provider);
  const oauth = auth?.oauth;
  return {
    ownAuth: true,
    models,
    apis: [...new Set(models.map(({ api }) => api))],
    streamSimple: streamOf(runtime, instance, provider),
    ...(name !== undefined && { name }),
    ...(baseUrl !== undefined && { baseUrl }),
    ...(provider.refreshModels && {
      refreshModels: async (context) => {
        await provider.refreshModels?.(context);
        return modelsOf(runtime, provider);
      },
    }),
    ...(oauth && {
      oauth: {
        name: oauth.name,
        login: async (callbacks) => oauth.login(callbacks),
        refreshToken: (credential, signal) => oauth.refresh(credential, signal),
        getApiKey: ({ access }) => access,
      },
    }),
  };
}

/** What the provider's own rules make of the stored credential and the environment; undefined: nothing is configured. */
export async function authOf(runtime: Runtime, { id, auth }: ProviderObject): Promise<RequestAuth | undefined> {
  const models = runtime.kernel.tryService("models");
  const credential = models?.credential(id);
  if (credential?.type === "oauth") return auth?.oauth?.toAuth?.(credential) ?? { apiKey: credential.access };
  const env = (name: string) => credential?.env?.[name] || runtime.kernel.tryService("settings")?.env(name);
  const ctx = { env: async (name: string) => env(name), fileExists: async (path: string) => existsSync(path) };
  // A stored key may say where the key comes from.
  const key = credential?.key !== undefined ? (await models?.providerAuth(id))?.apiKey : undefined;
  const stored = credential && { ...credential, ...(key !== undefined && { key }) };
  const found = await auth?.apiKey?.resolve({ ctx, ...(stored && { credential: stored }) });
  return found && { ...found.auth, ...(found.env && { env: found.env }) };
}

function modelsOf({ kernel }: Runtime, provider: ProviderObject): Model[] {
  const credential: Credential | undefined = kernel.tryService("models")?.credential(provider.id);
  const all = provider.getModels();
  return [...(provider.filterModels?.(all, credential) ?? all)];
}

/** Its own stream, with what its own rules say of the credential. */
function streamOf(runtime: Runtime, instance: Instance, provider: ProviderObject): StreamSimple {
  const open = async (model: Model, context: Parameters<StreamSimple>[1], options: Parameters<StreamSimple>[2] = {}) => {
    const auth = await runtime.runAs(instance, () => authOf(runtime, provider));
    const { baseUrl, apiKey = options.apiKey, headers, env } = auth ?? {};
    const all = { ...provider.headers, ...options.headers, ...headers };
    const kept = Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
    const given = { ...options, ...(apiKey !== undefined && { apiKey }), headers: kept, ...(env && { env }) };
    const speak = provider.streamSimple ?? provider.stream;
    return (speak as StreamSimple).call(provider, baseUrl === undefined ? model : { ...model, baseUrl }, context, given);
  };
  // Whoever calls it waits for a stream that is promised.
  return open as unknown as StreamSimple;
}

/** As the value of a setting in which nothing is filled in. */
export const literal = (value: string): string => value.replaceAll("$", "$$$$").replace(/^!/, "$$!");

// ---------------------------------------------------------------- what extensions make such objects with

export interface ProviderParts extends Omit<ProviderObject, "getModels" | "stream" | "streamSimple" | "refreshModels"> {
  models?: readonly Model[];
  /** more models, asked for now and then */
  fetchModels?(context: Record<string, unknown>): Promise<readonly Model[]>;
  /** how it speaks: for all its models, or by their `api` */
  api: Streams | Record<string, Streams>;
}

type Streams = Pick<ProviderObject, "stream" | "streamSimple">;

export function createProvider({ models = [], fetchModels, api, ...rest }: ProviderParts): ProviderObject {
  let fetched: readonly Model[] = [];
  const isStreams = (value: ProviderParts["api"]): value is Streams => typeof (value.streamSimple ?? value.stream) === "function";
  const speakerOf = (model: Model): Streams => {
    const found = isStreams(api) ? api : api[model.api];
    if (!found) throw new Error(`The provider ${rest.id} does not speak ${model.api}.`);
    return found;
  };
  const open =
    (kind: keyof Streams, other: keyof Streams): StreamSimple =>
    (model, context, options) => {
      const speaker = speakerOf(model);
      return (speaker[kind] ?? speaker[other])?.(model, context, options) as ReturnType<StreamSimple>;
    };
  return {
    ...rest,
    getModels: () => [...models.filter(({ id }) => !fetched.some((model) => model.id === id)), ...fetched],
    ...(fetchModels && {
      refreshModels: async (context: Record<string, unknown>) => {
        fetched = [...(await fetchModels(context))];
      },
    }),
    stream: open("stream", "streamSimple"),
    streamSimple: open("streamSimple", "stream"),
  };
}

/** A key out of `auth.json`, else out of the first of these variables that is set. */
export function envApiKeyAuth(name: string, variables: string | readonly string[]): NonNullable<NonNullable<ProviderObject["auth"]>["apiKey"]> {
  return {
    name,
    async resolve({ ctx, credential }) {
      if (credential?.key) return { auth: { apiKey: credential.key }, source: "stored" };
      for (const variable of [variables].flat()) {
        const key = await ctx.env(variable);
        if (key) return { auth: { apiKey: key }, source: variable };
      }
      return undefined;
    },
  };
}

type OAuth = NonNullable<NonNullable<ProviderObject["auth"]>["oauth"]>;

/** A login whose code is read when it is needed. */
export function lazyOAuth({ name, load }: { name: string; load(): Promise<OAuth> }): OAuth {
  let loading: Promise<OAuth> | undefined;
  const loaded = () => {
    loading ??= load();
    return loading;
  };
  return {
    name,
    login: async (callbacks) => (await loaded()).login(callbacks),
    refresh: async (credential: OAuthCredential, signal) => (await loaded()).refresh(credential, signal),
    async toAuth(credential) {
      return (await (await loaded()).toAuth?.(credential)) ?? { apiKey: credential.access };
    },
  };
}

/** A provider that is here already, as extensions look at one or make another of it. */
export function knownProvider(runtime: Runtime, id: string): ProviderObject | undefined {
  const models = runtime.kernel.service("models");
  const getModels = () => models.all().filter(({ provider }) => provider === id);
  const [first] = getModels();
  if (!first && !models.providers().includes(id)) return undefined;
  const name = models.displayName(id);
  const open: StreamSimple = (model, context, options) => streamSimple(runtime, model, context, options);
  return {
    id,
    name,
    ...(first && { baseUrl: first.baseUrl }),
    auth: { apiKey: envApiKeyAuth(name, runtime.kernel.registry("modelSources").get(id)?.keyVariables ?? []) },
    getModels,
    stream: open,
    streamSimple: open,
  };
}
