/** One request to a model, the same for every wire API: credential, hooks, the stream as events, and failure as data. */
import { ABORTED, type AssistantMessageEvent, type Model, type ModelRequest, type Usage, unseen, zeroUsage } from "../../../core/index.ts";
import type { Auth } from "../../models/contract.ts";
import { calculateCost } from "../../shared/cost.ts";
import { Draft } from "../../shared/draft.ts";
import { hideSecrets } from "../../shared/secrets.ts";
import type { Environment } from "./environment.ts";
import { errorText, refusalText } from "./failures.ts";
import { freshJson, rememberedJson } from "./memory.ts";
import type { Connection } from "./network.ts";
import { EventReader } from "./sse.ts";
import { isCredential, type Target } from "./target.ts";
import { cleanText, type Limits, prepareMessages } from "./transform.ts";

/** Ends a stream of OpenAI's kind. */
const LAST = "[DONE]";

/** Counts of a request; cost and total are worked out here. */
export type Counts = Pick<Usage, "input" | "output" | "cacheRead" | "cacheWrite" | "cacheWrite1h" | "reasoning">;

export type Ending = { reason: "stop" | "length" | "toolUse"; raw?: string } | { error: string; raw?: string };

/** What reads one answer. */
export interface Reader<Chunk> {
  /** Turns one chunk into changes of the draft. */
  read(chunk: Chunk): void;
  /** How the answer ended; throws if the stream broke off. */
  ending(): Ending;
  counts(): Counts | undefined;
}

/** What a client of an SDK is made from. */
export interface Address {
  baseUrl: string;
  headers: Record<string, string | null>;
}

export interface WireApi<Payload extends object, Chunk> {
  /** what conversations must look like */
  limits(model: Model): Limits;
  payload(request: ModelRequest, environment: Environment): Payload;
  /** headers of its own, which everybody else's win over */
  headers?(request: ModelRequest, place: { auth: Auth; baseUrl: string }): Record<string, string | null>;
  /** Where its SDK sends requests. */
  target(address: Address, request: ModelRequest, environment: Environment): Promise<Target>;
  /** The server's words, if a chunk says that it failed in the middle of its answer. */
  failure(chunk: Chunk): unknown;
  reader(draft: Draft, request: ModelRequest): Reader<Chunk>;
}

export async function* exchange<Payload extends object, Chunk>(
  api: WireApi<Payload, Chunk>,
  given: ModelRequest,
  environment: Environment,
): AsyncGenerator<AssistantMessageEvent> {
  const draft = new Draft(given.model);
  const reader = api.reader(draft, given);
  const secrets: (string | undefined)[] = [given.apiKey];
  let connection: Connection | undefined;
  const hide = (text: string) => hideSecrets(text, [...secrets, ...environment.secrets()]);
  const usage = () => usageOf(given.model, reader.counts());
  const read = (data: string): boolean => {
    const chunk = parsed<Chunk>(data, hide);
    if (!chunk || typeof chunk !== "object") return false;
    const failed = api.failure(chunk);
    if (failed) throw new StreamFailure(failed, connection?.headers ?? {});
    const counted = reader.counts();
    reader.read(chunk);
    if (reader.counts() !== counted) draft.note({ usage: usage() });
    return true;
  };
  try {
    const auth = await environment.auth(given);
    secrets.push(auth.apiKey, ...Object.values(auth.headers ?? {}));
    const baseUrl = auth.baseUrl ?? given.model.baseUrl;
    checkAddress(baseUrl, given.model);
    const headers = mergedHeaders(api.headers?.(given, { auth, baseUrl }), given.model.headers, auth.headers, given.headers);
    await given.onHeaders(headers);
    secrets.push(...credentialsIn(headers));
    const limits = api.limits(given.model);
    const model = baseUrl === given.model.baseUrl ? given.model : { ...given.model, baseUrl };
    const request = { ...given, model, systemPrompt: cleanText(given.systemPrompt), messages: prepareMessages(given.messages, model, limits) };
    const body = await bodyOf(api.payload(request, environment), given);
    const target = await api.target({ baseUrl, headers }, request, environment);
    given.signal.throwIfAborted();
    connection = await (await environment.network()).connect({ signal: given.signal, idleMs: environment.idleMs, onResponse: given.onResponse });
    await connection.send(target, body);
    const events = new EventReader();
    let isOver = false;
    for (let bytes = await connection.next(); bytes; bytes = await connection.next()) {
      let hasNews = false;
      try {
        for (const data of events.push(bytes)) {
          isOver = data.startsWith(LAST);
          if (isOver) break;
          hasNews = read(data) || hasNews;
        }
      } finally {
        // Also what came before the bad part.
        if (hasNews) yield* draft.take();
      }
      if (isOver) break;
    }
    if (!isOver) for (const data of events.end()) if (!data.startsWith(LAST)) read(data);
    given.signal.throwIfAborted();
    if (connection.failure) throw connection.failure;
    const ending = reader.ending();
    draft.closeAll();
    yield* draft.take();
    if (ending.raw) draft.note({ rawStopReason: ending.raw });
    if ("error" in ending) yield draft.fail("error", hide(ending.error), usage());
    // Some servers call it the use of a tool all the same.
    else yield draft.done(ending.reason === "toolUse" && draft.isCut ? "length" : ending.reason, usage());
  } catch (error) {
    if (given.signal.aborted) yield draft.fail("aborted", ABORTED, usage());
    else {
      const text = connection?.failure?.message ?? (connection?.refusal ? refusalText(connection.refusal, hide) : errorText(error, hide));
      yield draft.fail("error", hide(text), usage());
    }
  } finally {
    await connection?.close();
  }
}

/** Before anybody tries: it would look like a failure of the network, which is asked again. The address itself may hold a login. */
function checkAddress(baseUrl: string, { provider }: Model): void {
  if (URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)) return;
  throw new Error(`The baseUrl of the provider ${provider} is not an address that begins with http:// or https://`);
}

/** The payload as it is sent, or as plugins want it. They get one of their own: parts of ours are used again in the next request. */
function bodyOf(payload: object, { onPayload }: ModelRequest): Buffer[] | Promise<Buffer[]> {
  if (onPayload === unseen) return rememberedJson(payload);
  return onPayload(JSON.parse(JSON.stringify(payload))).then((changed) => freshJson(changed as object));
}

/** The server said in its stream that it failed. */
class StreamFailure extends Error {
  readonly error: unknown;
  readonly requestID: string | undefined;

  constructor(error: unknown, headers: Record<string, string>) {
    super(typeof error === "string" ? error : JSON.stringify(error));
    this.error = error;
    this.requestID = headers["request-id"] ?? headers["x-request-id"];
  }
}

function parsed<Chunk>(data: string, hide: (text: string) => string): Chunk {
  try {
    return JSON.parse(data);
  } catch {
    throw new Error(`The server sent an event that is not JSON: ${hide(data.slice(0, 10_000)).slice(0, 200)}`);
  }
}

/** Later ones win, whatever their spelling. */
function mergedHeaders(...layers: (Record<string, string | null> | undefined)[]): Record<string, string | null> {
  const merged = new Map<string, [name: string, value: string | null]>();
  for (const layer of layers) for (const [name, value] of Object.entries(layer ?? {})) merged.set(name.toLowerCase(), [name, value]);
  return Object.fromEntries(merged.values());
}

function credentialsIn(headers: Record<string, string | null>): string[] {
  const values = Object.entries(headers).flatMap(([name, value]) => (value && isCredential(name) ? [value] : []));
  return values.flatMap((value) => [value, value.replace(/^\w+ /, "")]);
}

function usageOf(model: Model, counts: Counts | undefined): Usage {
  if (!counts) return zeroUsage();
  const [input, output, cacheRead, cacheWrite] = [counts.input, counts.output, counts.cacheRead, counts.cacheWrite].map(countOf) as [
    number,
    number,
    number,
    number,
  ];
  const [cacheWrite1h, reasoning] = [countOf(counts.cacheWrite1h), countOf(counts.reasoning)];
  const known = { input, output, cacheRead, cacheWrite, ...(cacheWrite1h && { cacheWrite1h }), ...(reasoning && { reasoning }) };
  return { ...known, totalTokens: input + output + cacheRead + cacheWrite, cost: calculateCost(model, known) };
}

/** Servers send counts as text, or less than nothing. */
function countOf(given: unknown): number {
  const count = Number(given);
  return count > 0 && Number.isFinite(count) ? count : 0;
}
