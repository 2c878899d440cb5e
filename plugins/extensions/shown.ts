/** What handlers that only watch are shown: copies, since the same messages and results are still to be stored and sent. */
import type { AgentMessage } from "../../core/index.ts";

/** A message of its own: what a handler empties or takes out is nobody else's. What lies deeper is shared. */
export function shownMessage<T extends AgentMessage>(message: T): T {
  return { ...message, ...shownContent(message) };
}

/** A result likewise. */
export function shownResult<T extends object>(result: T): T {
  return { ...result, ...shownContent(result) };
}

function shownContent(holder: object): { content?: unknown } {
  const { content } = holder as { content?: unknown };
  return Array.isArray(content) ? { content: content.map((block: object) => ({ ...block })) } : {};
}
