/** Settings, places and environment, as other features see them. */
import type { AsyncSeriesHook } from "tapable";

/** What a distribution calls itself and where it keeps its things. */
export interface Branding {
  /** program name, e.g. "pi" */
  name: string;
  version: string;
  /** directory under home and in projects, e.g. ".pi" */
  configDir: string;
  /** prefix of environment variables, e.g. "PI" */
  envPrefix: string;
}

export interface Settings {
  readonly branding: Branding;
  /** the session's working directory */
  cwd(): string;
  setCwd(cwd: string): void;
  home(): string;
  /** `$PI_CODING_AGENT_DIR` or `~/.pi/agent` */
  agentDir(): string;
  /** `<cwd>/.pi` */
  projectDir(): string;
  env(name: string): string | undefined;
  /** the program's own variable: own("RPC_DIALECT") reads PI_RPC_DIALECT */
  ownEnv(name: string): string | undefined;
  /** Merged value of a dotted key: built-in default < distribution < dialect < user < project (if trusted) < this process. */
  get<T = unknown>(key: string): T | undefined;
  /** each file by itself, in today's spellings; project is empty unless trusted */
  user(): Readonly<Record<string, unknown>>;
  project(): Readonly<Record<string, unknown>>;
  /** Changes a key for this process only. */
  override(key: string, value: unknown): void;
  /** Lowest layer: defaults of a dialect or distribution. */
  defaults(values: Record<string, unknown>): () => void;
  /** Highest layer: what a distribution does not let anybody change. */
  manage(values: Record<string, unknown>): () => void;
  /** Path of a settings file. */
  file(scope: "user" | "project"): string;
  /** Why a file cannot be read or changed; undefined: it can, or is not there. */
  broken(scope: "user" | "project"): string | undefined;
  /** Writes a key to a file, by rename under a lock; unknown keys stay; undefined takes the key away. The project's needs trust. */
  write(scope: "user" | "project", key: string, value: unknown): Promise<void>;
  /** The same with what the file holds at that moment. */
  update(scope: "user" | "project", key: string, change: (value: unknown) => unknown): Promise<void>;
  /** Reads the files again; true if something changed. */
  reload(): Promise<boolean>;
  readonly hooks: { changed: AsyncSeriesHook<[]> };
}

export interface Trust {
  /** grows with every decision, so that readers know what they made of the last one is old */
  readonly version: number;
  /** Whether the project at the cwd (the current one) is trusted; decided at start and after a change of cwd. */
  isTrusted(cwd?: string): boolean;
  /** Whether extensions have a say: the project has something that needs trust, and neither the command line nor an earlier answer has decided. */
  isUndecided(cwd: string): boolean;
  /** Decides for the cwd (flags, handlers, saved decision, setting), once per process. */
  decide(cwd: string): Promise<boolean>;
  remember(cwd: string, trusted: boolean): Promise<void>;
  readonly hooks: {
    /** before anybody is asked, so that who has a say can be there */
    deciding: AsyncSeriesHook<[cwd: string]>;
    /** asked between the command line and the saved decision; first answer wins */
    asked: import("tapable").AsyncSeriesBailHook<[cwd: string], { trusted: boolean; remember?: boolean }>;
  };
}

declare module "../../core/index.ts" {
  interface Services {
    settings: Settings;
    trust: Trust;
  }
  interface Options {
    branding?: Partial<Branding>;
    /** instead of the process's environment */
    env?: Readonly<Record<string, string | undefined>>;
    approve?: boolean;
    offline?: boolean;
    verbose?: boolean;
  }
}
