/** Shell commands of the user. */
import type { AsyncSeriesBailHook } from "tapable";

export interface BashOutcome {
  output: string;
  exitCode: number | null;
  cancelled: boolean;
  truncated: boolean;
  totalLines: number;
  totalBytes: number;
  outputLines: number;
  outputBytes: number;
  fullOutputPath?: string;
  artifactId?: string;
}

/** How a shell command is really run; an extension may bring its own. */
export interface BashOperations {
  exec(
    command: string,
    cwd: string,
    options: { onData(data: Buffer): void; signal?: AbortSignal; timeout?: number; env?: NodeJS.ProcessEnv },
  ): Promise<{ exitCode: number | null }>;
}

export interface UserBash {
  run(command: string, options?: { excludeFromContext?: boolean; onData?(text: string): unknown }): Promise<BashOutcome>;
  /** Kills every running command. */
  abort(): void;
  readonly hooks: {
    before: AsyncSeriesBailHook<
      [request: { command: string; excludeFromContext: boolean; cwd: string }],
      { operations: BashOperations } | { result: Partial<BashOutcome> & { output: string } }
    >;
  };
}

declare module "../../core/index.ts" {
  interface Services {
    userBash: UserBash;
  }
  interface CustomMessages {
    bashExecution: {
      role: "bashExecution";
      command: string;
      output: string;
      exitCode: number | null;
      cancelled: boolean;
      truncated: boolean;
      fullOutputPath?: string;
      excludeFromContext?: boolean;
      timestamp: number;
    };
  }
}
