/** Sessions within the session (`createAgentSession`): an agent loop of their own, on the models, credentials and tools that are here. */
import {
  type AgentEvent,
  type AgentMessage,
  type AssistantMessage,
  definePlugin,
  type ImageContent,
  Kernel,
  type Model,
  messageOf,
  type PluginKernel,
  Stage,
  type ThinkingLevel,
  type Tool,
} from "../../../core/index.ts";
import { uuidv7 } from "../../shared/ids.ts";
import { clampUp, supportedLevels } from "../../shared/thinking.ts";
import type { Instance } from "../instance.ts";
import type { Runtime } from "../runtime.ts";
import { adaptTool } from "../tools.ts";
import { chosenTools, ownerOf, type PromptParts, promptOf, statsOf, type ToolChoice, toolsOf } from "./agent-session-parts.ts";

interface SessionStore {
  getSessionId(): string;
  getSessionFile?(): string | undefined;
  buildSessionContext(): { messages: AgentMessage[] };
  appendMessage(message: AgentMessage): unknown;
  appendSessionInfo?(name: string): unknown;
}

export interface AgentSessionOptions extends ToolChoice {
  cwd?: string;
  model?: Model;
  thinkingLevel?: ThinkingLevel;
  resourceLoader?: PromptParts;
  sessionManager?: SessionStore;
}

interface PromptOptions {
  images?: ImageContent[];
  streamingBehavior?: "steer" | "followUp";
}

/** The factory for extensions of `runtime`. */
export function agentSessions(runtime: Runtime) {
  return async (options: AgentSessionOptions = {}) => {
    const session = new AgentSession(runtime, options);
    await session.start();
    return { session, extensionsResult: { extensions: [], errors: [], runtime: {} } };
  };
}

export class AgentSession {
  readonly cwd: string;
  readonly sessionManager: SessionStore | undefined;
  readonly #runtime: Runtime;
  readonly #options: AgentSessionOptions;
  readonly #kernel = new Kernel();
  #view: PluginKernel | undefined;
  readonly #instance: Instance;
  readonly #id: string;
  readonly #listeners = new Set<(event: AgentEvent) => void>();
  readonly #apis = new Set<string>();
  #messages: AgentMessage[];
  #model: Model | undefined;
  #level: ThinkingLevel;
  readonly #tools: Tool[];
  #active: string[];
  #name: string | undefined;
  readonly #undo: (() => void)[] = [];
  #isDisposed = false;

  constructor(runtime: Runtime, options: AgentSessionOptions) {
    const { cwd = runtime.cwd, model, thinkingLevel, sessionManager } = options;
    this.#runtime = runtime;
    this.#options = options;
    this.cwd = cwd;
    this.sessionManager = sessionManager;
    this.#id = sessionManager?.getSessionId() ?? uuidv7();
    this.#messages = [...(sessionManager?.buildSessionContext().messages ?? [])];
    const port = runtime.kernel.tryService("model");
    this.#model = model ?? port?.current();
    this.#level = thinkingLevel ?? port?.thinkingLevel() ?? "off";
    this.#instance = ownerOf(runtime);
    this.#tools = toolsOf(options, cwd).map((definition) => adaptTool(runtime, this.#instance, definition));
    this.#active = chosenTools(options);
  }

  async start(): Promise<void> {
    const ports = definePlugin({
      name: "session-within",
      apply: (own) => {
        this.#view = own;
        own.provide("transcript", { sessionId: () => this.#id, messages: () => this.#messages, append: (message) => this.#append(message) });
        own.provide("model", { current: () => this.#model, thinkingLevel: () => this.thinkingLevel });
        for (const role of this.#runtime.kernel.registry("roles").all()) own.registry("roles").add(role);
        for (const tool of this.#tools) own.registry("tools").add(tool);
        own.hooks.offer.tap("session-within", (tools) => tools.filter(({ name }) => this.#active.includes(name)));
        own.hooks.systemPrompt.tap("session-within", () => this.systemPrompt);
        own.hooks.beforeRun.tap("session-within", () => this.#speakModel());
        own.hooks.event.tap({ name: "session-within", stage: Stage.wire }, (event) => this.#tell(event));
      },
    });
    await this.#kernel.use(ports);
    await this.#kernel.start({ cwd: this.cwd });
    // Nothing of it outlives the program's work, or its extension.
    this.#undo.push(this.#runtime.kernel.hooks.stopping.tap("extensions:session-within", () => void this.abort()));
    this.#undo.push(this.#instance.onRetired(() => this.dispose()));
  }

  // ------------------------------------------------------------ what is asked of it

  /** Resolves when the agent has settled; rejects if the prompt is refused. */
  async prompt(text: string, { images, streamingBehavior }: PromptOptions = {}): Promise<void> {
    const given = { text, ...(images && { images }), ...(streamingBehavior && { whileRunning: streamingBehavior }), source: "extension" as const };
    // Its work is ours: only listeners and tools run in the extension's name.
    await this.#runtime.leave(async () => {
      const accepted = await this.#own().prompt(given);
      accepted.begin();
      if (accepted.outcome !== "started") return;
      await this.waitForIdle();
      await this.#kernel.bus.flush();
    });
  }

  sendUserMessage = (content: string | { type: string; text?: string }[], options: { deliverAs?: "steer" | "followUp" } = {}): Promise<void> => {
    const text = typeof content === "string" ? content : content.flatMap((block) => block.text ?? []).join("\n");
    return this.prompt(text, options.deliverAs ? { streamingBehavior: options.deliverAs } : {});
  };

  async steer(text: string, images?: ImageContent[]): Promise<void> {
    await this.#runtime.leave(() => this.#own().prompt({ text, ...(images && { images }), queue: "steer", source: "extension" }));
  }

  async followUp(text: string, images?: ImageContent[]): Promise<void> {
    await this.#runtime.leave(() => this.#own().prompt({ text, ...(images && { images }), queue: "followUp", source: "extension" }));
  }

  abort = (): Promise<void> => this.#kernel.run.abort();
  waitForIdle = (): Promise<void> => this.#kernel.run.whenIdle();

  /** Calls `listener` for every event from now on. */
  subscribe = (listener: (event: AgentEvent) => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#listeners.clear();
    for (const undo of this.#undo) undo();
    void this.#kernel
      .stop()
      .then(() => this.#kernel.removeAll())
      .catch((error) => this.#runtime.complain(messageOf(error)));
  }

  clearQueue(): { steering: string[]; followUp: string[] } {
    return this.#kernel.queue.clear();
  }

  async setModel(model: Model): Promise<void> {
    this.#model = model;
  }

  setThinkingLevel(level: ThinkingLevel): void {
    this.#level = level;
  }

  setActiveToolsByName(names: string[]): void {
    this.#active = [...new Set(names)];
  }

  setSessionName(name: string): void {
    this.#name = name;
    this.sessionManager?.appendSessionInfo?.(name);
  }

  // Extensions are those of the session around it; it has none of its own.
  async bindExtensions(): Promise<void> {}
  async reload(): Promise<void> {}
  hasExtensionHandlers = (): boolean => false;
  abortCompaction(): void {}
  abortRetry(): void {}

  async compact(): Promise<never> {
    throw new Error("A session within the session is not compacted; start another one.");
  }

  // ------------------------------------------------------------ what it is

  get sessionId(): string {
    return this.#id;
  }
  get sessionFile(): string | undefined {
    return this.sessionManager?.getSessionFile?.();
  }
  get sessionName(): string | undefined {
    return this.#name;
  }
  get model(): Model | undefined {
    return this.#model;
  }
  get thinkingLevel(): ThinkingLevel {
    return this.#model ? clampUp(this.#level, supportedLevels(this.#model)) : "off";
  }
  get messages(): AgentMessage[] {
    return this.#messages;
  }
  get isStreaming(): boolean {
    return !this.#kernel.run.idle;
  }
  get isIdle(): boolean {
    return this.#kernel.run.idle;
  }
  get isCompacting(): boolean {
    return false;
  }
  get pendingMessageCount(): number {
    return this.#kernel.queue.length;
  }
  get hasQueuedMessages(): boolean {
    return !this.#kernel.queue.isEmpty();
  }
  get modelRegistry(): unknown {
    return this.#runtime.contextOf(this.#instance).modelRegistry;
  }
  get scopedModels(): unknown[] {
    return [];
  }

  get systemPrompt(): string {
    return promptOf(this.#runtime, {
      loader: this.#options.resourceLoader,
      cwd: this.cwd,
      tools: this.#tools.filter(({ name }) => this.#active.includes(name)),
    });
  }

  get state() {
    const session = this;
    return {
      get messages() {
        return session.#messages;
      },
      /** A conversation to go on with. */
      set messages(messages: AgentMessage[]) {
        session.#messages = [...messages];
      },
      model: this.#model,
      thinkingLevel: this.thinkingLevel,
      systemPrompt: this.systemPrompt,
      tools: this.#tools.filter(({ name }) => this.#active.includes(name)),
      isStreaming: this.isStreaming,
      errorMessage: this.#last()?.errorMessage,
    };
  }

  get agent() {
    const { abort, waitForIdle, subscribe } = this;
    const session = this;
    return {
      get state() {
        return session.state;
      },
      sessionId: this.#id,
      abort,
      waitForIdle,
      subscribe,
      prompt: (text: string) => this.prompt(text),
      replaceMessages: (messages: AgentMessage[]) => {
        this.#messages = [...messages];
      },
    };
  }

  getActiveToolNames = (): string[] =>
    this.#own()
      .registry("tools")
      .all()
      .map(({ name }) => name)
      .filter((name) => this.#active.includes(name));
  getAllTools = () =>
    this.#own()
      .registry("tools")
      .all()
      .map(({ name, description, parameters }) => ({ name, description, parameters }));

  getLastAssistantText(): string | undefined {
    const texts = this.#last()?.content.flatMap((block) => (block.type === "text" ? [block.text] : []));
    return texts?.join("").trim() || undefined;
  }

  getContextUsage() {
    const tokens = this.#last()?.usage.totalTokens ?? null;
    const contextWindow = this.#model?.contextWindow ?? 0;
    return { tokens, contextWindow, percent: tokens === null || contextWindow === 0 ? null : (tokens / contextWindow) * 100 };
  }

  getSessionStats = () => ({ sessionFile: this.sessionFile, sessionId: this.#id, ...statsOf(this.#messages) });

  // ------------------------------------------------------------ inside

  #own(): PluginKernel {
    if (this.#isDisposed || !this.#view) throw new Error("This session has been disposed of.");
    return this.#view;
  }

  #last(): AssistantMessage | undefined {
    return this.#messages.findLast((message): message is AssistantMessage => message.role === "assistant");
  }

  #append(message: AgentMessage): void {
    this.#messages.push(message);
    this.sessionManager?.appendMessage(message);
  }

  #tell(event: AgentEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        this.#runtime.runAs(this.#instance, () => listener(event));
      } catch (error) {
        this.#runtime.complain(`A listener of a session within the session failed: ${messageOf(error)}`);
      }
    }
  }

  /** Whatever API the model speaks is spoken by the agent around it, with its credentials. */
  async #speakModel(): Promise<void> {
    if (!this.#model) throw new Error("No model is selected.");
    await this.#runtime.kernel.tryService("models")?.requireAuth(this.#model);
    const { api } = this.#model;
    if (this.#apis.has(api)) return;
    this.#apis.add(api);
    const around = this.#runtime.kernel;
    this.#own()
      .registry("providers")
      .add({
        name: api,
        stream: ({ model, systemPrompt, messages, tools, signal, thinkingLevel, sessionId }) =>
          around.stream({ model, systemPrompt, messages, tools, signal, thinkingLevel, sessionId }),
      });
  }
}
