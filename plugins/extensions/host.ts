/** The life of extensions: reading, running factories, sessions that come and go, and the end. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { KernelError, messageOf, type Options, type Plugin, type PluginKernel, type SourceInfo } from "../../core/index.ts";
import type { ResourceOwner } from "../process/contract.ts";
import type { ResourceFile } from "../resources/contract.ts";
import type { SessionChange, SessionChanged } from "../session/contract.ts";
import { now } from "../shared/clock.ts";
import { signalTree } from "../shared/process-tree.ts";
import { createApi } from "./api.ts";
import { Instance } from "./instance.ts";
import { defaultOf, type EvaluatedModule, filesInStack, LoadError, located, ModuleReader } from "./load.ts";
import { VirtualTable } from "./modules.ts";
import { applyProviders } from "./providers.ts";
import { Runtime } from "./runtime.ts";
import { arrange, nameOf, rankOf, realPathOf, type Slot, scopeNameOf } from "./slots.ts";
import type { ExtensionFactory } from "./types.ts";
import { clearScreen } from "./ui.ts";

/** A factory that takes longer is set aside; it may join later. */
const FACTORY_MS = 10_000;
/** How long handlers of session_start may hold up the agent. */
const WELCOME_MS = 5000;
/** How long extensions may take to say goodbye when the program ends. */
const GOODBYE_MS = 3000;

type StartReason = "startup" | "reload" | "new" | "resume" | "fork";

export class ExtensionHost {
  readonly kernel: PluginKernel;
  readonly runtime: Runtime;
  readonly cacheDir: string | undefined;
  slots: Slot[] = [];
  /** told of own files as they are read, for the watcher */
  onFile: (file: string) => void = () => {};
  /** told when the agent has gone to another directory */
  onMoved: () => void = () => {};
  readonly #table: VirtualTable;
  readonly #reader: ModuleReader;
  /** which extension a file was read for */
  readonly #readFor = new Map<string, string>();
  #cwd: string | undefined;
  #lastRead = 0;
  #hasLeft = false;
  /** the session being entered is in another directory */
  #hasMoved = false;
  #hasStarted = false;

  constructor(kernel: PluginKernel) {
    this.kernel = kernel;
    this.runtime = new Runtime(kernel);
    const settings = kernel.tryService("settings");
    this.cacheDir = settings && join(settings.agentDir(), "cache", "extensions");
    this.#table = new VirtualTable(this.runtime);
    this.#reader = new ModuleReader(this.#table, this.cacheDir, (file) => {
      this.#lastRead = now();
      // An extension may import in its own time; what watches its files is ours.
      this.runtime.leave(() => this.onFile(file));
    });
  }

  // ------------------------------------------------------------ start

  /** Starts with nothing, long after the agent has: what has come meanwhile is noticed like any change. */
  async startLate(): Promise<void> {
    this.#cwd = this.runtime.cwd;
    // Nothing has to leave: the next session may come at any time.
    this.#hasLeft = true;
    await this.sessionChanged({ reason: "startup" });
  }

  async start(): Promise<void> {
    this.#cwd = this.runtime.cwd;
    await this.#loadAll(this.#cwd);
    this.runtime.takeFlags();
  }

  /** The user's own first, if they have a say in whether the project is trusted. */
  async #loadAll(cwd: string): Promise<void> {
    const trust = this.kernel.tryService("trust");
    if (trust?.isUndecided(cwd)) await this.#loadNew(await this.discover({ withProject: false }));
    await trust?.decide(cwd);
    await this.#loadNew(await this.discover());
  }

  async discover(options?: { withProject?: boolean }): Promise<ResourceFile[]> {
    const resources = this.kernel.tryService("resources");
    const found = resources ? await resources.files("extensions", options) : this.#fromCommandLine();
    return [...found, ...this.#inline()];
  }

  /** Without files that were named and have gone since: they go like any other. One that never came goes on being missed. */
  async discoverPresent(): Promise<ResourceFile[]> {
    const isMissed = (path: string) => this.slots.some((slot) => slot.path === path && !slot.live);
    return (await this.discover()).filter(({ path }) => path.startsWith("<") || existsSync(path) || isMissed(path));
  }

  /** For distributions that only know the command line. */
  #fromCommandLine(): ResourceFile[] {
    return (this.kernel.options.extension ?? []).map((given) => {
      const path = resolve(this.runtime.cwd, given);
      return { path, sourceInfo: { path, source: "cli", scope: "temporary", origin: "top-level" } };
    });
  }

  /** Factories of the program that embeds us. */
  #inline(): ResourceFile[] {
    return (this.kernel.options.extensionFactories ?? []).map((given, index) => {
      const path = `<inline:${typeof given === "function" ? index + 1 : given.name}>`;
      return { path, sourceInfo: { path, source: "inline", scope: "temporary", origin: "top-level" } };
    });
  }

  /** Reads modules concurrently, then runs factories one after the other in load order. */
  async #loadNew(files: readonly ResourceFile[]): Promise<void> {
    const before = this.slots;
    this.slots = arrange(before, files);
    // A trusted project may leave out what the user's settings name.
    for (const slot of before.filter((known) => !this.slots.includes(known))) {
      const left = this.leave(slot);
      if (left) await this.retire(left);
    }
    const fresh = this.slots.filter(({ live, error }) => !live && error === undefined);
    const modules = await Promise.all(fresh.map((slot) => this.read(slot).catch((error: unknown) => ({ error }))));
    for (const [index, slot] of fresh.entries()) {
      const module = modules[index] as EvaluatedModule | { error: unknown };
      if ("error" in module) this.failed(slot, "load", module.error);
      else await this.#join(slot, module);
    }
  }

  async #join(slot: Slot, module: EvaluatedModule): Promise<void> {
    let isLate = false;
    const joining = this.instantiate(slot, module, { staged: false }).then(
      async (instance) => {
        this.commit(slot, instance);
        if (isLate && this.#hasStarted) await this.welcome([instance], "startup");
      },
      (error) => this.failed(slot, "load", error),
    );
    const patience = new Promise<"late">((late) => {
      const timer = setTimeout(() => late("late"), FACTORY_MS);
      void joining.finally(() => clearTimeout(timer));
    });
    if ((await Promise.race([joining, patience])) !== "late") return;
    isLate = true;
    this.failed(slot, "load", `The factory has not finished after ${FACTORY_MS / 1000} s; the agent goes on without it until it does.`);
  }

  // ------------------------------------------------------------ modules and instances

  /** The names of a module that we serve. */
  async exportsOf(specifier: string): Promise<readonly string[] | undefined> {
    if (!this.#table.serves(specifier)) return undefined;
    await this.#table.prepare(specifier);
    return Object.keys(this.#table.get(specifier) ?? {});
  }

  async read(slot: Slot): Promise<EvaluatedModule> {
    this.kernel.tryService("process")?.guardChildren();
    const inline = this.kernel.options.extensionFactories?.[this.#inline().findIndex(({ path }) => path === slot.path)];
    if (inline) return { exported: await this.#exportedBy(inline), files: new Map() };
    slot.target = realPathOf(slot.path);
    try {
      const module = await inTime(this.#reader.read(slot.path), "The module has not finished loading", () => this.#lastRead);
      slot.files = module.files;
      for (const file of module.files.keys()) this.#readFor.set(file, slot.path);
      return module;
    } catch (error) {
      if (error instanceof LoadError) slot.files = new Map([...slot.files, ...error.files]);
      throw error;
    }
  }

  /** Whose code an error comes from, by its stack; also if that extension is gone. */
  authorOf(error: unknown): ResourceOwner | undefined {
    for (const file of filesInStack(error)) {
      const path = this.#readFor.get(file) ?? this.slots.find(({ files }) => files.has(file))?.path;
      if (path !== undefined)
        return this.slots.find((slot) => slot.path === path)?.live ?? { id: path, timers: new Set(), children: new Set(), listeners: new Set() };
    }
    return undefined;
  }

  async #exportedBy(inline: NonNullable<Options["extensionFactories"]>[number]): Promise<unknown> {
    if (typeof inline === "function") return inline;
    if ("factory" in inline) return inline.factory;
    await Promise.all(inline.imports.filter((name) => this.#table.serves(name)).map((name) => this.#table.prepare(name)));
    return defaultOf(inline.evaluate((name) => this.#table.get(name)));
  }

  /** Runs the module's factory. What it registers is not visible until it takes its place. */
  async instantiate(slot: Slot, module: EvaluatedModule, options: { staged: boolean; handedOver?: () => Record<string, unknown> }): Promise<Instance> {
    const instance = new Instance({ path: slot.path, sourceInfo: slot.sourceInfo, module, generation: slot.generation + 1, ...options });
    const since = now();
    try {
      const { scope } = await this.kernel.use(this.#plugin(instance), { ...rankOf(slot), staged: true });
      instance.scope = scope;
    } catch (error) {
      instance.state = "failed";
      this.#forget(instance);
      const cause = error instanceof KernelError && error.code === "E_APPLY" ? error.cause : error;
      throw new LoadError(located(cause, module.files), module.files, cause);
    }
    instance.loadMs = now() - since;
    return instance;
  }

  #plugin(instance: Instance): Plugin {
    const { exported } = instance.module;
    return {
      name: scopeNameOf(instance.path),
      apply: async (kernel) => {
        instance.kernel = kernel;
        if (typeof exported === "function") {
          await this.runtime.runAs(instance, () => (exported as ExtensionFactory)(createApi(this.runtime, instance)));
          await Promise.all(instance.preparing.splice(0));
          return;
        }
        const plugins = pluginsOf(exported);
        if (!plugins) throw new Error(`Extension does not export a factory function by default: ${instance.path}`);
        for (const plugin of plugins) {
          const missing = plugin.requires?.find((service) => !kernel.tryService(service));
          if (missing) throw new Error(`Plugin "${plugin.name}" needs the service "${missing}", which no plugin provides.`);
          const undo = await this.runtime.runAs(instance, () => plugin.apply(kernel));
          if (undo) kernel.defer(undo);
        }
      },
    };
  }

  /** The instance takes a place where nothing was. */
  commit(slot: Slot, instance: Instance): void {
    this.takePlace(slot, instance);
    this.activateTools(instance.tools.keys());
  }

  /** In one step for every reader: registrations, handlers, commands and providers of `instance` count, those of its predecessor do not. */
  takePlace(slot: Slot, instance: Instance): void {
    slot.live?.scope?.withdraw();
    if (slot.live) slot.live.state = "draining";
    instance.state = "active";
    instance.scope?.show();
    slot.live = instance;
    slot.module = instance.module;
    slot.generation = instance.generation;
    slot.loadMs = instance.loadMs;
    delete slot.error;
    applyProviders(this.runtime, instance);
    this.refresh();
  }

  /** Takes a slot away: nothing of what it ran counts from here on. The answer is what ran there, which is to be retired. */
  leave(slot: Slot): Instance | undefined {
    const { live } = slot;
    live?.scope?.withdraw();
    if (live) live.state = "draining";
    this.slots = this.slots.filter((other) => other !== slot);
    this.refresh();
    return live;
  }

  refresh(): void {
    this.runtime.setInstances(this.slots.flatMap(({ live }) => live ?? []));
  }

  activateTools(names: Iterable<string>): void {
    this.kernel.tryService("activeTools")?.activate(...names);
  }

  failed(slot: Slot, during: "load" | "reload", error: unknown): void {
    slot.error = messageOf(error);
    this.kernel.fault({ from: slot.path, during, error });
  }

  /** Ends an instance for good: it is stale, and nothing of it is left. */
  async retire(instance: Instance): Promise<void> {
    if (instance.state === "stale") return;
    instance.state = "stale";
    this.#forget(instance);
    await instance.scope?.close((error) => this.kernel.fault({ from: instance.path, during: "unload", error }));
  }

  #forget(instance: Instance): void {
    this.runtime.channels.forget(instance);
    this.kernel.tryService("ui")?.cancelDialogs(instance);
    // Children of pi.exec run on: their promises are still awaited somewhere.
    for (const child of instance.execs) instance.children.delete(child);
    this.runtime.release(instance);
    instance.retired();
    for (const undo of instance.discovered.splice(0)) undo();
  }

  // ------------------------------------------------------------ sessions

  /** `session_start`, what older extensions expect after it, and `resources_discover`; once per instance. */
  async #announceStart(instances: readonly Instance[], reason: StartReason, previousSessionFile?: string): Promise<void> {
    const only = instances.filter((instance) => !instance.hasStarted && instance.state === "active");
    for (const instance of only) instance.hasStarted = true;
    const previous = previousSessionFile === undefined ? {} : { previousSessionFile };
    const { dispatcher } = this.runtime;
    await dispatcher.dispatch({ event: "session_start", payload: { type: "session_start", reason, ...previous }, only });
    if (reason === "new" || reason === "resume")
      await dispatcher.dispatch({ event: "session_switch", payload: { type: "session_switch", reason, ...previous }, only });
    if (reason === "fork") await dispatcher.dispatch({ event: "session_fork", payload: { type: "session_fork", ...previous }, only });
    await this.#discoverResources(only, reason === "reload" ? "reload" : "startup");
  }

  async #discoverResources(only: readonly Instance[], reason: "startup" | "reload"): Promise<void> {
    const { cwd } = this.runtime;
    const resources = this.kernel.tryService("resources");
    let hasFound = false;
    await this.runtime.dispatcher.dispatch({
      event: "resources_discover",
      payload: { type: "resources_discover", cwd, reason },
      only,
      take: ({ skillPaths, promptPaths }, instance) => {
        const found = { skills: skillPaths, prompts: promptPaths };
        for (const kind of ["skills", "prompts"] as const) {
          const paths = found[kind];
          if (!resources || !Array.isArray(paths) || paths.length === 0) continue;
          hasFound = true;
          instance.discovered.push(resources.addDiscovered(kind, paths.map(String), discoveredSource(instance.path)));
        }
      },
    });
    if (hasFound) await resources?.reload();
  }

  /** Announces the start. Nobody waits long for slow handlers, nor for those that ask the user. */
  async welcome(instances: readonly Instance[], reason: StartReason, previousSessionFile?: string): Promise<void> {
    const forget: (() => void)[] = [];
    const patience = new Promise<void>((goOn) => {
      const timer = setTimeout(() => {
        goOn();
        // Nor does the version that may put an end to it.
        this.runtime.dispatcher.passOver();
      }, WELCOME_MS);
      forget.push(() => clearTimeout(timer), ...instances.map((instance) => instance.onDialogs(goOn)));
    });
    const started = this.#announceStart(instances, reason, previousSessionFile);
    await Promise.race([started.catch((error) => this.kernel.fault({ during: "session_start", error })), patience]);
    for (const undo of forget) undo();
  }

  /** A session is open. */
  async sessionChanged({ reason, previousFile }: SessionChanged): Promise<void> {
    this.#hasStarted = true;
    await this.welcome(this.runtime.instances, reason, previousFile);
  }

  /** The session is about to go, and with it everything that was made for it. */
  async sessionLeaving({ kind, targetFile }: SessionChange): Promise<void> {
    const { instances } = this.runtime;
    await this.shutDown(instances, { reason: kind, ...(targetFile !== undefined && { targetSessionFile: targetFile }) });
    this.#hasLeft = true;
    for (const instance of instances) clearScreen(this.runtime, instance);
    for (const slot of this.slots) delete slot.live;
    this.refresh();
    this.runtime.nextTurn.length = 0;
    this.runtime.afterTurn.length = 0;
    this.kernel.tryService("activeTools")?.sessionEnded();
    await Promise.all(instances.map((instance) => this.retire(instance)));
  }

  /** Before anybody uses the new session: factories run again, on the same modules unless the directory changed. */
  async sessionEntered(): Promise<void> {
    if (!this.#hasLeft) return;
    this.#hasLeft = false;
    if (this.#move()) {
      await this.#loadAll(this.runtime.cwd);
      this.#hasMoved = false;
      this.onMoved();
    } else {
      for (const slot of this.slots) if (slot.module && !slot.live) await this.#join(slot, slot.module);
    }
  }

  /** Another directory's trust is decided before its session is entered: the user's own extensions have a say in it. */
  async sessionMoving(cwd: string): Promise<void> {
    if (this.#hasLeft && cwd === this.runtime.cwd && this.#move()) await this.#loadNew(await this.discover({ withProject: false }));
  }

  /** Whether the session is in another directory than the one before; then modules are read anew. */
  #move(): boolean {
    if (this.runtime.cwd === this.#cwd) return this.#hasMoved;
    this.#cwd = this.runtime.cwd;
    for (const slot of this.slots) {
      delete slot.module;
      delete slot.error;
    }
    this.#hasMoved = true;
    return true;
  }

  async shutDown(only: readonly Instance[], payload: { reason: string; targetSessionFile?: string }, deadlineMs?: number): Promise<void> {
    await this.runtime.dispatcher.dispatch({
      event: "session_shutdown",
      payload: { type: "session_shutdown", ...payload },
      only: only.filter(({ hasStarted }) => hasStarted),
      ...(deadlineMs !== undefined && { deadlineMs }),
    });
  }

  // ------------------------------------------------------------ end

  async stop(): Promise<void> {
    await this.shutDown(this.runtime.instances, { reason: "quit" }, GOODBYE_MS);
  }

  async dispose(): Promise<void> {
    const { instances } = this.runtime;
    for (const slot of this.slots) delete slot.live;
    this.refresh();
    for (const child of this.runtime.execs) signalTree(child, "SIGTERM");
    await Promise.all(instances.map((instance) => this.retire(instance)));
    // Nobody waits for a command any more.
    for (const instance of instances) this.kernel.tryService("process")?.releaseOwner(instance);
  }
}

/** `work`, or a failure if it takes longer than factories may; compiling many files counts as life. */
export async function inTime<T>(work: Promise<T>, complaint: string, lastLife: () => number = () => 0): Promise<T> {
  const since = now();
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (now() - Math.max(since, lastLife()) > FACTORY_MS) reject(new Error(`${complaint} after ${FACTORY_MS / 1000} s.`));
    }, FACTORY_MS / 20);
  });
  return Promise.race([work, tooLate]).finally(() => clearInterval(timer));
}

/** A plugin or a list of them, for those who write for the kernel itself. */
function pluginsOf(exported: unknown): Plugin[] | undefined {
  const list = Array.isArray(exported) ? exported : [exported];
  const isPlugin = (value: unknown): value is Plugin => typeof (value as Plugin)?.name === "string" && typeof (value as Plugin)?.apply === "function";
  return list.length > 0 && list.every(isPlugin) ? list : undefined;
}

function discoveredSource(path: string): SourceInfo {
  return { path, source: `extension:${nameOf(path)}`, scope: "temporary", origin: "top-level", baseDir: dirname(path) };
}
