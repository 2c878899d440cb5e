/** The way to a model's server: proxies, an end to silence, and what the server said when it refused. */
import type { Dispatcher } from "undici";

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
}

/** The timer of Node's own fetch; whoever wants to wait longer needs another one. */
const BUILT_IN_LIMIT_MS = 300_000;

export class Network {
  readonly #places: Places;
  /** by configuration, so that connections are used again */
  readonly #dispatchers = new Map<string, Promise<{ fetch: typeof fetch; dispatcher: Dispatcher }>>();

  constructor(places: Places) {
    this.#places = places;
  }

  /** A fetch for one request. */
  async connect(options: ConnectionOptions): Promise<Connection> {
    return new Connection(await this.#fetch(options.idleMs), options);
  }

  async close(): Promise<void> {
    const all = [...this.#dispatchers.values()];
    this.#dispatchers.clear();
    await Promise.all(all.map(async (opened) => (await opened).dispatcher.destroy()));
  }

  /** Node's fetch, unless a proxy or a longer patience is configured: then undici, read now. */
  async #fetch(idleMs: number): Promise<typeof fetch> {
    const { env, setting } = this.#places;
    const own = setting() || undefined;
    const httpProxy = own ?? env("HTTP_PROXY") ?? env("http_proxy") ?? "";
    const httpsProxy = own ?? env("HTTPS_PROXY") ?? env("https_proxy") ?? "";
    const noProxy = env("NO_PROXY") ?? env("no_proxy") ?? "";
    const isPatient = idleMs === 0 || idleMs > BUILT_IN_LIMIT_MS;
    if (!httpProxy && !httpsProxy && !isPatient) return globalThis.fetch;
    const key = JSON.stringify([httpProxy, httpsProxy, noProxy]);
    let opened = this.#dispatchers.get(key);
    if (!opened) {
      opened = openDispatcher({ httpProxy, httpsProxy, noProxy });
      this.#dispatchers.set(key, opened);
    }
    const { fetch, dispatcher } = await opened;
    return (url, init) => fetch(url, { ...init, dispatcher } as RequestInit);
  }
}

async function openDispatcher(proxies: { httpProxy: string; httpsProxy: string; noProxy: string }) {
  const undici = await import("undici");
  // Silence is ours to judge, so the dispatcher does not.
  const dispatcher = new undici.EnvHttpProxyAgent({ ...proxies, headersTimeout: 0, bodyTimeout: 0 });
  return { fetch: undici.fetch as unknown as typeof fetch, dispatcher };
}

export interface ConnectionOptions {
  signal: AbortSignal;
  idleMs: number;
  onResponse(response: Answer): Promise<void>;
}

/** One request's connection. `fetch` is what an SDK is given. */
export class Connection {
  readonly #fetch: typeof fetch;
  readonly #options: ConnectionOptions;
  readonly #silence = new AbortController();
  /** what the server answered instead of a stream */
  refusal: Refusal | undefined;
  /** why we gave up */
  failure: Error | undefined;

  constructor(fetch: typeof globalThis.fetch, options: ConnectionOptions) {
    this.#fetch = fetch;
    this.#options = options;
  }

  readonly fetch: typeof globalThis.fetch = async (url, init) => {
    const signals = [this.#options.signal, this.#silence.signal, ...(init?.signal ? [init.signal] : [])];
    const response = await this.#patiently(this.#fetch(url, { ...init, signal: AbortSignal.any(signals) }));
    const headers = Object.fromEntries(response.headers);
    await this.#options.onResponse({ status: response.status, headers });
    const isStream = response.ok && !/^application\/(problem\+)?json/i.test(headers["content-type"] ?? "");
    if (isStream) return this.#watched(response);
    const body = await this.#patiently(response.text());
    // A stream under the wrong name.
    if (response.ok && /^(data|event|id|retry)?:/.test(body)) return new Response(body, { headers: response.headers });
    this.refusal = { status: response.status, headers, body };
    return new Response(body, { status: response.ok ? 502 : response.status, headers: response.headers });
  };

  /** The same response, whose reader waits for each piece no longer than allowed. A reader that rests is not the server's silence. */
  #watched(response: Response): Response {
    const reader = response.body?.getReader();
    if (!reader) return response;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await this.#patiently(reader.read());
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { status: response.status, headers: response.headers });
  }

  async #patiently<T>(work: Promise<T>): Promise<T> {
    const { idleMs } = this.#options;
    if (idleMs === 0) return work;
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.failure = new Error(`The request timed out: the server sent nothing for ${idleMs / 1000} s.`);
        reject(this.failure);
        this.#silence.abort(this.failure);
      }, idleMs);
    });
    work.catch(() => undefined);
    try {
      return await Promise.race([work, silence]);
    } finally {
      clearTimeout(timer);
    }
  }
}
