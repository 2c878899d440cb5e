/** The public types of the extension API, spelled as extensions import them: `import type { ExtensionAPI } from "@mariozechner/pi-coding-agent"`. */
import type { Static, TSchema } from "typebox";
import type {
  AgentMessage,
  AssistantMessage,
  AssistantMessageEvent,
  BlockEvent,
  ImageContent,
  Model,
  SourceInfo,
  TextContent,
  ThinkingLevel,
  ToolResultMessage,
  Usage,
  UserContent,
} from "../../core/index.ts";
import type { CompactionPreparation, CompactionReason, CompactionResult } from "../compaction/contract.ts";
import type { Credential } from "../models/contract.ts";
import type { SessionEntry, SessionHeader, TreeNode } from "../session/contract.ts";
import type { SessionProjection } from "../shared/session-context.ts";
import type { SystemPromptOptions } from "../system-prompt/contract.ts";
import type { BashOperations, BashOutcome } from "../user-bash/contract.ts";

export type {
  AgentMessage,
  AssistantMessage,
  AssistantMessageEvent,
  BashOperations,
  BashOutcome as BashResult,
  CompactionPreparation,
  CompactionResult,
  ImageContent,
  Model,
  SessionEntry,
  SessionHeader,
  SourceInfo,
  SystemPromptOptions,
  TextContent,
  ThinkingLevel,
  ToolResultMessage,
  Usage,
};

type MaybePromise<T> = T | Promise<T>;
export type Mode = "tui" | "rpc" | "json" | "print";

/** What a module exports by default. */
export type ExtensionFactory = (pi: ExtensionAPI) => void | Promise<void>;

// ---------------------------------------------------------------- user interface

export interface DialogOptions {
  signal?: AbortSignal;
  /** ms */
  timeout?: number;
}

export interface Theme {
  readonly name?: string;
  fg(color: string, text: string): string;
  bg(color: string, text: string): string;
  bold(text: string): string;
  italic(text: string): string;
  underline(text: string): string;
  inverse(text: string): string;
  strikethrough(text: string): string;
  getFgAnsi(color: string): string;
  getBgAnsi(color: string): string;
  getColorMode(): "truecolor" | "256color";
  getThinkingBorderColor(level: ThinkingLevel): (text: string) => string;
  getBashModeBorderColor(): (text: string) => string;
}

export interface WidgetOptions {
  placement?: "aboveEditor" | "belowEditor";
}

export interface ExtensionUIContext {
  select(title: string, options: string[], settings?: DialogOptions): Promise<string | undefined>;
  confirm(title: string, message: string, settings?: DialogOptions): Promise<boolean>;
  input(title: string, placeholder?: string, settings?: DialogOptions): Promise<string | undefined>;
  editor(title: string, prefill?: string): Promise<string | undefined>;
  notify(message: string, type?: "info" | "warning" | "error"): void;
  setStatus(key: string, text: string | undefined): void;
  /** A component factory needs a terminal: without one nothing is shown. */
  setWidget(key: string, content: string[] | undefined | ((tui: any, theme: Theme) => any), options?: WidgetOptions): void;
  setTitle(title: string): void;
  setEditorText(text: string): void;
  pasteToEditor(text: string): void;
  getEditorText(): string;
  /** Resolves to undefined without a terminal; the factory is not called. */
  custom<T>(factory: (tui: any, theme: Theme, keybindings: any, done: (result: T) => void) => any, options?: unknown): Promise<T>;
  onTerminalInput(handler: (data: string) => unknown): () => void;
  setWorkingMessage(message?: string): void;
  setWorkingVisible(visible: boolean): void;
  setWorkingIndicator(options?: unknown): void;
  setHiddenThinkingLabel(label?: string): void;
  setFooter(factory: ((tui: any, theme: Theme, data: any) => any) | undefined): void;
  setHeader(factory: ((tui: any, theme: Theme) => any) | undefined): void;
  setEditorComponent(factory: ((tui: any, theme: any, keybindings: any) => any) | undefined): void;
  getEditorComponent(): unknown;
  addAutocompleteProvider(factory: (current: any) => any): void;
  setToolsExpanded(expanded: boolean): void;
  getToolsExpanded(): boolean;
  readonly theme: Theme;
  getAllThemes(): { name: string; path: string | undefined }[];
  getTheme(name: string): Theme | undefined;
  setTheme(theme: string | Theme): { success: boolean; error?: string };
}

// ---------------------------------------------------------------- contexts

export interface SessionContext {
  messages: AgentMessage[];
  thinkingLevel: ThinkingLevel;
  model: { provider: string; modelId: string } | null;
}

export interface ReadonlySessionManager {
  getCwd(): string;
  getSessionDir(): string;
  getSessionId(): string;
  getSessionFile(): string | undefined;
  getLeafId(): string | null;
  getLeafEntry(): SessionEntry | undefined;
  getEntry(id: string): SessionEntry | undefined;
  getLabel(id: string): string | undefined;
  getBranch(fromId?: string): SessionEntry[];
  getEntries(): SessionEntry[];
  getTree(): TreeNode[];
  getHeader(): SessionHeader | null;
  getSessionName(): string | undefined;
  isPersisted(): boolean;
  buildContextEntries(): SessionEntry[];
  buildSessionContext(): SessionContext;
  buildSessionProjection(): SessionProjection;
}

/** What `setup` of a new session may do besides reading. */
export interface WritableSessionManager extends ReadonlySessionManager {
  appendMessage(message: AgentMessage): string;
  appendCustomEntry(customType: string, data?: unknown): string;
  appendCustomMessageEntry(customType: string, content: string | UserContent[], display: boolean, details?: unknown): string;
  appendSessionInfo(name: string): string;
  appendLabelChange(targetId: string, label: string | undefined): string;
  appendModelChange(provider: string, modelId: string): string;
  appendThinkingLevelChange(level: ThinkingLevel): string;
}

/** What a nested model call is given. */
export interface Context {
  systemPrompt?: string;
  messages: AgentMessage[];
  tools?: { name: string; description: string; parameters: TSchema | Record<string, unknown> }[];
}

export interface StreamOptions {
  apiKey?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  maxTokens?: number;
  temperature?: number;
  sessionId?: string;
  reasoning?: ThinkingLevel;
  [option: string]: unknown;
}

export interface AssistantMessageStream extends AsyncIterable<AssistantMessageEvent> {
  result(): Promise<AssistantMessage>;
}

export type ApiKeyAndHeaders =
  | { ok: true; apiKey?: string; headers?: Record<string, string>; baseUrl?: string; env?: Record<string, string> }
  | { ok: false; error: string };

export interface ModelRegistry {
  getAll(): Model[];
  getAvailable(): Model[];
  find(provider: string, id: string): Model | undefined;
  hasConfiguredAuth(model: Model): boolean;
  isUsingOAuth(model: Model): boolean;
  getProviderAuthStatus(provider: string): { configured: boolean };
  getProviderDisplayName(provider: string): string;
  getApiKeyAndHeaders(model: Model): Promise<ApiKeyAndHeaders>;
  getApiKey(model: Model): Promise<string | undefined>;
  getApiKeyForProvider(provider: string): Promise<string | undefined>;
  getProviderAuth(provider: string): Promise<{ auth: RequestAuth; source?: string; apiKey?: string; headers?: Record<string, string> } | undefined>;
  /** undefined if nobody has heard of it */
  getProvider(id: string): ProviderObject | undefined;
  /** what an extension registered under that name */
  getRegisteredProviderConfig(provider: string): ProviderConfig | undefined;
  complete(model: Model, context: Context, options?: StreamOptions): Promise<AssistantMessage>;
  stream(model: Model, context: Context, options?: StreamOptions): AssistantMessageStream;
  streamSimple(model: Model, context: Context, options?: StreamOptions): AssistantMessageStream;
  /** Reads models.json again, and asks extensions' providers for their models; `errors` by provider. */
  refresh(options?: { allowNetwork?: boolean; force?: boolean; signal?: AbortSignal }): Promise<{ aborted: boolean; errors: Map<string, Error> }>;
  getError(): string | undefined;
  registerProvider(name: string | ProviderObject, config?: ProviderConfig): void;
  unregisterProvider(name: string): void;
  readonly authStorage: {
    get(provider: string): unknown;
    has(provider: string): boolean;
    hasAuth(provider: string): boolean;
    set(provider: string, credential: Credential): Promise<void>;
    remove(provider: string): Promise<void>;
    getApiKey(provider: string): Promise<string | undefined>;
  };
}

export interface ContextUsage {
  tokens: number | null;
  contextWindow: number;
  percent: number | null;
}

export interface ExtensionContext {
  readonly ui: ExtensionUIContext;
  readonly mode: Mode;
  readonly hasUI: boolean;
  readonly cwd: string;
  readonly sessionManager: ReadonlySessionManager;
  readonly modelRegistry: ModelRegistry;
  readonly model: Model | undefined;
  readonly scopedModels: { model: Model; thinkingLevel?: ThinkingLevel }[];
  readonly thinkingLevel: ThinkingLevel;
  /** of the active run */
  readonly signal: AbortSignal | undefined;
  isIdle(): boolean;
  isProjectTrusted(): boolean;
  abort(): void;
  hasPendingMessages(): boolean;
  shutdown(): void;
  getContextUsage(): ContextUsage | undefined;
  compact(options?: { customInstructions?: string; onComplete?(result: CompactionResult): void; onError?(error: Error): void }): void;
  getSystemPrompt(): string;
}

export interface ExtensionCommandContext extends ExtensionContext {
  getSystemPromptOptions(): SystemPromptOptions;
  waitForIdle(): Promise<void>;
  newSession(options?: {
    parentSession?: string;
    setup?(sessionManager: WritableSessionManager): unknown;
    withSession?(ctx: ReplacedSessionContext): void | Promise<void>;
  }): Promise<{ cancelled: boolean }>;
  fork(
    entryId: string,
    options?: { position?: "before" | "at"; withSession?(ctx: ReplacedSessionContext): void | Promise<void> },
  ): Promise<{ cancelled: boolean }>;
  switchSession(path: string, options?: { withSession?(ctx: ReplacedSessionContext): void | Promise<void> }): Promise<{ cancelled: boolean }>;
  navigateTree(
    targetId: string,
    options?: { summarize?: boolean; customInstructions?: string; replaceInstructions?: boolean; label?: string },
  ): Promise<{ cancelled: boolean }>;
  reload(): Promise<void>;
}

/** The context after a replacement of the session; the old one is stale by then. */
export interface ReplacedSessionContext extends ExtensionCommandContext {
  sendMessage(message: CustomMessageInput, options?: SendMessageOptions): Promise<void>;
  sendUserMessage(content: string | UserContent[], options?: SendUserMessageOptions): Promise<void>;
}

// ---------------------------------------------------------------- tools

export interface AgentToolResult<D = unknown> {
  content: (TextContent | ImageContent)[];
  details?: D;
  usage?: Usage;
  terminate?: boolean;
}

export type AgentToolUpdateCallback<D = unknown> = (partial: AgentToolResult<D>) => void;

/** What `execute` gets; a schema that says nothing to the type checker leaves it open. */
export type ParametersOf<P extends TSchema> = unknown extends Static<P> ? any : Static<P>;

export interface ToolDefinition<P extends TSchema = TSchema, D = unknown> {
  name: string;
  label: string;
  description: string;
  parameters: P | Record<string, unknown>;
  promptSnippet?: string;
  promptGuidelines?: string[];
  prepareArguments?(raw: unknown): ParametersOf<P>;
  executionMode?: "sequential" | "parallel";
  constrainedSampling?: false | object;
  execute(
    toolCallId: string,
    params: ParametersOf<P>,
    signal: AbortSignal | undefined,
    onUpdate: AgentToolUpdateCallback<D> | undefined,
    ctx: ExtensionContext,
  ): Promise<AgentToolResult<D>>;
  /** accepted, and not used without a terminal */
  renderShell?: any;
  renderCall?(args: any, theme: Theme, context: any): any;
  renderResult?(result: any, options: any, theme: Theme, context: any): any;
}

export interface ToolInfo {
  name: string;
  description: string;
  parameters: unknown;
  promptGuidelines?: string[];
  sourceInfo: SourceInfo;
}

export type ToolExecutionMode = "sequential" | "parallel";
export type SessionMessageEntry = Extract<SessionEntry, { type: "message" }>;
export type CompactionEntry = Extract<SessionEntry, { type: "compaction" }>;
export type BuildSystemPromptOptions = SystemPromptOptions;
export type WorkingIndicatorOptions = { frames?: string[]; intervalMs?: number };

// ---------------------------------------------------------------- commands, flags, messages

export interface AutocompleteItem {
  value: string;
  label: string;
  description?: string;
}

export interface CommandOptions {
  description?: string;
  getArgumentCompletions?(prefix: string): MaybePromise<AutocompleteItem[] | null>;
  handler(args: string, ctx: ExtensionCommandContext): unknown;
}

export interface FlagOptions {
  type: "boolean" | "string";
  description?: string;
  default?: boolean | string;
}

export interface ShortcutOptions {
  description?: string;
  handler(ctx: ExtensionContext): unknown;
}

export interface SlashCommandInfo {
  name: string;
  description?: string;
  source: "extension" | "prompt" | "skill";
  sourceInfo: SourceInfo;
  location?: "user" | "project" | "path";
  path?: string;
}

export interface CustomMessageInput<D = unknown> {
  customType: string;
  content: string | UserContent[];
  display: boolean;
  details?: D;
}

export interface SendMessageOptions {
  triggerTurn?: boolean;
  deliverAs?: "steer" | "followUp" | "nextTurn";
}

export interface SendUserMessageOptions {
  deliverAs?: "steer" | "followUp";
  expandPromptTemplates?: boolean;
}

export interface ExecOptions {
  cwd?: string;
  signal?: AbortSignal;
  /** ms */
  timeout?: number;
}

export interface ExecResult {
  stdout: string;
  stderr: string;
  code: number;
  killed: boolean;
}

export interface EventBus {
  emit(channel: string, data: unknown): void;
  on(channel: string, handler: (data: unknown) => unknown): () => void;
}

// ---------------------------------------------------------------- providers

export interface ProviderModelConfig {
  id: string;
  name: string;
  api?: string;
  baseUrl?: string;
  reasoning: boolean;
  thinkingLevelMap?: Model["thinkingLevelMap"];
  input: ("text" | "image")[];
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number };
  contextWindow: number;
  maxTokens: number;
  headers?: Record<string, string>;
  compat?: Record<string, unknown>;
  inputLimits?: Record<string, unknown>;
  promptCache?: Record<string, unknown>;
}

export interface OAuthCredentials {
  access: string;
  refresh: string;
  /** ms since the epoch */
  expires: number;
  [key: string]: unknown;
}

export interface OAuthConfig {
  name: string;
  isSubscription?: boolean;
  usesCallbackServer?: boolean;
  login(callbacks: Record<string, unknown>): Promise<OAuthCredentials>;
  refreshToken(credentials: OAuthCredentials, signal?: AbortSignal): Promise<OAuthCredentials>;
  getApiKey(credentials: OAuthCredentials): string;
  modifyModels?(models: Model[], credentials: OAuthCredentials): Model[];
}

export type StreamSimple = (model: Model, context: Context, options?: StreamOptions) => AssistantMessageStream;

export interface ProviderConfig {
  name?: string;
  baseUrl?: string;
  /** a literal, `$VARIABLE` or `!command` */
  apiKey?: string;
  api?: string;
  headers?: Record<string, string>;
  authHeader?: boolean;
  models?: ProviderModelConfig[];
  streamSimple?: StreamSimple;
  refreshModels?(context: Record<string, unknown>): Promise<ProviderModelConfig[]>;
  oauth?: OAuthConfig;
}

/** What one request is authorized with. */
export interface RequestAuth {
  apiKey?: string;
  headers?: Record<string, string | null>;
  baseUrl?: string;
  env?: Record<string, string>;
}

/** A provider that is more than a configuration, as `createProvider` makes it. */
export interface ProviderObject {
  id: string;
  name?: string;
  baseUrl?: string;
  headers?: Record<string, string | null>;
  auth?: {
    apiKey?: {
      name: string;
      resolve(input: {
        ctx: { env(name: string): Promise<string | undefined>; fileExists(path: string): Promise<boolean> };
        credential?: { type: "api_key"; key?: string; env?: Record<string, string> };
      }): Promise<{ auth: Omit<RequestAuth, "env">; env?: Record<string, string>; source?: string } | undefined>;
    };
    oauth?: {
      name: string;
      login(callbacks: Record<string, unknown>): Promise<OAuthCredentials>;
      refresh(credential: OAuthCredentials, signal?: AbortSignal): Promise<OAuthCredentials>;
      toAuth?(credential: OAuthCredentials): Promise<RequestAuth> | RequestAuth;
    };
  };
  getModels(): readonly Model[];
  refreshModels?(context: Record<string, unknown>): Promise<void>;
  filterModels?(models: readonly Model[], credential: unknown): readonly Model[];
  stream?: StreamSimple;
  streamSimple?: StreamSimple;
}

// ---------------------------------------------------------------- events

export type BoundaryDraft =
  | { type: "custom"; customType: string; data?: unknown }
  | { type: "custom_message"; customType: string; content: string | UserContent[]; display: boolean; details?: unknown }
  | { type: "context_edit"; targetId: string; replacement: null | { content: string | UserContent[] } }
  | { type: "compaction"; summary: string; firstKeptEntryId: string | null; details?: unknown; usage?: Usage };

export interface BoundaryState {
  entries: BoundaryDraft[];
  continue: boolean;
  outcome: "completed" | "aborted" | "error";
  context: {
    contextEntries: SessionProjection["entries"];
    contextMessages: AgentMessage[];
    llmMessages: AgentMessage[];
    pendingMessages: AgentMessage[];
    canContinue: boolean;
  };
}

export interface BoundaryResult {
  entries?: BoundaryDraft[];
  continue?: boolean;
}

type SwitchReason = "new" | "resume" | "fork";
type ToolCallRef = { toolCallId: string; toolName: string };

/** Payload and answer of every event. */
export interface ExtensionEvents {
  project_trust: [{ cwd: string }, { trusted: "yes" | "no" | "undecided"; remember?: boolean }];
  session_start: [{ reason: "startup" | "reload" | SwitchReason; previousSessionFile?: string }, never];
  session_switch: [{ reason: "new" | "resume"; previousSessionFile?: string }, never];
  session_fork: [{ previousSessionFile?: string }, never];
  resources_discover: [{ cwd: string; reason: "startup" | "reload" }, { skillPaths?: string[]; promptPaths?: string[]; themePaths?: string[] }];
  session_info_changed: [{ name?: string }, never];
  session_before_switch: [{ reason: "new" | "resume"; targetSessionFile?: string }, { cancel?: boolean }];
  session_before_branch: [{ entryId: string; position: "before" | "at" }, { cancel?: boolean }];
  session_before_fork: [{ entryId: string; position: "before" | "at" }, { cancel?: boolean; skipConversationRestore?: boolean }];
  session_shutdown: [{ reason: "quit" | "reload" | SwitchReason; targetSessionFile?: string }, never];
  session_before_compact: [
    {
      preparation: CompactionPreparation;
      branchEntries: SessionEntry[];
      customInstructions?: string;
      reason: CompactionReason;
      willRetry: boolean;
      signal: AbortSignal;
    },
    { cancel?: boolean; compaction?: CompactionResult },
  ];
  session_compact: [{ compactionEntry: SessionEntry; fromExtension: boolean; reason: CompactionReason; willRetry: boolean }, never];
  session_compact_failed: [{ reason: CompactionReason; errorMessage?: string; aborted: boolean; willRetry: boolean; fromExtension: boolean }, never];
  session_before_tree: [
    {
      preparation: {
        targetId: string;
        oldLeafId: string | null;
        commonAncestorId: string | null;
        entriesToSummarize: SessionEntry[];
        userWantsSummary: boolean;
        customInstructions?: string;
        replaceInstructions?: boolean;
        label?: string;
      };
      signal: AbortSignal;
    },
    {
      cancel?: boolean;
      summary?: { summary: string; details?: unknown; usage?: Usage };
      customInstructions?: string;
      replaceInstructions?: boolean;
      label?: string;
    },
  ];
  session_tree: [{ newLeafId: string | null; oldLeafId: string | null; summaryEntry?: SessionEntry; fromExtension?: boolean }, never];
  input: [
    { text: string; images?: ImageContent[]; source: "interactive" | "rpc" | "extension"; streamingBehavior?: "steer" | "followUp" },
    { action: "continue" } | { action: "transform"; text: string; images?: ImageContent[] } | { action: "handled" },
  ];
  before_agent_start: [
    { prompt: string; images?: ImageContent[]; readonly systemPrompt: string; systemPromptOptions: SystemPromptOptions },
    { message?: CustomMessageInput; systemPrompt?: string },
  ];
  agent_start: [{}, never];
  agent_end: [{ messages: AgentMessage[] }, never];
  agent_before_settle: [BoundaryState, BoundaryResult];
  agent_settled: [{}, never];
  turn_start: [{ turnIndex: number; timestamp: number }, never];
  turn_end: [
    BoundaryState & {
      turnIndex: number;
      message: AssistantMessage;
      toolResults: ToolResultMessage[];
      messageEntryId: string | undefined;
      toolResultEntryIds: string[];
    },
    BoundaryResult,
  ];
  message_start: [{ message: AgentMessage }, never];
  message_update: [{ message: AssistantMessage; assistantMessageEvent: BlockEvent }, never];
  message_end: [{ message: AgentMessage }, { message: AgentMessage }];
  context: [{ messages: AgentMessage[] }, { messages: AgentMessage[] }];
  context_with_system: [{ messages: AgentMessage[] }, { messages: AgentMessage[] }];
  before_provider_headers: [{ headers: Record<string, string | null> }, never];
  before_provider_request: [{ payload: any }, unknown];
  after_provider_response: [{ status: number; headers: Record<string, string> }, never];
  tool_execution_start: [ToolCallRef & { args: any }, never];
  tool_call: [ToolCallRef & { input: Record<string, any> }, { block?: boolean; reason?: string; terminate?: boolean }];
  tool_execution_update: [ToolCallRef & { args: any; partialResult: AgentToolResult }, never];
  tool_result: [
    ToolCallRef & { input: Record<string, any>; content: UserContent[]; details: any; isError: boolean; usage?: Usage },
    { content?: UserContent[]; details?: unknown; isError?: boolean; usage?: Usage },
  ];
  tool_execution_end: [ToolCallRef & { result: AgentToolResult; isError: boolean }, never];
  user_bash: [
    { command: string; excludeFromContext: boolean; cwd: string },
    { operations: BashOperations } | { result: Partial<BashOutcome> & { output: string } },
  ];
  model_select: [{ model: Model; previousModel?: Model; source: "set" | "cycle" | "restore" }, never];
  thinking_level_select: [{ level: ThinkingLevel; previousLevel: ThinkingLevel }, never];
  ui_prompt_start: [{ reason: "ui_prompt"; kind: "select" | "confirm" | "input" | "editor" | "custom"; title?: string }, never];
  ui_prompt_end: [{ reason: "ui_prompt"; kind: "select" | "confirm" | "input" | "editor" | "custom"; title?: string }, never];
}

export type ExtensionEvent = { [K in keyof ExtensionEvents]: { type: K } & ExtensionEvents[K][0] }[keyof ExtensionEvents];
export type ToolCallEvent = { type: "tool_call" } & ExtensionEvents["tool_call"][0];
export type ToolResultEvent = { type: "tool_result" } & ExtensionEvents["tool_result"][0];
export type InputEvent = { type: "input" } & ExtensionEvents["input"][0];
export type ExtensionEventOf<K extends keyof ExtensionEvents> = { type: K } & ExtensionEvents[K][0];
export type SessionStartEvent = ExtensionEventOf<"session_start">;
export type SessionShutdownEvent = ExtensionEventOf<"session_shutdown">;
export type SessionBeforeSwitchEvent = ExtensionEventOf<"session_before_switch">;
export type SessionBeforeForkEvent = ExtensionEventOf<"session_before_fork">;
export type SessionBeforeCompactEvent = ExtensionEventOf<"session_before_compact">;
export type SessionCompactEvent = ExtensionEventOf<"session_compact">;
export type SessionBeforeTreeEvent = ExtensionEventOf<"session_before_tree">;
export type SessionTreeEvent = ExtensionEventOf<"session_tree">;
export type AgentStartEvent = ExtensionEventOf<"agent_start">;
export type AgentEndEvent = ExtensionEventOf<"agent_end">;
export type TurnStartEvent = ExtensionEventOf<"turn_start">;
export type TurnEndEvent = ExtensionEventOf<"turn_end">;
export type MessageEndEvent = ExtensionEventOf<"message_end">;
export type ContextEvent = ExtensionEventOf<"context">;
export type UserBashEvent = ExtensionEventOf<"user_bash">;
export type ModelSelectEvent = ExtensionEventOf<"model_select">;
export type ProjectTrustEvent = ExtensionEventOf<"project_trust">;
export type ProjectTrustEventResult = ExtensionEvents["project_trust"][1];
export type InputEventResult = ExtensionEvents["input"][1];
export type ToolCallEventResult = ExtensionEvents["tool_call"][1];
export type ToolResultEventResult = ExtensionEvents["tool_result"][1];
export type BeforeAgentStartEventResult = ExtensionEvents["before_agent_start"][1];
export type BeforeAgentStartEvent = { type: "before_agent_start" } & ExtensionEvents["before_agent_start"][0];
export type ExtensionHandler<E, R = undefined> = (event: E, ctx: ExtensionContext) => MaybePromise<R | void>;

// ---------------------------------------------------------------- the API

/** Our addition: hand-over between the versions of a hot-reloaded extension. Absent in other hosts, so use `pi.hot?.`. */
export interface Hot {
  /** what the previous version left */
  readonly data: Record<string, unknown>;
  /** Runs in the old version when the new one takes over. */
  dispose(handOver: (data: Record<string, unknown>) => void): void;
}

type Listen<K extends keyof ExtensionEvents> = (
  event: K,
  handler: (event: ExtensionEventOf<K>, ctx: ExtensionContext) => MaybePromise<ExtensionEvents[K][1] | undefined | null | void>,
) => () => void;
type Intersection<U> = (U extends unknown ? (member: U) => void : never) extends (member: infer I) => void ? I : never;
/** One signature per event, so that answers are checked as they are written. */
type ListenToKnown = Intersection<{ [K in keyof ExtensionEvents]: Listen<K> }[keyof ExtensionEvents]>;
/** Events of other versions are accepted and never sent. */
type ListenToAny = (event: string, handler: (event: any, ctx: ExtensionContext) => unknown) => () => void;

export interface ExtensionAPI {
  on: ListenToKnown & ListenToAny;
  registerTool<P extends TSchema = any, D = any>(definition: ToolDefinition<P, D>): void;
  registerCommand(name: string, options: CommandOptions): void;
  registerShortcut(key: string, options: ShortcutOptions): void;
  registerFlag(name: string, options: FlagOptions): void;
  getFlag(name: string): boolean | string | undefined;
  registerMessageRenderer<T = unknown>(
    customType: string,
    renderer: (message: CustomMessageInput<T> & { timestamp: number }, options: any, theme: Theme) => any,
  ): void;
  registerEntryRenderer<T = unknown>(customType: string, renderer: (entry: { data?: T; [field: string]: any }, options: any, theme: Theme) => any): void;
  registerMarkdownTransformer(transformer: (...args: any[]) => unknown): void;
  sendMessage(message: CustomMessageInput, options?: SendMessageOptions): void;
  sendUserMessage(content: string | UserContent[], options?: SendUserMessageOptions): void;
  appendEntry<T = unknown>(customType: string, data?: T): void;
  setSessionName(name: string): void;
  getSessionName(): string | undefined;
  setLabel(entryId: string, label: string | undefined): void;
  exec(command: string, args: string[], options?: ExecOptions): Promise<ExecResult>;
  getActiveTools(): string[];
  getAllTools(): ToolInfo[];
  setActiveTools(names: string[]): void;
  getCommands(): SlashCommandInfo[];
  setModel(model: Model): Promise<boolean>;
  getThinkingLevel(): ThinkingLevel;
  setThinkingLevel(level: ThinkingLevel): void;
  registerProvider(name: string | ProviderObject, config?: ProviderConfig): void;
  unregisterProvider(name: string): void;
  readonly events: EventBus;
  readonly hot?: Hot;
}
