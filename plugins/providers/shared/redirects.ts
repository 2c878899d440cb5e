/** Where a server redirects a request to, it goes as it is; its credentials go to the server that they are for and no other. */
import type { Received, Sent } from "./http.ts";
import { isCredential } from "./target.ts";

export type Send = (sent: Sent) => Promise<Received>;

const MOST = 10;
/** Of the other statuses none asks for the same request elsewhere. */
const moved = new Set([301, 302, 307, 308]);

export function followingRedirects(send: Send): Send {
  return async (sent) => {
    let request = sent;
    for (let count = 0; ; count++) {
      const received = await send(request);
      const next = nextAddress(received, request.url);
      if (!next || count === MOST) return received;
      // An answer that nobody reads holds its connection.
      await received.body.leave();
      const isSameServer = next.origin === new URL(request.url).origin;
      request = { ...request, url: next.href, headers: isSameServer ? request.headers : withoutCredentials(request.headers) };
    }
  };
}

function nextAddress({ status, headers: { location } }: Received, from: string): URL | undefined {
  if (!moved.has(status) || !location || !URL.canParse(location, from)) return undefined;
  const next = new URL(location, from);
  return /^https?:$/.test(next.protocol) ? next : undefined;
}

function withoutCredentials(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isCredential(name)));
}
