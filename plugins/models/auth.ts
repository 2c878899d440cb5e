/** Credentials: where a provider's key comes from, in order, and what a request is sent with. */
import type { Model, PluginKernel } from "../../core/index.ts";
import { KernelError, messageOf } from "../../core/index.ts";
import { secretsIn } from "./address.ts";
import type { CredentialFile } from "./auth-file.ts";
import type { Auth, AuthStatus, Credential, OAuthCredential } from "./contract.ts";
import type { ProviderView } from "./layers.ts";
import { type Env, interpolate, isCommand, resolveValue, runCommand, variablesOf } from "./values.ts";

/** Shorter values are no secrets but place-holders such as "none", and would mask ordinary words. */
const SECRET_LENGTH = 8;

/** One place where a key may stand; `value` is not filled in yet. */
interface Found {
  status: AuthStatus & { configured: true };
  value?: string;
  /** taken as it stands */
  literal?: string;
  /** the key goes as `Authorization: Bearer` with these headers */
  bearer?: Record<string, string>;
  /** of stored commands the outcome is kept for the process */
  isStored?: boolean;
  oauth?: OAuthCredential;
}

export class Credentials {
  readonly #kernel: PluginKernel;
  readonly #file: CredentialFile;
  /** given on the command line, for one provider: no other may ever see it */
  #runtime: { provider: string; key: string } | undefined;
  readonly #commandOutcomes = new Map<string, Promise<string | undefined>>();
  readonly #refreshing = new Map<string, Promise<OAuthCredential>>();
  readonly #seen = new Set<string>();

  constructor(kernel: PluginKernel, file: CredentialFile) {
    this.#kernel = kernel;
    this.#file = file;
  }

  /** The environment; the only place besides the settings that reads the process's. */
  readonly env: Env = (name) => {
    const settings = this.#kernel.tryService("settings");
    return (settings ? settings.env(name) : process.env[name]) || undefined;
  };

  /** A key for this process only, and for one provider at a time. */
  setRuntimeKey(provider: string, key: string): void {
    this.#runtime = { provider, key };
  }

  /** Whether a credential is configured, without running a command or refreshing a login. */
  status(view: ProviderView): AuthStatus {
    return this.#find(view)?.status ?? { configured: false };
  }

  usesOAuth(view: ProviderView): boolean {
    return this.#find(view)?.oauth !== undefined;
  }

  /** What a request needs; undefined if there is no usable credential. */
  async resolve(view: ProviderView, model?: Model): Promise<Auth | undefined> {
    const stored = this.#file.get(view.id);
    const found = this.#find(view, stored);
    if (!found) return undefined;
    const env = this.#envOf(stored);
    const key = await this.#key(view, found, env);
    if (key === undefined && !view.source?.keyless) return undefined;
    if (key !== undefined) this.#seen.add(key);
    const headers = { ...found.bearer, ...(await this.#headers(view, model, env)) };
    if (key !== undefined && (view.authHeader || found.bearer)) headers.Authorization ??= `Bearer ${key}`;
    const baseUrl = view.source?.baseUrlFrom?.(env) ?? (model && view.addresses.get(model.baseUrl));
    return {
      ...(key !== undefined && !found.bearer && { apiKey: key }),
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(baseUrl !== undefined && { baseUrl }),
      ...(stored?.type === "api_key" && stored.env && { env: stored.env }),
    };
  }

  /** The refusal of a prompt. */
  missing(view: ProviderView | undefined, provider: string): KernelError {
    const variables = [...(view?.source?.keyVariables ?? []), ...(view?.keys ?? []).flatMap(({ value }) => variablesOf(value))];
    const variable = variables.find((name) => name.endsWith("_API_KEY")) ?? variables[0];
    const hint = variable ? ` Set ${variable} or add it to auth.json.` : "";
    return new KernelError("E_REFUSED", `No API key found for ${provider}.${hint}`);
  }

  /** Why what is configured gives no key; undefined if nothing is. The refusal itself has no room for it. */
  whyUnusable(view: ProviderView): string | undefined {
    const stored = this.#file.get(view.id);
    if (stored?.type === "oauth") return `auth.json has a login for ${view.id}, which nothing here can use`;
    const [configured] = view.keys;
    const [value, place] = stored?.key !== undefined ? [stored.key, "auth.json"] : [configured?.value, configured?.from];
    if (value === undefined) return undefined;
    if (isCommand(value)) return `The command for the key of ${view.id} (${place}) failed or printed nothing`;
    const unset = variablesOf(value).filter((name) => !this.#envOf(stored)(name));
    return `The key of ${view.id} (${place}) ${unset.length > 0 ? `needs ${unset.map((name) => `$${name}`).join(" and ")} to be set` : "is empty"}`;
  }

  /** Every key and token that is known without asking anybody. */
  secrets(views: readonly ProviderView[]): string[] {
    const values = new Set<string | undefined>([...this.#seen, this.#runtime?.key]);
    for (const credential of this.#file.all()) for (const secret of this.#secretsOf(credential)) values.add(secret);
    for (const view of views) {
      for (const name of view.source?.keyVariables ?? []) values.add(this.env(name));
      const templates = [...view.keys.map(({ value }) => value), ...[view.headers, ...view.modelHeaders.values()].flatMap((headers) => Object.values(headers))];
      for (const template of templates) values.add(this.#filled(template));
      for (const address of view.addresses.values()) for (const secret of secretsIn(address)) values.add(secret);
    }
    return [...values].filter((value): value is string => value !== undefined && value.length >= SECRET_LENGTH);
  }

  #secretsOf(credential: Credential): (string | undefined)[] {
    if (credential.type === "oauth") return [credential.access, credential.refresh];
    return [...Object.values(credential.env ?? {}), credential.key && this.#filled(credential.key)];
  }

  #filled(template: string): string | undefined {
    return isCommand(template) ? undefined : interpolate(template, this.env);
  }

  // ------------------------------------------------------------ the order of places

  #find(view: ProviderView, stored = this.#file.get(view.id)): Found | undefined {
    const env = this.#envOf(stored);
    // An address that nobody gives makes the best key useless.
    if (view.source?.baseUrlFrom && view.source.baseUrlFrom(env) === undefined) return undefined;
    if (this.#runtime?.provider === view.id) return { status: { configured: true, source: "runtime", label: "--api-key" }, literal: this.#runtime.key };
    if (stored?.type === "oauth") {
      const fits = this.#kernel.registry("oauth").has(view.id);
      return fits ? { status: { configured: true, source: "stored", label: "auth.json (login)" }, oauth: stored } : undefined;
    }
    if (stored?.key !== undefined) {
      if (!isUsable(stored.key, env)) return undefined;
      return { status: { configured: true, source: "stored", label: "auth.json" }, value: stored.key, isStored: true };
    }
    for (const { value, from } of view.keys) {
      const bare = from === "extension" ? bareVariable(value, env) : undefined;
      if (bare || isUsable(value, env)) return { status: { configured: true, source: from, label: from }, value: bare ?? value };
    }
    const variable = view.source?.keyVariables?.find((name) => env(name));
    if (variable) {
      const bearer = view.source?.bearerVariables?.[variable];
      return { status: { configured: true, source: "environment", label: variable }, value: `\${${variable}}`, ...(bearer && { bearer }) };
    }
    return view.source?.keyless ? { status: { configured: true, source: "none needed" } } : undefined;
  }

  #envOf(stored: Credential | undefined): Env {
    const own = stored?.type === "api_key" ? stored.env : undefined;
    return own ? (name) => own[name] || this.env(name) : this.env;
  }

  // ------------------------------------------------------------ values

  async #key(view: ProviderView, found: Found, env: Env): Promise<string | undefined> {
    if (found.oauth) return this.#oauthKey(view, found.oauth);
    if (found.value === undefined) return found.literal;
    return resolveValue(found.value, env, found.isStored ? (command) => this.#once(command) : undefined);
  }

  #once(command: string): Promise<string | undefined> {
    let outcome = this.#commandOutcomes.get(command);
    if (!outcome) {
      outcome = runCommand(command);
      this.#commandOutcomes.set(command, outcome);
    }
    return outcome;
  }

  /** A header whose variable is missing is left out. */
  async #headers(view: ProviderView, model: Model | undefined, env: Env): Promise<Record<string, string>> {
    const templates = { ...view.headers, ...(model && view.modelHeaders.get(model.id)) };
    const headers: Record<string, string> = {};
    for (const [name, template] of Object.entries(templates)) {
      const value = await resolveValue(template, env);
      if (value !== undefined) headers[name] = value;
    }
    return headers;
  }

  async #oauthKey(view: ProviderView, stored: OAuthCredential): Promise<string | undefined> {
    const provider = this.#kernel.registry("oauth").get(view.id);
    if (!provider) return undefined;
    const credential = Date.now() < stored.expires ? stored : await this.#refreshed(view);
    return provider.getApiKey(credential);
  }

  /** Refreshes a login once for all who wait; another process may have done it meanwhile. */
  #refreshed(view: ProviderView): Promise<OAuthCredential> {
    let refreshing = this.#refreshing.get(view.id);
    if (!refreshing) {
      refreshing = this.#refresh(view).finally(() => this.#refreshing.delete(view.id));
      this.#refreshing.set(view.id, refreshing);
    }
    return refreshing;
  }

  async #refresh(view: ProviderView): Promise<OAuthCredential> {
    try {
      const fresh = await this.#file.change(view.id, async (current) => {
        if (current?.type !== "oauth") throw new Error("the login is gone");
        if (Date.now() < current.expires) return current;
        const provider = this.#kernel.registry("oauth").get(view.id);
        if (!provider) throw new Error("nobody can refresh it");
        return { ...current, ...(await provider.refreshToken(current)), type: "oauth" };
      });
      return fresh as OAuthCredential;
    } catch (error) {
      throw new KernelError("E_REFUSED", `The login of ${view.displayName} could not be refreshed: ${messageOf(error)}`, { cause: error });
    }
  }
}

function isUsable(value: string, env: Env): boolean {
  return isCommand(value) || interpolate(value, env) !== undefined;
}

/** Older extensions wrote the bare name of a variable as the key. */
function bareVariable(value: string, env: Env): string | undefined {
  return /^[A-Z][A-Z0-9_]*$/.test(value) && env(value) ? `\${${value}}` : undefined;
}
