/** A process with everything below it: a shell that is ended alone leaves what it runs. */
import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Sends a signal to a child that still runs and to what it has started. */
export function signalTree(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const descendants = descendantsOf(child.pid);
  child.kill(signal);
  for (const pid of descendants) signalQuietly(pid, signal);
}

export function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // gone already
  }
}

/** Children of children, where /proc tells; elsewhere the group must do. */
export function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  let names: string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return [];
  }
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      // The command's name is in parentheses and may hold anything.
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ", 1)[0]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // gone already
    }
  }
  const found: number[] = [];
  for (const queue = [pid]; queue.length > 0; ) {
    const next = children.get(queue.pop() as number) ?? [];
    found.push(...next);
    queue.push(...next);
  }
  return found;
}
