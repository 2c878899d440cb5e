/** The session: entries in a tree, and the operations on it. */
import type { AsyncSeriesBailHook, AsyncSeriesHook } from "tapable";
import type { AgentMessage, Model, ThinkingLevel, Usage, UserContent } from "../../core/index.ts";

export interface SessionHeader {
  type: "session";
  version: number;
  id: string;
  timestamp: string;
  cwd: string;
  parentSession?: string;
  [key: string]: unknown;
}

interface EntryBase {
  id: string;
  parentId: string | null;
  timestamp: string;
}

export interface CompactionDetails {
  readFiles: string[];
  modifiedFiles: string[];
}

export type SessionEntry = EntryBase &
  (
    | { type: "message"; message: AgentMessage }
    | { type: "custom_message"; customType: string; content: string | UserContent[]; display: boolean; details?: unknown }
    | { type: "compaction"; summary: string; firstKeptEntryId: string; tokensBefore: number; usage?: Usage; details?: unknown; fromHook?: boolean }
    | { type: "branch_summary"; fromId: string | null; summary: string; usage?: Usage; details?: unknown; fromHook?: boolean }
    | { type: "context_edit"; targetId: string; replacement: null | { content: string | UserContent[] } }
    | { type: "model_change"; provider: string; modelId: string }
    | { type: "thinking_level_change"; thinkingLevel: ThinkingLevel }
    | { type: "custom"; customType: string; data?: unknown }
    | { type: "label"; targetId: string; label?: string }
    | { type: "session_info"; name?: string }
    | { type: "usage"; kind: string; provider?: string; model?: string; usage: Usage; note?: string }
  );

/** What a caller gives; id, parent and time are added. */
export type EntryDraft = SessionEntry extends infer E ? (E extends SessionEntry ? Omit<E, "id" | "parentId" | "timestamp"> : never) : never;

export interface TreeNode {
  entry: SessionEntry;
  children: TreeNode[];
  label?: string;
  labelTimestamp?: string;
}

/** A session about to be replaced. "branch" is the old name of forking and raises one more veto. */
export interface SessionChange {
  kind: "new" | "resume" | "fork";
  via: "new_session" | "switch_session" | "fork" | "branch" | "clone" | "start";
  targetFile?: string;
  entryId?: string;
  position?: "before" | "at";
}

export interface SessionChanged {
  reason: "startup" | "new" | "resume" | "fork";
  previousFile?: string;
  file?: string;
}

export interface TreeChange {
  targetId: string;
  oldLeafId: string | null;
  commonAncestorId: string | null;
  entriesToSummarize: SessionEntry[];
  userWantsSummary: boolean;
  customInstructions?: string;
  replaceInstructions?: boolean;
  label?: string;
  signal: AbortSignal;
}

export interface TreeVerdict {
  cancel?: boolean;
  summary?: { summary: string; details?: unknown; usage?: Usage };
  customInstructions?: string;
  replaceInstructions?: boolean;
  label?: string;
}

export interface NavigateOptions {
  summarize?: boolean;
  customInstructions?: string;
  replaceInstructions?: boolean;
  label?: string;
}

export interface ReplaceOptions {
  /** Takes over raising `changed` instead of having it awaited: commands pass `call.after`, so that the reply comes first. */
  later?(raise: () => Promise<void>): void;
}

export interface SessionStats {
  sessionFile?: string;
  sessionId: string;
  userMessages: number;
  assistantMessages: number;
  toolCalls: number;
  toolResults: number;
  totalMessages: number;
  tokens: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
  cost: number;
  contextUsage?: { tokens: number | null; contextWindow: number; percent: number | null };
}

/** A session file in a list. */
export interface SessionInfo {
  path: string;
  id: string;
  /** working directory; empty in very old files */
  cwd: string;
  name?: string;
  created: string;
  /** time of the last message */
  modified: string;
  messageCount: number;
  firstMessage: string;
  parentSession?: string;
}

/** Reading: also what `ctx.sessionManager` is made of. */
export interface SessionReader {
  header(): SessionHeader;
  id(): string;
  /** undefined for a session in memory */
  file(): string | undefined;
  dir(): string;
  name(): string | undefined;
  /** whether the file exists already */
  isSaved(): boolean;
  leafId(): string | null;
  entry(id: string): SessionEntry | undefined;
  /** append order, without the header */
  entries(): readonly SessionEntry[];
  /** root to leaf */
  branch(fromId?: string): SessionEntry[];
  tree(): TreeNode[];
  label(id: string): string | undefined;
  /** the entries of the active branch that make up the context, after compaction */
  contextEntries(): readonly SessionEntry[];
  /** the model and level that the branch last used */
  lastModel(): { provider: string; modelId: string } | undefined;
  lastThinkingLevel(): ThinkingLevel | undefined;
}

export interface Session extends SessionReader {
  /** Appends below the leaf and moves it; on disk (or in memory before the first assistant message) when this returns. */
  append(draft: EntryDraft): SessionEntry;
  /** Appends and announces `entry_appended`. */
  appendAnnounced(draft: EntryDraft): SessionEntry;
  setName(name: string): void;
  setLabel(id: string, label: string | undefined): void;
  /** Moves the leaf; writes nothing. */
  moveLeaf(id: string | null): void;
  /** The operations abort what runs, ask `beforeChange`, and raise `changed`; `cancelled` is a success. */
  startNew(options?: ReplaceOptions & { parentSession?: string; setup?(session: Session): void | Promise<void> }): Promise<{ cancelled: boolean }>;
  switchTo(path: string, options?: ReplaceOptions): Promise<{ cancelled: boolean }>;
  fork(
    entryId: string,
    options?: ReplaceOptions & { position?: "before" | "at"; via?: "fork" | "branch" | "clone" },
  ): Promise<{ cancelled: boolean; text: string }>;
  clone(options?: ReplaceOptions): Promise<{ cancelled: boolean }>;
  navigate(targetId: string, options?: NavigateOptions): Promise<{ cancelled: boolean; editorText?: string; summaryEntry?: SessionEntry }>;
  stats(): SessionStats;
  readonly hooks: SessionHooks;
}

export interface SessionHooks {
  /** "cancel" vetoes; nothing has changed then */
  beforeChange: AsyncSeriesBailHook<[change: SessionChange], "cancel">;
  /** The old session is about to go: extensions shut down. */
  leaving: AsyncSeriesHook<[change: SessionChange]>;
  /** A session is open: at start and after each replacement. */
  changed: AsyncSeriesHook<[changed: SessionChanged]>;
  beforeTree: AsyncSeriesBailHook<[change: TreeChange], TreeVerdict>;
  treeChanged: AsyncSeriesHook<[changed: { newLeafId: string | null; oldLeafId: string | null; summaryEntry?: SessionEntry; fromExtension?: boolean }]>;
  nameChanged: AsyncSeriesHook<[name: string | undefined]>;
  /** Makes a branch summary; the compaction feature taps it. */
  summarizeBranch: AsyncSeriesBailHook<[change: TreeChange], { summary: string; details?: unknown; usage?: Usage }>;
}

declare module "../../core/index.ts" {
  interface Services {
    session: Session;
  }
  interface CustomMessages {
    branchSummary: { role: "branchSummary"; summary: string; fromId: string | null; timestamp: number };
    compactionSummary: { role: "compactionSummary"; summary: string; tokensBefore: number; timestamp: number };
  }
  interface AgentEvents {
    entry_appended: { entry: SessionEntry };
    session_info_changed: { name?: string };
  }
}

export type { Model };
