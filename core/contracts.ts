/** The shapes that plugins fill in: what can be contributed, provided and configured. */
import type { TSchema } from "typebox";
import type { AgentEvent } from "./events.ts";
import type {
  AgentMessage,
  AssistantMessage,
  AssistantMessageEvent,
  ImageContent,
  LlmMessage,
  TextContent,
  ToolCall,
  ToolResultMessage,
  Usage,
  UserContent,
  UserMessage,
} from "./messages.ts";
import type { PluginKernel } from "./plugin.ts";

/** Takes back what the same call did. */
export type Undo = () => unknown;

// ---------------------------------------------------------------- models

export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

export interface ModelCost {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  tiers?: { inputTokensAbove: number; input: number; output: number; cacheRead: number; cacheWrite: number }[];
}

/** A model; equality is provider and id. Holds no secrets. */
export interface Model {
  id: string;
  name: string;
  /** the wire API, which names the provider contribution that speaks it */
  api: string;
  provider: string;
  baseUrl: string;
  reasoning: boolean;
  thinkingLevelMap?: Partial<Record<ThinkingLevel, string | null>>;
  input: ("text" | "image")[];
  cost: ModelCost;
  contextWindow: number;
  maxTokens: number;
  headers?: Record<string, string>;
  compat?: Record<string, unknown>;
  inputLimits?: Record<string, unknown>;
  promptCache?: Record<string, unknown>;
  samplingParams?: Record<string, unknown>;
}

/** What a provider is asked for. */
export interface ModelRequest {
  model: Model;
  thinkingLevel: ThinkingLevel;
  systemPrompt: string;
  messages: LlmMessage[];
  tools: readonly ToolSpec[];
  signal: AbortSignal;
  /** groups requests for prompt caches */
  sessionId: string;
  maxTokens?: number;
  temperature?: number;
  /** false: do not write a prompt cache for this request */
  cache?: boolean;
  /** credential given by the caller; else the provider finds the configured one */
  apiKey?: string;
  headers?: Record<string, string>;
  /** Plugins may replace the payload right before it is sent. It is `unseen` if nobody wants to: then the payload need not be one of its own. */
  onPayload(payload: unknown): Promise<unknown>;
  /** Plugins may change headers (null deletes one). */
  onHeaders(headers: Record<string, string | null>): Promise<void>;
  onResponse(response: { status: number; headers: Record<string, string> }): Promise<void>;
}

/** The part of a tool that a model is told. */
export interface ToolSpec {
  name: string;
  description: string;
  parameters: TSchema | Record<string, unknown>;
}

/** One wire API. Failure is data: `stream` yields an `error` event and does not throw. */
export interface Provider {
  /** the api id, e.g. "anthropic-messages"; "api@provider" serves that provider's models only */
  name: string;
  stream(request: ModelRequest): AsyncIterable<AssistantMessageEvent>;
}

// ---------------------------------------------------------------- tools

export interface ToolResult<D = unknown> {
  content: UserContent[];
  details?: D;
  usage?: Usage;
  /** the run stops after this batch if every result says so */
  terminate?: boolean;
}

export interface ToolInvocation<P = Record<string, unknown>> {
  toolCallId: string;
  params: P;
  signal: AbortSignal;
  /** the whole partial result so far; ignored once `execute` has settled */
  onUpdate(partial: ToolResult): void;
}

/** Something the model can do. Errors are thrown; a returned value is never an error. */
export interface Tool<P = any, D = unknown> extends ToolSpec {
  label: string;
  /** one line for the system prompt's tool list */
  promptSnippet?: string;
  promptGuidelines?: readonly string[];
  executionMode?: "sequential" | "parallel";
  /** repairs raw arguments before they are validated */
  prepareArguments?(raw: unknown): unknown;
  execute(invocation: ToolInvocation<P>): Promise<ToolResult<D>>;
  /** where it comes from, for lists */
  sourceInfo?: SourceInfo;
}

/** A tool call on its way: `input` may be changed by guards. */
export interface ToolCallDraft {
  toolCall: ToolCall;
  tool: Tool;
  input: Record<string, unknown>;
  signal: AbortSignal;
}

export interface ToolOutcome {
  content: UserContent[];
  details?: unknown;
  usage?: Usage;
  isError: boolean;
  terminate?: boolean;
}

export interface ToolVerdict {
  block: true;
  reason?: string;
  terminate?: boolean;
}

// ---------------------------------------------------------------- commands, slash commands, templates

export interface SourceInfo {
  path: string;
  source: string;
  scope: "user" | "project" | "temporary";
  origin: "top-level" | "package";
  baseDir?: string;
}

/** When a command may start: at once, in order without being waited for, or in order. */
export type Lane = "immediate" | "background" | "ordered";

/** One execution of a command. */
export interface Call {
  id?: string | number;
  source: "rpc" | "sdk" | "plugin";
  /** aborted when the caller is gone */
  signal: AbortSignal;
  /** Work that starts once the reply is queued: what it emits follows the reply. Later ordered commands wait for its promise. */
  after(work: () => unknown): void;
  /** The parameters are fine and the rest may take a while: a transport that promises early answers gives one now. */
  acknowledge?(): void;
}

/** A command of the protocol. Schemas are thunks: building them all at start would cost most of the start-up time. */
export interface Command<P = any> {
  name: string;
  params: () => TSchema;
  /** schema of `data`; absent: no data */
  result?: () => TSchema;
  lane?: Lane | ((params: Record<string, unknown>) => Lane);
  /** an inbound record that gets no response */
  silent?: boolean;
  /** Takes no parameters and changes nothing: while nothing else is done, its answer stays the same. */
  reads?: boolean;
  run(params: P, call: Call): unknown;
}

/** What `/name args` runs at once. */
export interface SlashCommand {
  name: string;
  description?: string;
  sourceInfo?: SourceInfo;
  run(args: string, kernel: PluginKernel): unknown;
}

/** What `/name args` is replaced by. */
export interface PromptTemplate {
  name: string;
  description: string;
  argumentHint?: string;
  sourceInfo?: SourceInfo;
  /** with the placeholders of the template syntax */
  body: string;
}

/** How a role of `CustomMessages` looks to a model; undefined leaves it out. */
export interface Role {
  name: string;
  toModel(message: AgentMessage): UserMessage | undefined;
}

/** A command-line option that a plugin understands. */
export interface Flag {
  /** long name without dashes */
  name: string;
  /** short name without dash, e.g. "e" or "nbt" */
  alias?: string;
  /** "optional": a string, or true without a value */
  type: "boolean" | "string" | "strings" | "optional";
  description: string;
  /** e.g. "<level>", for help */
  placeholder?: string;
  /** heading in help */
  group?: string;
  default?: boolean | string;
  hidden?: boolean;
  /** What the program does instead of serving a transport, once started; answers the exit status. */
  action?(value: unknown, io: Io): Promise<number>;
}

/** The streams a transport is given. */
export interface Io {
  readonly stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  /** carries frames or the answer, and nothing else */
  readonly stdout: NodeJS.WritableStream & { isTTY?: boolean };
  readonly stderr: NodeJS.WritableStream & { isTTY?: boolean };
  /**
   * Hands on input as it comes, without a stream in between: the first `count` bytes of a buffer that is used again. The answer tells of
   * the end and can be paused; undefined: only `stdin` can be read here.
   */
  readBytes?(onBytes: (bytes: Buffer, count: number) => void): NodeJS.ReadableStream | undefined;
  /**
   * Writes bytes, or a text as UTF-8, without a stream in between; answers how many bytes were taken at once. The rest goes through
   * `stdout`, which nothing overtakes.
   */
  writeNow?(line: Buffer | string): number;
}

/** A way for the outside to reach the agent: `--mode name`. */
export interface Transport {
  name: string;
  /** what `ctx.mode` says to extensions */
  mode: "tui" | "rpc" | "json" | "print";
  /** Serves until the conversation is over and answers the exit status. Called after `start`. */
  serve(io: Io): Promise<number>;
}

/** A sub-command of the program: `pi name args…`. It answers the exit status. */
export interface CliCommand {
  name: string;
  description: string;
  /** e.g. "install <source> [-l]" */
  usage?: string;
  /** The command line that this one is short for; it is run instead. undefined: none, `run` does the work. */
  expand?(args: string[]): string[] | undefined | Promise<string[] | undefined>;
  run(args: string[], io: Io): Promise<number>;
}

/** One event type's schema, for `get_protocol`. */
export interface EventSchema {
  name: string;
  schema: () => TSchema;
}

/** Registries by kind; features merge their own. Every item is known by its `name`. */
export interface Kinds {
  tools: Tool;
  providers: Provider;
  commands: Command;
  slashCommands: SlashCommand;
  promptTemplates: PromptTemplate;
  roles: Role;
  flags: Flag;
  transports: Transport;
  cliCommands: CliCommand;
  events: EventSchema;
}

/** Services by name; features merge their own. */
export interface Services {
  transcript: Transcript;
  model: ModelPort;
}

/** Values of the command line (or of `createAgent`), by flag name; features merge their own. */
export interface Options {
  /** working directory of the session */
  cwd?: string;
  /** the transport in use */
  mode?: string;
  /** long options that no plugin of the list knows, for extensions: name to value, or true without one */
  unknownFlags?: ReadonlyMap<string, string | true>;
  [flag: string]: unknown;
}

/** The kernel's narrow view of the conversation. Its owner is the session plugin. */
export interface Transcript {
  sessionId(): string;
  /** the active branch as the next request sees it, before conversion */
  messages(): readonly AgentMessage[];
  /** Stores a message; returns (or resolves) once it is handed to the operating system. */
  append(message: AgentMessage): void | Promise<void>;
}

/** The kernel's narrow view of the model in use. Its owner is the models plugin. */
export interface ModelPort {
  current(): Model | undefined;
  thinkingLevel(): ThinkingLevel;
}

// ---------------------------------------------------------------- prompts and runs

export type Behaviour = "steer" | "followUp";

/** What a caller submits. */
export interface PromptInput {
  text: string;
  images?: ImageContent[];
  /** further text after the prompt's own, e.g. documents */
  blocks?: TextContent[];
  /** further fields of the user message, e.g. attachments */
  extra?: Record<string, unknown>;
  /** what to do if a run is active; absent: refuse */
  whileRunning?: Behaviour;
  /** only queue, never start a run */
  queue?: Behaviour;
  source: "interactive" | "rpc" | "extension";
  /** false: no slash commands, skills or templates */
  expand?: boolean;
}

/** A prompt on its way in: text and images may be changed. */
export interface PromptDraft {
  text: string;
  images: ImageContent[];
  blocks?: TextContent[];
  extra?: Record<string, unknown>;
  readonly source: PromptInput["source"];
  readonly expand: boolean;
  /** set if a run is active or the input is only queued */
  readonly streamingBehavior?: Behaviour;
  readonly queueOnly: boolean;
}

/** A run about to start. Features merge what they carry through it. */
export interface RunDraft {
  /** false for a run that a plugin starts without a prompt */
  prompted: boolean;
  /** the final text of the prompt */
  text: string;
  images: ImageContent[];
  /** what the run begins with: the user message first */
  messages: AgentMessage[];
  /** replaces the system prompt for this run */
  systemPrompt?: string;
}

export interface Accepted {
  outcome: "handled" | "queued" | "started";
  /** Starts the accepted run; call it once the reply is queued. Does nothing unless started. */
  begin(): void;
}

/** How one pass of the loop ended. */
export interface RunOutcome {
  /** every message added during the pass */
  messages: AgentMessage[];
  last: AssistantMessage | undefined;
  status: "completed" | "aborted" | "error";
}

/** A moment between the parts of a run. */
export interface Boundary {
  at: "start" | "turn" | "settle";
  signal: AbortSignal;
  status: RunOutcome["status"];
  /** between two turns: messages that the next one begins with; no plugin is asked about them any more */
  joining: AgentMessage[];
}

/** A turn that is about to be announced as ended. */
export interface TurnDraft {
  turnIndex: number;
  message: AssistantMessage;
  toolResults: ToolResultMessage[];
  /** set true to ask for one more model call */
  continue: boolean;
}

export interface Fault {
  /** the plugin or file whose code failed */
  from: string;
  /** the event, hook or moment */
  during: string;
  error: unknown;
}

/** What `get_state` answers; each owner writes its own fields. */
export interface State {
  [field: string]: unknown;
}

export type { AgentEvent };
