/** A kernel with the smallest owners of its two ports, for tests of core/ alone. */
import {
  type AgentEvent,
  type AgentMessage,
  type AssistantMessageEvent,
  definePlugin,
  Kernel,
  type Model,
  type ModelRequest,
  type Plugin,
  type PluginKernel,
  type PluginList,
  Stage,
} from "../../core/index.ts";
import { MessageBuilder } from "../../plugins/providers/shared/builder.ts";

export const testModel: Model = {
  id: "test",
  name: "Test",
  api: "test",
  provider: "test",
  baseUrl: "",
  reasoning: true,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 100_000,
  maxTokens: 1000,
};

/** What the test's model does for one request. */
export type Answer = (request: ModelRequest, builder: MessageBuilder) => AsyncGenerator<AssistantMessageEvent> | Generator<AssistantMessageEvent>;

export interface Memory {
  kernel: Kernel;
  /** a plugin's own view, to act as one */
  view: PluginKernel;
  events: AgentEvent[];
  messages: AgentMessage[];
  requests: ModelRequest[];
  /** event types, with repeated updates folded */
  types(): string[];
  /** Submits a prompt and waits until all is quiet. */
  prompt(text: string): Promise<void>;
}

/** Starts a kernel whose model gives `answers` in order. */
export async function startMemory(answers: Answer[], plugins: PluginList = []): Promise<Memory> {
  const kernel = new Kernel();
  const messages: AgentMessage[] = [];
  const events: AgentEvent[] = [];
  const requests: ModelRequest[] = [];
  const waiting = [...answers];
  let view: PluginKernel | undefined;
  const ports: Plugin = definePlugin({
    name: "ports",
    apply(own) {
      view = own;
      own.provide("transcript", { sessionId: () => "s", messages: () => messages, append: (message) => void messages.push(message) });
      own.provide("model", { current: () => testModel, thinkingLevel: () => "off" });
      own.registry("providers").add({
        name: "test",
        async *stream(request) {
          requests.push(request);
          const answer = waiting.shift();
          if (!answer) throw new Error("the test's model has no more answers");
          yield* answer(request, new MessageBuilder(testModel));
        },
      });
      own.hooks.event.tap({ name: "record", stage: Stage.wire }, (event) => void events.push(event));
    },
  });
  await kernel.useAll([ports, plugins]);
  await kernel.start();
  return {
    kernel,
    view: view as PluginKernel,
    events,
    messages,
    requests,
    types: () => events.map(({ type }) => type).filter((type, index, all) => type !== "message_update" || all[index - 1] !== "message_update"),
    async prompt(text) {
      (await (view as PluginKernel).prompt({ text, source: "rpc" })).begin();
      await kernel.run.whenIdle();
      await kernel.bus.flush();
    },
  };
}

/** Says a text. */
export const say = (text: string): Answer =>
  function* (_, builder) {
    yield builder.start();
    yield builder.open("text");
    yield builder.append(text);
    yield builder.close();
    yield builder.done();
  };

/** Calls tools: each `[name, arguments]`. */
export const callTools = (...calls: [string, Record<string, unknown>?][]): Answer =>
  function* (_, builder) {
    yield builder.start();
    for (const [index, [name, args = {}]] of calls.entries()) yield* builder.toolCall(name, [JSON.stringify(args)], `call_${index + 1}`);
    yield builder.done();
  };

/** Fails before the first word. */
export const fail = (message: string): Answer =>
  function* (_, builder) {
    yield builder.fail("error", message);
  };

/** Begins to speak and then waits for the abort. */
export const hang = (text: string): Answer =>
  async function* (request, builder) {
    yield builder.start();
    yield builder.open("text");
    yield builder.append(text);
    await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
    yield builder.fail("aborted", "gone");
  };
