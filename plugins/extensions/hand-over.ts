/** What an old version leaves for the new one, with `pi.hot`. */
import { isDeepStrictEqual } from "node:util";
import type { Instance } from "./instance.ts";
import type { Runtime } from "./runtime.ts";

export type HandOver = Record<string, unknown>;

/** Lets the old version write into `data`; true: it holds something else now. */
export function handOver(runtime: Runtime, old: Instance | undefined, data: HandOver): boolean {
  const before = pictureOf(data);
  for (const dispose of old?.disposers ?? []) {
    try {
      runtime.runAs(old as Instance, () => dispose(data));
    } catch (error) {
      runtime.report(old as Instance, "reload", error);
    }
  }
  return !isDeepStrictEqual(pictureOf(data), before);
}

/** A server, a child process or a timer that was handed over does not end with the version that started it. */
export function bequeath(old: Instance, heir: Instance, data: HandOver): void {
  const estates: [from: Set<unknown>, to: Set<unknown>][] = [
    [old.timers, heir.timers],
    [old.children, heir.children as Set<unknown>],
    [old.listeners, heir.listeners as Set<unknown>],
  ];
  for (const value of Object.values(data)) for (const [from, to] of estates) if (from.delete(value)) to.add(value);
}

/** The things themselves, and how those that can be written look at this moment. */
function pictureOf(data: HandOver): unknown[] {
  return Object.entries(data).map(([name, value]) => [name, value, spelled(value)]);
}

function spelled(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    // A server, a socket, a cycle: those are handed over too.
    return undefined;
  }
}
