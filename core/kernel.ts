/** The kernel: takes plugins in and out, gives each its own view, executes commands, and holds what a run needs. */
import type { AgentEvent, Call, Command, Fault, Kinds, Options, PromptDraft, RunDraft, Services, State } from "./contracts.ts";
import { KernelError, messageOf } from "./errors.ts";
import { Bus } from "./events.ts";
import { createHooks, type KernelHooks } from "./hooks.ts";
import type { AgentMessage } from "./messages.ts";
import { passedOver, patiently } from "./patience.ts";
import { type Executed, flatten, type Loaded, type Plugin, type PluginKernel, type PluginList, type UseOptions } from "./plugin.ts";
import { Queue } from "./queue.ts";
import { type Contributions, Registry } from "./registry.ts";
import { Run } from "./run.ts";
import { checkParams } from "./schema.ts";
import { Scope } from "./scope.ts";
import { isTapped, isThenable, tapsOf } from "./taps.ts";
import { viewOf } from "./view.ts";

interface Provided {
  name: string;
  service: unknown;
}

export class Kernel {
  readonly hooks: KernelHooks = createHooks();
  readonly bus: Bus;
  readonly queue: Queue;
  readonly run: Run;
  options: Options = {};
  readonly #registries = new Map<string, Registry<any>>();
  readonly #views = new Map<string, Contributions<any>>();
  /** asked several times with every command and event: without a view in between */
  readonly #services = this.#registry<Provided>("services");
  readonly #loaded = new Map<string, Loaded>();
  /** parameter schemas, built at a command's first use */
  readonly #schemas = new WeakMap<Command, ReturnType<Command["params"]>>();
  readonly #scope: Scope;
  readonly #onThrow = (owner: Scope, error: unknown): void => this.fault({ from: owner.name, during: "hook", error });
  #order = 0;
  #stopping: Promise<void> | undefined;

  constructor() {
    this.bus = new Bus(this.hooks.event, (error) => this.fault({ from: "kernel", during: "event", error }));
    this.queue = new Queue((event) => this.emit(event));
    this.run = new Run(this);
    this.#scope = new Scope("kernel", { order: 0, precedence: 0 }, this.#onThrow);
  }

  // ------------------------------------------------------------ plugins

  /** Loads a list in its order; the first that fails stops it. */
  async useAll(list: PluginList): Promise<void> {
    for (const plugin of flatten(list)) await this.use(plugin);
  }

  /** Loads one plugin whole or not at all. */
  async use(plugin: Plugin, options: UseOptions = {}): Promise<Loaded> {
    // A staged plugin may stand in for one of the same name; everybody else needs a free name.
    if (this.#loaded.has(plugin.name) && !options.staged) {
      throw new KernelError("E_NAME_TAKEN", `Two plugins are called "${plugin.name}"; names must be unique.`);
    }
    for (const service of plugin.requires ?? []) {
      if (!this.tryService(service)) {
        throw new KernelError("E_SERVICE_MISSING", `Plugin "${plugin.name}" needs the service "${service}"; put a plugin that provides it before it.`);
      }
    }
    this.#order++;
    const rank = { order: options.order ?? this.#order, precedence: options.precedence ?? this.#order };
    const scope = new Scope(plugin.name, rank, this.#onThrow, options.staged);
    try {
      const undo = await plugin.apply(this.#view(scope));
      if (typeof undo === "function") scope.defer(undo);
    } catch (error) {
      await scope.close((failure) => this.fault({ from: plugin.name, during: "unload", error: failure }));
      if (error instanceof KernelError) throw error;
      throw new KernelError("E_APPLY", `Plugin "${plugin.name}" could not be loaded: ${messageOf(error)}`, { cause: error });
    }
    const loaded = { plugin, scope };
    if (!options.staged) this.#loaded.set(plugin.name, loaded);
    return loaded;
  }

  /** Unloads a plugin, unless others need a service that only it provides. */
  async remove(name: string): Promise<void> {
    const loaded = this.#loaded.get(name);
    if (!loaded) return;
    const needed = this.#needing(name);
    if (needed) throw new KernelError("E_SERVICE_IN_USE", `Plugin "${name}" cannot be removed: ${needed.by.join(", ")} need its service "${needed.service}".`);
    this.#loaded.delete(name);
    await loaded.scope.close((error) => this.fault({ from: name, during: "unload", error }));
  }

  #needing(name: string): { service: string; by: string[] } | undefined {
    for (const { name: service } of this.#services.all()) {
      if (this.#services.collect().owners.get(service) !== name) continue;
      const needs = ({ plugin }: Loaded) => (plugin.requires as readonly string[] | undefined)?.includes(service);
      const by = [...this.#loaded.values()].filter(needs).map(({ plugin }) => plugin.name);
      if (by.length > 0) return { service, by };
    }
    return undefined;
  }

  /** Unloads everything, last first. */
  async removeAll(): Promise<void> {
    for (const [name, { scope }] of [...this.#loaded].reverse()) {
      this.#loaded.delete(name);
      await scope.close((error) => this.fault({ from: name, during: "unload", error }));
    }
  }

  plugins(): readonly string[] {
    return [...this.#loaded.keys()];
  }

  // ------------------------------------------------------------ life

  async start(options: Options = {}): Promise<void> {
    this.options = options;
    await this.hooks.start.promise();
  }

  /** Ends in order: the run is aborted and none begins any more, then everybody gets to close. */
  stop(reason = "quit"): Promise<void> {
    this.#stopping ??= (async () => {
      this.hooks.stopping.call(reason);
      await this.run.close();
      await this.hooks.stop.promise(reason);
      await this.bus.flush();
    })();
    return this.#stopping;
  }

  // ------------------------------------------------------------ commands

  async execute(name: string, params: unknown, given?: Partial<Call>): Promise<Executed> {
    const command = this.registry("commands").get(name);
    if (!command) throw new KernelError("E_UNKNOWN_COMMAND", `Unknown command: ${name}`);
    return this.invoke(command, params, given);
  }

  /** Runs a command. One that needs no promise makes none: its answer is there at once, its failure is thrown. */
  readonly invoke = (command: Command, params: unknown, given: Partial<Call> = {}): Executed | Promise<Executed> => {
    let schema = this.#schemas.get(command);
    if (!schema) {
      schema = command.params();
      this.#schemas.set(command, schema);
    }
    const checked = checkParams(schema as never, (params ?? {}) as Record<string, unknown>);
    const executed = new Execution();
    // Field by field: this is made for every command.
    const call: Call = {
      source: given.source ?? "plugin",
      signal: given.signal ?? new AbortController().signal,
      after: (job) => executed.add(job),
    };
    if (given.id !== undefined) call.id = given.id;
    if (given.acknowledge) call.acknowledge = given.acknowledge;
    const data = command.run(checked, call);
    if (isThenable(data)) return Promise.resolve(data).then((settled) => executed.with(settled));
    return executed.with(data);
  };

  readonly describe = (): State => {
    const state: State = {};
    this.hooks.describe.call(state);
    return state;
  };

  // ------------------------------------------------------------ messages

  emit(event: AgentEvent): void {
    this.bus.emit(event);
  }

  fault(fault: Fault): void {
    this.hooks.fault.call(fault);
  }

  /** Announces a whole message and stores it. */
  async announce(message: AgentMessage, signal?: AbortSignal): Promise<AgentMessage> {
    this.emit({ type: "message_start", message });
    return this.conclude(message, signal);
  }

  /** A complete message that no plugin is asked about. Its start and end stand together, whatever else is being added. */
  async add(message: AgentMessage): Promise<void> {
    const stored = this.service("transcript").append(message);
    if (stored) await stored;
    this.emit({ type: "message_start", message });
    this.emit({ type: "message_end", message });
  }

  /** The end of a message: plugins may replace it, then it is stored, then it is on the wire. */
  async conclude(message: AgentMessage, signal: AbortSignal = new AbortController().signal): Promise<AgentMessage> {
    let final = message;
    if (isTapped(this.hooks.message)) {
      const flushed = this.bus.flush();
      if (flushed) await patiently(flushed, signal);
      const answer = await patiently(this.hooks.message.promise(message), signal).catch((error) => {
        this.fault({ from: "kernel", during: "message_end", error });
        return passedOver;
      });
      if (answer !== passedOver) final = answer as AgentMessage;
    }
    await this.service("transcript").append(final);
    this.emit({ type: "message_end", message: final });
    this.hooks.concluded.call(final);
    return final;
  }

  async systemPrompt(run?: RunDraft): Promise<string> {
    return run?.systemPrompt ?? (await this.hooks.systemPrompt.promise("", run));
  }

  /** Offers a text to whoever takes it at once; no promise unless somebody does. */
  intercept(draft: PromptDraft): Promise<"handled" | undefined> | undefined {
    if (!isTapped(this.hooks.intercept)) return undefined;
    let settled: { error: Error | null; result?: "handled" } | undefined;
    let notify: (() => void) | undefined;
    this.hooks.intercept.callAsync(draft, (error, result) => {
      settled = { error: error ?? null, result };
      notify?.();
    });
    const outcome = () => {
      if (settled?.error) throw settled.error;
      return settled?.result;
    };
    if (settled) return outcome() === "handled" ? Promise.resolve("handled") : undefined;
    return new Promise<void>((resolve) => {
      notify = resolve;
    }).then(outcome);
  }

  // ------------------------------------------------------------ views

  registry<K extends keyof Kinds>(kind: K): Contributions<Kinds[K]> {
    return this.#own(kind) as Contributions<Kinds[K]>;
  }

  service<K extends keyof Services>(name: K): Services[K] {
    const service = this.tryService(name);
    if (service === undefined) throw new KernelError("E_SERVICE_MISSING", `No plugin provides the service "${name}".`);
    return service;
  }

  /** Like all functions here that are fields, handed on to plugins as it is: it is asked for with everything. */
  readonly tryService = <K extends keyof Services>(name: K): Services[K] | undefined => {
    return this.#services.collect().get(name)?.service as Services[K] | undefined;
  };

  /** Everything still registered, by hook: what tests want to see empty. */
  leftovers(): string[] {
    const { collect, ...hooks } = this.hooks;
    const registries = [...this.#registries.keys()].map((kind): [string, object] => [`collect:${kind}`, collect.for(kind)]);
    const all: [string, object][] = [...Object.entries(hooks), ...registries];
    return all.filter(([, hook]) => tapsOf(hook).registered > 0).map(([name]) => name);
  }

  /** The kernel's own view: asked for with every command and event, so it is made once. */
  #own(kind: string): Contributions<any> {
    let view = this.#views.get(kind);
    if (!view) {
      view = this.#registry(kind).view(this.#scope);
      this.#views.set(kind, view);
    }
    return view;
  }

  #registry<T extends { name: string }>(kind: string): Registry<T> {
    let registry = this.#registries.get(kind);
    if (!registry) {
      registry = new Registry<T>(this.hooks.collect, kind);
      this.#registries.set(kind, registry);
    }
    return registry;
  }

  #view(scope: Scope): PluginKernel {
    return viewOf(this, scope, (kind) => this.#registry(kind).view(scope));
  }
}

/** What a command answered, and the work that it left for after its reply. */
class Execution implements Executed {
  data: unknown;
  #jobs: (() => unknown)[] | undefined;

  add(job: () => unknown): void {
    this.#jobs ??= [];
    this.#jobs.push(job);
  }

  with(data: unknown): this {
    this.data = data;
    return this;
  }

  after(): Promise<unknown> | undefined {
    if (!this.#jobs) return undefined;
    const pending = this.#jobs.splice(0).map((job) => job());
    // Waits only if there is something to wait for.
    return pending.some(isThenable) ? Promise.all(pending) : undefined;
  }
}
