/** Asks extensions' providers for their models, and keeps the lists that they want kept. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory } from "../shared/directories.ts";
import type { Instance } from "./instance.ts";
import type { Runtime } from "./runtime.ts";
import type { ProviderConfig } from "./types.ts";

/** As extensions write it: `models`, and `checkedAt` in ms. */
type StoredModels = Record<string, unknown>;

interface Asking {
  name: string;
  config: ProviderConfig;
  /** whether what is found still counts */
  isCurrent(): boolean;
  /** Replaces what the provider registered. */
  take(models: NonNullable<ProviderConfig["models"]>): void;
}

/** Registrations whose models have been asked for; one question each. */
const asked = new WeakSet<object>();

export function refreshSoon(runtime: Runtime, instance: Instance, { name, config, isCurrent, take }: Asking): void {
  const ask = config.refreshModels;
  if (!ask || asked.has(ask)) return;
  asked.add(ask);
  const { kernel } = runtime;
  const file = fileOf(runtime, name);
  const takeIfCurrent = (models: unknown) => {
    if (Array.isArray(models) && isCurrent()) take(models);
  };
  const stored = read(file);
  const context = {
    credential: kernel.tryService("models")?.credential(name),
    ...(stored && { stored }),
    /** Older versions of the API read and write what is kept themselves. */
    store: { read: async () => read(file), write: async (models: StoredModels) => write(file, models), delete: async () => write(file, undefined) },
    async publish(publication: { update?(): void; persist?: StoredModels | null } = {}): Promise<boolean> {
      if (!isCurrent()) return false;
      publication.update?.();
      if (publication.persist !== undefined) write(file, publication.persist ?? undefined);
      return true;
    },
    allowNetwork: kernel.options.offline !== true,
    force: false,
    signal: new AbortController().signal,
  };
  const asking = Promise.resolve().then(() => runtime.runAs(instance, () => ask(context)));
  asking.then(takeIfCurrent).catch((error) => runtime.report(instance, "register_provider", error));
}

function fileOf({ kernel }: Runtime, provider: string): string | undefined {
  const agentDir = kernel.tryService("settings")?.agentDir();
  return agentDir && join(agentDir, "cache", "models", `${encodeURIComponent(provider)}.json`);
}

function read(file: string | undefined): StoredModels | undefined {
  try {
    const found: unknown = file !== undefined && existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
    return typeof found === "object" && found !== null ? (found as StoredModels) : undefined;
  } catch {
    return undefined;
  }
}

/** What cannot be kept is asked for again. */
function write(file: string | undefined, models: StoredModels | undefined): void {
  if (file === undefined) return;
  try {
    if (!models) {
      rmSync(file, { force: true });
      return;
    }
    makeDirectory(join(file, ".."), 0o700);
    const temporary = `${file}.${process.pid}`;
    writeFileSync(temporary, JSON.stringify(models), { mode: 0o600 });
    renameSync(temporary, file);
  } catch {
    // A full disk costs a question to the provider.
  }
}
