/** The SDK: an agent in your process. It touches nothing global, so several may live side by side. */
import {
  type AgentEvent,
  type AgentMessage,
  definePlugin,
  type ImageContent,
  Kernel,
  type Options,
  type PluginKernel,
  type PluginList,
  Stage,
} from "../core/index.ts";
import type { Branding } from "../plugins/settings/contract.ts";
import { branding as ours } from "./branding.ts";

export interface AgentOptions {
  /** e.g. a shipped list, or your own */
  plugins: PluginList;
  /** working directory of the session; default: the process's */
  cwd?: string;
  /** values of command-line flags by name, e.g. { model: "offline/demo", "no-session": true } */
  options?: Options;
  branding?: Branding;
}

export interface Agent {
  readonly kernel: Kernel;
  /** Submits a prompt and resolves when the agent has settled; throws if it is refused. */
  prompt(text: string, options?: { images?: ImageContent[]; whileRunning?: "steer" | "followUp" }): Promise<void>;
  /** Runs a protocol command and answers its data. */
  execute(command: string, params?: object): Promise<unknown>;
  messages(): readonly AgentMessage[];
  /** Every event from now on, until the agent stops or the loop is left. */
  events(): AsyncIterableIterator<AgentEvent>;
  abort(): Promise<void>;
  stop(): Promise<void>;
}

/** Loads the plugins and starts the agent. */
export async function createAgent({ plugins, cwd = process.cwd(), options = {}, branding = ours }: AgentOptions): Promise<Agent> {
  const kernel = new Kernel();
  const readers = new Set<EventReader>();
  let view: PluginKernel | undefined;
  const sdk = definePlugin({
    name: "transport:sdk",
    apply(own) {
      view = own;
      own.hooks.event.tap({ name: "sdk", stage: Stage.wire }, (event) => {
        for (const reader of readers) reader.push(event);
      });
    },
  });
  try {
    await kernel.useAll([sdk, plugins]);
    await kernel.start({ mode: "sdk", ...options, cwd, branding });
  } catch (error) {
    await kernel.removeAll();
    throw error;
  }
  const own = view as unknown as PluginKernel;

  return {
    kernel,
    async prompt(text, { images, whileRunning } = {}) {
      const accepted = await own.prompt({ text, source: "rpc", ...(images && { images }), ...(whileRunning && { whileRunning }) });
      accepted.begin();
      if (accepted.outcome === "handled") return;
      await kernel.run.whenIdle();
      await kernel.bus.flush();
    },
    async execute(command, params = {}) {
      const executed = await kernel.execute(command, params, { source: "sdk" });
      await executed.after();
      return executed.data;
    },
    messages: () => kernel.service("transcript").messages(),
    events() {
      const reader = new EventReader(() => readers.delete(reader));
      readers.add(reader);
      return reader;
    },
    abort: () => kernel.run.abort(),
    async stop() {
      await kernel.stop("quit");
      await kernel.removeAll();
      for (const reader of readers) reader.end();
    },
  };
}

/** One reader's place in the stream of events. */
class EventReader implements AsyncIterableIterator<AgentEvent> {
  readonly #leave: () => void;
  readonly #waiting: AgentEvent[] = [];
  #resolve: ((result: IteratorResult<AgentEvent>) => void) | undefined;
  #isEnded = false;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  push(event: AgentEvent): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    if (resolve) resolve({ value: event, done: false });
    else this.#waiting.push(event);
  }

  end(): void {
    this.#isEnded = true;
    this.#resolve?.({ value: undefined, done: true });
    this.#leave();
  }

  next(): Promise<IteratorResult<AgentEvent>> {
    const value = this.#waiting.shift();
    if (value) return Promise.resolve({ value, done: false });
    if (this.#isEnded) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  return(): Promise<IteratorResult<AgentEvent>> {
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
