/** Reloading is a transaction: read and run the new version out of sight, swap at a safe point, let the old one finish its work. */
import { KernelError, messageOf } from "../../core/index.ts";
import type { ResourceFile } from "../resources/contract.ts";
import { now } from "../shared/clock.ts";
import { givesBack } from "./claims.ts";
import type { Extensions } from "./contract.ts";
import { bequeath, type HandOver, handOver } from "./hand-over.ts";
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
  data: HandOver;
  isByHand: boolean;
}

export class Reloader {
  readonly #host: ExtensionHost;
  /** what the next swap brings; a further change takes the place of what waits */
  readonly #waiting = new Map<Slot, Staged>();
  /** one reading of new versions at a time, and none during a swap */
  #last: Promise<unknown> = Promise.resolve();
  #isStaging = false;
  /** the swap of what waits */
  #due: Promise<void> | undefined;
  #onSafe: (() => void)[] = [];
  /** the swap under way; runs wait for its end */
  #swapping: Promise<void> | undefined;
  readonly #delayed = new Map<Slot, NodeJS.Timeout>();

  constructor(host: ExtensionHost) {
    this.#host = host;
  }

  // ------------------------------------------------------------ what asks for it

  /** By hand: everything, or one extension. Those whose new version does not load keep their old one. */
  async reload(path?: string): Promise<Outcome> {
    const { kernel } = this.#host;
    const staged = await this.#oneByOne(async () => {
      if (path !== undefined) return this.#stageAll([this.#slot(path)], true);
      await kernel.tryService("settings")?.reload();
      await kernel.tryService("models")?.refresh();
      this.#rearrange(await this.#host.discover(), true);
      return this.#stageAll(this.#host.slots, true);
    });
    await this.#swapped();
    if (path === undefined) {
      await kernel.tryService("resources")?.reload();
      await kernel.tryService("systemPrompt")?.reload();
    }
    const failed = staged.flatMap(({ path, error }) => (error === undefined ? [] : [{ path, error }]));
    return { reloaded: staged.flatMap(({ path, error }) => (error === undefined ? [path] : [])), failed };
  }

  /** By the watcher: these extensions have changed files, or the list of files changed. Resolves once the new versions wait for their moment. */
  changed(files: ReadonlyMap<Slot, readonly string[]>, isListChanged: boolean): Promise<unknown> {
    return this.#oneByOne(async () => {
      const added = isListChanged ? this.#rearrange(await this.#host.discoverPresent(), false) : [];
      const due = [...files].filter(([slot, changed]) => this.#host.slots.includes(slot) && !this.#isLooping(slot, changed)).map(([slot]) => slot);
      await this.#stageAll([...due, ...added.filter((slot) => !due.includes(slot))], false);
      void this.#swapped().catch((error) => this.#host.kernel.fault({ during: "reload", error }));
    });
  }

  /** Its file is gone, and it goes with the next swap. */
  isLeaving(slot: Slot): boolean {
    const staged = this.#waiting.get(slot);
    return staged !== undefined && !staged.instance;
  }

  /** No more reloads. */
  stop(): void {
    for (const timer of this.#delayed.values()) clearTimeout(timer);
    this.#delayed.clear();
  }

  #slot(path: string): Slot {
    const found = this.#host.slots.find((slot) => slot.path === path && !this.isLeaving(slot));
    if (!found) throw new KernelError("E_REFUSED", `Extension not found: ${path}`);
    return found;
  }

  /** Answers the new ones. What goes keeps its place until the swap, and stays if it comes back before. */
  #rearrange(files: readonly ResourceFile[], isByHand: boolean): Slot[] {
    const before = this.#host.slots;
    const present = arrange(before, files);
    for (const slot of present) if (this.isLeaving(slot)) this.#waiting.delete(slot);
    const gone = before.filter((slot) => !present.includes(slot));
    for (const slot of gone) if (!this.isLeaving(slot)) this.#wait({ slot, since: now(), data: {}, isByHand });
    this.#host.slots = [...present, ...gone].sort((a, b) => a.order - b.order);
    return present.filter((slot) => !before.includes(slot));
  }

  #isLooping(slot: Slot, files: readonly string[]): boolean {
    if (this.#delayed.has(slot)) return true;
    const now = Date.now();
    for (const file of files) slot.recent.set(file, [...(slot.recent.get(file) ?? []).filter((time) => now - time < LOOP_MS), now]);
    if (!files.some((file) => (slot.recent.get(file)?.length ?? 0) > LOOP_COUNT)) return false;
    const error = `Reloaded ${LOOP_COUNT} times within ${LOOP_MS / 1000} s; the next reload waits ${LOOP_MS / 1000} s.`;
    this.#host.kernel.fault({ from: slot.path, during: "reload", error });
    const timer = setTimeout(() => {
      this.#delayed.delete(slot);
      slot.recent.clear();
      void this.changed(new Map([[slot, []]]), false);
    }, LOOP_MS);
    timer.unref();
    this.#delayed.set(slot, timer);
    return true;
  }

  // ------------------------------------------------------------ the transaction

  #oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      while (this.#swapping) await this.#swapping;
      this.#isStaging = true;
      try {
        return await work();
      } finally {
        this.#isStaging = false;
      }
    });
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** A version that does not load is told, and nothing newer than the one at work waits any more. */
  async #stageAll(slots: readonly Slot[], isByHand: boolean): Promise<Slot[]> {
    const staying = slots.filter((slot) => !this.isLeaving(slot));
    for (const slot of staying) {
      const since = now();
      try {
        this.#wait({ ...(await this.#stage(slot, since)), isByHand: isByHand || this.#waiting.get(slot)?.isByHand === true });
        delete slot.error;
      } catch (error) {
        this.#discard(slot);
        this.#fails(slot, error, since);
      }
    }
    return staying;
  }

  #wait(staged: Staged): void {
    this.#discard(staged.slot);
    this.#waiting.set(staged.slot, staged);
  }

  #discard(slot: Slot): void {
    const staged = this.#waiting.get(slot);
    this.#waiting.delete(slot);
    if (staged?.instance) this.#retire(staged.instance);
  }

  #swapped(): Promise<void> {
    if (this.#waiting.size === 0) return Promise.resolve();
    this.#due ??= this.#atSafePoint(() => this.#swap()).finally(() => {
      this.#due = undefined;
    });
    return this.#due;
  }

  /** Reads the new version and runs its factory; nothing of it is visible yet. */
  async #stage(slot: Slot, since: number): Promise<Omit<Staged, "isByHand">> {
    const data: HandOver = {};
    const module = await this.#host.read(slot);
    let instance: Instance | undefined;
    const handedOver = () => {
      // A factory that reads it gets what the old version would leave now.
      if (instance?.state !== "active") handOver(this.#host.runtime, slot.live, data);
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

  async #swap(): Promise<void> {
    const host = this.#host;
    const staged = this.#takeWaiting();
    const old = staged.flatMap(({ slot, isByHand }) => (slot.live ? [{ instance: slot.live, isByHand }] : []));
    const madeWay = new Set<Instance>();
    for (const { instance } of old) {
      if (await givesBack(() => host.shutDown([instance], { reason: "reload" }))) madeWay.add(instance);
    }
    const hadTools = new Map(staged.map(({ slot }) => [slot, new Set(slot.live?.tools.keys())]));
    for (const item of staged) await this.#runAgain(item, madeWay);
    for (const { instance } of old) clearScreen(host.runtime, instance);
    // From here to the end of this loop nothing is awaited: no reader sees neither or both.
    for (const { slot, instance, data } of staged) {
      if (instance && slot.live) bequeath(slot.live, instance, data);
      if (instance) host.takePlace(slot, instance);
      else host.leave(slot);
    }
    for (const { slot, instance, isByHand } of staged) {
      const before = hadTools.get(slot);
      host.activateTools([...(instance?.tools.keys() ?? [])].filter((name) => isByHand || !before?.has(name)));
    }
    const fresh = staged.flatMap(({ instance }) => instance ?? []);
    await host.welcome(fresh, "reload");
    for (const { slot, since } of staged) this.#announce(slot, since);
    for (const { instance, isByHand } of old) this.#drain(instance, isByHand);
  }

  /** In load order, and without what a session in another directory has left behind. */
  #takeWaiting(): Staged[] {
    for (const slot of [...this.#waiting.keys()]) if (!this.#host.slots.includes(slot)) this.#discard(slot);
    const staged = [...this.#waiting.values()].sort((a, b) => a.slot.order - b.slot.order);
    this.#waiting.clear();
    return staged;
  }

  /** A factory that read less than the old version's last word, or found its place taken, runs once more, on the same module. */
  async #runAgain(item: Staged, madeWay: ReadonlySet<Instance>): Promise<void> {
    const { slot, instance, data } = item;
    if (!instance || !slot.live) return;
    const isOutdated = slot.live.disposers.length > 0 && handOver(this.#host.runtime, slot.live, data) && instance.hasReadHandover;
    if (!isOutdated && !madeWay.has(slot.live)) return;
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
    void done.then(() => this.#retire(instance));
  }

  #retire(instance: Instance): void {
    void this.#host.retire(instance).catch((error) => this.#host.kernel.fault({ from: instance.path, during: "unload", error }));
  }

  // ------------------------------------------------------------ safe points

  /** Idle, or between two turns; and no handler is being called. */
  async #atSafePoint(work: () => Promise<void>): Promise<void> {
    const { kernel, runtime } = this.#host;
    for (;;) {
      // What is being read may take the place of what waits.
      await this.#last;
      await runtime.dispatcher.quiet();
      if (this.#isStaging) continue;
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
