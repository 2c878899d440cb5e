/** Reloading is a transaction: read and run the new version out of sight, swap at a safe point, let the old one finish its work. */
import { KernelError, messageOf } from "../../core/index.ts";
import type { ResourceFile } from "../resources/contract.ts";
import { now } from "../shared/clock.ts";
import type { Extensions } from "./contract.ts";
import { type ExtensionHost, inTime } from "./host.ts";
import type { Instance } from "./instance.ts";
import { arrange, type Slot } from "./slots.ts";
import { clearScreen } from "./ui.ts";

/** More reloads of one file than this within the time below are a loop: an extension that writes its own source. */
const LOOP_COUNT = 5;
const LOOP_MS = 10_000;

type Outcome = Awaited<ReturnType<Extensions["reload"]>>;

/** A new version that waits for its moment; `instance` is absent if the extension goes away. */
interface Staged {
  slot: Slot;
  instance?: Instance;
  since: number;
  data: Record<string, unknown>;
}

export class Reloader {
  readonly #host: ExtensionHost;
  /** one transaction at a time */
  #last: Promise<unknown> = Promise.resolve();
  #onSafe: (() => void)[] = [];
  /** the swap under way; runs wait for its end */
  #swapping: Promise<void> | undefined;
  readonly #delayed = new Map<Slot, NodeJS.Timeout>();

  constructor(host: ExtensionHost) {
    this.#host = host;
  }

  // ------------------------------------------------------------ what asks for it

  /** By hand: everything, or one extension. Those whose new version does not load keep their old one. */
  reload(path?: string): Promise<Outcome> {
    return this.#oneByOne(async () => {
      const { kernel } = this.#host;
      if (path !== undefined) return this.#change([this.#slot(path)], [], true);
      await kernel.tryService("settings")?.reload();
      await kernel.tryService("models")?.refresh();
      const files = await this.#host.discover();
      const { gone } = this.#rearrange(files);
      const outcome = await this.#change(this.#host.slots, gone, true);
      await kernel.tryService("resources")?.reload();
      await kernel.tryService("systemPrompt")?.reload();
      return outcome;
    });
  }

  /** By the watcher: these extensions have changed files, or the list of files changed. */
  changed(slots: readonly Slot[], isListChanged: boolean): Promise<unknown> {
    return this.#oneByOne(async () => {
      const added: Slot[] = [];
      let gone: Slot[] = [];
      if (isListChanged) {
        const change = this.#rearrange(await this.#host.discoverPresent());
        added.push(...change.added);
        gone = change.gone;
      }
      const due = slots.filter((slot) => this.#host.slots.includes(slot) && !this.#isLooping(slot));
      await this.#change([...due, ...added.filter((slot) => !due.includes(slot))], gone, false);
    });
  }

  /** No more reloads. */
  stop(): void {
    for (const timer of this.#delayed.values()) clearTimeout(timer);
    this.#delayed.clear();
  }

  #slot(path: string): Slot {
    const found = this.#host.slots.find((slot) => slot.path === path);
    if (!found) throw new KernelError("E_REFUSED", `Extension not found: ${path}`);
    return found;
  }

  #rearrange(files: readonly ResourceFile[]): { added: Slot[]; gone: Slot[] } {
    const before = this.#host.slots;
    this.#host.slots = arrange(before, files);
    const added = this.#host.slots.filter((slot) => !before.includes(slot));
    const gone = before.filter((slot) => !this.#host.slots.includes(slot));
    // What goes keeps its place until the swap.
    this.#host.slots = [...this.#host.slots, ...gone].sort((a, b) => a.order - b.order);
    return { added, gone };
  }

  #isLooping(slot: Slot): boolean {
    const now = Date.now();
    slot.recent = [...slot.recent.filter((time) => now - time < LOOP_MS), now];
    if (slot.recent.length <= LOOP_COUNT) return false;
    if (this.#delayed.has(slot)) return true;
    const error = `Reloaded ${LOOP_COUNT} times within ${LOOP_MS / 1000} s; the next reload waits ${LOOP_MS / 1000} s.`;
    this.#host.kernel.fault({ from: slot.path, during: "reload", error });
    const timer = setTimeout(() => {
      this.#delayed.delete(slot);
      slot.recent = [];
      void this.changed([slot], false);
    }, LOOP_MS);
    timer.unref();
    this.#delayed.set(slot, timer);
    return true;
  }

  // ------------------------------------------------------------ the transaction

  #oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #change(slots: readonly Slot[], gone: readonly Slot[], isByHand: boolean): Promise<Outcome> {
    const failed: Outcome["failed"] = [];
    const staged: Staged[] = gone.map((slot) => ({ slot, since: now(), data: {} }));
    for (const slot of slots) {
      if (gone.includes(slot)) continue;
      const since = now();
      try {
        staged.push(await this.#stage(slot, since));
      } catch (error) {
        this.#fails(slot, error, since);
        failed.push({ path: slot.path, error: messageOf(error) });
      }
    }
    if (staged.length > 0) await this.#atSafePoint(() => this.#swap(staged, isByHand));
    return { reloaded: staged.flatMap(({ slot, instance }) => (instance ? [slot.path] : [])), failed };
  }

  /** Reads the new version and runs its factory; nothing of it is visible yet. */
  async #stage(slot: Slot, since: number): Promise<Staged> {
    const data: Record<string, unknown> = {};
    const module = await this.#host.read(slot);
    let instance: Instance | undefined;
    const handedOver = () => {
      // A factory that reads it gets what the old version would leave now.
      if (instance?.state !== "active") this.#handOver(slot.live, data);
      return data;
    };
    const making = this.#host.instantiate(slot, module, { staged: true, handedOver });
    try {
      instance = await inTime(making, "The factory has not finished");
    } catch (error) {
      // Should it end after all, nobody wants it any more.
      void making.then(
        (late) => this.#host.retire(late),
        () => undefined,
      );
      throw error;
    }
    return { slot, instance, since, data };
  }

  #handOver(old: Instance | undefined, data: Record<string, unknown>): void {
    for (const dispose of old?.disposers ?? []) {
      try {
        this.#host.runtime.runAs(old as Instance, () => dispose(data));
      } catch (error) {
        this.#host.runtime.report(old as Instance, "reload", error);
      }
    }
  }

  #fails(slot: Slot, error: unknown, since: number): void {
    this.#host.failed(slot, slot.live || slot.generation > 0 ? "reload" : "load", error);
    this.#announce(slot, since, messageOf(error));
  }

  #announce(slot: Slot, since: number, error?: string): void {
    this.#host.kernel.emit({
      type: "extension_reload",
      extensionPath: slot.path,
      success: error === undefined,
      durationMs: Math.round(now() - since),
      generation: slot.generation,
      ...(error !== undefined && { error }),
    });
  }

  async #swap(staged: readonly Staged[], isByHand: boolean): Promise<void> {
    const host = this.#host;
    const old = staged.flatMap(({ slot }) => slot.live ?? []);
    await host.shutDown(old, { reason: "reload" });
    const hadTools = new Map(staged.map(({ slot }) => [slot, new Set(slot.live?.tools.keys())]));
    for (const item of staged) await this.#refreshHandOver(item);
    for (const instance of old) clearScreen(host.runtime, instance);
    // From here to the end of this loop nothing is awaited: no reader sees neither or both.
    for (const { slot, instance } of staged) {
      if (instance) host.takePlace(slot, instance);
      else host.leave(slot);
    }
    for (const { slot, instance } of staged) {
      const before = hadTools.get(slot);
      host.activateTools([...(instance?.tools.keys() ?? [])].filter((name) => isByHand || !before?.has(name)));
    }
    const fresh = staged.flatMap(({ instance }) => instance ?? []);
    await host.welcome(fresh, "reload");
    for (const { slot, since } of staged) this.#announce(slot, since);
    for (const instance of old) this.#drain(instance, isByHand);
  }

  /** The old version's last word. A factory that already read an older one runs once more, on the same module. */
  async #refreshHandOver(item: Staged): Promise<void> {
    const { slot, instance, data } = item;
    if (!instance || !slot.live || slot.live.disposers.length === 0) return;
    const before = JSON.stringify(data);
    this.#handOver(slot.live, data);
    if (!instance.hasReadHandover || JSON.stringify(data) === before) return;
    try {
      const again = await this.#host.instantiate(slot, instance.module, { staged: true, handedOver: () => data });
      await this.#host.retire(instance);
      item.instance = again;
    } catch (error) {
      this.#host.runtime.report(instance, "reload", error);
    }
  }

  /** Work under way on the old version ends there; then it goes. Commands do not hold up a reload by hand. */
  #drain(instance: Instance, isByHand: boolean): void {
    const done = isByHand && !instance.isWorking ? Promise.resolve() : instance.drained();
    void done.then(() => this.#host.retire(instance)).catch((error) => this.#host.kernel.fault({ from: instance.path, during: "unload", error }));
  }

  // ------------------------------------------------------------ safe points

  /** Idle, or between two turns; and no handler is being called. */
  async #atSafePoint(work: () => Promise<void>): Promise<void> {
    const { kernel, runtime } = this.#host;
    for (;;) {
      await runtime.dispatcher.quiet();
      if (kernel.run.idle || this.#isBetweenTurns) break;
      await this.#nextMoment();
    }
    const swapping = work();
    this.#swapping = swapping
      .catch(() => undefined)
      .finally(() => {
        this.#swapping = undefined;
      });
    await swapping;
  }

  #isBetweenTurns = false;

  #nextMoment(): Promise<void> {
    return new Promise((resolve) => {
      this.#onSafe.push(resolve);
      void this.#host.kernel.run.whenIdle().then(resolve);
    });
  }

  /** Called between two turns: a waiting swap happens here. */
  async betweenTurns(): Promise<void> {
    if (this.#onSafe.length === 0) return this.#swapping;
    this.#isBetweenTurns = true;
    try {
      for (const resolve of this.#onSafe.splice(0)) resolve();
      // The waiting transaction needs a few steps to notice.
      for (let step = 0; step < 10 && !this.#swapping; step++) await Promise.resolve();
      await this.#swapping;
    } finally {
      this.#isBetweenTurns = false;
    }
  }

  /** Runs begin after a swap that is under way. */
  settled(): Promise<void> | undefined {
    return this.#swapping;
  }
}
