/** One run of an extension's factory: its state, all it registered, its work under way and its faults. */
import type { ChildProcess } from "node:child_process";
import type { PluginKernel, Scope, SourceInfo } from "../../core/index.ts";
import type { ResourceOwner } from "../process/contract.ts";
import type { EvaluatedModule } from "./load.ts";
import type { Registration } from "./provider-object.ts";
import type { CommandOptions, ExtensionContext, FlagOptions, ToolDefinition } from "./types.ts";

export type Handler = (event: any, ctx: ExtensionContext) => unknown;

/** loading → active → draining → stale, or loading → failed */
export type InstanceState = "loading" | "active" | "draining" | "stale" | "failed";

/** Faults in a row that are too many. */
export const QUARANTINE_AFTER = 5;

/** A call on an instance that is gone. */
export class StaleError extends Error {
  readonly instance: Instance;

  constructor(instance: Instance) {
    super(
      `This extension context is stale after session replacement or reload (${instance.path}). ` +
        "Do not keep pi or ctx across newSession, fork, switchSession or reload; continue in the context given to withSession.",
    );
    this.name = "StaleError";
    this.instance = instance;
  }
}

export interface InstanceOptions {
  path: string;
  sourceInfo: SourceInfo;
  module: EvaluatedModule;
  generation: number;
  /** bus subscriptions of a staged instance wait until it takes over */
  staged: boolean;
  /** what the previous version hands over, asked when it is read */
  handedOver?: () => Record<string, unknown>;
}

export class Instance implements ResourceOwner {
  readonly id: string;
  readonly path: string;
  readonly sourceInfo: SourceInfo;
  readonly module: EvaluatedModule;
  readonly generation: number;
  readonly staged: boolean;
  handedOver: () => Record<string, unknown>;
  state: InstanceState = "loading";
  loadMs = 0;
  hasStarted = false;
  hasReadHandover = false;

  // what it owns
  readonly timers = new Set<unknown>();
  readonly children: ResourceOwner["children"] = new Set();
  readonly listeners: ResourceOwner["listeners"] = new Set();
  /** children of `pi.exec`: they outlive the instance */
  readonly execs = new Set<ChildProcess>();
  /** copy-on-write lists: a dispatch keeps the one it began with */
  readonly handlers = new Map<string, readonly Handler[]>();
  readonly tools = new Map<string, ToolDefinition>();
  readonly commands = new Map<string, CommandOptions>();
  readonly flags = new Map<string, FlagOptions>();
  readonly providers = new Map<string, Registration>();
  /** questions of the factory's providers, which end before it counts */
  readonly preparing: Promise<unknown>[] = [];
  readonly statusKeys = new Set<string>();
  readonly widgetKeys = new Set<string>();
  readonly disposers: ((data: Record<string, unknown>) => void)[] = [];
  /** takes paths from resources_discover back */
  readonly discovered: (() => void)[] = [];
  dialogs = 0;

  // its plugin
  kernel!: PluginKernel;
  scope: Scope | undefined;

  // its faults
  faults = 0;
  lastError: string | undefined;
  isQuarantined = false;
  hasReportedStale = false;
  #faultsInARow = 0;
  readonly #rows = new Map<string, number>();

  #work = 0;
  #commands = 0;
  #onDrained: (() => void)[] = [];
  readonly #onDialogs = new Set<() => void>();
  readonly #onRetired = new Set<() => void>();

  constructor(options: InstanceOptions) {
    this.id = options.path;
    this.path = options.path;
    this.sourceInfo = options.sourceInfo;
    this.module = options.module;
    this.generation = options.generation;
    this.staged = options.staged;
    const nothing = {};
    this.handedOver = options.handedOver ?? (() => nothing);
  }

  /** Whether its handlers are called. */
  get isLive(): boolean {
    return this.state === "active" && !this.isQuarantined;
  }

  /** Every member of `pi` and `ctx` begins with this. */
  assertUsable(): void {
    if (this.state === "stale") throw new StaleError(this);
    if (this.state === "failed") throw new Error(`The extension ${this.path} failed to load; its API cannot be used.`);
  }

  /** Actions need a session, which is not there while factories run. */
  assertLoaded(member: string): void {
    this.assertUsable();
    if (this.state === "loading") {
      throw new Error(`pi.${member}() cannot be called during extension loading. Call it in a handler, e.g. pi.on("session_start", …), a command or a tool.`);
    }
  }

  // ------------------------------------------------------------ work under way

  /** Notes a piece of work; the answer ends it. */
  enter(kind?: "command"): () => void {
    const commands = kind === "command" ? 1 : 0;
    this.#work++;
    this.#commands += commands;
    let done = false;
    return () => {
      if (done) return;
      done = true;
      this.#work--;
      this.#commands -= commands;
      if (this.#work === 0) for (const resolve of this.#onDrained.splice(0)) resolve();
    };
  }

  /** Whether anything but commands is under way. */
  get isWorking(): boolean {
    return this.#work > this.#commands;
  }

  /** Whether a command is under way: it goes on, also when the instance is gone. */
  get hasCommands(): boolean {
    return this.#commands > 0;
  }

  drained(): Promise<void> {
    if (this.#work === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }

  // ------------------------------------------------------------ dialogs

  dialogOpened(): void {
    this.dialogs++;
    for (const notify of this.#onDialogs) notify();
  }

  dialogClosed(): void {
    this.dialogs--;
    for (const notify of this.#onDialogs) notify();
  }

  /** Clocks of deadlines stand still while a dialog is open. */
  onDialogs(notify: () => void): () => void {
    this.#onDialogs.add(notify);
    return () => this.#onDialogs.delete(notify);
  }

  // ------------------------------------------------------------ its end

  /** Its timers and children are gone: work under way may never end. */
  retired(): void {
    for (const notify of this.#onRetired) notify();
  }

  onRetired(notify: () => void): () => void {
    this.#onRetired.add(notify);
    return () => this.#onRetired.delete(notify);
  }

  // ------------------------------------------------------------ faults

  /** Counts a fault during `moment`; true: this was one too many. */
  countFault(moment: string, message: string): boolean {
    this.faults++;
    this.lastError = message;
    const row = (this.#rows.get(moment) ?? 0) + 1;
    this.#rows.set(moment, row);
    this.#faultsInARow++;
    return !this.isQuarantined && (row >= QUARANTINE_AFTER || this.#faultsInARow >= QUARANTINE_AFTER);
  }

  countSuccess(moment: string): void {
    this.#faultsInARow = 0;
    this.#rows.delete(moment);
  }
}
