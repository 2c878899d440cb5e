/** What a plugin is, and the small helpers that make one out of a tool, a command and the like. */
import type { Static, TSchema } from "typebox";
import type {
  Accepted,
  AgentEvent,
  Call,
  Command,
  Fault,
  Kinds,
  ModelRequest,
  Options,
  PromptInput,
  PromptTemplate,
  Provider,
  RunDraft,
  Services,
  SlashCommand,
  State,
  Tool,
  ToolInvocation,
  ToolResult,
  Transport,
  Undo,
} from "./contracts.ts";
import type { KernelHooks } from "./hooks.ts";
import type { AgentMessage, AssistantMessageEvent } from "./messages.ts";
import type { Queue } from "./queue.ts";
import type { Contributions } from "./registry.ts";
import type { Run } from "./run.ts";
import type { Rank, Scope } from "./scope.ts";
import type { Owned } from "./taps.ts";

export interface Plugin {
  /** "tool:read", "dialect:omp", "retry": the owner's name in every error */
  readonly name: string;
  /** capabilities it needs, not plugin names */
  readonly requires?: readonly (keyof Services)[];
  apply(kernel: PluginKernel): void | Undo | Promise<void | Undo>;
}

/** Lists may nest and hold `false`, so that a feature exports an array and an option is `wanted && plugin`. */
export type PluginList = readonly (Plugin | PluginList | false | undefined | null)[];

export interface UseOptions extends Partial<Rank> {
  /** keep registrations out of sight until `show` */
  staged?: boolean;
}

/** A plugin that is loaded; its owner shows, withdraws and releases it. */
export interface Loaded {
  readonly plugin: Plugin;
  readonly scope: Scope;
}

/** One plugin's own view of the kernel: it remembers all that the plugin registers. */
export interface PluginKernel {
  /** the plugin's name */
  readonly name: string;
  /** tap and tapPromise only */
  readonly hooks: Owned<KernelHooks>;
  readonly queue: Queue;
  readonly run: Run;
  /** values of the command line; complete from `start` on */
  readonly options: Options;
  registry<K extends keyof Kinds>(kind: K): Contributions<Kinds[K]>;
  provide<K extends keyof Services>(name: K, service: Services[K]): () => void;
  /** Look up late, inside handlers: a reload may replace it. Throws, naming the missing one. */
  service<K extends keyof Services>(name: K): Services[K];
  /** undefined where no plugin provides it */
  tryService<K extends keyof Services>(name: K): Services[K] | undefined;
  /** the same care for another plugin's hooks */
  own<T extends object>(hooks: T): Owned<T>;
  /** Remembers how to take something back when the plugin is unloaded. */
  defer(undo: Undo): () => unknown;
  prompt(input: PromptInput): Promise<Accepted>;
  /** Starts a run without a prompt: no input handlers. Refuses if one is active. */
  startRun(run: Partial<RunDraft>): Promise<Accepted>;
  /** Announces and stores a message outside of a run. */
  append(message: AgentMessage): Promise<void>;
  /** The current system prompt. */
  systemPrompt(run?: RunDraft): Promise<string>;
  /** One model call with the request's hooks, outside of the loop; failure is an `error` event. */
  stream(request: StreamRequest): AsyncIterable<AssistantMessageEvent>;
  execute(command: string, params: unknown, call?: Partial<Call>): Promise<Executed>;
  /** Like `execute` for a command of the registry, but where it answers at once there is no promise, and its failure is thrown. */
  invoke(command: Command, params: unknown, call?: Partial<Call>): Executed | Promise<Executed>;
  /** what get_state answers */
  describe(): State;
  emit(event: AgentEvent): void;
  /** Runs work in the order of events; at once if none was emitted since the position `since`. */
  enqueue(work: () => void, since?: number): void;
  /** The place in the order of events that is reached now. */
  position(): number;
  /** Resolves when everything emitted so far is delivered. Never from inside a tap of `event`. */
  flush(): Promise<void> | undefined;
  /** Sources await this before they pull more; undefined: go on. */
  ready(): Promise<void> | undefined;
  /** A transport's word on whether the wire can take more. */
  gate(gate: () => Promise<void> | undefined): () => void;
  fault(fault: Omit<Fault, "from"> & { from?: string }): void;
  /** children, e.g. extensions */
  use(plugin: Plugin, options?: UseOptions): Promise<Loaded>;
  remove(name: string): Promise<void>;
  /** Ends the agent in order. */
  stop(reason?: string): Promise<void>;
  /** names of loaded plugins in order */
  plugins(): readonly string[];
}

export type StreamRequest = Pick<ModelRequest, "model" | "messages" | "systemPrompt"> & Partial<ModelRequest>;

export interface Executed {
  data: unknown;
  /** Call once the reply is queued; an ordered lane waits for the promise before it starts the next command. */
  after(): Promise<unknown> | undefined;
}

export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}

/** Flattens nested lists and drops what is switched off. */
export function flatten(list: PluginList): Plugin[] {
  const plugins: Plugin[] = [];
  const add = (item: PluginList[number]): void => {
    if (Array.isArray(item)) (item as PluginList).forEach(add);
    else if (item) plugins.push(item as Plugin);
  };
  list.forEach(add);
  return plugins;
}

/** A tool as a plugin; `execute` gets the plugin's kernel as its second argument. */
export function tool<S extends TSchema, D = unknown>(
  definition: Omit<Tool, "execute" | "parameters"> & {
    parameters: S;
    execute(invocation: ToolInvocation<Static<S>>, kernel: PluginKernel): Promise<ToolResult<D>>;
  },
): Plugin {
  return {
    name: `tool:${definition.name}`,
    apply(kernel) {
      kernel.registry("tools").add({ ...definition, execute: (invocation) => definition.execute(invocation as ToolInvocation<Static<S>>, kernel) });
    },
  };
}

/** A protocol command as a plugin; `run` gets the plugin's kernel and the call. */
export function command<S extends TSchema>(
  definition: Omit<Command, "run" | "params"> & {
    params?: () => S;
    requires?: readonly (keyof Services)[];
    run(params: Static<S>, kernel: PluginKernel, call: Call): unknown;
  },
): Plugin {
  const { requires, params = () => ({ type: "object", properties: {} }) as unknown as S, ...rest } = definition;
  return {
    name: `command:${definition.name}`,
    requires,
    apply(kernel) {
      kernel.registry("commands").add({ ...rest, params, run: (given, call) => definition.run(given, kernel, call) });
    },
  };
}

export function provider(definition: Provider): Plugin {
  return { name: `provider:${definition.name}`, apply: (kernel) => void kernel.registry("providers").add(definition) };
}

export function slashCommand(definition: SlashCommand): Plugin {
  return { name: `slash:${definition.name}`, apply: (kernel) => void kernel.registry("slashCommands").add(definition) };
}

export function promptTemplate(definition: PromptTemplate): Plugin {
  return { name: `template:${definition.name}`, apply: (kernel) => void kernel.registry("promptTemplates").add(definition) };
}

export function transport(definition: Transport & { apply?(kernel: PluginKernel): void }): Plugin {
  return {
    name: `transport:${definition.name}`,
    apply(kernel) {
      definition.apply?.(kernel);
      kernel.registry("transports").add(definition);
    },
  };
}
