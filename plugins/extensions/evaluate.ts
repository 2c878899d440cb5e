/**
 * Runs an extension's own files, each once per load and always fresh. jiti resolves names and runs packages; own files are run here,
 * because jiti gives `.mjs`, CommonJS and JSON to Node's caches, from where an edited file never comes back.
 */
import { readFileSync } from "node:fs";
import { builtinModules, createRequire } from "node:module";
import { dirname, extname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { runInThisContext } from "node:vm";
import type { createJiti, Jiti } from "jiti";
import type { Transform } from "../shared/compiler.ts";

/** The modules that extensions import by the API's names. */
export interface VirtualModules {
  serves(specifier: string): boolean;
  /** the module, once it has been prepared */
  get(specifier: string): object | undefined;
  /** Loads what `specifier` stands for. */
  prepare(specifier: string): Promise<void>;
}

interface OwnModule {
  exports: any;
  filename: string;
  id: string;
  path: string;
  loaded: boolean;
  children: unknown[];
  paths: string[];
  require?: unknown;
}

type Body = (...args: unknown[]) => unknown;

const parameters = "exports, require, module, __filename, __dirname, jitiImport, jitiESMResolve, importMeta";
/** In a file as it was written, and in what becomes of it. */
const specifiers = /(?:\bfrom\s*|\b(?:import|jitiImport)\s*\(?\s*|\brequire\s*\(\s*)(["'])([^"'\n]+)\1/g;
/** Names may be made at run time where one of these words stands. */
const resolving = /\brequire\b|\bresolve\b|\bimport\s*\(|\bmodule\b|\beval\b|\bFunction\b/;
const builtins = new Set(builtinModules);
const isBuiltin = (specifier: string) => specifier.startsWith("node:") || builtins.has(specifier);
const nodeRequire = createRequire(import.meta.url);

export interface EvaluationOptions {
  entry: string;
  modules: VirtualModules;
  transform: Transform;
  /** jiti is read when a file needs it: many use nothing but the API and Node's modules. */
  loadJiti(): Promise<typeof createJiti>;
  /** told of every own file with its text; undefined if it is wanted and absent */
  onFile(file: string, text: string | undefined): void;
}

export class Evaluation {
  readonly #options: EvaluationOptions;
  readonly #modules = new Map<string, OwnModule>();
  readonly #pending = new Map<string, Promise<unknown>>();
  readonly #resolvers = new Map<string, Jiti>();
  #createJiti: typeof createJiti | undefined;

  constructor(options: EvaluationOptions) {
    this.#options = options;
  }

  /** The exports of the entry file. */
  async run(): Promise<unknown> {
    return this.#load(this.#options.entry);
  }

  // ------------------------------------------------------------ imports

  async #import(from: string, specifier: string): Promise<unknown> {
    const { modules } = this.#options;
    if (modules.serves(specifier)) {
      await modules.prepare(specifier);
      return modules.get(specifier);
    }
    if (isBuiltin(specifier)) return nodeRequire(specifier);
    // Its text may have hidden the name, e.g. behind a comment.
    this.#createJiti ??= await this.#options.loadJiti();
    const file = this.#locate(from, specifier, true);
    return file && this.#isOwn(file) ? this.#load(file) : this.#resolver(from).import(specifier);
  }

  #require(from: string, specifier: string): unknown {
    const { modules } = this.#options;
    if (modules.serves(specifier)) {
      const found = modules.get(specifier);
      if (!found) throw new Error(`require("${specifier}") came before the module was loaded; import it instead.`);
      return found;
    }
    if (isBuiltin(specifier)) return nodeRequire(specifier);
    const file = this.#locate(from, specifier, false);
    return file && this.#isOwn(file) ? this.#loadNow(file) : this.#resolver(from)(specifier);
  }

  /** The file behind a specifier; undefined leaves the complaint to jiti. */
  #locate(from: string, specifier: string, isImport: boolean): string | undefined {
    try {
      const found = isImport ? this.#resolver(from).esmResolve(specifier) : this.#resolver(from).resolve(specifier);
      const text = String(found);
      return text.startsWith("file:") ? fileURLToPath(text.split("?")[0] as string) : text;
    } catch {
      if (/^\.{1,2}(\/|$)/.test(specifier)) this.#options.onFile(resolve(dirname(from), specifier), undefined);
      return undefined;
    }
  }

  /** One light jiti per file: it resolves from there. */
  #resolver(file: string): Jiti {
    let resolver = this.#resolvers.get(file);
    if (!resolver) {
      if (!this.#createJiti) throw new Error(`${file} resolves a name that is not in its text`);
      resolver = this.#createJiti(pathToFileURL(file).href, {
        fsCache: false,
        moduleCache: false,
        interopDefault: true,
        virtualModules: served(this.#options.modules),
        transform: (input) => this.#options.transform(input as never),
      });
      this.#resolvers.set(file, resolver);
    }
    return resolver;
  }

  /** Not a file of a package that the extension uses; an installed extension is one itself, and lies beside those. */
  #isOwn(file: string): boolean {
    const used = packageOf(file);
    return used === undefined || used === packageOf(this.#options.entry);
  }

  // ------------------------------------------------------------ files

  async #load(file: string): Promise<unknown> {
    const known = this.#modules.get(file);
    // A cycle gets what is there so far, as in CommonJS.
    if (known) return known.exports;
    const text = this.#read(file);
    const isJson = extname(file) === ".json";
    const code = isJson ? "" : this.#compiled(file, text, true);
    if (!isJson) await this.#prepare(text, code);
    const raced = this.#modules.get(file);
    if (raced) return (await this.#pending.get(file)) ?? raced.exports;
    const module = this.#begin(file);
    if (isJson) return this.#finish(module, JSON.parse(text));
    const running = (async () => {
      await bodyOf(file, code, true).apply(module.exports, this.#arguments(module));
      return this.#finish(module, module.exports);
    })();
    this.#pending.set(file, running);
    return running.catch((error) => {
      this.#modules.delete(file);
      throw error;
    });
  }

  /** Makes ready what a file may ask for without waiting; what it imports only types from is not in its code any more. */
  async #prepare(text: string, code: string): Promise<void> {
    const { modules, loadJiti } = this.#options;
    const mayResolve = resolving.test(text);
    const names = [...specifiersOf(mayResolve ? text : code)];
    if (mayResolve || names.some((name) => !modules.serves(name) && !isBuiltin(name))) this.#createJiti ??= await loadJiti();
    await Promise.all(names.filter((name) => modules.serves(name)).map((name) => modules.prepare(name)));
  }

  #loadNow(file: string): unknown {
    const known = this.#modules.get(file);
    if (known) return known.exports;
    if (extname(file) === ".node") return this.#resolver(file)(file);
    const text = this.#read(file);
    const module = this.#begin(file);
    try {
      if (extname(file) === ".json") return this.#finish(module, JSON.parse(text));
      bodyOf(file, this.#compiled(file, text, false), false).apply(module.exports, this.#arguments(module));
    } catch (error) {
      this.#modules.delete(file);
      throw error;
    }
    return this.#finish(module, module.exports);
  }

  #read(file: string): string {
    const text = readFileSync(file, "utf8");
    this.#options.onFile(file, text);
    return text;
  }

  #begin(file: string): OwnModule {
    const module: OwnModule = { exports: {}, filename: file, id: file, path: dirname(file), loaded: false, children: [], paths: [] };
    this.#modules.set(file, module);
    return module;
  }

  #finish(module: OwnModule, exports: unknown): unknown {
    module.exports = exports;
    module.loaded = true;
    return exports;
  }

  /** CommonJS goes through the same compiler, so that `import()` in it works too. */
  #compiled(file: string, source: string, isAsync: boolean): string {
    const { code, error } = this.#options.transform({
      source: source.startsWith("#!") ? `//${source}` : source,
      filename: file,
      ts: /\.[cm]?tsx?$/.test(file),
      async: isAsync,
      jsx: file.endsWith("x"),
      interopDefault: true,
      babel: {},
    });
    if (error) throw parseError(error, file);
    return code;
  }

  #arguments(module: OwnModule): unknown[] {
    const file = module.filename;
    const require = Object.assign((specifier: string) => this.#require(file, specifier), {
      resolve: (specifier: string, ...rest: [never?]) => this.#resolver(file).resolve(specifier, ...rest),
      cache: {},
      main: undefined,
      extensions: {},
    });
    module.require = require;
    const esmResolve = (specifier: string) => String(this.#resolver(file).esmResolve(specifier));
    const importMeta = {
      // Made when it is asked for: it takes longer than all the rest, and few files do.
      get url() {
        return pathToFileURL(file).href;
      },
      filename: file,
      dirname: dirname(file),
      resolve: esmResolve,
    };
    return [module.exports, require, module, file, dirname(file), (specifier: string) => this.#import(file, String(specifier)), esmResolve, importMeta];
  }
}

/** The code as a function. */
function bodyOf(file: string, code: string, isAsync: boolean): Body {
  const wrap = (body: string) => `(${isAsync ? "async " : ""}function (${parameters}) { ${body}\n})`;
  try {
    return runInThisContext(wrap(code), { filename: file }) as Body;
  } catch (failure) {
    // The compiler overlooks `import.meta` behind a cast.
    if (!code.includes("import.meta")) throw failure;
    return runInThisContext(wrap(code.replace(/\bimport\.meta\b/g, "importMeta")), { filename: file }) as Body;
  }
}

/** The directory of the installed package that a file belongs to, if it belongs to one. */
function packageOf(file: string): string | undefined {
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/s.exec(file)?.[0];
}

/** What packages of the extension see; a promise is fine for their imports. */
function served(modules: VirtualModules): Record<string, unknown> {
  return new Proxy(
    {},
    {
      has: (_, name) => typeof name === "string" && modules.serves(name),
      get: (_, name) => {
        if (typeof name !== "string" || !modules.serves(name)) return undefined;
        return modules.get(name) ?? modules.prepare(name).then(() => modules.get(name));
      },
    },
  );
}

function* specifiersOf(text: string): Generator<string> {
  for (const [, , specifier = ""] of text.matchAll(specifiers)) yield specifier;
}

function parseError(error: unknown, file: string): Error {
  const { message = String(error), loc } = error as { message?: string; loc?: { line: number; column: number } };
  const place = loc ? `${file}:${loc.line}:${loc.column + 1}` : file;
  const text = message
    .split("\n")[0]
    ?.replace(/^\S*: /, "")
    .replace(/\s*\(\d+:\d+\)\s*$/, "");
  return new SyntaxError(`ParseError: ${text} ${place}`);
}
