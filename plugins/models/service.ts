/** The current model and thinking level: the only copy, and every way to change them. */
import { join } from "node:path";
import { AsyncSeriesHook } from "tapable";
import { KernelError, type Model, type PluginKernel, type ThinkingLevel } from "../../core/index.ts";
import type { Session, SessionChanged } from "../session/contract.ts";
import { type Complain, complainer } from "../shared/complaints.ts";
import { clampDown, clampUp, isThinkingLevel, supportedLevels } from "../shared/thinking.ts";
import { Credentials } from "./auth.ts";
import { CredentialFile } from "./auth-file.ts";
import { Catalogue } from "./catalogue.ts";
import type { Auth, AuthStatus, Credential, Models, ProviderLayer, ScopedModel, SelectSource } from "./contract.ts";
import { CustomModels } from "./custom.ts";
import { buildProvider } from "./layers.ts";
import { nameOf } from "./resolve.ts";
import { chooseStart } from "./start.ts";

const NO_MODEL = "No model selected. Use set_model or start pi with --model (--model offline/demo needs no key).";

/** How long the credential of an admitted run may wait for its request; a run may end before it asks. */
const ADMISSION_MS = 10_000;

export class ModelService implements Models {
  readonly hooks: Models["hooks"] = { selected: new AsyncSeriesHook(["change"]), levelSelected: new AsyncSeriesHook(["change"]) };
  readonly #kernel: PluginKernel;
  readonly #warn: Complain;
  readonly #custom: CustomModels;
  readonly #catalogue: Catalogue;
  readonly #file: CredentialFile;
  readonly #credentials: Credentials;
  #model: Model | undefined;
  #level: ThinkingLevel = "off";
  /** what the start asked for; counts while there is no model */
  #initialLevel: ThinkingLevel = "medium";
  #scoped: ScopedModel[] = [];
  /** resolved when a run was admitted, for its first request: a key command runs once per request */
  #admitted: { name: string; auth: Auth; at: number } | undefined;

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
    this.#warn = complainer(kernel, "models");
    this.#custom = new CustomModels(() => this.#path("models.json"));
    this.#catalogue = new Catalogue(kernel, this.#custom);
    this.#file = new CredentialFile(() => this.#path("auth.json"), this.#warn);
    this.#credentials = new Credentials(kernel, this.#file);
  }

  // ------------------------------------------------------------ what there is

  /** Its newest form: configuration and extensions may have changed it. */
  current(): Model | undefined {
    return this.#model && (this.#catalogue.listed(this.#model.provider, this.#model.id) ?? this.#model);
  }

  all(): Model[] {
    return this.#catalogue.models();
  }

  available(): Model[] {
    return this.providers()
      .filter((id) => this.authStatus(id).configured)
      .flatMap((id) => this.#catalogue.provider(id)?.models ?? []);
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
    await this.#custom.read();
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
    if (layer.models?.length && !canAuthenticate) {
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
    return this.#credentials.missing(this.#catalogue.provider(model.provider), model.provider);
  }

  // ------------------------------------------------------------ choosing

  async select(model: Model, source: SelectSource, options: { thinkingLevel?: ThinkingLevel } = {}): Promise<void> {
    if (!this.hasAuth(model)) throw this.#missing(model);
    const previousModel = this.#model;
    this.#model = model;
    this.#session()?.append({ type: "model_change", provider: model.provider, modelId: model.id });
    const wanted = options.thinkingLevel ?? this.#levelFor(model) ?? (previousModel ? this.#level : this.#initialLevel);
    this.#setLevel(clampUp(wanted, supportedLevels(model)));
    await this.#announce(model, previousModel, source);
  }

  async cycle(): Promise<{ model: Model; thinkingLevel: ThinkingLevel; isScoped: boolean } | null> {
    const isScoped = this.#scoped.length > 0;
    const choices: ScopedModel[] = isScoped ? this.#scoped : this.available().map((model) => ({ model }));
    if (choices.length < 2) return null;
    const current = this.#model && nameOf(this.#model);
    const index = choices.findIndex(({ model }) => nameOf(model) === current);
    const next = choices[(index + 1) % choices.length] as ScopedModel;
    const model = this.find(next.model.provider, next.model.id) ?? next.model;
    await this.select(model, "cycle", { thinkingLevel: next.thinkingLevel });
    return { model, thinkingLevel: this.#level, isScoped };
  }

  thinkingLevel(): ThinkingLevel {
    return this.#level;
  }

  availableLevels(): ThinkingLevel[] {
    return supportedLevels(this.current());
  }

  setThinkingLevel(level: ThinkingLevel): void {
    if (!this.#model) this.#initialLevel = level;
    this.#setLevel(clampDown(level, this.availableLevels()));
  }

  #setLevel(level: ThinkingLevel): void {
    const previousLevel = this.#level;
    this.#level = level;
    const session = this.#model && this.#session();
    if (session && (level !== previousLevel || session.lastThinkingLevel() === undefined))
      session.append({ type: "thinking_level_change", thinkingLevel: level });
    this.#announceLevel(previousLevel);
  }

  #announceLevel(previousLevel: ThinkingLevel): void {
    const level = this.#level;
    if (level === previousLevel) return;
    this.#kernel.emit({ type: "thinking_level_changed", level });
    // Nobody waits for these observers: the order of levels is what matters to them.
    void this.hooks.levelSelected.promise({ level, previousLevel }).catch((error) => this.#kernel.fault({ during: "thinking_level_select", error }));
  }

  async #announce(model: Model, previousModel: Model | undefined, source: SelectSource): Promise<void> {
    if (previousModel && nameOf(previousModel) === nameOf(model)) return;
    this.#kernel.emit({ type: "model_changed", model, source });
    await this.hooks.selected.promise({ model, previousModel, source });
  }

  /** The level that the user's settings ask for with a model; the built-in default does not count. */
  #levelFor(model: Model): ThinkingLevel | undefined {
    const settings = this.#kernel.tryService("settings");
    const perModel = settings?.get<Record<string, unknown>>("modelThinkingLevels")?.[nameOf(model)];
    const level = perModel ?? settings?.project().defaultThinkingLevel ?? settings?.user().defaultThinkingLevel;
    return isThinkingLevel(level) ? level : undefined;
  }

  // ------------------------------------------------------------ start and sessions

  /** Chooses what the process begins with; throws if an option cannot be met. */
  async start(): Promise<void> {
    const { options } = this.#kernel;
    await this.refresh();
    if (options["list-models"] !== undefined) return;
    this.#giveRuntimeKey(options.provider ?? options.model?.split("/", 1)[0]);
    const session = this.#session();
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
    this.#initialLevel = start.thinkingLevel;
    this.#model = start.model ?? this.#demo();
    if (start.isAdhoc && start.model) this.#catalogue.remember(start.model);
    this.#giveRuntimeKey(this.#model?.provider);
    if (options["api-key"] !== undefined && !this.#model) throw new KernelError("E_USAGE", "--api-key needs a model: name one with --model or --provider.");
    this.#level = this.#model ? clampUp(start.thinkingLevel, supportedLevels(this.#model)) : "off";
    this.#record();
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
    const session = this.#session();
    if (reason === "resume" && session && session.entries().length > 0) await this.#restore(session);
    else this.#record();
  }

  async #restore(session: Session): Promise<void> {
    const last = session.lastModel();
    const model = last && (await this.lookUp(last.provider, last.modelId));
    const previousModel = this.#model;
    if (model && this.hasAuth(model)) this.#model = model;
    const previousLevel = this.#level;
    this.#level = clampUp(session.lastThinkingLevel() ?? previousLevel, this.availableLevels());
    this.#announceLevel(previousLevel);
    if (this.#model) await this.#announce(this.#model, previousModel, "restore");
  }

  /** Writes into the session what it does not say yet. */
  #record(): void {
    const session = this.#session();
    if (!session || !this.#model) return;
    const last = session.lastModel();
    if (last?.provider !== this.#model.provider || last.modelId !== this.#model.id) {
      session.append({ type: "model_change", provider: this.#model.provider, modelId: this.#model.id });
    }
    if (session.lastThinkingLevel() !== this.#level) session.append({ type: "thinking_level_change", thinkingLevel: this.#level });
  }

  // ------------------------------------------------------------ inside

  #session(): Session | undefined {
    return this.#kernel.tryService("session");
  }

  /** undefined where nobody knows a place for files */
  #path(name: string): string | undefined {
    const settings = this.#kernel.tryService("settings");
    return settings && join(settings.agentDir(), name);
  }
}
