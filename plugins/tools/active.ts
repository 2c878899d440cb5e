/** Which tools the model is offered: the default ones and all that extensions, hosts and callers bring, until somebody chooses. */
import { type Contributions, type Draft, definePlugin, type Options, type PluginKernel, Stage, type Tool } from "../../core/index.ts";
import type {} from "../settings/contract.ts";
import { complainer } from "../shared/complaints.ts";
import type {} from "../system-prompt/contract.ts";
import type { ActiveTools } from "./contract.ts";

const DEFAULT_TOOLS = ["read", "bash", "edit", "write"];
/** After the layers of extensions and host, so that the command line has the last word. */
const LAST = 100;

export const active = definePlugin({
  name: "active-tools",
  apply(kernel) {
    const service = new ActiveToolsService(kernel);
    const complain = complainer(kernel, "tools");
    /** all names, also of tools that the command line forbids */
    let registered: string[] = [];
    kernel.provide("activeTools", service);
    addFlags(kernel);
    // At start: only then are the options known.
    kernel.hooks.start.tap({ name: "active-tools", stage: Stage.open }, () => {
      const { options } = kernel;
      if (!restricts(options)) return;
      const change = (draft: Draft<Tool>) => {
        registered = [...draft.keys()];
        restrict(draft, options);
      };
      kernel.registry("tools").filter(change, LAST);
    });
    // Only with a prompt: extensions and the client have brought theirs by then.
    kernel.hooks.beforeRun.tap({ name: "active-tools:names", stage: Stage.listen }, () => {
      if (!restricts(kernel.options)) return;
      kernel.registry("tools").all();
      for (const flag of ["tools", "exclude-tools"] as const) {
        const unknown = listOf(kernel.options[flag] ?? []).filter((name) => !registered.includes(name));
        for (const name of unknown) complain(`--${flag}: there is no tool "${name}"; there are ${registered.join(", ") || "none"}`);
      }
    });
    kernel.hooks.beforeRun.tap({ name: "active-tools", stage: Stage.listen }, (run) => service.begin(run.systemPromptOptions?.selectedTools));
    kernel.hooks.offer.tap({ name: "active-tools", stage: Stage.open }, () => service.tools());
  },
});

class ActiveToolsService implements ActiveTools {
  readonly #kernel: PluginKernel;
  readonly #registered: Contributions<Tool>;
  /** what somebody chose; names stay while their tool is away, e.g. during a reload */
  #chosen: string[] | undefined;
  /** what was chosen before somebody chose for the session only */
  #before: { chosen: string[] | undefined } | undefined;
  /** names of tools from outside that were here when it was chosen: any other is new, and active */
  readonly #known = new Set<string>();
  #forRun: string[] | undefined;

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
    this.#registered = kernel.registry("tools");
  }

  names(): string[] {
    if (this.#chosen) this.#adoptNew(this.#chosen);
    const names = this.#chosen ?? this.#defaults();
    return names.filter((name) => this.#registered.has(name));
  }

  offered(): string[] {
    return this.#forRun?.filter((name) => this.#registered.has(name)) ?? this.names();
  }

  tools(): Tool[] {
    return this.offered().map((name) => this.#registered.get(name) as Tool);
  }

  set(names: readonly string[], { forSession = false } = {}): void {
    if (!forSession) this.#before = undefined;
    else this.#before ??= { chosen: this.#chosen };
    this.#choose(names);
  }

  sessionEnded(): void {
    if (this.#before) this.#chosen = this.#before.chosen;
    this.#before = undefined;
  }

  #choose(names: readonly string[]): void {
    this.#chosen = [...new Set(names)].filter((name) => this.#registered.has(name));
    for (const { name } of this.#outside()) this.#known.add(name);
  }

  activate(...names: string[]): void {
    const active = this.names();
    const chosen = new Set([...active, ...names.filter((name) => this.#registered.has(name))]);
    if (chosen.size > active.length) this.#choose([...chosen]);
  }

  /** A run starts. A list that differs from ours was chosen for it by a handler. */
  begin(selected: readonly string[] | undefined): void {
    this.#forRun = undefined;
    const own = this.names();
    const isOwn = !selected || (selected.length === own.length && selected.every((name, index) => name === own[index]));
    if (!isOwn) this.#forRun = [...new Set(selected)];
  }

  #adoptNew(chosen: string[]): void {
    for (const { name } of this.#outside()) {
      if (this.#known.has(name)) continue;
      this.#known.add(name);
      if (!chosen.includes(name)) chosen.push(name);
    }
  }

  #defaults(): string[] {
    const wanted = this.#kernel.options.tools !== undefined ? listOf(this.#kernel.options.tools) : this.#defaultTools();
    return [...new Set([...wanted, ...this.#outside().map(({ name }) => name)])];
  }

  #defaultTools(): readonly string[] {
    const setting = this.#kernel.tryService("settings")?.get<unknown>("defaultTools");
    return Array.isArray(setting) ? setting.filter((name) => typeof name === "string") : DEFAULT_TOOLS;
  }

  #outside(): Tool[] {
    return this.#registered.all().filter((tool) => !isBuiltin(tool));
  }
}

export const sourceOf = (tool: Tool) => tool.sourceInfo?.source ?? "sdk";
const isBuiltin = (tool: Tool) => sourceOf(tool) === "builtin";

function listOf(names: unknown): string[] {
  const texts = Array.isArray(names) ? names : [names];
  return texts.flatMap((text) => String(text).split(",")).flatMap((name) => name.trim() || []);
}

function restricts(options: Options): boolean {
  return options["no-tools"] === true || options["no-builtin-tools"] === true || options.tools !== undefined || options["exclude-tools"] !== undefined;
}

/** What the command line forbids is not there at all: nobody can activate it. */
function restrict(draft: Draft<Tool>, options: Options): void {
  const allowed = options.tools !== undefined ? new Set(listOf(options.tools)) : undefined;
  const excluded = new Set(options["exclude-tools"] !== undefined ? listOf(options["exclude-tools"]) : []);
  for (const [name, tool] of draft) {
    const isAllowed = options["no-tools"] !== true && (!allowed || allowed.has(name)) && !(options["no-builtin-tools"] === true && isBuiltin(tool));
    if (!isAllowed || excluded.has(name)) draft.delete(name);
  }
}

function addFlags(kernel: PluginKernel): void {
  const flags = kernel.registry("flags");
  const group = "Tools";
  flags.add({ name: "tools", alias: "t", type: "string", placeholder: "<names>", description: "Only these tools, separated by commas", group });
  flags.add({ name: "exclude-tools", alias: "xt", type: "string", placeholder: "<names>", description: "Without these tools, separated by commas", group });
  flags.add({ name: "no-builtin-tools", alias: "nbt", type: "boolean", description: "Without the built-in tools; those of extensions stay", group });
  flags.add({ name: "no-tools", alias: "nt", type: "boolean", description: "Without any tools", group });
}
