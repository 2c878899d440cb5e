/** What to tell about a failed request: the server's own words. */
import type { Refusal } from "./network.ts";

const LONGEST = 8000;

/** Hides secrets: before anything is cut, since a part of one is not recognized any more. */
type Hide = (text: string) => string;

/** `529 {"type":"error",…}`: status and body, with what only the headers say: the request's id, and how long to wait. */
export function refusalText({ status, headers, body }: Refusal, hide: Hide): string {
  const text = hide(compact(body)).slice(0, LONGEST) || "without a body";
  const id = headers["request-id"] ?? headers["x-request-id"] ?? headers["apim-request-id"];
  const seconds = secondsToWait(headers);
  return `${status} ${text}${id && !text.includes(id) ? ` (request id ${id})` : ""}${seconds === undefined ? "" : ` (retry after ${seconds} s)`}`;
}

/** A number, or the date until which to wait. */
function secondsToWait(headers: Refusal["headers"]): number | undefined {
  const milliseconds = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (milliseconds >= 0) return milliseconds / 1000;
  const given = headers["retry-after"]?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(given)) return Number(given);
  const until = Date.parse(given);
  return Number.isNaN(until) ? undefined : Math.max(0, Math.ceil((until - Date.now()) / 1000));
}

/** An error of the SDK or of the network, with its causes. */
export function errorText(error: unknown, hide: Hide): string {
  const body = (error as { error?: unknown } | undefined)?.error;
  if (body && typeof body === "object") return withId(hide(JSON.stringify(body)).slice(0, LONGEST), error);
  const parts: string[] = [];
  for (let cause: unknown = error; cause && parts.length < 5; cause = (cause as { cause?: unknown }).cause) {
    const text = cause instanceof Error ? messageWithCode(cause) : String(cause);
    const plain = text.replace(/\.$/, "");
    if (plain && !parts.some((part) => part.includes(plain))) parts.push(plain);
  }
  const text = hide(parts.join(": ")).slice(0, LONGEST) || "The request failed for an unknown reason";
  // Node's own limits say "Connect Timeout Error"; one way of saying it is enough for those who read it.
  return /timeout error/i.test(text) ? `The request timed out: ${text}` : text;
}

function messageWithCode(error: Error): string {
  const { code } = error as { code?: unknown };
  // Failed connections to several addresses have an empty message and a code.
  return error.message || (typeof code === "string" ? code : error.name);
}

function withId(text: string, error: unknown): string {
  const id = (error as { requestID?: unknown }).requestID;
  return typeof id === "string" && !text.includes(id) ? `${text} (request id ${id})` : text;
}

function compact(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return body.trim();
  }
}
