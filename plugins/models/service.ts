/** The service `models`: what there is, credentials, and every way to choose. */
import { join } from "node:path";
import { KernelError, type Model, type PluginKernel, type ThinkingLevel } from "../../core/index.ts";
import type { SessionChanged } from "../session/contract.ts";
import { type Complain, complainer } from "../shared/complaints.ts";
import { supportedLevels } from "../shared/thinking.ts";
import { Credentials } from "./auth.ts";
import { CredentialFile } from "./auth-file.ts";
import { Catalogue } from "./catalogue.ts";
import type { Auth, AuthStatus, Credential, Models, ProviderLayer, ScopedModel, SelectSource } from "./contract.ts";
import { CustomModels } from "./custom.ts";
import { buildProvider, type ProviderView } from "./layers.ts";
import { nameOf } from "./resolve.ts";
import { Selection } from "./selection.ts";
import { chooseStart, unusable } from "./start.ts";

const NO_MODEL = "No model selected. Use set_model or start pi with --model (--model offline/demo needs no key).";

/** How long the credential of an admitted run may wait for its request; a run may end before it asks. */
const ADMISSION_MS = 10_000;

export class ModelService implements Models {
  readonly hooks: Models["hooks"];
  readonly #kernel: PluginKernel;
  readonly #warn: Complain;
  readonly #custom: CustomModels;
  readonly #catalogue: Catalogue;
  readonly #file: CredentialFile;
  readonly #credentials: Credentials;
  readonly #selection: Selection;
  #scoped: ScopedModel[] = [];
  /** what the selected model was found to be in its provider's view */
  #current: { model: Model; view: ProviderView | undefined; newest: Model } | undefined;
  /** resolved when a run was admitted, for its first request: a key command runs once per request */
  #admitted: { name: string; auth: Auth; at: number } | undefined;

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
    this.#warn = complainer(kernel, "configuration");
    this.#custom = new CustomModels(() => this.#path("models.json"));
    this.#catalogue = new Catalogue(kernel, this.#custom);
    this.#file = new CredentialFile(() => this.#path("auth.json"), this.#warn);
    this.#credentials = new Credentials(kernel, this.#file);
    this.#selection = new Selection(kernel);
    this.hooks = this.#selection.hooks;
  }

  // ------------------------------------------------------------ what there is

  /** Its newest form: configuration and extensions may have changed it. */
  current(): Model | undefined {
    const { model } = this.#selection;
    if (!model) return undefined;
    const view = this.#catalogue.provider(model.provider);
    if (this.#current?.model !== model || this.#current.view !== view) {
      this.#current = { model, view, newest: this.#catalogue.listed(model.provider, model.id) ?? model };
    }
    return this.#current.newest;
  }

  all(): Model[] {
    return this.#catalogue.models();
  }

  available(): Model[] {
    const ids = this.providers();
    return this.#file.reading(() => ids.filter((id) => this.authStatus(id).configured)).flatMap((id) => this.#catalogue.provider(id)?.models ?? []);
  }

  scoped(): ScopedModel[] {
    return this.#scoped;
  }

  find(provider: string, id: string): Model | undefined {
    return this.#catalogue.find(provider, id);
  }

  /** Asks a local server what it has. */
  discover(provider: string): Promise<void> {
    return this.#catalogue.discover(provider);
  }

  /** `find` after asking a local server; for what clients and files name. */
  async lookUp(provider: string, id: string): Promise<Model | undefined> {
    await this.discover(provider);
    return this.find(provider, id);
  }

  providers(): string[] {
    return this.#catalogue.ids();
  }

  displayName(provider: string): string {
    return this.#catalogue.provider(provider)?.displayName ?? provider;
  }

  async refresh(): Promise<void> {
    this.#custom.read();
    const error = this.error();
    if (error) this.#warn(error);
  }

  error(): string | undefined {
    return this.#catalogue.error();
  }

  checkLayer(layer: ProviderLayer): void {
    const source = this.#kernel.registry("modelSources").get(layer.provider);
    const custom = this.#custom.providers.get(layer.provider);
    const view = buildProvider({ id: layer.provider, source, custom, extensions: [layer] });
    const canAuthenticate = view.keys.length > 0 || source?.keyVariables || source?.keyless || this.#kernel.registry("oauth").has(layer.provider);
    if (layer.models?.length && !canAuthenticate && !layer.ownAuth) {
      throw new KernelError("E_REFUSED", `Provider "${layer.provider}" has no way to authenticate: give it an apiKey or oauth.`);
    }
  }

  // ------------------------------------------------------------ credentials

  hasAuth(model: Model): boolean {
    return this.authStatus(model.provider).configured;
  }

  authStatus(provider: string): AuthStatus {
    const view = this.#catalogue.provider(provider);
    return view ? this.#credentials.status(view) : { configured: false };
  }

  usesOAuth(provider: string): boolean {
    const view = this.#catalogue.provider(provider);
    return view !== undefined && this.#credentials.usesOAuth(view);
  }

  async auth(model: Model): Promise<Auth | undefined> {
    const admitted = this.#admitted;
    this.#admitted = undefined;
    if (admitted?.name === nameOf(model) && Date.now() - admitted.at < ADMISSION_MS) return admitted.auth;
    const view = this.#catalogue.provider(model.provider);
    return view && this.#credentials.resolve(view, model);
  }

  async requireAuth(model: Model): Promise<Auth> {
    const auth = await this.auth(model);
    if (!auth) throw this.#missing(model);
    return auth;
  }

  async providerAuth(provider: string): Promise<Auth | undefined> {
    const view = this.#catalogue.provider(provider);
    return view && this.#credentials.resolve(view);
  }

  credential(provider: string): Credential | undefined {
    return this.#file.get(provider);
  }

  async setCredential(provider: string, credential: Credential | undefined): Promise<void> {
    await this.#file.change(provider, async () => credential);
  }

  secrets(): readonly string[] {
    return this.#credentials.secrets(this.#catalogue.ids({ withHidden: true }).flatMap((id) => this.#catalogue.provider(id) ?? []));
  }

  /** Refuses a run that could not ask a model. */
  async admit(): Promise<void> {
    const model = this.current();
    if (!model) throw new KernelError("E_REFUSED", NO_MODEL);
    this.#admitted = undefined;
    this.#admitted = { name: nameOf(model), auth: await this.requireAuth(model), at: Date.now() };
  }

  #missing(model: Model): KernelError {
    const view = this.#catalogue.provider(model.provider);
    const why = view && this.#credentials.whyUnusable(view);
    if (why) this.#warn(why);
    return this.#credentials.missing(view, model.provider);
  }

  // ------------------------------------------------------------ choosing

  async select(model: Model, source: SelectSource, options: { thinkingLevel?: ThinkingLevel } = {}): Promise<void> {
    if (!this.hasAuth(model)) throw this.#missing(model);
    await this.#selection.change(model, source, options.thinkingLevel);
  }

  async cycle(): Promise<{ model: Model; thinkingLevel: ThinkingLevel; isScoped: boolean } | null> {
    const isScoped = this.#scoped.length > 0;
    const choices: ScopedModel[] = isScoped ? this.#scoped : this.available().map((model) => ({ model }));
    if (choices.length < 2) return null;
    const current = this.#selection.model;
    const index = choices.findIndex(({ model }) => current && nameOf(model) === nameOf(current));
    const next = choices[(index + 1) % choices.length] as ScopedModel;
    const model = this.find(next.model.provider, next.model.id) ?? next.model;
    await this.select(model, "cycle", { thinkingLevel: next.thinkingLevel });
    return { model, thinkingLevel: this.thinkingLevel(), isScoped };
  }

  thinkingLevel(): ThinkingLevel {
    return this.#selection.level;
  }

  availableLevels(): ThinkingLevel[] {
    return supportedLevels(this.current());
  }

  setThinkingLevel(level: ThinkingLevel): void {
    this.#selection.request(level, this.availableLevels());
  }

  // ------------------------------------------------------------ start and sessions

  /** Chooses what the process begins with; throws if an option cannot be met. */
  async start(): Promise<void> {
    const { options } = this.#kernel;
    await this.refresh();
    if (options["list-models"] !== undefined) return;
    this.#giveRuntimeKey(options.provider ?? options.model?.split("/", 1)[0]);
    const session = this.#kernel.tryService("session");
    const resumed = session && { model: session.lastModel(), thinkingLevel: session.lastThinkingLevel() };
    const start = await chooseStart({
      options,
      setting: (key) => this.#kernel.tryService("settings")?.get(key),
      models: () => this.all(),
      available: () => this.available(),
      ids: () => this.#catalogue.ids({ withHidden: true }),
      provider: (id) => this.#catalogue.provider(id),
      find: (provider, id) => this.find(provider, id),
      hasAuth: (model) => this.hasAuth(model),
      discover: (provider) => this.#catalogue.discover(provider),
      ...(resumed && { session: resumed }),
    });
    for (const warning of start.warnings) this.#warn(warning);
    this.#scoped = start.scoped;
    const model = start.model ?? this.#demo();
    if (start.isAdhoc && start.model) this.#catalogue.remember(start.model);
    if (options["api-key"] !== undefined && !start.model) throw new KernelError("E_USAGE", "--api-key needs a model: name one with --model or --provider.");
    this.#giveRuntimeKey(model?.provider);
    this.#selection.begin(model, start.thinkingLevel);
  }

  /** Without anything configured people still get an answer; programs are told what is missing. */
  #demo(): Model | undefined {
    const { mode } = this.#kernel.options;
    return mode === "text" || mode === "chat" ? this.find("offline", "demo") : undefined;
  }

  #giveRuntimeKey(provider: string | undefined): void {
    const key = this.#kernel.options["api-key"];
    if (key === undefined || provider === undefined) return;
    const known = this.#catalogue.ids({ withHidden: true }).find((id) => id.toLowerCase() === provider.toLowerCase());
    if (known) this.#credentials.setRuntimeKey(known, key);
  }

  /** A session was replaced: a resumed one brings its model and level, the others go on with the current ones. */
  async sessionChanged({ reason }: SessionChanged): Promise<void> {
    if (reason === "startup") return;
    const session = this.#kernel.tryService("session");
    if (reason !== "resume" || !session || session.entries().length === 0) {
      this.#selection.record();
      return;
    }
    const last = session.lastModel();
    const model = last && (await this.lookUp(last.provider, last.modelId));
    const isUsable = model !== undefined && this.hasAuth(model);
    if (last && !isUsable) this.#warn(unusable("model of the session", `${last.provider}/${last.modelId}`, model));
    await this.#selection.restore(isUsable ? model : undefined, session.lastThinkingLevel());
  }

  // ------------------------------------------------------------ inside

  /** undefined where nobody knows a place for files */
  #path(name: string): string | undefined {
    const settings = this.#kernel.tryService("settings");
    return settings && join(settings.agentDir(), name);
  }
}
