/** Asks extensions' providers for their models, and keeps the lists that they want kept. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../core/index.ts";
import { makeDirectory } from "../shared/directories.ts";
import { isOffline } from "../shared/offline.ts";
import type { Instance } from "./instance.ts";
import type { Runtime } from "./runtime.ts";
import type { ProviderConfig } from "./types.ts";

/** As extensions write it: `models`, and `checkedAt` in ms. */
type StoredModels = Record<string, unknown>;

/** How long a start waits for the list that was kept. */
const RESTORE_MS = 1000;

/** A provider's list of models, as its extension can tell it. */
export interface ModelList {
  name: string;
  ask: NonNullable<ProviderConfig["refreshModels"]>;
  /** Resolves once it is known whether there is a credential. */
  configured: Promise<unknown> | undefined;
  /** whether what is found still counts */
  isCurrent(): boolean;
  /** Replaces what the provider registered. */
  take(models: NonNullable<ProviderConfig["models"]>): void;
}

export interface RefreshOptions {
  allowNetwork?: boolean;
  force?: boolean;
  signal?: AbortSignal;
}

const restored = new WeakSet<ModelList["ask"]>();
const fetched = new WeakSet<ModelList["ask"]>();

/** While the extension loads: models that were kept are there when the model for the start is chosen. */
export async function restoreModels(runtime: Runtime, instance: Instance, list: ModelList): Promise<void> {
  if (restored.has(list.ask)) return;
  restored.add(list.ask);
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((goOn) => {
    timer = setTimeout(goOn, RESTORE_MS);
  });
  const restoring = ask(runtime, instance, list, {}).catch((error) => complain(runtime, instance, list, error));
  await Promise.race([restoring, patience]);
  clearTimeout(timer);
}

/** Once it counts: what there is now. A list that is kept is asked for once in a process, and not by each session again. */
export function refreshSoon(runtime: Runtime, instance: Instance, list: ModelList): void {
  if (fetched.has(list.ask)) return;
  fetched.add(list.ask);
  const key = `${instance.path}\n${list.name}`;
  const isKnown = runtime.fetchedModels.has(key) && read(fileOf(runtime, list.name)) !== undefined;
  runtime.fetchedModels.add(key);
  const work = async () => {
    await restoreModels(runtime, instance, list);
    if (!isKnown && !isOffline(runtime.kernel)) await fetchModels(runtime, instance, list, {});
  };
  void work().catch((error) => complain(runtime, instance, list, error));
}

/** Because somebody asks for it. */
export async function refreshModels(runtime: Runtime, instance: Instance, list: ModelList, options: RefreshOptions): Promise<void> {
  await ask(runtime, instance, list, options);
  if (options.allowNetwork ?? !isOffline(runtime.kernel)) await fetchModels(runtime, instance, list, options);
}

/** Without a credential nobody could use what is found. */
async function fetchModels(runtime: Runtime, instance: Instance, list: ModelList, options: RefreshOptions): Promise<void> {
  const models = runtime.kernel.tryService("models");
  await list.configured;
  const auth = await runtime.leave(() => models?.providerAuth(list.name));
  const stored = models?.credential(list.name);
  const credential = stored?.type === "oauth" ? stored : auth && { ...stored, type: "api_key", key: auth.apiKey };
  if (credential) await ask(runtime, instance, list, options, credential);
}

/** With a credential it may use the network; without one it tells what it knows. */
async function ask(runtime: Runtime, instance: Instance, list: ModelList, { force, signal }: RefreshOptions, credential?: object): Promise<void> {
  const file = fileOf(runtime, list.name);
  const stored = read(file);
  const context = {
    ...(credential && { credential }),
    ...(stored && { stored }),
    /** Older versions of the API read and write what is kept themselves. */
    store: { read: async () => read(file), write: async (models: StoredModels) => write(file, models), delete: async () => write(file, undefined) },
    async publish(publication: { update?(): void; persist?: StoredModels | null } = {}): Promise<boolean> {
      if (!list.isCurrent()) return false;
      publication.update?.();
      if (publication.persist !== undefined) write(file, publication.persist ?? undefined);
      return true;
    },
    allowNetwork: credential !== undefined,
    force: force === true,
    signal: signal ?? new AbortController().signal,
  };
  const models: unknown = await runtime.runAs(instance, async () => list.ask(context));
  if (Array.isArray(models) && list.isCurrent()) list.take(models);
}

/** A server that cannot be reached is no fault of the extension: the models that are known stay. */
function complain(runtime: Runtime, instance: Instance, { name }: ModelList, error: unknown): void {
  runtime.complain(`${instance.path}: the models of "${name}" could not be refreshed: ${messageOf(error)}`);
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
