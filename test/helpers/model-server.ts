/** A local model server that speaks three wire formats truly, answers by script, misbehaves on demand and remembers what it was asked. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { anthropicFrames } from "./model-server/anthropic.ts";
import { completionsFrames } from "./model-server/completions.ts";
import { responsesFrames } from "./model-server/responses.ts";

export type WireFormat = "anthropic-messages" | "openai-completions" | "openai-responses";

/** One block of an answer. Strings in a list are one delta each. */
export type ServerBlock =
  | { text: string | string[] }
  | { thinking: string | string[]; signature?: string; id?: string }
  /** thinking that only the provider can read */
  | { redacted: string }
  | { toolCall: { name: string; id?: string; arguments?: Record<string, unknown>; json?: string | string[] } }
  | { refusal: string | string[] };

export interface ServerUsage {
  input?: number;
  output?: number;
  cacheRead?: number;
  cacheWrite?: number;
  cacheWrite1h?: number;
  reasoning?: number;
}

/** What the server answers to one request; a string is one text block. */
export interface ServerAnswer {
  text?: string | string[];
  blocks?: ServerBlock[];
  /** the wire's own word, e.g. "max_tokens"; by default what fits the blocks */
  stop?: string;
  /** false: the server does not say */
  usage?: ServerUsage | false;
  /** deltas of all blocks alternate */
  interleave?: boolean;
  /** the frames themselves instead of blocks */
  frames?: (string | object)[];
  id?: string;
  model?: string;

  /** anything but 200 is answered as JSON with `body` */
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** before the first byte */
  delayMs?: number;
  /** between frames */
  frameDelayMs?: number;
  /** bytes per write: small numbers cut characters in two */
  splitBytes?: number;
  /** comments and pings between frames */
  keepAlives?: boolean;
  /** CRLF instead of LF */
  crlf?: boolean;
  /** Stops after this many frames and does … */
  after?: { frames: number; next: "disconnect" | "end" | "hang" | { error: unknown } | { keepAlive: number } };
  /** takes the request and never says anything */
  silent?: boolean;
}

export interface ServerRequest {
  wire: WireFormat;
  path: string;
  headers: IncomingHttpHeaders;
  /** as sent */
  raw: string;
  body: any;
  /** true once the client closed the connection before the answer was complete */
  readonly closedEarly: boolean;
  /** settles when the connection or the answer is over */
  readonly over: Promise<void>;
}

export type AnswerSource = ServerAnswer | string | ((request: ServerRequest, index: number) => ServerAnswer | string | Promise<ServerAnswer | string>);

const framesOf = { "anthropic-messages": anthropicFrames, "openai-completions": completionsFrames, "openai-responses": responsesFrames };

export class ModelServer {
  readonly requests: ServerRequest[] = [];
  readonly #answers: AnswerSource[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response).catch(() => response.destroy()));
  readonly #closing = new AbortController();
  #waiting: (() => void)[] = [];
  /** answers when the script is over */
  fallback: AnswerSource = { status: 500, body: { error: { type: "script", message: "The script has no further answer." } } };

  static async start(...answers: AnswerSource[]): Promise<ModelServer> {
    const server = new ModelServer();
    server.answer(...answers);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  /** `http://127.0.0.1:port`, the base of Anthropic's address */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** the base of OpenAI's address */
  get v1(): string {
    return `${this.origin}/v1`;
  }

  baseUrl(wire: WireFormat): string {
    return wire === "anthropic-messages" ? this.origin : this.v1;
  }

  /** Adds to the script. */
  answer(...answers: AnswerSource[]): this {
    this.#answers.push(...answers);
    return this;
  }

  /** Resolves once `count` requests have come. */
  async received(count: number): Promise<ServerRequest> {
    while (this.requests.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.requests[count - 1] as ServerRequest;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of message) pieces.push(piece as Buffer);
    const raw = Buffer.concat(pieces).toString("utf8");
    const path = message.url ?? "/";
    const wire: WireFormat = /\/messages(\?|$)/.test(path) ? "anthropic-messages" : /\/responses(\?|$)/.test(path) ? "openai-responses" : "openai-completions";
    let closedEarly = false;
    const over = new Promise<void>((resolve) =>
      response.on("close", () => {
        closedEarly = !response.writableEnded;
        resolve();
      }),
    );
    const request: ServerRequest = {
      wire,
      path,
      headers: message.headers,
      raw,
      body: parsed(raw),
      over,
      get closedEarly() {
        return closedEarly;
      },
    };
    const index = this.requests.push(request) - 1;
    for (const wake of this.#waiting.splice(0)) wake();
    const source = this.#answers.shift() ?? this.fallback;
    const answer = typeof source === "function" ? await source(request, index) : source;
    await this.#play(typeof answer === "string" ? { text: answer } : answer, request, response);
  }

  async #play(answer: ServerAnswer, request: ServerRequest, response: ServerResponse): Promise<void> {
    const { signal } = this.#closing;
    if (answer.silent) return;
    if (answer.delayMs) await sleep(answer.delayMs, undefined, { signal });
    const status = answer.status ?? 200;
    if (answer.body !== undefined || status !== 200) {
      const body = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body ?? {});
      const type = typeof answer.body === "string" ? "text/plain" : "application/json";
      response.writeHead(status, { "content-type": type, ...answer.headers }).end(body);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache", ...answer.headers });
    response.flushHeaders();
    const frames = (answer.frames ?? framesOf[request.wire](answer, request.body)).map((frame) => frameText(frame, request.wire));
    const last = answer.after ? Math.min(answer.after.frames, frames.length) : frames.length;
    for (const frame of frames.slice(0, last)) {
      if (answer.frameDelayMs) await sleep(answer.frameDelayMs, undefined, { signal });
      if (answer.keepAlives) await write(response, answer, keepAlive(request.wire), signal);
      await write(response, answer, frame, signal);
    }
    await this.#end(answer, request, response, signal);
  }

  async #end({ after }: ServerAnswer, request: ServerRequest, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const next = after?.next ?? "end";
    if (next === "end") response.end();
    else if (next === "disconnect") {
      // What was written goes out first, then the connection breaks.
      await sleep(20, undefined, { signal });
      response.destroy();
    } else if (next === "hang") return;
    else if ("error" in next) response.end(errorFrame(request.wire, next.error));
    else {
      while (!response.destroyed && !signal.aborted) {
        response.write(keepAlive(request.wire));
        await sleep(next.keepAlive, undefined, { signal });
      }
    }
  }
}

async function write(response: ServerResponse, { splitBytes, crlf }: ServerAnswer, frame: string, signal: AbortSignal): Promise<void> {
  const bytes = Buffer.from(crlf ? frame.replaceAll("\n", "\r\n") : frame);
  if (!splitBytes) {
    if (!response.write(bytes) && !response.destroyed) await drained(response);
    return;
  }
  for (let at = 0; at < bytes.length; at += splitBytes) {
    response.write(bytes.subarray(at, at + splitBytes));
    // One packet each, or the client sees them joined again.
    await sleep(1, undefined, { signal });
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.once("drain", done).once("close", done);
  });
}

function frameText(frame: string | object, wire: WireFormat): string {
  if (typeof frame === "string") return frame;
  const type = (frame as { type?: string }).type;
  const event = wire !== "openai-completions" && type ? `event: ${type}\n` : "";
  return `${event}data: ${JSON.stringify(frame)}\n\n`;
}

function keepAlive(wire: WireFormat): string {
  return wire === "anthropic-messages" ? 'event: ping\ndata: {"type": "ping"}\n\n' : ": keep-alive\n\n";
}

function errorFrame(wire: WireFormat, error: unknown): string {
  if (wire === "anthropic-messages") return frameText({ type: "error", error }, wire);
  if (wire === "openai-completions") return frameText({ error }, wire);
  return frameText({ ...(error as object), type: "error" }, wire);
}

function parsed(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}
