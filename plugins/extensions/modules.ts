/** The modules that extensions import by name: ours, under both scopes and all sub-paths, loaded when somebody wants them. */
import type { VirtualModules } from "./evaluate.ts";
import type { Runtime } from "./runtime.ts";

type Module = object;
type Load = (runtime: Runtime) => Promise<Module>;

const scoped = /^@(?:mariozechner|earendil-works)\/(pi-coding-agent|pi-ai|pi-agent-core|pi-tui)(\/.*)?$/;

const loaders: Record<string, Load> = {
  "pi-coding-agent": async (runtime) => (await import("./public/pi-coding-agent.ts")).createCodingAgentModule(runtime),
  "pi-ai": async (runtime) => (await import("./public/pi-ai.ts")).createAiModule(runtime),
  "pi-agent-core": async () => import("./public/pi-agent-core.ts"),
  // The real thing: it renders to lines of text and opens no terminal by itself.
  "pi-tui": async () => import("./public/pi-tui.ts"),
  typebox: async () => (await import("./public/typebox.ts")).typebox,
  "typebox/value": async () => (await import("./public/typebox-value.ts")).value,
  "typebox/compile": async () => (await import("./public/typebox-compile.ts")).compile,
  "pi-kernel": async () => import("./public/pi-kernel.ts"),
};

/** Other names of the same modules. */
const aliases: Record<string, string> = {
  "@sinclair/typebox": "typebox",
  "@sinclair/typebox/value": "typebox/value",
  "@sinclair/typebox/compile": "typebox/compile",
  "@sinclair/typebox/compiler": "typebox/compile",
  "typebox/compiler": "typebox/compile",
  "pi-kernel/plugin": "pi-kernel",
};

export class VirtualTable implements VirtualModules {
  readonly #runtime: Runtime;
  readonly #modules = new Map<string, Module>();
  readonly #loading = new Map<string, Promise<void>>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  serves(specifier: string): boolean {
    return keyOf(specifier) !== undefined;
  }

  get(specifier: string): Module | undefined {
    return this.#modules.get(keyOf(specifier) ?? "");
  }

  prepare(specifier: string): Promise<void> {
    const key = keyOf(specifier) as string;
    let loading = this.#loading.get(key);
    if (!loading) {
      loading = (loaders[key] as Load)(this.#runtime).then((module) => void this.#modules.set(key, asModule(module)));
      this.#loading.set(key, loading);
    }
    return loading;
  }
}

function keyOf(specifier: string): string | undefined {
  const named = scoped.exec(specifier)?.[1];
  if (named) return named;
  const key = aliases[specifier] ?? specifier;
  return Object.hasOwn(loaders, key) ? key : undefined;
}

/** In the form that compiled imports read: names as properties, and the default export if there is one. */
function asModule(module: Module): Module {
  const copy: Record<string, unknown> = { ...module };
  copy.default ??= copy;
  return Object.defineProperty(copy, "__esModule", { value: true });
}
