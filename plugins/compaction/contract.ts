/** Compaction, as other features see it. */
import type { AsyncSeriesBailHook, AsyncSeriesHook } from "tapable";
import type { AgentMessage, Usage } from "../../core/index.ts";
import type { SessionEntry } from "../session/contract.ts";

export type CompactionReason = "manual" | "threshold" | "overflow";

export interface CompactionResult {
  summary: string;
  firstKeptEntryId: string;
  tokensBefore: number;
  estimatedTokensAfter?: number;
  usage?: Usage;
  details?: unknown;
}

export interface CompactionPreparation {
  firstKeptEntryId: string;
  messagesToSummarize: AgentMessage[];
  turnPrefixMessages: AgentMessage[];
  isSplitTurn: boolean;
  tokensBefore: number;
  previousSummary?: string;
  fileOps: { read: Set<string>; written: Set<string>; edited: Set<string> };
  settings: { enabled: boolean; reserveTokens: number; keepRecentTokens: number };
}

export interface CompactionMoment {
  preparation: CompactionPreparation;
  branchEntries: SessionEntry[];
  customInstructions?: string;
  reason: CompactionReason;
  willRetry: boolean;
  signal: AbortSignal;
}

export interface CompactionVerdict {
  cancel?: boolean;
  compaction?: Omit<CompactionResult, "estimatedTokensAfter">;
}

export interface Compaction {
  enabled(): boolean;
  setEnabled(enabled: boolean): void;
  /** Throws the protocol's sentences. */
  compact(options?: { customInstructions?: string }): Promise<CompactionResult>;
  inProgress(): boolean;
  /** the estimate that automatic compaction uses; null right after a compaction */
  contextTokens(): number | null;
  readonly hooks: {
    before: AsyncSeriesBailHook<[moment: CompactionMoment], CompactionVerdict>;
    after: AsyncSeriesHook<[done: { compactionEntry: SessionEntry; fromExtension: boolean; reason: CompactionReason; willRetry: boolean }]>;
    failed: AsyncSeriesHook<[failure: { reason: CompactionReason; errorMessage?: string; aborted: boolean; willRetry: boolean; fromExtension: boolean }]>;
  };
}

declare module "../../core/index.ts" {
  interface Services {
    compaction: Compaction;
  }
  interface AgentEvents {
    compaction_start: { reason: CompactionReason };
    compaction_end: { reason: CompactionReason; result: CompactionResult | null; aborted: boolean; willRetry: boolean; errorMessage?: string };
    summarization_retry_scheduled: { attempt: number; maxAttempts: number; delayMs: number; errorMessage: string };
    summarization_retry_attempt_start: { source: "compaction" | "branchSummary"; reason?: CompactionReason };
    summarization_retry_finished: object;
  }
}
