/** `pi.events`: one bus for all extensions, which outlives every instance. */
import { messageOf } from "../../core/index.ts";
import type { Instance } from "./instance.ts";
import type { EventBus } from "./types.ts";

interface Subscription {
  instance: Instance;
  handler: (data: unknown) => unknown;
}

export class EventChannels {
  readonly #runAs: <T>(instance: Instance, work: () => T) => T;
  readonly #complain: (text: string) => void;
  readonly #channels = new Map<string, readonly Subscription[]>();

  constructor(runAs: <T>(instance: Instance, work: () => T) => T, complain: (text: string) => void) {
    this.#runAs = runAs;
    this.#complain = complain;
  }

  /** One extension's view. */
  view(instance: Instance): EventBus {
    return {
      emit: (channel, data) => {
        instance.assertUsable();
        this.#emit(channel, data);
      },
      on: (channel, handler) => {
        instance.assertUsable();
        const subscription = { instance, handler };
        this.#channels.set(channel, [...(this.#channels.get(channel) ?? []), subscription]);
        return () => this.#remove(channel, (other) => other === subscription);
      },
    };
  }

  /** Ends the subscriptions of an instance that is gone. */
  forget(instance: Instance): void {
    for (const channel of [...this.#channels.keys()]) this.#remove(channel, (other) => other.instance === instance);
  }

  #emit(channel: string, data: unknown): void {
    for (const { instance, handler } of this.#channels.get(channel) ?? []) {
      if (!isAudible(instance)) continue;
      const complain = (error: unknown) => this.#complain(`${instance.path} (events.on "${channel}"): ${messageOf(error)}`);
      try {
        const answer = this.#runAs(instance, () => handler(data));
        if (answer instanceof Promise) answer.catch(complain);
      } catch (error) {
        complain(error);
      }
    }
  }

  #remove(channel: string, matches: (subscription: Subscription) => boolean): void {
    const rest = (this.#channels.get(channel) ?? []).filter((other) => !matches(other));
    if (rest.length > 0) this.#channels.set(channel, rest);
    else this.#channels.delete(channel);
  }
}

/** Live at once while loading; a staged version stays deaf until it takes over. */
function isAudible(instance: Instance): boolean {
  if (instance.isQuarantined) return false;
  return instance.state === "active" || (instance.state === "loading" && !instance.staged);
}
