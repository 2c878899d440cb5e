/** The model and the thinking level in use: the only copy, their record in the session, and who is told. */
import { AsyncSeriesHook } from "tapable";
import type { Model, PluginKernel, ThinkingLevel } from "../../core/index.ts";
import type { Session } from "../session/contract.ts";
import { clampDown, clampUp, isThinkingLevel, supportedLevels } from "../shared/thinking.ts";
import type { Models, SelectSource } from "./contract.ts";
import { nameOf } from "./resolve.ts";

export class Selection {
  readonly hooks: Models["hooks"] = { selected: new AsyncSeriesHook(["change"]), levelSelected: new AsyncSeriesHook(["change"]) };
  readonly #kernel: PluginKernel;
  #model: Model | undefined;
  #level: ThinkingLevel = "off";
  /** what was asked for while there is no model */
  #wantedLevel: ThinkingLevel = "medium";

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
  }

  get model(): Model | undefined {
    return this.#model;
  }

  get level(): ThinkingLevel {
    return this.#level;
  }

  /** What the process starts with. Nobody is told: nobody has seen anything else. */
  begin(model: Model | undefined, level: ThinkingLevel): void {
    this.#model = model;
    this.#wantedLevel = level;
    this.#level = model ? clampUp(level, supportedLevels(model)) : "off";
    this.record();
  }

  /** Switches to a model; the level is the given one, else the settings' for it, else stays, as far as the model has it. */
  async change(model: Model, source: SelectSource, level?: ThinkingLevel): Promise<void> {
    const previous = this.#model;
    this.#model = model;
    this.#session()?.append({ type: "model_change", provider: model.provider, modelId: model.id });
    const wanted = level ?? this.#configuredLevel(model) ?? (previous ? this.#level : this.#wantedLevel);
    this.#setLevel(clampUp(wanted, supportedLevels(model)));
    await this.#announce(previous, source);
  }

  /** An explicit request for a level. */
  request(level: ThinkingLevel, supported: readonly ThinkingLevel[]): void {
    if (!this.#model) this.#wantedLevel = level;
    this.#setLevel(clampDown(level, supported));
  }

  /** Takes over what a resumed session last used. Nothing is recorded: it says so itself. */
  async restore(model: Model | undefined, level: ThinkingLevel | undefined): Promise<void> {
    const [previous, previousLevel] = [this.#model, this.#level];
    this.#model = model ?? previous;
    this.#level = clampUp(level ?? previousLevel, supportedLevels(this.#model));
    this.#announceLevel(previousLevel);
    await this.#announce(previous, "restore");
  }

  /** Writes into the session what it does not say yet. */
  record(): void {
    const session = this.#session();
    if (!session || !this.#model) return;
    const last = session.lastModel();
    if (last?.provider !== this.#model.provider || last.modelId !== this.#model.id) {
      session.append({ type: "model_change", provider: this.#model.provider, modelId: this.#model.id });
    }
    if (session.lastThinkingLevel() !== this.#level) session.append({ type: "thinking_level_change", thinkingLevel: this.#level });
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
    // Nobody waits for these observers.
    void this.hooks.levelSelected.promise({ level, previousLevel }).catch((error) => this.#kernel.fault({ during: "thinking_level_select", error }));
  }

  async #announce(previousModel: Model | undefined, source: SelectSource): Promise<void> {
    const model = this.#model;
    if (!model || (previousModel && nameOf(previousModel) === nameOf(model))) return;
    this.#kernel.emit({ type: "model_changed", model, source });
    await this.hooks.selected.promise({ model, previousModel, source });
  }

  /** The level that the user's settings ask for with a model; the built-in default does not count. */
  #configuredLevel(model: Model): ThinkingLevel | undefined {
    const settings = this.#kernel.tryService("settings");
    const perModel = settings?.get<Record<string, unknown>>("modelThinkingLevels")?.[nameOf(model)];
    const level = perModel ?? settings?.project().defaultThinkingLevel ?? settings?.user().defaultThinkingLevel;
    return isThinkingLevel(level) ? level : undefined;
  }

  #session(): Session | undefined {
    return this.#kernel.tryService("session");
  }
}
