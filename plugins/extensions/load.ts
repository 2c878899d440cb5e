/** Reads extension modules: fresh on every load, with the API's package names served by us, and failures that say where. */
import { statSync } from "node:fs";
import { basename } from "node:path";
import { messageOf } from "../../core/index.ts";
import type { Transform } from "../shared/compiler.ts";
import { Evaluation, type VirtualModules } from "./evaluate.ts";
import { cachedTransform } from "./transform.ts";

export type OwnFiles = Map<string, string | undefined>;

/** An evaluated module: its default export, and its own files as they were read. It outlives instances made from it. */
export interface EvaluatedModule {
  readonly exported: unknown;
  /** own files with their text; undefined for one that is wanted and absent. Grows with late imports. */
  readonly files: OwnFiles;
}

/** A load that failed; `files` says what to watch for the repair. */
export class LoadError extends Error {
  readonly files: OwnFiles;

  constructor(message: string, files: OwnFiles, cause?: unknown) {
    super(message, { cause });
    this.name = "LoadError";
    this.files = files;
  }
}

export class ModuleReader {
  readonly #modules: VirtualModules;
  readonly #transform: Transform;
  readonly #onFile: (file: string) => void;

  constructor(modules: VirtualModules, cacheDir: string | undefined, onFile: (file: string) => void = () => {}) {
    this.#modules = modules;
    this.#transform = cachedTransform(cacheDir);
    this.#onFile = onFile;
  }

  /** Evaluates `entry` and all of its own files anew. */
  async read(entry: string): Promise<EvaluatedModule> {
    fillIn();
    const files: OwnFiles = new Map([[entry, undefined]]);
    const missing = whatIsMissing(entry);
    if (missing) throw new LoadError(missing, files);
    const evaluation = new Evaluation({
      entry,
      modules: this.#modules,
      transform: this.#transform,
      loadJiti: async () => (await import("jiti")).createJiti,
      onFile: (file, text) => {
        files.set(file, text);
        this.#onFile(file);
      },
    });
    try {
      return { exported: defaultOf(await evaluation.run()), files };
    } catch (error) {
      throw new LoadError(located(error, files), files, error);
    }
  }
}

function whatIsMissing(entry: string): string | undefined {
  try {
    const found = statSync(entry, { throwIfNoEntry: false });
    if (!found) return `Extension path does not exist: ${entry}`;
    if (found.isDirectory()) return `There is no extension in ${entry}`;
    return found.isFile() ? undefined : `Extension path is not a file: ${entry}`;
  } catch (error) {
    return `Cannot read ${entry}: ${messageOf(error)}`;
  }
}

/** `export default`, `module.exports =` and `exports.default =` all count. */
export function defaultOf(module: unknown): unknown {
  let value = module;
  for (let depth = 0; depth < 3; depth++) {
    const inner = (value as { default?: unknown } | undefined)?.default;
    if (inner === undefined || inner === value) break;
    value = inner;
  }
  return value;
}

/** The message of a failure with the place in the extension's own files where it happened, unless it says so itself. */
export function located(error: unknown, files: ReadonlyMap<string, unknown>): string {
  const message = messageOf(error)
    .replace(/\s*\n\s*/g, " ")
    .trim();
  const names = [...files.keys()];
  if (names.some((file) => new RegExp(`${escaped(basename(file))}:\\d+`).test(message))) return message;
  for (const [file, line] of placesInStack(error)) if (files.has(file)) return `${message} (${file}:${line})`;
  return names.length === 0 || names.some((file) => message.includes(file)) ? message : `${message} (${names[0]})`;
}

/** The files that an error came through, the innermost first. */
export function filesInStack(error: unknown): string[] {
  return placesInStack(error).map(([file]) => file);
}

function placesInStack(error: unknown): [file: string, line: string][] {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  return stack.split("\n").flatMap((line): [string, string][] => {
    const place = /(?:\(|at |^)(?:file:\/\/)?([^()]+?):(\d+)(?::\d+)?\)?$/.exec(line.trim());
    return place?.[1] && place[2] ? [[place[1], place[2]]] : [];
  });
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Part of the language that extensions use and Node 20 lacks. */
function fillIn(): void {
  const promises = Promise as PromiseConstructor & { withResolvers?: unknown };
  promises.withResolvers ??= function withResolvers<T>(this: PromiseConstructor) {
    let resolve!: (value: T | PromiseLike<T>) => void;
    let reject!: (reason?: unknown) => void;
    const promise = new this<T>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    return { promise, resolve, reject };
  };
}
