/** Which failures of a provider pass by themselves, and how long it asks us to wait. */
import { isOverflowText } from "../shared/overflow.ts";

/** Money does not come back by asking again. */
const exhausted =
  /insufficient_quota|quota exceeded|billing|out of budget|available balance|monthly usage limit reached|GoUsageLimitError|FreeUsageLimitError/i;

const transient: readonly RegExp[] = [
  // load
  /overloaded|high demand|rate.?limit|too many requests|resource.?exhausted/i,
  // status; one that is rare is believed only where a status stands, at the beginning
  /(?<!\d)(?:429|500|502|503|504|520|524)(?!\d)|^5\d\d(?!\d)/,
  /service.?unavailable|server.?error|internal.?error|provider.?returned.?error|exceeded request buffer limit/i,
  // network
  /network.?error|connection.?error|connection.?refused|connection.?lost|other side closed|fetch failed|getaddrinfo|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET/i,
  /upstream.?connect|reset before headers|socket hang up|socket connection was closed|http2 request did not get a response/i,
  // time
  /timed? ?out|terminated|retry delay/i,
  // stream
  /ended without|ended before (?:message_stop|a terminal response event)|websocket.?(?:closed|error)/i,
  // hints
  /you can retry|try your request again|please retry/i,
];

/** Whether asking again may help. A failure without a text says nothing, so it is not repeated. */
export function isTransient(errorMessage: string): boolean {
  if (exhausted.test(errorMessage) || isOverflowText(errorMessage)) return false;
  return transient.some((pattern) => pattern.test(errorMessage));
}

const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000 };
const unit = "(ms|milliseconds?|m(?:in(?:ute)?s?)?|h(?:ours?)?|s(?:ec(?:ond)?s?)?)";
const hint = new RegExp(
  `(?:retry[-_ ]?after|retry[-_ ]?delay|(?:try again|retry|available|resets?) in|wait)["':=\\s]*(\\d+(?:\\.\\d+)?)\\s*"?\\s*(?:${unit}(?![a-z]))?`,
  "i",
);
/** `30s` in `1m30s` */
const more = new RegExp(`(\\d+(?:\\.\\d+)?)${unit}(?![a-z])`, "iy");

/** The wait in ms that the error text asks for, if it does; without a unit, seconds. */
export function requestedDelay(errorMessage: string): number | undefined {
  const first = hint.exec(errorMessage);
  if (!first) return undefined;
  let delay = 0;
  more.lastIndex = first.index + first[0].length;
  for (let part: RegExpExecArray | null = first; part; part = more.exec(errorMessage)) delay += Number(part[1]) * factorOf(part[2]);
  return Math.ceil(delay);
}

function factorOf(unit = "s"): number {
  return /^milli|^ms/i.test(unit) ? 1 : (units[unit.charAt(0).toLowerCase()] ?? 1000);
}
