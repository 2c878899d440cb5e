import { Type } from "typebox";
import { describe, expect, it } from "vitest";
import { type AgentEvent, type AssistantMessage, definePlugin, type Tool, textOf, tool } from "../../core/index.ts";
import { callTools, fail, hang, type Memory, say, startMemory } from "../helpers/memory.ts";

const echo = tool({
  name: "echo",
  label: "Echo",
  description: "Says it again",
  parameters: Type.Object({ text: Type.String() }),
  async execute({ params }) {
    return { content: [{ type: "text", text: params.text }] };
  },
});

/** A tool that ends when the test says so. */
function gated(name: string, executionMode?: Tool["executionMode"]) {
  const started: (() => void)[] = [];
  let finish: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const plugin = tool({
    name,
    label: name,
    description: name,
    parameters: Type.Object({}),
    ...(executionMode && { executionMode }),
    async execute({ signal }) {
      for (const resolve of started.splice(0)) resolve();
      await Promise.race([done, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
      if (signal.aborted) throw new Error("stopped");
      return { content: [{ type: "text", text: name }] };
    },
  });
  return { plugin, finish: () => finish(), started: new Promise<void>((resolve) => started.push(resolve)) };
}

const toolTexts = ({ messages }: Memory) => messages.flatMap((message) => (message.role === "toolResult" ? [textOf(message.content)] : []));
const last = ({ messages }: Memory) => messages.at(-1) as AssistantMessage;
const toolEvents = ({ events }: Memory) =>
  events
    .filter((event): event is Extract<AgentEvent, { toolCallId: string }> => "toolCallId" in event)
    .map((event) => `${event.type.slice(15)} ${event.toolCallId}`);

describe("a run", () => {
  it("announces a text in the order of the protocol", async () => {
    const memory = await startMemory([say("Hello")]);
    await memory.prompt("Hi");
    expect(memory.types()).toEqual([
      "agent_start",
      "turn_start",
      "message_start",
      "message_end",
      "message_start",
      "message_update",
      "message_end",
      "turn_end",
      "agent_end",
      "agent_settled",
    ]);
    expect(memory.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  it("lists every message of the run in agent_end", async () => {
    const memory = await startMemory([callTools(["echo", { text: "a" }]), say("done")], [echo]);
    await memory.prompt("Hi");
    const end = memory.events.find((event) => event.type === "agent_end");
    expect(end?.messages).toEqual(memory.messages);
  });

  it("shows each increment as a snapshot that does not change later", async () => {
    const memory = await startMemory([
      function* (_, builder) {
        yield builder.start();
        yield builder.open("text");
        yield builder.append("one ");
        yield builder.append("two");
        yield builder.close();
        yield builder.done();
      },
    ]);
    await memory.prompt("Hi");
    const texts = memory.events.flatMap((event) => (event.type === "message_update" ? [textOf(event.message.content)] : []));
    expect(texts).toEqual(["", "one ", "one two", "one two"]);
  });

  it("refuses a second prompt while one runs, and takes it with a behaviour", async () => {
    const memory = await startMemory([hang("one"), say("two")]);
    const accepted = await memory.view.prompt({ text: "Hi", source: "rpc" });
    await expect(memory.view.prompt({ text: "Again", source: "rpc" })).rejects.toThrow("Agent is already processing.");
    accepted.begin();
    const queued = await memory.view.prompt({ text: "Again", source: "rpc", whileRunning: "followUp" });
    expect(queued.outcome).toBe("queued");
    await memory.kernel.run.abort();
    expect(memory.kernel.queue.texts().followUp).toEqual(["Again"]);
  });

  it("makes an assistant message of a provider's failure", async () => {
    const memory = await startMemory([fail("529 overloaded")]);
    await memory.prompt("Hi");
    expect(last(memory)).toMatchObject({ stopReason: "error", errorMessage: "529 overloaded", content: [] });
    const start = memory.events.findLast((event) => event.type === "message_start");
    expect(start?.message).toMatchObject({ stopReason: "error" });
  });

  it("goes on after a run when a plugin says continue", async () => {
    let passes = 0;
    const again = definePlugin({
      name: "again",
      apply: (kernel) => void kernel.hooks.afterRun.tap("again", () => (passes++ === 0 ? "continue" : undefined)),
    });
    const memory = await startMemory([say("one"), say("two")], [again]);
    await memory.prompt("Hi");
    expect(memory.types().filter((type) => type.startsWith("agent_"))).toEqual(["agent_start", "agent_end", "agent_start", "agent_end", "agent_settled"]);
  });
});

describe("tools", () => {
  it("run in parallel and announce their results in call order", async () => {
    const slow = gated("slow");
    const quick = gated("quick");
    const memory = await startMemory([callTools(["slow"], ["quick"]), say("done")], [slow.plugin, quick.plugin]);
    const run = memory.prompt("Hi");
    await Promise.all([slow.started, quick.started]);
    quick.finish();
    await waitFor(() => toolEvents(memory).includes("end call_2"));
    slow.finish();
    await run;
    expect(toolEvents(memory)).toEqual(["start call_1", "start call_2", "end call_2", "end call_1"]);
    expect(toolTexts(memory)).toEqual(["slow", "quick"]);
  });

  it("run one after the other if one of them is sequential", async () => {
    const first = gated("first", "sequential");
    const memory = await startMemory([callTools(["first"], ["echo", { text: "x" }]), say("done")], [first.plugin, echo]);
    const run = memory.prompt("Hi");
    await first.started;
    first.finish();
    await run;
    expect(toolEvents(memory)).toEqual(["start call_1", "end call_1", "start call_2", "end call_2"]);
  });

  it("get arguments of the right type, or tell the model what was wrong", async () => {
    const memory = await startMemory([callTools(["echo", { text: 5 }], ["echo", {}], ["nope"]), say("done")], [echo]);
    await memory.prompt("Hi");
    const [converted, missing, unknown] = toolTexts(memory);
    expect(converted).toBe("5");
    expect(missing).toMatch(/^Validation failed for tool "echo":\n - .*text/);
    expect(missing).toContain("Received arguments:\n{}");
    expect(unknown).toBe("Tool nope not found");
  });

  it("are blocked by a guard, and by a guard that fails", async () => {
    const guard = definePlugin({
      name: "guard",
      apply(kernel) {
        kernel.hooks.toolCall.tap("guard", ({ input }) => {
          if (input.text === "bad") return { block: true, reason: "Not that." };
          if (input.text === "bug") throw new Error("guard broke");
        });
      },
    });
    const calls = callTools(["echo", { text: "bad" }], ["echo", { text: "bug" }], ["echo", { text: "ok" }]);
    const memory = await startMemory([calls, say("done")], [echo, guard]);
    await memory.prompt("Hi");
    expect(toolTexts(memory)).toEqual(["Not that.", "guard broke", "ok"]);
  });

  it("are not run when the output limit cut the message off", async () => {
    const memory = await startMemory(
      [
        function* (_, builder) {
          yield builder.start();
          yield* builder.toolCall("echo", ['{"text":"x"}'], "call_1");
          yield builder.done("length");
        },
        say("again"),
      ],
      [echo],
    );
    await memory.prompt("Hi");
    expect(toolTexts(memory)).toEqual(["Tool call was cut off by the output limit."]);
  });

  it("end the run only if all of a batch ask for it", async () => {
    const ending = tool({
      name: "ending",
      label: "Ending",
      description: "Ends",
      parameters: Type.Object({}),
      execute: async () => ({ content: [], terminate: true }),
    });
    const memory = await startMemory([callTools(["ending"], ["echo", { text: "x" }]), callTools(["ending"])], [echo, ending]);
    await memory.prompt("Hi");
    expect(memory.requests).toHaveLength(2);
  });

  it("become an error when they return no result", async () => {
    const silent = tool({ name: "silent", label: "Silent", description: "", parameters: Type.Object({}), execute: async () => undefined as never });
    const memory = await startMemory([callTools(["silent"]), say("done")], [silent]);
    await memory.prompt("Hi");
    expect(toolTexts(memory)[0]).toContain("Tool silent returned undefined");
  });
});

describe("steering and follow-ups", () => {
  it("a steering message arrives after the tools and before the next model call, one per turn", async () => {
    const slow = gated("slow");
    const memory = await startMemory([callTools(["slow"]), say("a"), say("b")], [slow.plugin]);
    const run = memory.prompt("Hi");
    await slow.started;
    await memory.view.prompt({ text: "one", source: "rpc", queue: "steer" });
    await memory.view.prompt({ text: "two", source: "rpc", queue: "steer" });
    slow.finish();
    await run;
    expect(memory.messages.map((message) => (message.role === "user" ? textOf(message.content) : message.role))).toEqual([
      "Hi",
      "assistant",
      "toolResult",
      "one",
      "assistant",
      "two",
      "assistant",
    ]);
  });

  it("mode all delivers everything in one turn", async () => {
    const memory = await startMemory([say("a")]);
    memory.kernel.queue.steeringMode = "all";
    await memory.view.prompt({ text: "one", source: "rpc", queue: "steer" });
    await memory.view.prompt({ text: "two", source: "rpc", queue: "steer" });
    await memory.prompt("Hi");
    expect(memory.requests).toHaveLength(1);
    expect(memory.requests[0]?.messages.map(({ content }) => textOf(content))).toEqual(["Hi", "one", "two"]);
  });

  it("follow-ups come when the run would stop, without an agent_end in between", async () => {
    const memory = await startMemory([say("a"), say("b")]);
    await memory.view.prompt({ text: "later", source: "rpc", queue: "followUp" });
    await memory.prompt("Hi");
    expect(memory.types().filter((type) => type === "agent_end")).toHaveLength(1);
    expect(memory.requests).toHaveLength(2);
  });

  it("announces the queue directly before each delivered message", async () => {
    const memory = await startMemory([say("a"), say("b")]);
    await memory.view.prompt({ text: "later", source: "rpc", queue: "followUp" });
    await memory.prompt("Hi");
    const isDelivery = (event: AgentEvent) => event.type === "message_start" && event.message.role === "user" && textOf(event.message.content) === "later";
    expect(memory.events[memory.events.findIndex(isDelivery) - 1]).toEqual({ type: "queue_update", steering: [], followUp: [] });
  });

  it("interrupt mode immediate skips the calls that have not started", async () => {
    const slow = gated("slow");
    const memory = await startMemory([callTools(["slow"], ["echo", { text: "x" }]), say("stopped")], [slow.plugin, echo]);
    memory.kernel.queue.interruptMode = "immediate";
    const run = memory.prompt("Hi");
    await slow.started;
    await memory.view.prompt({ text: "stop", source: "rpc", queue: "steer" });
    slow.finish();
    await run;
    expect(toolTexts(memory)).toEqual(["slow", "Skipped due to queued user message."]);
  });
});

describe("abort", () => {
  it("ends a stream with what was said and closes the open block", async () => {
    const memory = await startMemory([hang("one two ")]);
    const run = memory.prompt("Hi");
    await waitFor(() => memory.events.some((event) => event.type === "message_update" && event.assistantMessageEvent.type === "text_delta"));
    await memory.kernel.run.abort();
    await run;
    expect(last(memory)).toMatchObject({ stopReason: "aborted", errorMessage: "Request was aborted", content: [{ type: "text", text: "one two " }] });
    const updates = memory.events.flatMap((event) => (event.type === "message_update" ? [event.assistantMessageEvent.type] : []));
    expect(updates).toEqual(["text_start", "text_delta", "text_end"]);
    expect(memory.types().slice(-3)).toEqual(["turn_end", "agent_end", "agent_settled"]);
  });

  it("during tools gives each call a result and ends with an empty aborted message", async () => {
    const slow = gated("slow");
    const memory = await startMemory([callTools(["slow"])], [slow.plugin]);
    const run = memory.prompt("Hi");
    await slow.started;
    await memory.kernel.run.abort();
    await run;
    expect(toolTexts(memory)).toEqual(["stopped"]);
    expect(last(memory)).toMatchObject({ stopReason: "aborted", content: [] });
  });

  it.each(["context", "toolCall", "message", "turn", "event"] as const)("does not wait for a tap of %s that never answers", async (hook) => {
    let reached = false;
    const never = () => {
      reached = true;
      return new Promise<undefined>(() => {});
    };
    const stuck = definePlugin({
      name: "stuck",
      apply: (kernel) => void (kernel.hooks[hook] as { tap(name: string, fn: () => unknown): void }).tap("stuck", never),
    });
    const memory = await startMemory([callTools(["echo", { text: "x" }]), say("done")], [echo, stuck]);
    (await memory.view.prompt({ text: "Hi", source: "rpc" })).begin();
    await waitFor(() => reached);
    await memory.kernel.run.abort();
    expect(memory.kernel.run.idle).toBe(true);
  });

  it.each(["input", "beforeRun"] as const)("does not wait for a tap of %s that never answers: the run begins and ends as aborted", async (hook) => {
    let reached = false;
    const never = () => {
      reached = true;
      return new Promise<undefined>(() => {});
    };
    const stuck = definePlugin({
      name: "stuck",
      apply: (kernel) => void (kernel.hooks[hook] as { tap(name: string, fn: () => unknown): void }).tap("stuck", never),
    });
    const memory = await startMemory([say("unheard")], [stuck]);
    const begun = memory.view.prompt({ text: "Hi", source: "rpc" }).then((accepted) => accepted.begin());
    await waitFor(() => reached);
    await memory.kernel.run.abort();
    await begun;
    expect(memory.kernel.run.idle).toBe(true);
    expect(last(memory)).toMatchObject({ stopReason: "aborted", content: [] });
  });

  it("leaves in the queue what was steered before it, also if a handler still looks at the text", async () => {
    let letGo: (() => void) | undefined;
    const slow = definePlugin({
      name: "slow",
      apply(kernel) {
        kernel.hooks.input.tap("slow", ({ text }) => (text === "slow" ? new Promise<undefined>((resolve) => (letGo = () => resolve(undefined))) : undefined));
      },
    });
    const memory = await startMemory([hang("x")], [slow]);
    (await memory.view.prompt({ text: "Hi", source: "rpc" })).begin();
    await waitFor(() => memory.requests.length === 1);
    const steered = memory.view.prompt({ text: "slow", source: "rpc", whileRunning: "steer" });
    await waitFor(() => letGo !== undefined);
    await memory.kernel.run.abort();
    letGo?.();
    expect((await steered).outcome).toBe("queued");
    expect(memory.kernel.run.idle).toBe(true);
    expect(memory.kernel.queue.texts()).toEqual({ steering: ["slow"], followUp: [] });
  });

  it("does not wait for a model that ignores it", async () => {
    const memory = await startMemory([
      async function* (_, builder) {
        yield builder.start();
        await new Promise(() => {});
      },
    ]);
    (await memory.view.prompt({ text: "Hi", source: "rpc" })).begin();
    await waitFor(() => memory.requests.length === 1);
    await memory.kernel.run.abort();
    expect(last(memory).stopReason).toBe("aborted");
  });

  it("leaves the queues alone", async () => {
    const memory = await startMemory([hang("x"), say("y"), say("z")]);
    (await memory.view.prompt({ text: "Hi", source: "rpc" })).begin();
    await waitFor(() => memory.requests.length === 1);
    await memory.view.prompt({ text: "kept", source: "rpc", queue: "steer" });
    await memory.kernel.run.abort();
    expect(memory.kernel.queue.texts().steering).toEqual(["kept"]);
    await memory.prompt("Next");
    const users = memory.requests.at(-1)?.messages.flatMap(({ role, content }) => (role === "user" ? [textOf(content)] : []));
    expect(users?.slice(-2)).toEqual(["Next", "kept"]);
  });
});

describe("messages", () => {
  it("are replaced by a plugin before they are stored, and stored before they are on the wire", async () => {
    const order: string[] = [];
    const changer = definePlugin({
      name: "changer",
      apply(kernel) {
        kernel.hooks.message.tap("changer", async (message) => {
          order.push(`handler ${message.role}`);
          await new Promise((resolve) => setTimeout(resolve, 5));
          return message.role === "assistant" ? { ...message, content: [{ type: "text", text: "changed" }] } : undefined;
        });
        kernel.hooks.event.tap("watch", (event) => {
          if (event.type === "message_end") order.push(`wire ${event.message.role}`);
        });
      },
    });
    const memory = await startMemory([say("original")], [changer]);
    await memory.prompt("Hi");
    expect(order).toEqual(["handler user", "wire user", "handler assistant", "wire assistant"]);
    expect(textOf(last(memory).content)).toBe("changed");
  });
});

async function waitFor(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}
