/** The current model, what is available, and credentials. */
import type { AsyncSeriesHook } from "tapable";
import type { Model, ThinkingLevel } from "../../core/index.ts";

export interface ScopedModel {
  model: Model;
  thinkingLevel?: ThinkingLevel;
}

/** A credential resolved for one request. */
export interface Auth {
  /** absent: the provider needs none, or `headers` carry it */
  apiKey?: string;
  /** configured headers with their values filled in; they never stand in a Model */
  headers?: Record<string, string>;
  /** instead of the model's, where the environment decides or the address holds credentials */
  baseUrl?: string;
  env?: Record<string, string>;
}

/** What a source of models contributes: the catalogue, an embedded model, a plugin. */
export interface ModelSource {
  /** provider id */
  name: string;
  displayName?: string;
  models: Model[];
  /** environment variables that hold its key, in order */
  keyVariables?: readonly string[];
  /** those of them whose value is sent as `Authorization: Bearer`, and the headers that go with it */
  bearerVariables?: Readonly<Record<string, Record<string, string>>>;
  /** literal, `$VAR` or `!command` */
  apiKey?: string;
  headers?: Record<string, string>;
  authHeader?: boolean;
  /** works without a key (local servers, embedded models) */
  keyless?: boolean;
  /** never listed, cycled to or chosen unless named */
  hidden?: boolean;
  /** default model id of the provider */
  defaultModel?: string;
  /** Address that the environment decides; undefined: not configured. */
  baseUrlFrom?(env: (name: string) => string | undefined): string | undefined;
  /** Makes a model for an id that is not listed (e.g. scripted/<file>). */
  resolve?(id: string): Model | undefined;
  /** Asks a server for its models; done when the provider is named. Rejects if it cannot be reached. */
  discover?(baseUrl: string | undefined): Promise<Model[]>;
  /** Makes a model for an id that `--model` names although nobody lists it; else the default model is cloned. */
  template?(id: string): Model;
}

/** A model as configuration files and extensions write it; what is missing gets defaults. */
export type ModelConfig = Partial<Omit<Model, "provider" | "cost">> & { id: string; cost?: Partial<Model["cost"]> };

export interface ProviderConfig {
  displayName?: string;
  baseUrl?: string;
  apiKey?: string;
  api?: string;
  headers?: Record<string, string>;
  authHeader?: boolean;
  compat?: Record<string, unknown>;
  models?: ModelConfig[];
}

/** What `registerProvider` says: laid over the catalogue and models.json, in the registry's order. `models` replaces the provider's. */
export interface ProviderLayer extends ProviderConfig {
  /** It resolves credentials itself, and may have none now. */
  ownAuth?: boolean;
  /** unique, e.g. "<provider>@<extension>" */
  name: string;
  /** provider id */
  provider: string;
}

/** Keeps a login of a provider alive. */
export interface OAuthProvider {
  /** provider id */
  name: string;
  displayName?: string;
  refreshToken(credential: OAuthCredential, signal?: AbortSignal): Promise<Omit<OAuthCredential, "type">>;
  getApiKey(credential: OAuthCredential): string;
}

export interface OAuthCredential {
  type: "oauth";
  access: string;
  refresh: string;
  /** ms since the epoch */
  expires: number;
  [key: string]: unknown;
}

export interface KeyCredential {
  type: "api_key";
  key?: string;
  env?: Record<string, string>;
}

export type Credential = KeyCredential | OAuthCredential;

export interface AuthStatus {
  configured: boolean;
  /** where the credential comes from; present if configured */
  source?: "runtime" | "stored" | "extension" | "models.json" | "environment" | "none needed";
  /** e.g. the variable's name; never the value */
  label?: string;
}

export type SelectSource = "set" | "cycle" | "restore" | "extension";

export interface Models {
  current(): Model | undefined;
  thinkingLevel(): ThinkingLevel;
  /** Requests a level; it is clamped to the highest one of the model that is not above it. */
  setThinkingLevel(level: ThinkingLevel): void;
  availableLevels(): ThinkingLevel[];
  all(): Model[];
  /** configured models whose provider has a credential, in catalogue order */
  available(): Model[];
  scoped(): ScopedModel[];
  find(provider: string, id: string): Model | undefined;
  hasAuth(model: Model): boolean;
  /** Throws `No API key found for …` with the variable to set. */
  requireAuth(model: Model): Promise<Auth>;
  auth(model: Model): Promise<Auth | undefined>;
  select(model: Model, source: SelectSource, options?: { thinkingLevel?: ThinkingLevel }): Promise<void>;
  cycle(): Promise<{ model: Model; thinkingLevel: ThinkingLevel; isScoped: boolean } | null>;
  /** Reads models.json again. */
  refresh(): Promise<void>;
  error(): string | undefined;
  /** keys and tokens that must not be shown anywhere */
  secrets(): readonly string[];
  /** ids in catalogue order, without hidden ones */
  providers(): string[];
  displayName(provider: string): string;
  authStatus(provider: string): AuthStatus;
  usesOAuth(provider: string): boolean;
  providerAuth(provider: string): Promise<Auth | undefined>;
  /** Stored credentials; a change is written under a lock. */
  credential(provider: string): Credential | undefined;
  setCredential(provider: string, credential: Credential | undefined): Promise<void>;
  /** Throws if the layer could not be used: no api, no address, no way to authenticate. */
  checkLayer(layer: ProviderLayer): void;
  readonly hooks: {
    selected: AsyncSeriesHook<[change: { model: Model; previousModel?: Model; source: SelectSource }]>;
    levelSelected: AsyncSeriesHook<[change: { level: ThinkingLevel; previousLevel: ThinkingLevel }]>;
  };
}

declare module "../../core/index.ts" {
  interface Services {
    models: Models;
  }
  interface Kinds {
    modelSources: ModelSource;
    modelLayers: ProviderLayer;
    oauth: OAuthProvider;
  }
  interface Options {
    provider?: string;
    model?: string;
    models?: string;
    thinking?: string;
    "api-key"?: string;
    /** true without a search text */
    "list-models"?: string | true;
  }
  interface AgentEvents {
    thinking_level_changed: { level: ThinkingLevel };
    model_changed: { model: Model; source: SelectSource };
  }
}
