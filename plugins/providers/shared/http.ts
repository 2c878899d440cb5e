/** Requests over Node's own HTTP client: a stream of many small pieces costs a fraction of what it costs through fetch. */
import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import type { Readable } from "node:stream";

/** How long the end of a body may take after its last word. */
const GRACE_MS = 50;

/** What was asked; the body is complete. */
export interface Sent {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: Uint8Array | undefined;
  signal: AbortSignal;
}

/** What came back. Whoever stops reading early gives the connection up. */
export interface Received {
  status: number;
  headers: Record<string, string>;
  body: AsyncIterable<Uint8Array>;
}

/** Connections are kept for the next request. */
export class HttpClient {
  readonly #agents = new Map<string, Agent>();

  async send(sent: Sent): Promise<Received> {
    const isSecure = sent.url.startsWith("https:");
    const library = await (isSecure ? import("node:https") : import("node:http"));
    let agent = this.#agents.get(isSecure ? "https" : "http");
    if (!agent) {
      agent = new library.Agent({ keepAlive: true });
      this.#agents.set(isSecure ? "https" : "http", agent);
    }
    const { body } = sent;
    const headers = body ? { ...sent.headers, "content-length": String(body.length) } : sent.headers;
    const open = () => library.request(sent.url, { method: sent.method, headers, agent, signal: sent.signal });
    const response = await answered(open(), body).catch((error: FailedRequest) => {
      // A kept connection that the server closed in the meantime says nothing about the server.
      if (error.wasReused && !sent.signal.aborted) return answered(open(), body);
      throw error;
    });
    return { status: response.statusCode ?? 0, headers: plainHeaders(response), body: readable(await decoded(response)) };
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }
}

interface FailedRequest extends Error {
  wasReused?: boolean;
}

/** Says it in the words of fetch, which everybody knows. */
function answered(request: ClientRequest, body: Uint8Array | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on("response", resolve);
    request.on("error", (cause: NodeJS.ErrnoException) => {
      const error: FailedRequest = new TypeError("fetch failed", { cause });
      error.wasReused = request.reusedSocket && cause.code === "ECONNRESET";
      reject(error);
    });
    request.end(body);
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
  // It begins at once, and may fail before anybody reads: whoever reads later is told.
  decoder.on("error", () => {});
  // Neither stays behind when the other goes: a connection would be held for nobody.
  response.on("error", (error) => decoder.destroy(error));
  decoder.on("close", () => response.destroy());
  return response.pipe(decoder);
}

/** All that has arrived by now in one piece; an answer that breaks off is an error. */
async function* readable(stream: Readable): AsyncGenerator<Uint8Array> {
  let isOver = false;
  try {
    for await (const piece of stream.iterator({ destroyOnReturn: false })) yield piece as Uint8Array;
    isOver = true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ECONNRESET") throw error;
    throw new Error("terminated: the server closed the connection before the answer was complete", { cause: error });
  } finally {
    if (!isOver) await leave(stream);
  }
}

/** Nearly always only the end of the body is missing: then the connection serves the next request too. */
async function leave(stream: Readable): Promise<void> {
  if (stream.destroyed) return;
  const ended = new Promise<void>((resolve) => {
    stream.on("close", resolve);
    stream.on("error", () => {});
  });
  const timer = setTimeout(() => stream.destroy(), GRACE_MS);
  stream.resume();
  await ended;
  clearTimeout(timer);
}
