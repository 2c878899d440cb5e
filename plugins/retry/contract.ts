/** Retrying after transient failures of a provider. */
export interface Retry {
  enabled(): boolean;
  setEnabled(enabled: boolean): void;
  /** Ends a delay and gives up. */
  abort(): void;
  /** Whether a provider's error text is transient. */
  isTransient(errorMessage: string): boolean;
  /** Runs `attempt` again after transient failures, with the same back-off as turns; `onDelay` announces each wait. */
  delayFor(attempt: number): number;
  maxAttempts(): number;
}

declare module "../../core/index.ts" {
  interface Services {
    retry: Retry;
  }
  interface AgentEvents {
    auto_retry_start: { attempt: number; maxAttempts: number; delayMs: number; errorMessage: string };
    auto_retry_end: { success: boolean; attempt: number; finalError?: string };
  }
}
