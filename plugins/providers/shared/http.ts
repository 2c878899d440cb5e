/** Requests over Node's own HTTP client: a stream of many small pieces costs a fraction of what it costs through fetch. */
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import type { Readable } from "node:stream";

/** How long the end of a body may take after its last word. */
const GRACE_MS = 50;

/** What is asked; the body is complete. */
export interface Sent {
  url: string;
  headers: Record<string, string>;
  /** in parts, which together are the body */
  body: readonly Uint8Array[];
  /** Says how the request can be given up from now on. */
  onOpen(giveUp: (reason: Error) => void): void;
}

/** What came back. */
export interface Received {
  status: number;
  headers: Record<string, string>;
  body: Body;
}

export interface Body {
  /** All that has arrived by now in one piece; undefined at the end. An answer that breaks off is an error. */
  next(): Promise<Uint8Array | undefined>;
  /** Nobody reads further. */
  leave(): Promise<void>;
}

type Library = Pick<typeof import("node:http"), "Agent" | "request">;

/** Connections are kept for the next request. */
export class HttpClient {
  readonly #agents = new Map<string, Agent>();
  #last: { url: string; place: Place } | undefined;

  async send(sent: Sent): Promise<Received> {
    const isSecure = sent.url.startsWith("https:");
    const library: Library = await (isSecure ? import("node:https") : import("node:http"));
    const open = () => library.request(this.#options(sent, library, isSecure));
    const response = await answered(open(), sent).catch((error: FailedRequest) => {
      // A kept connection that the server closed in the meantime says nothing about the server.
      if (error.wasReused) return answered(open(), sent);
      throw error;
    });
    return { status: response.statusCode ?? 0, headers: plainHeaders(response), body: new Incoming(await decoded(response)) };
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }

  #options({ url, headers, body }: Sent, library: Library, isSecure: boolean): RequestOptions {
    if (this.#last?.url !== url) this.#last = { url, place: placeOf(new URL(url)) };
    const { options, ownHeaders } = this.#last.place;
    const length = body.reduce((sum, part) => sum + part.length, 0);
    // A list is written as it stands, without a look at each header.
    const list = Object.entries({ ...ownHeaders, ...headers, "content-length": String(length) }).flat();
    return { ...options, headers: list as unknown as RequestOptions["headers"], agent: this.#agent(library, isSecure ? "https" : "http") };
  }

  #agent(library: Library, name: string): Agent {
    let agent = this.#agents.get(name);
    if (!agent) {
      agent = new library.Agent({ keepAlive: true });
      this.#agents.set(name, agent);
    }
    return agent;
  }
}

/** An address in Node's words. */
interface Place {
  options: RequestOptions;
  /** which everybody else's win over */
  ownHeaders: Record<string, string>;
}

function placeOf({ protocol, hostname, host, port, pathname, search, username, password }: URL): Place {
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64");
  return {
    options: { method: "POST", protocol, hostname: hostname.replace(/^\[(.*)\]$/, "$1"), ...(port && { port }), path: pathname + search },
    ownHeaders: { host, ...(username && { authorization: `Basic ${login}` }) },
  };
}

interface FailedRequest extends Error {
  wasReused?: boolean;
}

/** Says it in the words of fetch, which everybody knows. */
function answered(request: ClientRequest, { body, onOpen }: Sent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let isGivenUp = false;
    onOpen((reason) => {
      isGivenUp = true;
      request.destroy(reason);
    });
    request.on("response", resolve);
    request.on("error", (cause: NodeJS.ErrnoException) => {
      const error: FailedRequest = new TypeError("fetch failed", { cause });
      error.wasReused = request.reusedSocket && cause.code === "ECONNRESET" && !isGivenUp;
      reject(error);
    });
    for (const part of body) request.write(part);
    request.end();
  });
}

function plainHeaders({ headers }: IncomingMessage): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) plain[name] = Array.isArray(value) ? value.join(", ") : value;
  return plain;
}

/** We ask for no compression; some servers compress all the same. */
async function decoded(response: IncomingMessage): Promise<Readable> {
  const encoding = response.headers["content-encoding"]?.toLowerCase();
  if (!encoding || encoding === "identity") return response;
  const { createBrotliDecompress, createUnzip } = await import("node:zlib");
  const decoder = encoding === "br" ? createBrotliDecompress() : createUnzip();
  // Neither stays behind when the other goes: a connection would be held for nobody.
  response.on("error", (error) => decoder.destroy(error));
  decoder.on("close", () => response.destroy());
  return response.pipe(decoder);
}

/** Reads without an iterator in between, which would cost more than a small piece does. */
class Incoming implements Body {
  readonly #stream: Readable;
  #waiting: { resolve(piece: Uint8Array | undefined): void; reject(error: Error): void } | undefined;
  #isOver = false;
  #isLeft = false;
  #failure: Error | undefined;

  constructor(stream: Readable) {
    this.#stream = stream;
    stream.on("readable", () => this.#look());
    stream.on("end", () => this.#end());
    stream.on("error", (error) => this.#end(error));
    stream.on("close", () => this.#end());
  }

  next(): Promise<Uint8Array | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#look();
    });
  }

  /** Nearly always only the end of the body is missing: then the connection serves the next request too. */
  async leave(): Promise<void> {
    const stream = this.#stream;
    if (stream.destroyed || this.#isOver) return;
    this.#isLeft = true;
    const ended = new Promise<void>((resolve) => stream.on("close", resolve));
    const timer = setTimeout(() => stream.destroy(), GRACE_MS);
    stream.read();
    await ended;
    clearTimeout(timer);
  }

  #look(): void {
    const waiting = this.#waiting;
    if (!waiting && !this.#isLeft) return;
    const piece: Uint8Array | null = this.#stream.read();
    if (!waiting || (!piece && !this.#isOver)) return;
    this.#waiting = undefined;
    if (piece) waiting.resolve(piece);
    else if (this.#failure) waiting.reject(this.#failure);
    else waiting.resolve(undefined);
  }

  #end(error?: NodeJS.ErrnoException): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (error?.code === "ECONNRESET")
      this.#failure = new Error("terminated: the server closed the connection before the answer was complete", { cause: error });
    else if (error) this.#failure = error;
    this.#look();
  }
}
