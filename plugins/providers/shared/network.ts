/** The way to a model's server: proxies, an end to silence, and what the server said when it refused. */
import type { Dispatcher } from "undici";
import { HttpClient, type Received, type Sent } from "./http.ts";

export interface Refusal {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
}

interface Places {
  env(name: string): string | undefined;
  /** the setting `httpProxy` */
  setting(): string | undefined;
  /** Node's own; whoever replaced it since wants to see requests */
  fetch: typeof fetch;
}

type Send = (sent: Sent) => Promise<Received>;

export class Network {
  readonly #places: Places;
  readonly #direct = new HttpClient();
  /** by configuration, so that connections are used again */
  readonly #dispatchers = new Map<string, Promise<{ fetch: typeof fetch; dispatcher: Dispatcher }>>();

  constructor(places: Places) {
    this.#places = places;
  }

  /** A connection for one request. */
  async connect(options: ConnectionOptions): Promise<Connection> {
    return new Connection(await this.#way(), options);
  }

  async close(): Promise<void> {
    this.#direct.close();
    const all = [...this.#dispatchers.values()];
    this.#dispatchers.clear();
    await Promise.allSettled(all.map(async (opened) => (await opened).dispatcher.destroy()));
  }

  /** Directly, unless a proxy is configured, which is undici's and read now, or an extension watches fetch, which knows no proxy. */
  async #way(): Promise<Send> {
    const { env, setting } = this.#places;
    const own = setting() || undefined;
    const httpProxy = own ?? env("HTTP_PROXY") ?? env("http_proxy") ?? "";
    const httpsProxy = own ?? env("HTTPS_PROXY") ?? env("https_proxy") ?? "";
    const noProxy = env("NO_PROXY") ?? env("no_proxy") ?? "";
    if (!httpProxy && !httpsProxy) return globalThis.fetch === this.#places.fetch ? (sent) => this.#send(sent) : byFetch(globalThis.fetch);
    const key = JSON.stringify([httpProxy, httpsProxy, noProxy]);
    let opened = this.#dispatchers.get(key);
    if (!opened) {
      opened = openDispatcher({ httpProxy, httpsProxy, noProxy });
      this.#dispatchers.set(key, opened);
    }
    const { fetch, dispatcher } = await opened;
    return byFetch((url, init) => fetch(url, { ...init, dispatcher } as RequestInit));
  }

  async #send(sent: Sent): Promise<Received> {
    const received = await this.#direct.send(sent);
    if (received.status < 300 || received.status >= 400 || !received.headers.location) return received;
    // An answer that nobody reads holds its connection.
    for await (const _ of received.body) break;
    // Rare enough to leave the rules of it to those who know them.
    return byFetch(this.#places.fetch)(sent);
  }
}

async function openDispatcher(proxies: { httpProxy: string; httpsProxy: string; noProxy: string }) {
  // Its default, because CommonJS has no other names in a bundle.
  const { default: undici } = await import("undici");
  // Silence is ours to judge, so the dispatcher does not.
  const dispatcher = new undici.EnvHttpProxyAgent({ ...proxies, headersTimeout: 0, bodyTimeout: 0 });
  return { fetch: undici.fetch as unknown as typeof fetch, dispatcher };
}

function byFetch(fetch: typeof globalThis.fetch): Send {
  return async ({ url, body, ...init }) => {
    // As text: whoever replaced fetch expects one, and Node 20's own cannot repeat bytes after a redirect.
    const response = await fetch(url, { ...init, ...(body && { body: Buffer.from(body).toString("utf8") }) });
    return { status: response.status, headers: Object.fromEntries(response.headers), body: response.body ?? nothing() };
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

export interface ConnectionOptions {
  signal: AbortSignal;
  idleMs: number;
  onResponse(response: Answer): Promise<void>;
}

/** One request's connection. `fetch` is what an SDK is given; it answers without a body, which is read here. */
export class Connection {
  readonly #send: Send;
  readonly #options: ConnectionOptions;
  readonly #silence = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  /** ends the waiting, while somebody waits */
  #refuse: ((reason: Error) => void) | undefined;
  #received: Received | undefined;
  /** what the server answered instead of a stream */
  refusal: Refusal | undefined;
  /** why we gave up */
  failure: Error | undefined;

  constructor(send: Send, options: ConnectionOptions) {
    this.#send = send;
    this.#options = options;
  }

  get headers(): Record<string, string> {
    return this.#received?.headers ?? {};
  }

  readonly fetch: typeof globalThis.fetch = async (url, init) => {
    const signals = [this.#options.signal, this.#silence.signal, ...(init?.signal ? [init.signal] : [])];
    const received = await this.#patiently(
      this.#send({
        url: String(url),
        method: init?.method ?? "GET",
        headers: Object.fromEntries(new Headers(init?.headers)),
        body: init?.body as Uint8Array | undefined,
        signal: AbortSignal.any(signals),
      }),
    );
    const { status, headers } = received;
    await this.#options.onResponse({ status, headers });
    const isGood = status >= 200 && status < 300;
    this.#received = received;
    if (isGood && !/^application\/(problem\+)?json/i.test(headers["content-type"] ?? "")) return new Response(null, { status: 200, headers });
    const text = await this.#text(received.body);
    // A stream under the wrong name.
    if (isGood && /^(data|event|id|retry)?:/.test(text)) {
      this.#received = { ...received, body: pieceOf(text) };
      return new Response(null, { status: 200, headers });
    }
    this.refusal = { status, headers, body: text };
    return new Response(text, { status: isGood ? 502 : status, headers: plainText(headers) });
  };

  /** The body as it comes. A reader that rests is not the server's silence. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    const pieces = this.#received?.body[Symbol.asyncIterator]();
    if (!pieces) return;
    let isLeft = false;
    try {
      for (;;) {
        const { done, value } = await this.#patiently(pieces.next());
        if (done) return;
        isLeft = true;
        yield value;
        isLeft = false;
      }
    } finally {
      // Not what failed or fell silent: there may be no answer to that either.
      if (isLeft) await pieces.return?.();
    }
  }

  async #text(body: AsyncIterable<Uint8Array>): Promise<string> {
    const chunks: Uint8Array[] = [];
    const pieces = body[Symbol.asyncIterator]();
    for (let step = await this.#patiently(pieces.next()); !step.done; step = await this.#patiently(pieces.next())) chunks.push(step.value);
    return Buffer.concat(chunks).toString("utf8");
  }

  /** Gives up on a server that is silent for too long. One timer serves the whole request: setting one for each piece would cost more than the piece. */
  async #patiently<T>(work: Promise<T>): Promise<T> {
    const { idleMs } = this.#options;
    if (idleMs === 0) return work;
    if (this.#timer) this.#timer.refresh();
    else this.#timer = setTimeout(() => this.#giveUp(idleMs), idleMs);
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#refuse = reject;
        work.then(resolve, reject);
      });
    } finally {
      this.#refuse = undefined;
    }
  }

  /** The exchange is over. */
  close(): void {
    clearTimeout(this.#timer);
  }

  /** Not by the signal alone: a fetch that somebody else brought may not listen to it. */
  #giveUp(idleMs: number): void {
    if (!this.#refuse) return;
    this.failure = new Error(`The request timed out: the server sent nothing for ${idleMs / 1000} s.`);
    this.#silence.abort(this.failure);
    this.#refuse(this.failure);
  }
}

async function* pieceOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** The body was decoded: what the headers say about its form is no longer true. */
function plainText(headers: Record<string, string>): Record<string, string> {
  const { "content-encoding": _, "content-length": __, "transfer-encoding": ___, ...rest } = headers;
  return rest;
}
