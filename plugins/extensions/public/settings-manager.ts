/** Settings for extensions: read-only, by getters. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

type Values = Record<string, unknown>;

/** Reads the user's and the project's settings file; `getX()` answers the setting `x`. */
export function createSettingsManagerClass(defaults: { cwd(): string; agentDir(): string; configDir: string }): object {
  class SettingsManager {
    readonly #user: Values;
    readonly #project: Values;

    constructor(user: Values, project: Values) {
      this.#user = user;
      this.#project = project;
    }

    static create(cwd = defaults.cwd(), agentDir = defaults.agentDir()): SettingsManager {
      return byGetters(new SettingsManager(read(join(agentDir, "settings.json")), read(join(cwd, defaults.configDir, "settings.json"))));
    }
    static inMemory(settings: Values = {}): SettingsManager {
      return byGetters(new SettingsManager(settings, {}));
    }

    getGlobalSettings = (): Values => structuredClone(this.#user);
    getProjectSettings = (): Values => structuredClone(this.#project);
    getSettings = (): Values => merged(this.#user, this.#project);
    getDefaultProvider = (): unknown => this.getSettings().defaultProvider;
    getDefaultModel = (): unknown => this.getSettings().defaultModel;
    getCompactionSettings = (): Values => ({ enabled: true, reserveTokens: 16384, keepRecentTokens: 20000, ...(this.getSettings().compaction as Values) });
    getRetrySettings = (): Values => ({ enabled: true, maxRetries: 3, baseDelayMs: 2000, ...(this.getSettings().retry as Values) });
    getPackages = (): unknown => this.getSettings().packages ?? [];
    getExtensionPaths = (): unknown => this.getSettings().extensions ?? [];
    getTheme = (): unknown => this.getSettings().theme;
    reload = async (): Promise<void> => {};
    flush = async (): Promise<void> => {};
    drainErrors = (): unknown[] => [];
  }
  return SettingsManager;
}

/** Getters that nobody wrote down answer the setting they are named after; setters change nothing. */
function byGetters<T extends { getSettings(): Values }>(manager: T): T {
  return new Proxy(manager, {
    get(target, name) {
      if (name in target || typeof name !== "string") return Reflect.get(target, name, target);
      const [, verb, key] = /^(get|set)([A-Z]\w*)$/.exec(name) ?? [];
      if (verb === "set") return () => undefined;
      return key ? () => target.getSettings()[key.charAt(0).toLowerCase() + key.slice(1)] : undefined;
    },
  });
}

function read(path: string): Values {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isTree(value) ? value : {};
  } catch {
    return {};
  }
}

const isTree = (value: unknown): value is Values => typeof value === "object" && value !== null && !Array.isArray(value);

function merged(below: Values, above: Values): Values {
  const result: Values = { ...below };
  for (const [key, value] of Object.entries(above)) result[key] = isTree(value) && isTree(result[key]) ? merged(result[key], value) : value;
  return result;
}
