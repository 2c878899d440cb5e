/** One model call: context, request, the stream as events, and the final message. */
import type { ModelRequest, RunDraft, Tool } from "./contracts.ts";
import { messageOf } from "./errors.ts";
import type { Kernel } from "./kernel.ts";
import {
  type AgentMessage,
  type AssistantContent,
  type AssistantMessage,
  type AssistantMessageEvent,
  type BlockEvent,
  type LlmMessage,
  zeroUsage,
} from "./messages.ts";
import { passedOver, patiently } from "./patience.ts";
import type { StreamRequest } from "./plugin.ts";
import { isTapped } from "./taps.ts";

export const ABORTED = "Request was aborted";
/** How long an aborted stream has to hand in its last word (usage). */
const LAST_WORD_MS = 300;

export interface TurnResult {
  message: AssistantMessage;
  /** what the model was offered */
  tools: readonly Tool[];
}

/** Asks the model once. Never throws: failure is an assistant message. */
export async function modelTurn(kernel: Kernel, run: RunDraft | undefined, signal: AbortSignal): Promise<TurnResult> {
  let tools: readonly Tool[] = [];
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const announcer = new Announcer(kernel, signal);
  try {
    if (signal.aborted) return { message: await announcer.fail(failure(kernel, "aborted", ABORTED)), tools };
    const prepared = await patiently(prepare(kernel, run), signal);
    if (prepared === passedOver) return { message: await announcer.fail(failure(kernel, "aborted", ABORTED)), tools };
    tools = prepared.tools;
    const final = await pull(kernel, streamModel(kernel, { ...prepared.request, signal: both }), announcer, both, stop);
    return { message: await announcer.finish(final), tools };
  } catch (error) {
    const reason = signal.aborted ? "aborted" : "error";
    return { message: await announcer.fail(failure(kernel, reason, signal.aborted ? ABORTED : messageOf(error))), tools };
  }
}

async function prepare(kernel: Kernel, run: RunDraft | undefined): Promise<{ request: StreamRequest; tools: readonly Tool[] }> {
  const port = kernel.service("model");
  const model = port.current();
  if (!model) throw new Error("No model selected.");
  const tools = await kernel.hooks.offer.promise(kernel.registry("tools").all());
  const transcript = kernel.service("transcript");
  let messages = transcript.messages();
  if (isTapped(kernel.hooks.context)) messages = await kernel.hooks.context.promise(messages);
  const systemPrompt = await kernel.systemPrompt(run);
  return {
    tools,
    request: { model, thinkingLevel: port.thinkingLevel(), systemPrompt, messages: toModel(kernel, messages), tools, sessionId: transcript.sessionId() },
  };
}

/** The messages as models understand them; roles nobody translates are left out. */
export function toModel(kernel: Pick<Kernel, "registry">, messages: readonly AgentMessage[]): LlmMessage[] {
  const roles = kernel.registry("roles");
  const result: LlmMessage[] = [];
  for (const message of messages) {
    if (message.role === "user" || message.role === "assistant" || message.role === "toolResult") result.push(message);
    else if (message.role === "custom") result.push({ role: "user", content: message.content, timestamp: message.timestamp });
    else {
      const translated = roles.get((message as { role: string }).role)?.toModel(message);
      if (translated) result.push(translated);
    }
  }
  return result;
}

/** What `onPayload` is while nobody wants to see payloads. Whoever wraps a provider and puts another in its place sees them. */
export const unseen = async (payload: unknown): Promise<unknown> => payload;

/** Opens a model stream with the request's hooks. A throw of the provider becomes an `error` event. */
export async function* streamModel(kernel: Kernel, given: StreamRequest): AsyncGenerator<AssistantMessageEvent> {
  const { model } = given;
  const hooks = kernel.hooks;
  const request: ModelRequest = {
    thinkingLevel: "off",
    tools: [],
    signal: new AbortController().signal,
    sessionId: "",
    onPayload: isTapped(hooks.request) ? (payload) => hooks.request.promise(payload, model) : unseen,
    onHeaders: async (headers) => {
      if (isTapped(hooks.headers)) await hooks.headers.promise(headers, model);
    },
    onResponse: async (response) => {
      if (isTapped(hooks.response)) await hooks.response.promise(response, model);
    },
    ...given,
  };
  const providers = kernel.registry("providers");
  const provider = providers.get(`${model.api}@${model.provider}`) ?? providers.get(model.api);
  try {
    if (!provider) throw new Error(`No provider speaks "${model.api}", which model ${model.provider}/${model.id} needs.`);
    yield* provider.stream(request);
  } catch (error) {
    const reason = request.signal.aborted ? "aborted" : "error";
    yield { type: "error", reason, error: emptyMessage(model, reason, reason === "aborted" ? ABORTED : messageOf(error)) };
  }
}

/** Pulls the stream to its end or to the abort, announcing each increment. Answers the final message. */
async function pull(
  kernel: Kernel,
  stream: AsyncIterable<AssistantMessageEvent>,
  announcer: Announcer,
  signal: AbortSignal,
  stop: AbortController,
): Promise<AssistantMessage> {
  const iterator = stream[Symbol.asyncIterator]();
  const aborted = new AbortWatch(signal);
  try {
    for (;;) {
      const pressure = kernel.bus.ready();
      if (pressure) await aborted.or(pressure);
      const step = await aborted.or(iterator.next());
      if (step === passedOver) break;
      if (step.done) return fallback(kernel, announcer, "error", "The model's stream ended without a final message.");
      const event = step.value;
      if (event.type === "done" || event.type === "error") {
        // Nobody asks for more: what the provider holds open for this stream is to be let go.
        leave(iterator);
        return event.type === "error" ? settled(event) : { ...event.message, stopReason: event.reason };
      }
      if (event.type === "start") announcer.begin(event.partial);
      else {
        announcer.increment(event);
        if (kernel.hooks.increment.call(event) === "stop") stop.abort();
      }
    }
  } finally {
    aborted.dispose();
  }
  const usage = await lastWord(iterator);
  const message = fallback(kernel, announcer, "aborted", ABORTED);
  return usage ? { ...message, usage } : message;
}

function settled(event: Extract<AssistantMessageEvent, { type: "error" }>): AssistantMessage {
  const message = { ...event.error, stopReason: event.reason };
  if (event.reason === "aborted") message.errorMessage = ABORTED;
  return message;
}

function fallback(kernel: Kernel, announcer: Announcer, stopReason: "error" | "aborted", errorMessage: string): AssistantMessage {
  const partial = announcer.partial ?? failure(kernel, stopReason, errorMessage);
  return { ...partial, stopReason, errorMessage };
}

/** After an abort: what the provider still says about usage, if it says so soon. */
async function lastWord(iterator: AsyncIterator<AssistantMessageEvent>): Promise<AssistantMessage["usage"] | undefined> {
  const patience = AbortSignal.abort();
  const drain = async () => {
    for (;;) {
      const step = await iterator.next();
      if (step.done) return undefined;
      if (step.value.type === "error") return step.value.error.usage;
      if (step.value.type === "done") return step.value.message.usage;
    }
  };
  const usage = await patiently(
    drain().catch(() => undefined),
    patience,
    LAST_WORD_MS,
  );
  leave(iterator);
  return usage === passedOver ? undefined : usage;
}

function leave(iterator: AsyncIterator<unknown>): void {
  void Promise.resolve(iterator.return?.()).catch(() => undefined);
}

/** Lets one abort listener serve all steps of a stream: a race per step would pile up reactions. */
class AbortWatch {
  readonly #signal: AbortSignal;
  #wake: (() => void) | undefined;
  readonly #onAbort = () => this.#wake?.();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort);
  }

  or<T>(work: Promise<T>): Promise<T | typeof passedOver> {
    return new Promise((resolve, reject) => {
      if (this.#signal.aborted) {
        work.catch(() => undefined);
        resolve(passedOver);
        return;
      }
      this.#wake = () => resolve(passedOver);
      work.then(resolve, reject);
    });
  }

  dispose(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}

/** Announces one assistant message and keeps the order of its blocks whole, also when the stream breaks off. */
class Announcer {
  readonly #kernel: Kernel;
  readonly #signal: AbortSignal;
  readonly #open = new Map<number, "text" | "thinking" | "toolcall">();
  partial: AssistantMessage | undefined;
  #started = false;

  constructor(kernel: Kernel, signal: AbortSignal) {
    this.#kernel = kernel;
    this.#signal = signal;
  }

  /** A message that begins has said nothing and counts nothing yet, whatever the provider knows by now. */
  begin(partial: AssistantMessage): void {
    if (!this.#started) this.#start({ ...partial, content: [], usage: zeroUsage(), stopReason: "stop" });
    this.partial = partial;
  }

  increment(event: BlockEvent): void {
    this.begin(event.partial);
    const [kind, phase] = event.type.split("_") as ["text" | "thinking" | "toolcall", string];
    if (phase === "start") this.#open.set(event.contentIndex, kind);
    if (phase === "end") this.#open.delete(event.contentIndex);
    this.#kernel.emit({ type: "message_update", message: event.partial, assistantMessageEvent: event });
  }

  /** Ends the message with `final`, closing blocks that the stream left open. */
  async finish(final: AssistantMessage): Promise<AssistantMessage> {
    const broken = final.stopReason === "error" || final.stopReason === "aborted";
    const incomplete = this.#closeOpenBlocks(final);
    if (!broken || !this.partial) return this.fail(final);
    // What clients saw is what stays, less the tool calls that were cut off. A provider that throws says nothing of the message that had begun.
    const { content, timestamp } = this.partial;
    return this.fail({ ...final, content: content.filter((_, index) => !incomplete.has(index)), timestamp });
  }

  /** Announces `message` as final, whatever came before. */
  async fail(message: AssistantMessage): Promise<AssistantMessage> {
    if (!this.#started) this.#start(message);
    this.partial = message;
    return (await this.#kernel.conclude(message, this.#signal)) as AssistantMessage;
  }

  #start(message: AssistantMessage): void {
    this.#started = true;
    this.#kernel.emit({ type: "message_start", message });
  }

  #closeOpenBlocks(final: AssistantMessage): Set<number> {
    const incomplete = new Set<number>();
    const partial = this.partial ?? final;
    for (const [contentIndex, kind] of this.#open) {
      const block: AssistantContent | undefined = partial.content[contentIndex];
      if (!block) continue;
      if (block.type === "toolCall") {
        incomplete.add(contentIndex);
        this.#update({ type: "toolcall_end", contentIndex, toolCall: block, partial });
      } else {
        const content = block.type === "text" ? block.text : block.thinking;
        this.#update({ type: kind === "text" ? "text_end" : "thinking_end", contentIndex, content, partial });
      }
    }
    this.#open.clear();
    return incomplete;
  }

  #update(event: BlockEvent): void {
    this.#kernel.emit({ type: "message_update", message: event.partial, assistantMessageEvent: event });
  }
}

function failure(kernel: Kernel, stopReason: "error" | "aborted", errorMessage: string): AssistantMessage {
  return emptyMessage(kernel.tryService("model")?.current(), stopReason, errorMessage);
}

/** An assistant message without content, e.g. for a failure before the first word. */
export function emptyMessage(
  model: { api: string; provider: string; id: string } | undefined,
  stopReason: AssistantMessage["stopReason"],
  errorMessage?: string,
): AssistantMessage {
  return {
    role: "assistant",
    content: [],
    api: model?.api ?? "none",
    provider: model?.provider ?? "none",
    model: model?.id ?? "none",
    usage: zeroUsage(),
    stopReason,
    ...(errorMessage !== undefined && { errorMessage }),
    timestamp: Date.now(),
  };
}
