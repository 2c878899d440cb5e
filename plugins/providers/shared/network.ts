/** The way to a model's server: proxies, an end to silence, and what the server said when it refused. */
import type { Dispatcher } from "undici";
import { type Body, HttpClient, type Received } from "./http.ts";
import { followingRedirects, type Send } from "./redirects.ts";
import type { Target } from "./target.ts";

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

/** Enough of what a server says instead of a stream; some never stop. */
const LONGEST_REFUSAL = 1024 * 1024;
/** How a stream begins, and how much of it shows that. */
const STREAM_START = /^(data|event|id|retry)?:/;
const START_LENGTH = 6;

export class Network {
  readonly #places: Places;
  readonly #direct = new HttpClient();
  readonly #directly = followingRedirects((sent) => this.#direct.send(sent));
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
    const httpProxy = proxyAddress(own ?? env("HTTP_PROXY") ?? env("http_proxy"));
    const httpsProxy = proxyAddress(own ?? env("HTTPS_PROXY") ?? env("https_proxy"));
    const noProxy = env("NO_PROXY") ?? env("no_proxy") ?? "";
    if (!httpProxy && !httpsProxy) return globalThis.fetch === this.#places.fetch ? this.#directly : byFetch(globalThis.fetch);
    const key = JSON.stringify([httpProxy, httpsProxy, noProxy]);
    let opened = this.#dispatchers.get(key);
    if (!opened) {
      opened = openDispatcher({ httpProxy, httpsProxy, noProxy });
      this.#dispatchers.set(key, opened);
    }
    const { fetch, dispatcher } = await opened;
    return followingRedirects(byFetch((url, init) => fetch(url, { ...init, dispatcher, redirect: "manual" } as RequestInit)));
  }
}

/** As other programs take it: without a scheme it is HTTP, and a path says nothing. Empty: no proxy. */
function proxyAddress(given = ""): string {
  const text = given.trim();
  if (text === "") return "";
  const address = /^\w+:\/\//.test(text) ? text : `http://${text}`;
  // Not repeated: it may hold a login.
  if (!URL.canParse(address)) throw new Error("The address of the proxy cannot be read (HTTP_PROXY, HTTPS_PROXY or the setting httpProxy).");
  return Object.assign(new URL(address), { pathname: "/", search: "", hash: "" }).href;
}

async function openDispatcher(proxies: { httpProxy: string; httpsProxy: string; noProxy: string }) {
  // Its default, because CommonJS has no other names in a bundle.
  const { default: undici } = await import("undici");
  // Silence is ours to judge, so the dispatcher does not.
  const dispatcher = new undici.EnvHttpProxyAgent({ ...proxies, headersTimeout: 0, bodyTimeout: 0 });
  return { fetch: undici.fetch as unknown as typeof fetch, dispatcher };
}

function byFetch(fetch: typeof globalThis.fetch): Send {
  return async ({ url, headers, body, onOpen }) => {
    const ending = new AbortController();
    onOpen((reason) => ending.abort(reason));
    // As text: whoever replaced fetch expects one, and Node 20's own cannot repeat bytes after a redirect.
    const response = await fetch(url, { method: "POST", headers, body: Buffer.concat(body).toString("utf8"), signal: ending.signal });
    return { status: response.status, headers: Object.fromEntries(response.headers), body: bodyOf(response.body) };
  };
}

/** Reads a stream of fetch's. */
function bodyOf(stream: ReadableStream<Uint8Array> | null): Body {
  const reader = stream?.getReader();
  return {
    next: async () => (await reader?.read())?.value,
    // Not waited for: there may be no answer to that either.
    leave: async () => void reader?.cancel().catch(() => undefined),
  };
}

export interface ConnectionOptions {
  signal: AbortSignal;
  idleMs: number;
  onResponse(response: Answer): Promise<void>;
}

/** One request's connection. */
export class Connection {
  readonly #send: Send;
  readonly #options: ConnectionOptions;
  #timer: NodeJS.Timeout | undefined;
  /** ends the waiting, while somebody waits */
  #refuse: ((reason: Error) => void) | undefined;
  #giveUpRequest: ((reason: Error) => void) | undefined;
  #received: Received | undefined;
  /** the beginning of a stream that came under a wrong name */
  #beginning: Uint8Array | undefined;
  /** what the server answered instead of a stream */
  refusal: Refusal | undefined;
  /** why we gave up */
  failure: Error | undefined;

  constructor(send: Send, options: ConnectionOptions) {
    this.#send = send;
    this.#options = options;
    options.signal.addEventListener("abort", this.#onAbort);
  }

  get headers(): Record<string, string> {
    return this.#received?.headers ?? {};
  }

  /** Sends the request and waits for the head of its answer. Throws if there is none, or if it says no. */
  async send({ url, headers: asked }: Target, body: readonly Uint8Array[]): Promise<void> {
    const onOpen = (giveUp: (reason: Error) => void) => {
      this.#giveUpRequest = giveUp;
      if (this.#options.signal.aborted) this.#onAbort();
    };
    const received = await this.#patiently(this.#send({ url, headers: asked, body, onOpen })).catch((cause) => {
      throw new Error("Connection error.", { cause });
    });
    this.#received = received;
    const { status, headers } = received;
    await this.#options.onResponse({ status, headers });
    const isGood = status >= 200 && status < 300;
    if (isGood && !/^(application\/(problem\+)?json|text\/html)/i.test(headers["content-type"] ?? "")) return;
    const said = await this.#listen(received.body, isGood);
    if (said === undefined) return;
    this.refusal = { status, headers, body: said };
    throw new Error(`The server answered with status ${status}.`);
  }

  /** The next piece of the body, undefined at its end. A reader that rests is not the server's silence. */
  async next(): Promise<Uint8Array | undefined> {
    const beginning = this.#beginning;
    this.#beginning = undefined;
    return beginning ?? (this.#received && this.#patiently(this.#received.body.next()));
  }

  /** What is said instead of a stream; undefined if it is one after all. */
  async #listen(body: Body, mayStream: boolean): Promise<string | undefined> {
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (let piece = await this.#patiently(body.next()); piece; piece = await this.#patiently(body.next())) {
      pieces.push(piece);
      if (mayStream && size < START_LENGTH && STREAM_START.test(Buffer.concat(pieces).toString("latin1"))) {
        this.#beginning = Buffer.concat(pieces);
        return undefined;
      }
      size += piece.length;
      if (size > LONGEST_REFUSAL) break;
    }
    return Buffer.concat(pieces).toString("utf8");
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
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    await this.#received?.body.leave();
  }

  readonly #onAbort = (): void => this.#giveUpRequest?.(this.#options.signal.reason);

  /** Not by the request alone: a fetch that somebody else brought may not listen. */
  #giveUp(idleMs: number): void {
    if (!this.#refuse) return;
    this.failure = new Error(`The request timed out: the server sent nothing for ${idleMs / 1000} s.`);
    this.#giveUpRequest?.(this.failure);
    this.#refuse(this.failure);
  }
}
