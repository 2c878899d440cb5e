/** All instances in load order, and what they share: the bus, flags, command names, reports, and who runs what as whom. */

import type { ChildProcess } from "node:child_process";
import type { SyncHook } from "tapable";
import { type CustomMessage, isTapped, KernelError, messageOf, type PluginKernel, type SlashCommand } from "../../core/index.ts";
import type {} from "../process/contract.ts";
import type {} from "../rpc/contract.ts";
import type {} from "../settings/contract.ts";
import { now } from "../shared/clock.ts";
import { refuseUnknownOptions } from "../shared/unknown-options.ts";
import type { SystemPromptOptions } from "../system-prompt/contract.ts";
import { EventChannels } from "./channels.ts";
import { createCommandContext, createContext } from "./context.ts";
import type { HandlerCall } from "./contract.ts";
import { DeadlineError, Dispatcher } from "./dispatch.ts";
import { type EventName, rows } from "./events.ts";
import { type Instance, StaleError } from "./instance.ts";
import { runCommand } from "./slash.ts";
import type { ExtensionCommandContext, ExtensionContext, FlagOptions, Mode } from "./types.ts";

/** A command of an instance and the name it got among all. */
interface NamedCommand {
  instance: Instance;
  name: string;
  invoked: string;
  description: string | undefined;
  undo?: () => void;
}

export class Runtime {
  readonly kernel: PluginKernel;
  readonly dispatcher: Dispatcher;
  readonly channels: EventChannels;
  /** children of `pi.exec`, which outlive instances but not the program */
  readonly execs = new Set<ChildProcess>();
  /** whose lists of models have been asked for, by extension and provider */
  readonly fetchedModels = new Set<string>();
  /** custom messages for the next prompt */
  readonly nextTurn: CustomMessage[] = [];
  /** custom messages that wait for the end of the turn */
  readonly afterTurn: CustomMessage[] = [];
  /** custom messages that were only appended: extensions hear nothing of them */
  readonly silent = new WeakSet<object>();
  /** sends of agent_settled handlers, which wait for the end of that dispatch */
  deferred: (() => void)[] | undefined;
  /** sends of handlers that look at a prompt: whether it comes to a run is not known yet */
  readonly #undecided: (() => void)[] = [];
  /** the options of the run's system prompt, as its handlers left them */
  runPrompt: SystemPromptOptions | undefined;
  /** the run is being settled: its signal is no longer shown */
  isSettling = false;
  /** values of the command line, known once all extensions are loaded */
  flagValues: ReadonlyMap<string, string | true> | undefined;
  /** told of every call of a handler, for those who watch */
  called: SyncHook<[call: HandlerCall]> | undefined;
  /** does the work of ctx.reload() and ctx.shutdown() */
  onReload: () => Promise<void> = async () => {};
  onShutdown: () => void = () => {};

  #instances: readonly Instance[] = [];
  readonly #contexts = new WeakMap<Instance, ExtensionContext>();
  readonly #commandContexts = new WeakMap<Instance, ExtensionCommandContext>();
  readonly #taps = new Map<string, () => void>();
  /** in the order of the registry */
  readonly #named: NamedCommand[] = [];
  readonly #conflicts = new Set<string>();
  #openPrompts = 0;

  constructor(kernel: PluginKernel) {
    this.kernel = kernel;
    this.channels = new EventChannels(
      (instance, work) => this.runAs(instance, work),
      (text) => this.complain(text),
    );
    this.dispatcher = new Dispatcher({
      instances: () => this.#instances,
      contextOf: (instance) => this.contextOf(instance),
      runAs: (instance, work) => this.runAs(instance, work),
      report: (instance, event, error) => this.report(instance, event, error),
      watch: (instance, event) => this.#watch(instance, event),
      deadlineMs: () => kernel.tryService("settings")?.get<number>("extensionsDeadlineMs"),
    });
  }

  // ------------------------------------------------------------ instances

  /** those whose registrations count, in load order */
  get instances(): readonly Instance[] {
    return this.#instances;
  }

  /** Sets who counts. Everything that depends on it follows in the same step. */
  setInstances(instances: readonly Instance[]): void {
    this.#instances = instances;
    this.changed();
  }

  /** Something was registered or taken back. */
  changed(): void {
    this.#nameCommands();
    this.#listen();
    this.#reportConflicts();
  }

  /** Taps the kernel's hooks for the events that somebody listens to, and only those. */
  #listen(): void {
    const heard = new Set(this.#instances.flatMap(({ state, handlers }) => (state === "active" ? [...handlers.keys()] : [])));
    for (const event of Object.keys(rows) as EventName[]) {
      const tapped = this.#taps.get(event);
      if (heard.has(event) && !tapped) this.#taps.set(event, rows[event](this));
      if (!heard.has(event) && tapped) {
        tapped();
        this.#taps.delete(event);
      }
    }
  }

  // ------------------------------------------------------------ commands

  /** NAME if one extension has it; NAME:1, NAME:2, … if several do. */
  #nameCommands(): void {
    const owners = new Map<string, Instance[]>();
    for (const instance of this.#instances.filter(({ isLive }) => isLive)) {
      for (const name of instance.commands.keys()) owners.set(name, [...(owners.get(name) ?? []), instance]);
    }
    const taken = new Set([...owners].filter(([, list]) => list.length === 1).map(([name]) => name));
    const all: NamedCommand[] = [];
    for (const [name, list] of owners) {
      let number = 0;
      for (const instance of list) {
        let invoked = name;
        if (list.length > 1) {
          do invoked = `${name}:${++number}`;
          while (taken.has(invoked));
          taken.add(invoked);
        }
        all.push({ instance, name, invoked, description: instance.commands.get(name)?.description });
      }
    }
    // Nearly always some come behind those that there are.
    const firstNew = all.findIndex((command, index) => !isSame(command, this.#named[index]));
    const kept = firstNew < 0 ? all.length : firstNew;
    for (const { undo } of this.#named.splice(kept)) undo?.();
    for (const command of all.slice(kept)) this.#named.push({ ...command, undo: this.kernel.registry("slashCommands").add(this.#slashCommand(command)) });
  }

  #slashCommand({ instance, name, invoked, description }: NamedCommand): SlashCommand {
    const run = (args: string) => runCommand(this, instance, name, invoked, args);
    return { name: invoked, ...(description !== undefined && { description }), sourceInfo: instance.sourceInfo, run };
  }

  #reportConflicts(): void {
    const holders = { tool: new Map<string, Instance>(), flag: new Map<string, Instance>() };
    for (const instance of this.#instances) {
      for (const name of instance.tools.keys()) this.#claim("tool", holders.tool, name, instance);
      for (const name of instance.flags.keys()) this.#claim("flag", holders.flag, name, instance);
    }
  }

  #claim(kind: "tool" | "flag", holders: Map<string, Instance>, name: string, instance: Instance): void {
    const winner = holders.get(name);
    if (!winner) {
      holders.set(name, instance);
      return;
    }
    const key = [kind, name, winner.path, instance.path].join("\n");
    if (this.#conflicts.has(key)) return;
    this.#conflicts.add(key);
    const shown = kind === "flag" ? `--${name}` : name;
    this.kernel.fault({ from: instance.path, during: "conflict", error: `The ${kind} "${shown}" is already registered by ${winner.path}, which is used.` });
  }

  // ------------------------------------------------------------ prompts that are looked at

  /** Does `work` once the prompt that is looked at has come to a run, or to none. */
  whenDecided(work: () => void): void {
    this.#undecided.push(work);
    void this.kernel.run.whenIdle().then(() => this.decided());
  }

  decided(): void {
    if (!this.kernel.run.reserved) for (const work of this.#undecided.splice(0)) work();
  }

  // ------------------------------------------------------------ contexts

  contextOf(instance: Instance): ExtensionContext {
    let context = this.#contexts.get(instance);
    if (!context) {
      context = createContext(this, instance);
      this.#contexts.set(instance, context);
    }
    return context;
  }

  commandContextOf(instance: Instance): ExtensionCommandContext {
    let context = this.#commandContexts.get(instance);
    if (!context) {
      context = createCommandContext(this, instance);
      this.#commandContexts.set(instance, context);
    }
    return context;
  }

  get mode(): Mode {
    const name = this.kernel.options.mode ?? "rpc";
    return this.kernel.registry("transports").get(name)?.mode ?? (name as Mode);
  }

  get hasUi(): boolean {
    return this.mode === "rpc" || this.mode === "tui";
  }

  get cwd(): string {
    return this.kernel.tryService("settings")?.cwd() ?? this.kernel.options.cwd ?? ".";
  }

  /** The first dialog opens, the last one closes: extensions may want to know. */
  promptOpened(kind: string, title: string): () => void {
    const announce = (event: "ui_prompt_start" | "ui_prompt_end") =>
      queueMicrotask(() => void this.dispatcher.dispatch({ event, payload: { type: event, reason: "ui_prompt", kind, title } }));
    if (++this.#openPrompts === 1) announce("ui_prompt_start");
    return () => {
      if (--this.#openPrompts === 0) announce("ui_prompt_end");
    };
  }

  // ------------------------------------------------------------ who runs what

  /** Runs an extension's code: what it starts belongs to it. */
  runAs<T>(instance: Instance, work: () => T): T {
    const host = this.kernel.tryService("process");
    return host ? host.runAs(instance, work) : work();
  }

  /** Runs our code on an extension's behalf: what it starts is the kernel's. */
  leave<T>(work: () => T): T {
    const host = this.kernel.tryService("process");
    return host ? host.runAs(undefined, work) : work();
  }

  /** Ends what an extension started. Its commands go on and are answered: what they may be waiting for still comes. */
  release(instance: Instance): void {
    this.kernel.tryService("process")?.releaseOwner(instance, { keepsTimeouts: instance.hasCommands });
  }

  // ------------------------------------------------------------ reports

  /** Starts the clock of one handler call, if somebody wants to know. */
  #watch(instance: Instance, event: string): ((error?: unknown) => void) | undefined {
    const { called } = this;
    if (!called || !isTapped(called)) return undefined;
    const since = now();
    return (error) => called.call({ path: instance.path, event, ms: now() - since, ...(error !== undefined && { error }) });
  }

  report(instance: Instance, event: string, error: unknown): void {
    if (error instanceof StaleError || event === "stale") {
      if (instance.hasReportedStale) return;
      instance.hasReportedStale = true;
      this.kernel.fault({ from: instance.path, during: "stale", error });
      return;
    }
    const isTooMuch = instance.countFault(event, messageOf(error));
    this.kernel.fault({ from: instance.path, during: event, error });
    if (isTooMuch && instance.state === "active") this.#quarantine(instance);
  }

  /** A guard that failed has told so in the tool result; only a row of failures, or one that hangs, is worth more. */
  countGuardFailure(instance: Instance, error: unknown): void {
    if (error instanceof DeadlineError || error instanceof StaleError) this.report(instance, "tool_call", error);
    else if (instance.countFault("tool_call", messageOf(error)) && instance.state === "active") this.#quarantine(instance);
  }

  /** Nothing of it runs any more, but what it guarded stays guarded. */
  #quarantine(instance: Instance): void {
    instance.isQuarantined = true;
    instance.scope?.withdraw();
    this.kernel.tryService("ui")?.cancelDialogs(instance);
    this.release(instance);
    this.kernel.emit({ type: "extension_quarantined", extensionPath: instance.path, faults: instance.faults, lastError: instance.lastError ?? "" });
    this.changed();
  }

  /** The guard of a quarantined extension, if there is one. */
  quarantinedGuard(): Instance | undefined {
    return this.#instances.find((instance) => instance.isQuarantined && instance.state === "active" && instance.handlers.has("tool_call"));
  }

  /** One line for people; nothing on the wire. */
  complain(text: string): void {
    this.kernel.tryService("process")?.io.stderr.write(`${text}\n`);
  }

  /** What a flag is to `instance`: the first who registered it says so, for all who have. */
  flagOf(instance: Instance, name: string): FlagOptions | undefined {
    if (!instance.flags.has(name)) return undefined;
    const first = this.#instances.find(({ path, flags }) => path === instance.path || flags.has(name));
    return (first && first.path !== instance.path ? first : instance).flags.get(name);
  }

  /** Refuses options that no extension knows, and sets the values of those that some do. */
  takeFlags(): void {
    const given = this.kernel.options.unknownFlags ?? new Map<string, string | true>();
    this.flagValues = given;
    const known = this.kernel.registry("flags");
    for (const [name, value] of given) {
      const flag = known.get(name);
      if (!flag) continue;
      if (flag.type === "string" && value === true) throw new KernelError("E_USAGE", `Extension flag "--${name}" requires a value`);
      this.kernel.options[name] = flag.type === "boolean" ? true : value;
    }
    refuseUnknownOptions(given.keys(), known.all());
  }
}

function isSame(a: NamedCommand, b: NamedCommand | undefined): boolean {
  return a.instance === b?.instance && a.name === b.name && a.invoked === b.invoked && a.description === b.description;
}
