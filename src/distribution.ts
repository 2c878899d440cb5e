/** What `import … from "pi-kernel/distribution"` gives: a team's own agent as a list in one file. */
import { definePlugin, flatten, KernelError, type Plugin, type PluginList } from "../core/index.ts";
import type { CompiledExtension } from "../plugins/extensions/contract.ts";
import type { ExtensionAPI } from "../plugins/extensions/types.ts";
import type { Branding } from "../plugins/settings/contract.ts";
import { nearest } from "../plugins/shared/nearest.ts";

type Factory = (pi: ExtensionAPI) => void | Promise<void>;

/** An extension that comes with the distribution: a factory, or a file (relative to the distribution file), or the name of a built-in one. */
export type DistributedExtension = string | Factory | { name: string; factory: Factory } | CompiledExtension;

export interface Distribution {
  /** shown in titles and help */
  name: string;
  /** the program's name on the command line; default: `name` */
  bin?: string;
  version?: string;
  /** directory under home and in projects; default: ".<bin>" */
  configDir?: string;
  /** prefix of environment variables; default: the bin in capitals */
  envPrefix?: string;
  plugins: PluginList;
  extensions?: readonly DistributedExtension[];
  /** settings below the user's, by dotted key */
  defaults?: Record<string, unknown>;
  /** settings that users cannot change, by dotted key */
  managed?: Record<string, unknown>;
  /** appended to the system prompt */
  systemPrompt?: string;
}

/** What the program runs. */
export interface Program {
  branding: Branding;
  plugins: PluginList;
  extensions: readonly DistributedExtension[];
}

export function defineDistribution(distribution: Distribution): Distribution {
  return distribution;
}

/** The list without the named plugins; a name that is not in it is an error, since it would silently keep something. */
export function without(list: PluginList, ...names: string[]): Plugin[] {
  const plugins = flatten(list);
  refuseUnknown(plugins, names);
  return plugins.filter(({ name }) => !names.includes(name));
}

/** Only the named plugins of the list, in its order. */
export function only(list: PluginList, ...names: string[]): Plugin[] {
  const plugins = flatten(list);
  refuseUnknown(plugins, names);
  return plugins.filter(({ name }) => names.includes(name));
}

declare const PI_BUILT: boolean | undefined;

function refuseUnknown(plugins: readonly Plugin[], names: readonly string[]): void {
  // In a built distribution the lists hold only what was chosen when it was built.
  if (typeof PI_BUILT !== "undefined" && PI_BUILT) return;
  const known = plugins.map(({ name }) => name);
  for (const name of names) {
    if (known.includes(name)) continue;
    const suggestion = nearest(name, known);
    throw new KernelError("E_USAGE", `There is no plugin "${name}" in the list${suggestion ? `; did you mean "${suggestion}"?` : "."}`);
  }
}

/** Checks a distribution file's default export and fills in what it leaves open. */
export function programOf(value: unknown, source: string): Program {
  const distribution = value as Distribution | undefined;
  if (typeof distribution !== "object" || distribution === null || typeof distribution.name !== "string" || !Array.isArray(distribution.plugins)) {
    throw new KernelError("E_USAGE", `${source} is not a distribution: its default export must be defineDistribution({ name, plugins, … }).`);
  }
  refuseUnknownFields(distribution, source);
  refuseNonPlugins(distribution, source);
  const bin = distribution.bin ?? distribution.name;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(bin)) {
    throw new KernelError("E_USAGE", `"${bin}" cannot be a program's name: use letters, digits, dot, dash and underscore.`);
  }
  return {
    branding: {
      name: bin,
      version: distribution.version ?? "0.0.0",
      configDir: distribution.configDir ?? `.${bin}`,
      envPrefix: distribution.envPrefix ?? bin.toUpperCase().replace(/[^A-Z0-9]+/g, "_"),
    },
    plugins: [distribution.plugins, configuration(distribution)],
    extensions: distribution.extensions ?? [],
  };
}

const fields: Record<keyof Distribution, true> = {
  name: true,
  bin: true,
  version: true,
  configDir: true,
  envPrefix: true,
  plugins: true,
  extensions: true,
  defaults: true,
  managed: true,
  systemPrompt: true,
};

/** A mistyped `managed` would leave open what it should close. */
function refuseUnknownFields(distribution: Distribution, source: string): void {
  for (const name of Object.keys(distribution)) {
    if (Object.hasOwn(fields, name)) continue;
    const suggestion = nearest(name, Object.keys(fields));
    throw new KernelError("E_USAGE", `${source}: a distribution has no field "${name}"${suggestion ? `; did you mean "${suggestion}"?` : "."}`);
  }
}

function refuseNonPlugins({ plugins }: Distribution, source: string): void {
  for (const [index, plugin] of flatten(plugins).entries()) {
    if (typeof plugin.name === "string" && typeof plugin.apply === "function") continue;
    throw new KernelError(
      "E_USAGE",
      `${source}: "plugins" holds something that is no plugin, at place ${index + 1} (expected definePlugin({ name, apply }) or a list of plugins).`,
    );
  }
}

/** The distribution's own settings and words. */
function configuration({ defaults, managed, systemPrompt }: Distribution): Plugin {
  return definePlugin({
    name: "distribution",
    apply(kernel) {
      const settings = kernel.tryService("settings");
      if (settings && defaults) kernel.defer(settings.defaults(defaults));
      if (settings && managed) kernel.defer(settings.manage(managed));
      if (systemPrompt) kernel.hooks.systemPrompt.tap({ name: "distribution", stage: 90 }, (text) => `${text}\n\n${systemPrompt}`);
    },
  });
}
