/** What extensions put into the conversation: custom messages and texts in the user's name. */
import { type AgentMessage, type CustomMessage, type ImageContent, textOf } from "../../core/index.ts";
import { messageContent } from "./content.ts";
import { assertJson } from "./json.ts";
import type { Runtime } from "./runtime.ts";
import type { CustomMessageInput, SendMessageOptions, SendUserMessageOptions } from "./types.ts";

interface Sending {
  /** resolve with the run and reject with its refusal, instead of reporting it */
  settles?: boolean;
}

export function customMessage(given: CustomMessageInput): CustomMessage {
  const { customType, content, display, details } = given ?? {};
  // Published extensions leave it out.
  const type = customType ?? "";
  if (typeof type !== "string") throw new TypeError("The customType of a custom message is a text.");
  assertJson(details, "details of a custom message");
  return {
    role: "custom",
    customType: type,
    content: messageContent(content),
    display: Boolean(display),
    ...(details !== undefined && { details }),
    timestamp: Date.now(),
  };
}

export function sendMessage(runtime: Runtime, given: CustomMessageInput, options: SendMessageOptions = {}, sending: Sending = {}): Promise<void> {
  return place(runtime, customMessage(given), options, sending);
}

function place(runtime: Runtime, message: CustomMessage, options: SendMessageOptions, sending: Sending): Promise<void> {
  const { run, queue } = runtime.kernel;
  const { deliverAs, triggerTurn } = options;
  if (deliverAs === "nextTurn") runtime.nextTurn.push(message);
  else if (run.reserved && triggerTurn) return decided(runtime, () => place(runtime, message, options, sending));
  else if (run.reserved) return perform(runtime, "send_message", sending, () => append(runtime, message), false);
  else if (run.active && triggerTurn === false) waitForTurnEnd(runtime, message);
  else if (run.active) queue.add(laneOf(deliverAs), { message });
  else if (triggerTurn) return perform(runtime, "send_message", sending, () => startRun(runtime, message, deliverAs), true);
  else return perform(runtime, "send_message", sending, () => append(runtime, message), false);
  return Promise.resolve();
}

function waitForTurnEnd({ silent, afterTurn }: Runtime, message: CustomMessage): void {
  silent.add(message);
  afterTurn.push(message);
}

export function sendUserMessage(
  runtime: Runtime,
  content: string | { type: string }[],
  options: SendUserMessageOptions = {},
  sending: Sending = {},
): Promise<void> {
  const text = textOf(content, "\n");
  const images = typeof content === "string" ? [] : content.filter((block): block is ImageContent => block.type === "image");
  const submit = async (): Promise<void> => {
    if (runtime.kernel.run.reserved) return decided(runtime, submit);
    const accepted = await runtime.kernel.prompt({
      text,
      ...(images.length > 0 && { images }),
      ...(options.deliverAs && { whileRunning: options.deliverAs }),
      source: "extension",
      expand: options.expandPromptTemplates === true,
    });
    accepted.begin();
  };
  return perform(runtime, "send_user_message", sending, submit, true);
}

/** Adds a message to the session without a run; extensions hear nothing of it. */
export async function append(runtime: Runtime, message: AgentMessage): Promise<void> {
  runtime.silent.add(message);
  await runtime.kernel.append(message);
}

async function startRun({ kernel }: Runtime, message: CustomMessage, deliverAs: SendMessageOptions["deliverAs"]): Promise<void> {
  // What else waited for the end of agent_settled may have started one.
  if (kernel.run.active) {
    kernel.queue.add(laneOf(deliverAs), { message });
    return;
  }
  const accepted = await kernel.startRun({ messages: [message] });
  accepted.begin();
}

/** A prompt is being looked at: what would compete with it waits until it has come to a run, or to none. */
function decided(runtime: Runtime, send: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => runtime.whenDecided(() => void send().then(resolve, reject)));
}

const laneOf = (deliverAs: SendMessageOptions["deliverAs"]) => (deliverAs === "followUp" ? "followUp" : "steer");

/** Does it now, or once the dispatch of agent_settled is over. What fails later is reported, unless somebody waits for it. */
function perform(runtime: Runtime, during: string, { settles }: Sending, work: () => Promise<void>, startsRun: boolean): Promise<void> {
  // At the end of the program nothing begins any more; that is no mistake of the extension's.
  const isTooLate = () => startsRun && runtime.kernel.run.closed;
  const start = async (): Promise<void> => (isTooLate() ? undefined : runtime.leave(work));
  const { deferred } = runtime;
  const started = startsRun && deferred ? new Promise<void>((resolve, reject) => deferred.push(() => start().then(resolve, reject))) : start();
  if (settles) return started.then(() => runtime.leave(() => runtime.kernel.run.whenIdle()));
  started.catch((error) => runtime.kernel.fault({ from: "<runtime>", during, error }));
  return Promise.resolve();
}
