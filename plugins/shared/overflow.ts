/** Recognising that a request did not fit into the model's context window. Providers say it in many ways. */
import type { AssistantMessage } from "../../core/index.ts";

const tooLong: readonly RegExp[] = [
  /prompt (is )?too long/i,
  /request_too_large/i,
  /exceeds? the context window/i,
  /maximum context length/i,
  /input token count.*exceeds/i,
  /maximum prompt length/i,
  /reduce the length of the messages/i,
  /exceeds the available context size/i,
  /greater than the context length/i,
  /context window exceeds limit/i,
  /exceeded model token limit/i,
  /model_context_window_exceeded/i,
  /range of input length/i,
  /context[ _]length[ _]exceeded/i,
  /too many tokens/i,
  /token limit exceeded/i,
  /input is too long/i,
  /exceeds the limit of \d/i,
  // The input with the room for the answer.
  /exceed context limit/i,
  /longer than the model.s context length/i,
  /context size has been exceeded/i,
  // Whatever the body says, if there is one.
  /^413\b/,
];

/** Rate limits speak of tokens too. */
const throttled = /rate.?limit|too many requests|throttl/i;

const WINDOW_FULL = "model_context_window_exceeded";
/** How full a window must be for a cut answer to be the window's fault. */
const FULL = 0.99;

/** Whether a provider's error text says that the request was too long. */
export function isOverflowText(text: string): boolean {
  return tooLong.some((pattern) => pattern.test(text)) && !throttled.test(text);
}

/** Whether a message shows that its request filled the window: by its error text, by an answer that the window cut off, or by its token counts. */
export function isContextOverflow(message: AssistantMessage, contextWindow?: number): boolean {
  if (message.stopReason === "error") return isOverflowText(message.errorMessage ?? "");
  if (!contextWindow) return false;
  const { input, output, cacheRead, cacheWrite } = message.usage;
  if (message.stopReason === "stop") return input + cacheRead > contextWindow;
  return message.stopReason === "length" && output === 0 && input + cacheRead + cacheWrite >= contextWindow * FULL;
}

/** Whether the window, and not the output limit, ended an answer. */
export function isCutByWindow(message: AssistantMessage, model: { contextWindow: number; maxTokens: number }): boolean {
  if (message.stopReason !== "length") return false;
  // A server that says so knows better than a window that somebody configured.
  if (message.rawStopReason === WINDOW_FULL) return true;
  if (!model.contextWindow) return false;
  const { input, output, cacheRead, cacheWrite } = message.usage;
  return output < model.maxTokens && input + cacheRead + cacheWrite + output >= model.contextWindow * FULL;
}
