/** Generated from the program's schemas by scripts/generate-client-types.mjs: types of the protocol and one method per command. */
export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
export type UpdateMode = "full" | "delta";
export type QueueMode = "all" | "one-at-a-time";
export type InterruptMode = "immediate" | "wait";
export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted" | "pending" | "deferred";
export type Usage = {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  reasoning?: number;
  cacheWrite1h?: number;
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
};
export type TextContent = { type: "text"; text: string; textSignature?: string };
export type ThinkingContent = { type: "thinking"; thinking: string; thinkingSignature?: string; redacted?: boolean };
export type ToolCall = { type: "toolCall"; id: string; name: string; arguments: Record<string, unknown>; thoughtSignature?: string; namespace?: string };
export type ImageContent =
  | { type: "image"; data: string; mimeType: string }
  | { type: "image"; source: { type: "base64"; mediaType: string; data: string } | { type: "url"; url: string } };
export type Attachment = {
  id: string;
  type: "image" | "document";
  fileName: string;
  mimeType: string;
  size: number;
  content: string;
  extractedText?: string | null;
  preview?: string | null;
};
export type Model = {
  id: string;
  name: string;
  api: string;
  provider: string;
  baseUrl: string;
  reasoning: boolean;
  input: ("text" | "image")[];
  contextWindow: number;
  maxTokens: number;
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number };
  compat?: Record<string, unknown>;
  headers?: Record<string, unknown>;
};
export type Block =
  | TextContent
  | { type: "image"; data: string; mimeType: string }
  | { type: "image"; source: { type: "base64"; mediaType: string; data: string } };
export type AgentToolResult = { content: Block[]; details?: unknown; usage?: Usage };
export type AssistantMessageEvent =
  | { type: "text_start"; contentIndex: number }
  | { type: "thinking_start"; contentIndex: number }
  | { type: "toolcall_start"; contentIndex: number; id: string; toolName: string }
  | { type: "text_delta"; contentIndex: number; delta: string }
  | { type: "thinking_delta"; contentIndex: number; delta: string }
  | { type: "toolcall_delta"; contentIndex: number; delta: string }
  | { type: "text_end"; contentIndex: number; content: string }
  | { type: "thinking_end"; contentIndex: number; content: string }
  | { type: "toolcall_end"; contentIndex: number; toolCall: ToolCall };
export type UserMessage = { role: "user"; content: string | Block[]; timestamp: number; attachments?: Attachment[] };
export type AssistantMessage = {
  role: "assistant";
  content: (TextContent | ThinkingContent | ToolCall)[];
  api: string;
  provider: string;
  model: string;
  usage: Usage;
  stopReason: StopReason;
  errorMessage?: string;
  responseModel?: string;
  responseId?: string;
  rawStopReason?: string;
  timestamp: number;
};
export type ToolResultMessage = {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: Block[];
  details?: unknown;
  usage?: Usage;
  isError: boolean;
  timestamp: number;
};
export type CustomMessage = { role: "custom"; customType: string; content: string | Block[]; display: boolean; details?: unknown; timestamp: number };
export type BashExecutionMessage = {
  role: "bashExecution";
  command: string;
  output: string;
  exitCode: number | null;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath?: string | null;
  excludeFromContext?: boolean;
  timestamp: number;
};
export type BranchSummaryMessage = { role: "branchSummary"; summary: string; fromId: string | null; timestamp: number };
export type CompactionSummaryMessage = { role: "compactionSummary"; summary: string; tokensBefore: number; timestamp: number };
export type AgentMessage =
  | UserMessage
  | AssistantMessage
  | ToolResultMessage
  | BashExecutionMessage
  | CustomMessage
  | BranchSummaryMessage
  | CompactionSummaryMessage;
export type SessionEntry =
  | { type: "message"; id: string; parentId: string | null; timestamp: string; message: AgentMessage }
  | { type: "model_change"; id: string; parentId: string | null; timestamp: string; provider: string; modelId: string }
  | { type: "thinking_level_change"; id: string; parentId: string | null; timestamp: string; thinkingLevel: ThinkingLevel }
  | {
      type: "compaction";
      id: string;
      parentId: string | null;
      timestamp: string;
      summary: string;
      usage?: Usage;
      details?: unknown;
      fromHook?: boolean;
      firstKeptEntryId: string;
      tokensBefore: number;
    }
  | {
      type: "branch_summary";
      id: string;
      parentId: string | null;
      timestamp: string;
      summary: string;
      usage?: Usage;
      details?: unknown;
      fromHook?: boolean;
      fromId: string | null;
    }
  | { type: "custom"; id: string; parentId: string | null; timestamp: string; customType: string; data?: unknown }
  | {
      type: "custom_message";
      id: string;
      parentId: string | null;
      timestamp: string;
      customType: string;
      content: string | (TextContent | { type: "image"; data: string; mimeType: string })[];
      display: boolean;
      details?: unknown;
    }
  | { type: "label"; id: string; parentId: string | null; timestamp: string; targetId: string; label?: string }
  | { type: "session_info"; id: string; parentId: string | null; timestamp: string; name?: string }
  | { type: "usage"; id: string; parentId: string | null; timestamp: string; kind: string; provider?: string; model?: string; usage: Usage; note?: string }
  | {
      type: "context_edit";
      id: string;
      parentId: string | null;
      timestamp: string;
      targetId: string;
      replacement: { content: string | (TextContent | { type: "image"; data: string; mimeType: string })[] } | null;
    };
export type TreeNode = { entry: SessionEntry; children: TreeNode[]; label?: string; labelTimestamp?: string };
export type CompactionReason = "manual" | "threshold" | "overflow";
export type CompactionResult = {
  summary: string;
  firstKeptEntryId: string;
  tokensBefore: number;
  estimatedTokensAfter?: number;
  usage?: Usage;
  details?: unknown;
};
export type BashResult = {
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
};
export type TodoTask = { id: string; content: string; status: "pending" | "in_progress" | "completed" | "abandoned" };
export type TodoPhase = { id: string; name: string; tasks: TodoTask[] };
export type SessionInfo = {
  path: string;
  id: string;
  cwd: string;
  name?: string;
  created: string;
  modified: string;
  messageCount: number;
  firstMessage: string;
  parentSession?: string;
};
export type ToolInfo = { name: string; label: string; description: string; parameters: Record<string, unknown>; active: boolean; source: string };
export type ExtensionInfo = {
  path: string;
  name: string;
  state: "active" | "failed" | "quarantined";
  generation: number;
  loadMs: number;
  error?: string;
  faults: number;
  owns: { tools: string[]; commands: string[]; events: string[]; providers: string[]; flags: string[]; timers: number; children: number; dialogs: number };
};
export type SlashCommand = {
  name: string;
  description?: string;
  source: "extension" | "prompt" | "skill";
  location?: "user" | "project" | "path";
  path?: string;
  sourceInfo?: { path: string; source: string; scope: "user" | "project" | "temporary"; origin: "top-level" | "package"; baseDir?: string };
};
export type ForkMessage = { entryId: string; text: string };
export type SessionState = {
  model: Model | null;
  thinkingLevel: ThinkingLevel;
  isStreaming: boolean;
  isCompacting: boolean;
  steeringMode: QueueMode;
  followUpMode: QueueMode;
  interruptMode: InterruptMode;
  sessionFile?: string;
  sessionId: string;
  sessionName?: string;
  autoCompactionEnabled: boolean;
  autoRetryEnabled?: boolean;
  messageCount: number;
  pendingMessageCount: number;
  queuedMessageCount: number;
  todoPhases: Record<string, unknown>[];
  protocol: { version: 1; dialect: string; updates: UpdateMode };
};
export type SessionStats = {
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
};
/** Parameters and results by command. `undefined`: the command answers no data. */
export interface Commands {
  abort: { params: Record<string, never>; result: undefined };
  abort_and_prompt: { params: { message: string; images?: ImageContent[]; attachments?: Attachment[] }; result: undefined };
  abort_bash: { params: Record<string, never>; result: undefined };
  abort_retry: { params: Record<string, never>; result: undefined };
  bash: { params: { command: string; excludeFromContext?: boolean }; result: BashResult };
  branch: { params: { entryId: string }; result: { text: string; cancelled: boolean } };
  clear_queue: { params: Record<string, never>; result: { steering: string[]; followUp: string[] } };
  clone: { params: Record<string, never>; result: { cancelled: boolean } };
  compact: { params: { customInstructions?: string }; result: CompactionResult };
  cycle_model: { params: Record<string, never>; result: { model: Model; thinkingLevel: ThinkingLevel; isScoped: boolean } | null };
  cycle_thinking_level: { params: Record<string, never>; result: { level: ThinkingLevel } | null };
  export_html: { params: { outputPath?: string }; result: { path: string } };
  follow_up: { params: { message: string; images?: ImageContent[] }; result: undefined };
  fork: { params: { entryId: string }; result: { text: string; cancelled: boolean } };
  get_available_models: { params: Record<string, never>; result: { models: Model[] } };
  get_available_thinking_levels: { params: Record<string, never>; result: { levels: ThinkingLevel[] } };
  get_branch_messages: { params: Record<string, never>; result: { messages: ForkMessage[] } };
  get_commands: { params: Record<string, never>; result: { commands: SlashCommand[] } };
  get_entries: { params: { since?: string }; result: { entries: SessionEntry[]; leafId: string | null } };
  get_extensions: { params: Record<string, never>; result: { extensions: ExtensionInfo[] } };
  get_fork_messages: { params: Record<string, never>; result: { messages: ForkMessage[] } };
  get_last_assistant_text: { params: Record<string, never>; result: { text: string | null } };
  get_messages: { params: Record<string, never>; result: { messages: AgentMessage[] } };
  get_protocol: {
    params: Record<string, never>;
    result: {
      version: number;
      dialect: string;
      updateMode: UpdateMode;
      commands: Record<string, unknown>;
      inbound: Record<string, unknown>;
      events: Record<string, unknown>;
    };
  };
  get_session_stats: { params: Record<string, never>; result: SessionStats };
  get_state: { params: Record<string, never>; result: SessionState };
  get_tools: { params: Record<string, never>; result: { tools: ToolInfo[] } };
  get_tree: { params: Record<string, never>; result: { tree: TreeNode[]; leafId: string | null } };
  list_sessions: { params: { cwd?: string; all?: boolean; limit?: number; cursor?: string }; result: { sessions: SessionInfo[]; nextCursor?: string } };
  navigate_tree: {
    params: { targetId: string; summarize?: boolean; customInstructions?: string; label?: string };
    result: { cancelled: boolean; editorText?: string };
  };
  new_session: { params: { parentSession?: string }; result: { cancelled: boolean } };
  prompt: { params: { message: string; images?: ImageContent[]; attachments?: Attachment[]; streamingBehavior?: "steer" | "followUp" }; result: undefined };
  reload: { params: { path?: string }; result: { reloaded: string[]; failed: { path: string; error: string }[] } };
  resume_events: { params: { after: number }; result: { from: number; to: number } };
  set_active_tools: { params: { names: string[] }; result: { toolNames: string[] } };
  set_auto_compaction: { params: { enabled: boolean }; result: undefined };
  set_auto_retry: { params: { enabled: boolean }; result: undefined };
  set_follow_up_mode: { params: { mode: QueueMode }; result: undefined };
  set_host_tools: {
    params: { tools: { name: string; label?: string; description: string; parameters: Record<string, unknown> }[] };
    result: { toolNames: string[] };
  };
  set_interrupt_mode: { params: { mode: InterruptMode }; result: undefined };
  set_label: { params: { entryId: string; label?: string }; result: undefined };
  set_model: { params: { provider: string; modelId: string }; result: Model };
  set_session_name: { params: { name: string }; result: undefined };
  set_steering_mode: { params: { mode: QueueMode }; result: undefined };
  set_thinking_level: { params: { level: ThinkingLevel }; result: undefined };
  set_todos: {
    params: {
      phases: { id?: string; name?: string; tasks?: { id?: string; content: string; status?: "pending" | "in_progress" | "completed" | "abandoned" }[] }[];
    };
    result: { todoPhases: TodoPhase[] };
  };
  set_update_mode: { params: { mode: UpdateMode }; result: { mode: UpdateMode; previous: UpdateMode } };
  steer: { params: { message: string; images?: ImageContent[] }; result: undefined };
  switch_session: { params: { sessionPath: string }; result: { cancelled: boolean } };
}
export type CommandName = keyof Commands;
/** What the agent says unasked, by `type`. */
export interface Events {
  agent_end: { type: "agent_end"; messages: AgentMessage[]; willRetry: boolean };
  agent_settled: { type: "agent_settled" };
  agent_start: { type: "agent_start" };
  auto_compaction_end: {
    type: "auto_compaction_end";
    reason?: "threshold" | "overflow";
    result: Record<string, unknown> | null;
    aborted: boolean;
    willRetry: boolean;
    errorMessage?: string;
  };
  auto_compaction_start: { type: "auto_compaction_start"; reason: "threshold" | "overflow" };
  auto_retry_end: { type: "auto_retry_end"; success: boolean; attempt: number; finalError?: string };
  auto_retry_start: { type: "auto_retry_start"; attempt: number; maxAttempts: number; delayMs: number; errorMessage: string };
  bash_end: { type: "bash_end"; message: BashExecutionMessage };
  bash_execution_update: { type: "bash_execution_update"; id?: string | number; delta: string };
  compaction: { type: "compaction"; summary: string; tokensBefore: number; auto?: true };
  compaction_end: {
    type: "compaction_end";
    reason: CompactionReason;
    result: CompactionResult | null;
    aborted: boolean;
    willRetry: boolean;
    errorMessage?: string;
  };
  compaction_start: { type: "compaction_start"; reason: CompactionReason };
  entry_appended: { type: "entry_appended"; entry: SessionEntry };
  error: { type: "error"; error: string };
  extension_error: { type: "extension_error"; extensionPath: string; event: string; error: string };
  extension_quarantined: { type: "extension_quarantined"; extensionPath: string; faults: number; lastError: string };
  extension_reload: { type: "extension_reload"; extensionPath: string; success: boolean; durationMs: number; generation: number; error?: string };
  extension_ui_request:
    | { type: "extension_ui_request"; id: string; method: "select"; title: string; options: string[]; timeout?: number }
    | { type: "extension_ui_request"; id: string; method: "confirm"; title: string; message: string; timeout?: number }
    | { type: "extension_ui_request"; id: string; method: "input"; title: string; placeholder?: string; timeout?: number }
    | { type: "extension_ui_request"; id: string; method: "editor"; title: string; prefill?: string; timeout?: number }
    | { type: "extension_ui_request"; id: string; method: "notify"; message: string; notifyType?: "info" | "warning" | "error" }
    | { type: "extension_ui_request"; id: string; method: "setStatus"; statusKey: string; statusText?: string }
    | {
        type: "extension_ui_request";
        id: string;
        method: "setWidget";
        widgetKey: string;
        widgetLines?: string[];
        widgetPlacement?: "aboveEditor" | "belowEditor";
      }
    | { type: "extension_ui_request"; id: string; method: "setTitle"; title: string }
    | { type: "extension_ui_request"; id: string; method: "set_editor_text"; text: string };
  host_tool_call: { type: "host_tool_call"; id: string; toolCallId: string; toolName: string; arguments: Record<string, unknown> };
  host_tool_cancel: { type: "host_tool_cancel"; id: string; targetId: string };
  message_end: { type: "message_end"; message: AgentMessage };
  message_start: { type: "message_start"; message: AgentMessage };
  message_update:
    | {
        type: "message_update";
        message: AssistantMessage;
        assistantMessageEvent:
          | { type: "text_start"; contentIndex: number; partial?: AssistantMessage }
          | { type: "thinking_start"; contentIndex: number; partial?: AssistantMessage }
          | { type: "toolcall_start"; contentIndex: number; id: string; toolName: string; partial?: AssistantMessage }
          | { type: "text_delta"; contentIndex: number; delta: string; partial?: AssistantMessage }
          | { type: "thinking_delta"; contentIndex: number; delta: string; partial?: AssistantMessage }
          | { type: "toolcall_delta"; contentIndex: number; delta: string; partial?: AssistantMessage }
          | { type: "text_end"; contentIndex: number; content: string; partial?: AssistantMessage }
          | { type: "thinking_end"; contentIndex: number; content: string; partial?: AssistantMessage }
          | { type: "toolcall_end"; contentIndex: number; toolCall: ToolCall; partial?: AssistantMessage };
      }
    | { type: "message_update"; usage: Usage; assistantMessageEvent: AssistantMessageEvent };
  model_changed: { type: "model_changed"; model: Model; source: "set" | "cycle" | "restore" | "extension" };
  queue_update: { type: "queue_update"; steering: string[]; followUp: string[] };
  session_info_changed: { type: "session_info_changed"; name?: string };
  summarization_retry_attempt_start: { type: "summarization_retry_attempt_start"; source: "compaction" | "branchSummary"; reason?: CompactionReason };
  summarization_retry_finished: { type: "summarization_retry_finished" };
  summarization_retry_scheduled: { type: "summarization_retry_scheduled"; attempt: number; maxAttempts: number; delayMs: number; errorMessage: string };
  thinking_level_changed: { type: "thinking_level_changed"; level: ThinkingLevel };
  todo_auto_clear: { type: "todo_auto_clear" };
  todo_reminder: { type: "todo_reminder"; todos: TodoTask[]; attempt: number; maxAttempts: number };
  tool_execution_end: { type: "tool_execution_end"; toolCallId: string; toolName: string; result: AgentToolResult | string; isError: boolean };
  tool_execution_start: { type: "tool_execution_start"; toolCallId: string; toolName: string; args: Record<string, unknown> };
  tool_execution_update: { type: "tool_execution_update"; toolCallId: string; toolName: string; args: Record<string, unknown>; partialResult: AgentToolResult };
  ttsr_triggered: { type: "ttsr_triggered"; rules: { name: string; description?: string; path?: string }[] };
  turn_end: { type: "turn_end"; message: AssistantMessage; toolResults: ToolResultMessage[] };
  turn_start: { type: "turn_start" };
}
export type EventName = keyof Events;
export type AgentEvent = Events[EventName];
/** Makes one method of each command. */
export abstract class CommandMethods {
  abstract call<Name extends CommandName>(command: Name, params?: Commands[Name]["params"]): Promise<Commands[Name]["result"]>;
  abort(): Promise<Commands["abort"]["result"]> {
    return this.call("abort");
  }
  abortAndPrompt(params: Commands["abort_and_prompt"]["params"]): Promise<Commands["abort_and_prompt"]["result"]> {
    return this.call("abort_and_prompt", params);
  }
  abortBash(): Promise<Commands["abort_bash"]["result"]> {
    return this.call("abort_bash");
  }
  abortRetry(): Promise<Commands["abort_retry"]["result"]> {
    return this.call("abort_retry");
  }
  bash(params: Commands["bash"]["params"]): Promise<Commands["bash"]["result"]> {
    return this.call("bash", params);
  }
  branch(params: Commands["branch"]["params"]): Promise<Commands["branch"]["result"]> {
    return this.call("branch", params);
  }
  clearQueue(): Promise<Commands["clear_queue"]["result"]> {
    return this.call("clear_queue");
  }
  clone(): Promise<Commands["clone"]["result"]> {
    return this.call("clone");
  }
  compact(params?: Commands["compact"]["params"]): Promise<Commands["compact"]["result"]> {
    return this.call("compact", params);
  }
  cycleModel(): Promise<Commands["cycle_model"]["result"]> {
    return this.call("cycle_model");
  }
  cycleThinkingLevel(): Promise<Commands["cycle_thinking_level"]["result"]> {
    return this.call("cycle_thinking_level");
  }
  exportHtml(params?: Commands["export_html"]["params"]): Promise<Commands["export_html"]["result"]> {
    return this.call("export_html", params);
  }
  followUp(params: Commands["follow_up"]["params"]): Promise<Commands["follow_up"]["result"]> {
    return this.call("follow_up", params);
  }
  fork(params: Commands["fork"]["params"]): Promise<Commands["fork"]["result"]> {
    return this.call("fork", params);
  }
  getAvailableModels(): Promise<Commands["get_available_models"]["result"]> {
    return this.call("get_available_models");
  }
  getAvailableThinkingLevels(): Promise<Commands["get_available_thinking_levels"]["result"]> {
    return this.call("get_available_thinking_levels");
  }
  getBranchMessages(): Promise<Commands["get_branch_messages"]["result"]> {
    return this.call("get_branch_messages");
  }
  getCommands(): Promise<Commands["get_commands"]["result"]> {
    return this.call("get_commands");
  }
  getEntries(params?: Commands["get_entries"]["params"]): Promise<Commands["get_entries"]["result"]> {
    return this.call("get_entries", params);
  }
  getExtensions(): Promise<Commands["get_extensions"]["result"]> {
    return this.call("get_extensions");
  }
  getForkMessages(): Promise<Commands["get_fork_messages"]["result"]> {
    return this.call("get_fork_messages");
  }
  getLastAssistantText(): Promise<Commands["get_last_assistant_text"]["result"]> {
    return this.call("get_last_assistant_text");
  }
  getMessages(): Promise<Commands["get_messages"]["result"]> {
    return this.call("get_messages");
  }
  getProtocol(): Promise<Commands["get_protocol"]["result"]> {
    return this.call("get_protocol");
  }
  getSessionStats(): Promise<Commands["get_session_stats"]["result"]> {
    return this.call("get_session_stats");
  }
  getState(): Promise<Commands["get_state"]["result"]> {
    return this.call("get_state");
  }
  getTools(): Promise<Commands["get_tools"]["result"]> {
    return this.call("get_tools");
  }
  getTree(): Promise<Commands["get_tree"]["result"]> {
    return this.call("get_tree");
  }
  listSessions(params?: Commands["list_sessions"]["params"]): Promise<Commands["list_sessions"]["result"]> {
    return this.call("list_sessions", params);
  }
  navigateTree(params: Commands["navigate_tree"]["params"]): Promise<Commands["navigate_tree"]["result"]> {
    return this.call("navigate_tree", params);
  }
  newSession(params?: Commands["new_session"]["params"]): Promise<Commands["new_session"]["result"]> {
    return this.call("new_session", params);
  }
  prompt(params: Commands["prompt"]["params"]): Promise<Commands["prompt"]["result"]> {
    return this.call("prompt", params);
  }
  reload(params?: Commands["reload"]["params"]): Promise<Commands["reload"]["result"]> {
    return this.call("reload", params);
  }
  resumeEvents(params: Commands["resume_events"]["params"]): Promise<Commands["resume_events"]["result"]> {
    return this.call("resume_events", params);
  }
  setActiveTools(params: Commands["set_active_tools"]["params"]): Promise<Commands["set_active_tools"]["result"]> {
    return this.call("set_active_tools", params);
  }
  setAutoCompaction(params: Commands["set_auto_compaction"]["params"]): Promise<Commands["set_auto_compaction"]["result"]> {
    return this.call("set_auto_compaction", params);
  }
  setAutoRetry(params: Commands["set_auto_retry"]["params"]): Promise<Commands["set_auto_retry"]["result"]> {
    return this.call("set_auto_retry", params);
  }
  setFollowUpMode(params: Commands["set_follow_up_mode"]["params"]): Promise<Commands["set_follow_up_mode"]["result"]> {
    return this.call("set_follow_up_mode", params);
  }
  setHostTools(params: Commands["set_host_tools"]["params"]): Promise<Commands["set_host_tools"]["result"]> {
    return this.call("set_host_tools", params);
  }
  setInterruptMode(params: Commands["set_interrupt_mode"]["params"]): Promise<Commands["set_interrupt_mode"]["result"]> {
    return this.call("set_interrupt_mode", params);
  }
  setLabel(params: Commands["set_label"]["params"]): Promise<Commands["set_label"]["result"]> {
    return this.call("set_label", params);
  }
  setModel(params: Commands["set_model"]["params"]): Promise<Commands["set_model"]["result"]> {
    return this.call("set_model", params);
  }
  setSessionName(params: Commands["set_session_name"]["params"]): Promise<Commands["set_session_name"]["result"]> {
    return this.call("set_session_name", params);
  }
  setSteeringMode(params: Commands["set_steering_mode"]["params"]): Promise<Commands["set_steering_mode"]["result"]> {
    return this.call("set_steering_mode", params);
  }
  setThinkingLevel(params: Commands["set_thinking_level"]["params"]): Promise<Commands["set_thinking_level"]["result"]> {
    return this.call("set_thinking_level", params);
  }
  setTodos(params: Commands["set_todos"]["params"]): Promise<Commands["set_todos"]["result"]> {
    return this.call("set_todos", params);
  }
  setUpdateMode(params: Commands["set_update_mode"]["params"]): Promise<Commands["set_update_mode"]["result"]> {
    return this.call("set_update_mode", params);
  }
  steer(params: Commands["steer"]["params"]): Promise<Commands["steer"]["result"]> {
    return this.call("steer", params);
  }
  switchSession(params: Commands["switch_session"]["params"]): Promise<Commands["switch_session"]["result"]> {
    return this.call("switch_session", params);
  }
}
