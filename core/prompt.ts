/** A prompt's way in: intercept, reserve, input handlers, queue or refuse, prepare a run, accept. */
import type { Accepted, PromptDraft, PromptInput, RunDraft } from "./contracts.ts";
import { KernelError } from "./errors.ts";
import type { Kernel } from "./kernel.ts";
import { textBlock, type UserMessage } from "./messages.ts";
import { passedOver, patiently } from "./patience.ts";
import { BUSY } from "./run.ts";

const handled: Accepted = { outcome: "handled", begin() {} };
const queued: Accepted = { outcome: "queued", begin() {} };

/** Takes a prompt. A throw refuses it; nothing has changed then. */
export async function acceptPrompt(kernel: Kernel, input: PromptInput): Promise<Accepted> {
  const draft = draftOf(kernel, input);
  const intercepted = kernel.intercept(draft);
  if (intercepted && (await intercepted) === "handled") return handled;

  if (input.queue) return enqueue(kernel, draft, input.queue);
  const { run } = kernel;
  if (run.active) {
    if (!input.whileRunning) throw new KernelError("E_BUSY", BUSY);
    return whileRunning(kernel, draft, input.whileRunning);
  }
  kernel.hooks.admit.call(draft);
  run.reserve();
  return accept(kernel, draft);
}

/** Starts a run that no prompt asked for. */
export async function acceptRun(kernel: Kernel, given: Partial<RunDraft>): Promise<Accepted> {
  kernel.run.reserve();
  return prepare(kernel, { prompted: false, text: "", images: [], messages: [], ...given });
}

function draftOf(kernel: Kernel, input: PromptInput): PromptDraft {
  const streamingBehavior = input.queue ?? (kernel.run.active ? input.whileRunning : undefined);
  return {
    text: input.text,
    images: input.images ?? [],
    ...(input.blocks && { blocks: input.blocks }),
    ...(input.extra && { extra: input.extra }),
    source: input.source,
    expand: input.expand !== false,
    ...(streamingBehavior && { streamingBehavior }),
    queueOnly: input.queue !== undefined,
  };
}

/** The run is reserved: whatever refuses from here on gives it back. */
async function accept(kernel: Kernel, draft: PromptDraft): Promise<Accepted> {
  let message: UserMessage | undefined;
  try {
    message = await expanded(draft, () => unlessAborted(kernel, kernel.hooks.input.promise(draft)));
  } catch (error) {
    kernel.run.release();
    throw error;
  }
  if (message) return prepare(kernel, { prompted: true, text: draft.text, images: draft.images, messages: [message] });
  kernel.run.release();
  return handled;
}

async function prepare(kernel: Kernel, run: RunDraft): Promise<Accepted> {
  try {
    // Without its two ports a run could not even fail in order.
    kernel.service("transcript");
    kernel.service("model");
    await unlessAborted(kernel, kernel.hooks.beforeRun.promise(run));
  } catch (error) {
    kernel.run.release();
    throw error;
  }
  return { outcome: "started", begin: () => void kernel.run.begin(run) };
}

/** A handler that hangs does not keep an abort waiting: the run begins, and ends as aborted. */
async function unlessAborted<T>({ run }: Kernel, work: Promise<T>): Promise<T | undefined> {
  const answer = await (run.signal ? patiently(work, run.signal) : work);
  return answer === passedOver ? undefined : (answer as T);
}

async function whileRunning(kernel: Kernel, draft: PromptDraft, behaviour: "steer" | "followUp"): Promise<Accepted> {
  const { signal } = kernel.run;
  const message = await expanded(draft, () => kernel.hooks.input.promise(draft));
  if (!message) return handled;
  // What an aborted run leaves in the queue waits for the next one, however long handlers have looked at it.
  if (kernel.run.active || signal?.aborted) {
    kernel.queue.add(behaviour, { message, text: draft.text });
    return queued;
  }
  // The run ended while handlers looked at the text: the prompt starts the next one.
  kernel.run.reserve();
  return prepare(kernel, { prompted: true, text: draft.text, images: draft.images, messages: [message] });
}

async function enqueue(kernel: Kernel, draft: PromptDraft, behaviour: "steer" | "followUp"): Promise<Accepted> {
  const message = await expanded(draft, () => kernel.hooks.input.promise(draft));
  if (!message) return handled;
  kernel.queue.add(behaviour, { message, text: draft.text });
  return queued;
}

/** What becomes of a prompt once handlers have seen it; undefined if one of them dealt with it. Models refuse a message that says nothing, and so do we. */
async function expanded(draft: PromptDraft, handlers: () => Promise<"handled" | undefined | void>): Promise<UserMessage | undefined> {
  const [asked = ""] = draft.text.split("\n", 1);
  if ((await handlers()) === "handled") return undefined;
  const message = userMessage(draft);
  if (message.content.length === 0) throw new KernelError("E_REFUSED", `There is nothing to send to the model: the prompt "${asked}" is empty`);
  return message;
}

function userMessage(draft: PromptDraft): UserMessage {
  const further = [...(draft.blocks ?? []), ...draft.images];
  const text = draft.text.trim() === "" ? [] : [textBlock(draft.text)];
  return { role: "user", content: [...text, ...further], ...draft.extra, timestamp: Date.now() };
}
