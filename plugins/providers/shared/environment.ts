/** What a wire API needs of the house: credentials, settings, secrets to hide, and a way to the network. */
import type { ModelRequest, PluginKernel, ThinkingLevel } from "../../../core/index.ts";
import type { Auth } from "../../models/contract.ts";
import type {} from "../../settings/contract.ts";
import type { Network } from "./network.ts";

export interface Environment {
  /** Finds the credential; throws a sentence if there is none. */
  auth(request: ModelRequest): Promise<Auth>;
  env(name: string): string | undefined;
  readonly longCache: boolean;
  /** how long a server may be silent; 0: for ever */
  readonly idleMs: number;
  budget(level: ThinkingLevel): number;
  secrets(): readonly string[];
  network(): Promise<Network>;
}

const IDLE_MS = 300_000;
const budgets: Partial<Record<ThinkingLevel, number>> = { minimal: 1024, low: 2048, medium: 8192, high: 16384 };

/** The environment of a running agent. All of it is looked up when a request is made. */
export function environmentOf(kernel: PluginKernel): Environment {
  const settings = () => kernel.tryService("settings");
  const env = (name: string) => settings()?.env(name);
  // Taken before extensions are loaded: one that replaces it wants to see requests.
  const { fetch } = globalThis;
  let network: Promise<Network> | undefined;
  kernel.defer(async () => (await network)?.close());
  return {
    network() {
      network ??= import("./network.ts").then(({ Network }) => new Network({ env, setting: () => settings()?.get<string>("httpProxy"), fetch }));
      return network;
    },
    env,
    auth: (request) => authFor(kernel, request),
    get longCache() {
      return settings()?.ownEnv("CACHE_RETENTION") === "long";
    },
    get idleMs() {
      const read = (key: string) => settings()?.get<number>(key);
      const found = [read("retry.provider.timeoutMs"), read("httpIdleTimeoutMs")].find((value) => typeof value === "number" && value >= 0);
      return found ?? IDLE_MS;
    },
    budget(level) {
      const known = level === "xhigh" || level === "max" ? "high" : level;
      const set = settings()?.get<Record<string, number>>("thinkingBudgets")?.[known];
      return typeof set === "number" ? set : (budgets[known] ?? 0);
    },
    secrets: () => kernel.tryService("models")?.secrets() ?? [],
  };
}

/** A caller's own key goes with the configured address and headers, but not with configured credentials. */
async function authFor(kernel: PluginKernel, { model, apiKey }: ModelRequest): Promise<Auth> {
  const models = kernel.tryService("models");
  if (apiKey === undefined) return models ? await models.requireAuth(model) : {};
  const configured = await models?.auth(model).catch(() => undefined);
  const headers = Object.entries(configured?.headers ?? {}).filter(([name]) => !/^(authorization|x-api-key|api-key)$/i.test(name));
  return { ...configured, apiKey, headers: Object.fromEntries(headers) };
}
