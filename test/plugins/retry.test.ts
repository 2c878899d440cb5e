/** Retrying: which errors, in which order the events come, and how it ends. */
import { describe, expect, test } from "vitest";
import {
  type AgentMessage,
  type AssistantMessageEvent,
  definePlugin,
  emptyMessage,
  Kernel,
  type Model,
  type ModelRequest,
  type Plugin,
  type PluginKernel,
} from "../../core/index.ts";
import retry from "../../plugins/retry/index.ts";
import { isTransient, requestedDelay } from "../../plugins/retry/transient.ts";
import type { EntryDraft, Session, SessionEntry } from "../../plugins/session/contract.ts";
import type { Settings } from "../../plugins/settings/contract.ts";
import { isOverflowText } from "../../plugins/shared/overflow.ts";

describe("which errors are transient", () => {
  const transient = [
    '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    "The model is experiencing high demand",
    "rate_limit_error: slow down",
    "Rate limit reached for requests",
    "Too Many Requests",
    "RESOURCE_EXHAUSTED: ResourceExhausted",
    "429 status code (no body)",
    "500 oops",
    "status=502",
    "HTTP 503",
    "504",
    "520 web server is returning an unknown error",
    "524 a time-out occurred",
    '529 {"error":{"message":"busy"}}',
    "522: origin is unreachable",
    "Service Unavailable",
    "server_error",
    "Internal error encountered.",
    "Provider returned error",
    "exceeded request buffer limit while retrying upstream",
    "Network error",
    "Connection error.",
    "connection refused",
    "connection lost",
    "other side closed",
    "fetch failed",
    "getaddrinfo ENOTFOUND api.example.com",
    "EAI_AGAIN",
    "upstream connect error or disconnect/reset before headers",
    "socket hang up",
    "The socket connection was closed unexpectedly",
    "http2 request did not get a response",
    "Request timed out.",
    "timeout of 10000ms exceeded",
    "terminated",
    "requested retry delay of 12 s",
    "stream ended without a final message",
    "Stream ended before message_stop",
    "stream ended before a terminal response event",
    "websocket closed 1006",
    "WebSocket error",
    "An error occurred; you can retry your request",
    "Please try your request again later",
    "please retry",
  ];
  test.each(transient)("%s", (text) => expect(isTransient(text)).toBe(true));

  const final = [
    "",
    "401 invalid x-api-key",
    "400 bad request",
    "429 insufficient_quota",
    "429 Quota exceeded for today",
    "429 check your plan and billing details",
    "503 out of budget",
    "429 your available balance is too low",
    "429 Monthly usage limit reached",
    "GoUsageLimitError: 429",
    "FreeUsageLimitError: 429",
    "400 prompt is too long: 213462 tokens > 200000 maximum",
    "500 maximum context length is 128000",
    "used 15000 tokens",
    "400 at most 529 images",
    "5291 is no status",
  ];
  test.each(final)("not: %s", (text) => expect(isTransient(text)).toBe(false));

  const tooLong = [
    "400 input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
    "400 The input (300000 tokens) is longer than the model's context length (262144 tokens).",
    "Context size has been exceeded.",
    "413 without a body",
    "413 <html>Request Entity Too Large</html>",
  ];
  test.each(tooLong)("too long: %s", (text) => expect(isOverflowText(text)).toBe(true));
  test("a limit per minute that is told as 413 is none", () => expect(isOverflowText('413 {"error":{"code":"rate_limit_exceeded"}}')).toBe(false));

  test("a rate limit that speaks of tokens is no overflow", () => expect(isTransient("429 rate limit: too many tokens per minute")).toBe(true));

  test.each([
    ["Please try again in 6.5s", 6500],
    ["retry-after: 12", 12_000],
    ['"retryDelay": "34s"', 34_000],
    ["Rate limited, retry after 2 minutes", 120_000],
    ["please retry in 250ms", 250],
    ["Please try again in 1m30.5s. Visit the site", 90_500],
    ["try again in 6m0s", 360_000],
    ["429 {} (retry after 20 s)", 20_000],
    ["overloaded", undefined],
  ])("the wait asked for by %s", (text, delay) => expect(requestedDelay(text)).toBe(delay));
});

// ---------------------------------------------------------------- whole runs in memory

const model: Model = {
  id: "m",
  name: "M",
  api: "test",
  provider: "test",
  baseUrl: "",
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1000,
  maxTokens: 100,
};

type Answer = string | { error: string } | { hang: true };

/** Answers in order; remembers what it was asked. */
class FakeModel {
  readonly requests: ModelRequest[] = [];
  readonly #answers: Answer[];

  constructor(...answers: Answer[]) {
    this.#answers = answers;
  }

  readonly plugin: Plugin = definePlugin({
    name: "fake-model",
    apply: (kernel) => {
      kernel.provide("model", { current: () => model, thinkingLevel: () => "off" });
      kernel.registry("providers").add({ name: "test", stream: (request) => this.#stream(request) });
    },
  });

  async *#stream(request: ModelRequest): AsyncGenerator<AssistantMessageEvent> {
    this.requests.push({ ...request, messages: [...request.messages] });
    const answer = this.#answers.shift() ?? "end";
    if (typeof answer === "string") {
      const message = { ...emptyMessage(model, "stop"), content: [{ type: "text" as const, text: answer }] };
      yield { type: "start", partial: message };
      yield { type: "done", reason: "stop", message };
    } else if ("error" in answer) yield { type: "error", reason: "error", error: emptyMessage(model, "error", answer.error) };
    else await new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(new Error("stopped"))));
  }
}

const settings = (values: Record<string, unknown>): Plugin =>
  definePlugin({ name: "test-settings", apply: (kernel) => void kernel.provide("settings", { get: (key: string) => values[key] } as unknown as Settings) });

/** Messages only, as a distribution without sessions has them. */
const transcript = definePlugin({
  name: "test-transcript",
  apply(kernel) {
    const messages: AgentMessage[] = [];
    kernel.provide("transcript", { sessionId: () => "s", messages: () => messages, append: (message) => void messages.push(message) });
  },
});

/** As much of a session as retrying needs. */
const session = definePlugin({
  name: "test-session",
  apply(kernel) {
    const entries: SessionEntry[] = [];
    const append = (draft: EntryDraft) => {
      const entry = { ...draft, id: `e${entries.length}`, parentId: entries.at(-1)?.id ?? null, timestamp: "" } as SessionEntry;
      entries.push(entry);
      return entry;
    };
    const hidden = () => new Set(entries.flatMap((entry) => (entry.type === "context_edit" ? [entry.targetId] : [])));
    kernel.provide("session", {
      branch: () => entries,
      appendAnnounced: (draft: EntryDraft) => {
        const entry = append(draft);
        kernel.emit({ type: "entry_appended", entry });
        return entry;
      },
    } as unknown as Session);
    kernel.provide("transcript", {
      sessionId: () => "s",
      messages: () => entries.flatMap((entry) => (entry.type === "message" && !hidden().has(entry.id) ? [entry.message] : [])),
      append: (message) => void append({ type: "message", message }),
    });
  },
});

const overloaded = { error: "529 overloaded_error: Overloaded" };
const fast = { "retry.baseDelayMs": 1 };

async function agent(fake: FakeModel, store: Plugin, values: Record<string, unknown> = fast) {
  const kernel = new Kernel();
  const seen: string[] = [];
  const details: any[] = [];
  let view!: PluginKernel;
  const watch = definePlugin({
    name: "watch",
    apply(own) {
      view = own;
      own.hooks.event.tap("watch", (event) => {
        const role = "message" in event ? `:${event.message.role}` : "";
        seen.push(`${event.type}${role}`);
        details.push(event);
      });
    },
  });
  await kernel.useAll([settings(values), store, fake.plugin, retry, watch]);
  await kernel.start();
  const prompt = async () => {
    const accepted = await view.prompt({ text: "Say hello", source: "rpc" });
    accepted.begin();
  };
  const find = (type: string) => details.filter((event) => event.type === type);
  const until = async (type: string) => {
    while (!seen.includes(type)) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  return { kernel, seen, find, prompt, until };
}

const opening = [
  "agent_start",
  "turn_start",
  "message_start:user",
  "message_end:user",
  "message_start:assistant",
  "message_end:assistant",
  "turn_end:assistant",
  "agent_end",
];

test("success at the first retry, in the protocol's order", async () => {
  const fake = new FakeModel(overloaded, "Hello");
  const { kernel, seen, find, prompt } = await agent(fake, session);
  await prompt();
  await kernel.run.whenIdle();
  expect(seen).toEqual([
    ...opening,
    "auto_retry_start",
    "entry_appended",
    "agent_start",
    "turn_start",
    "message_start:assistant",
    "message_end:assistant",
    "auto_retry_end",
    "turn_end:assistant",
    "agent_end",
    "agent_settled",
  ]);
  expect(find("agent_end").map(({ willRetry }) => willRetry)).toEqual([true, false]);
  expect(find("auto_retry_start")).toEqual([{ type: "auto_retry_start", attempt: 1, maxAttempts: 3, delayMs: 1, errorMessage: overloaded.error }]);
  expect(find("auto_retry_end")).toEqual([{ type: "auto_retry_end", success: true, attempt: 1 }]);
  expect(find("entry_appended")[0].entry).toMatchObject({ type: "context_edit", targetId: "e1", replacement: null });
  expect(fake.requests[1]?.messages.map(({ role }) => role)).toEqual(["user"]);
});

test("a slow observer does not move the end of a retry behind the turn's", async () => {
  const { kernel, seen, prompt } = await agent(new FakeModel(overloaded, "Hello"), session);
  const slow = () => new Promise<void>((done) => setTimeout(done, 2));
  await kernel.use(definePlugin({ name: "slow", apply: (view) => void view.hooks.event.tap({ stage: -100 }, slow) }));
  await prompt();
  await kernel.run.whenIdle();
  await kernel.bus.flush();
  const end = seen.indexOf("auto_retry_end");
  expect(seen.slice(end - 1, end + 2)).toEqual(["message_end:assistant", "auto_retry_end", "turn_end:assistant"]);
});

test("all attempts used up: one end, after the last agent_end and before agent_settled; the last failure stays visible", async () => {
  const { kernel, seen, find, prompt } = await agent(new FakeModel(overloaded, overloaded), session, { ...fast, "retry.maxRetries": 1 });
  await prompt();
  await kernel.run.whenIdle();
  expect(seen.slice(-3)).toEqual(["agent_end", "auto_retry_end", "agent_settled"]);
  expect(find("auto_retry_start")).toHaveLength(1);
  expect(find("auto_retry_end")).toEqual([{ type: "auto_retry_end", success: false, attempt: 1, finalError: overloaded.error }]);
  expect(find("agent_end").map(({ willRetry }) => willRetry)).toEqual([true, false]);
  const visible = kernel.service("transcript").messages();
  expect(visible.map(({ role }) => role)).toEqual(["user", "assistant"]);
});

test("the delay doubles up to its limit", async () => {
  const { kernel, find, prompt } = await agent(new FakeModel(overloaded, overloaded, overloaded, overloaded, "ok"), session, {
    "retry.baseDelayMs": 2,
    "retry.maxAgentDelayMs": 5,
    "retry.maxRetries": 4,
  });
  await prompt();
  await kernel.run.whenIdle();
  expect(find("auto_retry_start").map(({ delayMs }) => delayMs)).toEqual([2, 4, 5, 5]);
  expect(find("auto_retry_start").map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
});

test("a longer wait that the provider asks for is obeyed, an endless one is not waited for", async () => {
  const patient = await agent(new FakeModel({ error: "429 please retry in 20ms" }, "ok"), session);
  await patient.prompt();
  await patient.kernel.run.whenIdle();
  expect(patient.find("auto_retry_start")[0].delayMs).toBe(20);

  const hopeless = await agent(new FakeModel({ error: "429 please try again in 3h" }, "ok"), session);
  await hopeless.prompt();
  await hopeless.kernel.run.whenIdle();
  expect(hopeless.find("auto_retry_start")).toEqual([]);
});

test("the counter starts anew after every message that did not fail", async () => {
  const { kernel, find, prompt } = await agent(new FakeModel(overloaded, "one", overloaded, "two"), session);
  await prompt();
  await kernel.run.whenIdle();
  await prompt();
  await kernel.run.whenIdle();
  expect(find("auto_retry_start").map(({ attempt }) => attempt)).toEqual([1, 1]);
});

test("abort_retry ends the delay; the failed message stays the last word", async () => {
  const { kernel, seen, find, prompt, until } = await agent(new FakeModel(overloaded, "never"), session, { "retry.baseDelayMs": 60_000 });
  await prompt();
  await until("auto_retry_start");
  expect(kernel.run.active).toBe(true);
  await kernel.execute("abort_retry", {});
  expect(seen).toContain("auto_retry_end");
  await kernel.run.whenIdle();
  expect(find("auto_retry_end")).toEqual([{ type: "auto_retry_end", success: false, attempt: 1, finalError: "Retry cancelled" }]);
  expect(seen.slice(-2)).toEqual(["auto_retry_end", "agent_settled"]);
  expect(find("entry_appended")).toEqual([]);
  await kernel.execute("abort_retry", {});
  expect(seen.at(-1)).toBe("agent_settled");
});

test("abort ends the delay", async () => {
  const { kernel, seen, find, prompt, until } = await agent(new FakeModel(overloaded, "never"), session, { "retry.baseDelayMs": 60_000 });
  await prompt();
  await until("auto_retry_start");
  await kernel.run.abort();
  expect(seen.slice(-2)).toEqual(["auto_retry_end", "agent_settled"]);
  expect(find("auto_retry_end")[0].finalError).toBe("Retry cancelled");
});

test("abort of the retried call ends the chain once, after agent_end", async () => {
  const fake = new FakeModel(overloaded, { hang: true });
  const { kernel, seen, find, prompt } = await agent(fake, session);
  await prompt();
  while (fake.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  await kernel.run.abort();
  expect(seen.slice(-3)).toEqual(["agent_end", "auto_retry_end", "agent_settled"]);
  expect(find("auto_retry_end")).toMatchObject([{ success: false, attempt: 1 }]);
});

test("set_auto_retry turns it off and get_state says so", async () => {
  const { kernel, find, prompt } = await agent(new FakeModel(overloaded, "never"), session);
  expect(kernel.describe().autoRetryEnabled).toBe(true);
  await kernel.execute("set_auto_retry", { enabled: false });
  expect(kernel.describe().autoRetryEnabled).toBe(false);
  await prompt();
  await kernel.run.whenIdle();
  expect(find("auto_retry_start")).toEqual([]);
  expect(find("agent_end")[0].willRetry).toBe(false);
  await expect(kernel.execute("set_auto_retry", {})).rejects.toThrow('Missing required parameter "enabled"');
  await expect(kernel.execute("set_auto_retry", { enabled: 1 })).rejects.toThrow('Invalid parameter "enabled": expected a boolean');
});

test("without a session the failed attempt is still kept from the model", async () => {
  const fake = new FakeModel(overloaded, overloaded, "Hello");
  const { kernel, find, prompt } = await agent(fake, transcript);
  await prompt();
  await kernel.run.whenIdle();
  expect(find("auto_retry_end")).toEqual([{ type: "auto_retry_end", success: true, attempt: 2 }]);
  expect(fake.requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([["user"], ["user"], ["user"]]);
});

test("unloading leaves nothing behind", async () => {
  const { kernel } = await agent(new FakeModel(), session);
  await kernel.removeAll();
  expect(kernel.leftovers()).toEqual([]);
});
