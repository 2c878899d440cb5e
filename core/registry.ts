/** A registry is replayed: contributions are taps on its hook, and reading it runs them over an empty draft. */
import type { HookMap, SyncHook } from "tapable";
import type { Scope } from "./scope.ts";
import { type Taps, tapsOf } from "./taps.ts";

/** What contributions and filters work on. */
export class Draft<T> extends Map<string, T> {
  readonly #precedence = new Map<string, number>();
  readonly owners = new Map<string, string>();
  /** names that more than one plugin offered, with the plugins */
  readonly contested = new Map<string, string[]>();

  /** Sets `name` unless a contribution of higher precedence holds it. */
  offer(name: string, item: T, scope: Scope): void {
    const held = this.#precedence.get(name);
    if (held !== undefined) this.contested.set(name, [...(this.contested.get(name) ?? [this.owners.get(name) as string]), scope.name]);
    if (held !== undefined && held > scope.precedence && this.has(name)) return;
    this.#precedence.set(name, scope.precedence);
    this.owners.set(name, scope.name);
    this.set(name, item);
  }
}

/** One plugin's view of a registry. */
export interface Contributions<T extends { name: string }> {
  get(name: string): T | undefined;
  has(name: string): boolean;
  all(): readonly T[];
  /** the plugin whose item holds the name */
  ownerOf(name: string): string | undefined;
  /** all plugins that offer the name, if they are more than one */
  contestants(name: string): readonly string[];
  add(item: T): () => void;
  /** Changes the collected draft after contributions: filters and wrappers. */
  filter(change: (draft: Draft<T>) => void, stage?: number): () => void;
}

/** Filters run after contributions. */
export const FILTER_STAGE = 50;

export class Registry<T extends { name: string }> {
  readonly #hook: SyncHook<[Draft<T>]>;
  readonly #taps: Taps;
  #draft = new Draft<T>();
  #list: readonly T[] = [];
  #version = -1;

  constructor(collect: HookMap<SyncHook<[Draft<any>]>>, kind: string) {
    this.#hook = collect.for(kind);
    this.#taps = tapsOf(this.#hook);
  }

  view(scope: Scope): Contributions<T> {
    return new RegistryView(this, scope);
  }

  /** The list as it stands. */
  all(): readonly T[] {
    this.collect();
    return this.#list;
  }

  tap(scope: Scope, change: (draft: Draft<T>) => void, stage: number): () => void {
    return scope.tap(this.#hook, change, stage);
  }

  /** What the contributions amount to; made anew only after a change. */
  collect(): Draft<T> {
    if (this.#version === this.#taps.version) return this.#draft;
    this.#draft = new Draft<T>();
    // Noted before the call: a contribution that changes taps while it is collected makes the next reader collect again.
    this.#version = this.#taps.version;
    this.#hook.call(this.#draft);
    this.#list = [...this.#draft.values()];
    return this.#draft;
  }
}

class RegistryView<T extends { name: string }> implements Contributions<T> {
  readonly #registry: Registry<T>;
  readonly #scope: Scope;

  constructor(registry: Registry<T>, scope: Scope) {
    this.#registry = registry;
    this.#scope = scope;
  }

  get(name: string): T | undefined {
    return this.#registry.collect().get(name);
  }

  has(name: string): boolean {
    return this.#registry.collect().has(name);
  }

  all(): readonly T[] {
    return this.#registry.all();
  }

  ownerOf(name: string): string | undefined {
    return this.#registry.collect().owners.get(name);
  }

  contestants(name: string): readonly string[] {
    return this.#registry.collect().contested.get(name) ?? [];
  }

  add(item: T): () => void {
    const scope = this.#scope;
    return this.#registry.tap(scope, (draft) => draft.offer(item.name, item, scope), 0);
  }

  filter(change: (draft: Draft<T>) => void, stage: number = FILTER_STAGE): () => void {
    return this.#registry.tap(this.#scope, change, stage);
  }
}
