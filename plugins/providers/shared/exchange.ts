/** One request to a model, the same for every wire API: credential, hooks, the stream as events, and failure as data. */
import { ABORTED, type AssistantMessageEvent, type Model, type ModelRequest, type Usage, zeroUsage } from "../../../core/index.ts";
import type { Auth } from "../../models/contract.ts";
import { calculateCost } from "../../shared/cost.ts";
import { Draft } from "../../shared/draft.ts";
import { hideSecrets } from "../../shared/secrets.ts";
import type { Environment } from "./environment.ts";
import { errorText, refusalText } from "./failures.ts";
import type { Connection } from "./network.ts";
import { cleanText, type Limits, prepareMessages } from "./transform.ts";

/** Counts of a request; cost and total are worked out here. */
export type Counts = Pick<Usage, "input" | "output" | "cacheRead" | "cacheWrite" | "cacheWrite1h" | "reasoning">;

export type Ending = { reason: "stop" | "length" | "toolUse"; raw?: string } | { error: string; raw?: string };

/** What reads one answer. */
export interface Reader<Chunk> {
  /** Turns one chunk into changes of the draft. */
  read(chunk: Chunk): Iterable<AssistantMessageEvent>;
  /** How the answer ended; throws if the stream broke off. */
  ending(): Ending;
  counts(): Counts | undefined;
}

/** What a client of an SDK is made from. */
export interface Address {
  auth: Auth;
  baseUrl: string;
  headers: Record<string, string | null>;
  fetch: typeof fetch;
  signal: AbortSignal;
}

export interface WireApi<Payload, Chunk> {
  /** what conversations must look like */
  limits(model: Model): Limits;
  payload(request: ModelRequest, environment: Environment): Payload;
  /** headers of its own, which everybody else's win over */
  headers?(request: ModelRequest, address: Pick<Address, "auth" | "baseUrl">): Record<string, string | null>;
  /** Reads its SDK and sends the payload. */
  open(payload: Payload, address: Address, request: ModelRequest, environment: Environment): Promise<AsyncIterable<Chunk>>;
  reader(draft: Draft, request: ModelRequest): Reader<Chunk>;
}

export async function* exchange<Payload, Chunk>(
  api: WireApi<Payload, Chunk>,
  given: ModelRequest,
  environment: Environment,
): AsyncGenerator<AssistantMessageEvent> {
  const draft = new Draft(given.model);
  const reader = api.reader(draft, given);
  const secrets: (string | undefined)[] = [given.apiKey];
  let connection: Connection | undefined;
  const usage = () => usageOf(given.model, reader.counts());
  try {
    const auth = await environment.auth(given);
    secrets.push(auth.apiKey, ...Object.values(auth.headers ?? {}));
    const baseUrl = auth.baseUrl ?? given.model.baseUrl;
    const headers = mergedHeaders(api.headers?.(given, { auth, baseUrl }), given.model.headers, auth.headers, given.headers);
    await given.onHeaders(headers);
    secrets.push(...credentialsIn(headers));
    const limits = { ...api.limits(given.model), blockImages: environment.blockImages };
    const model = { ...given.model, baseUrl };
    const request = { ...given, model, systemPrompt: cleanText(given.systemPrompt), messages: prepareMessages(given.messages, model, limits) };
    const payload = (await given.onPayload(api.payload(request, environment))) as Payload;
    given.signal.throwIfAborted();
    connection = await environment.network.connect({ signal: given.signal, idleMs: environment.idleMs, onResponse: given.onResponse });
    const { fetch } = connection;
    for await (const chunk of await api.open(payload, { auth, baseUrl, headers, fetch, signal: given.signal }, request, environment)) {
      if (!chunk || typeof chunk !== "object") continue;
      // Collected first: the message that `start` shows already has what the first chunk says about it.
      const events = [...reader.read(chunk)];
      if (!draft.isStarted) yield startOf(draft, events);
      yield* events;
    }
    // SDKs end an aborted stream without a word.
    given.signal.throwIfAborted();
    if (connection.failure) throw connection.failure;
    const ending = reader.ending();
    yield* draft.closeAll();
    if (ending.raw) draft.note({ rawStopReason: ending.raw });
    if ("error" in ending) yield draft.fail("error", hideSecrets(ending.error, [...secrets, ...environment.secrets()]), usage());
    else yield draft.done(ending.reason, usage());
  } catch (error) {
    if (given.signal.aborted) yield draft.fail("aborted", ABORTED, usage());
    else {
      const text = connection?.failure?.message ?? (connection?.refusal ? refusalText(connection.refusal) : errorText(error));
      yield draft.fail("error", hideSecrets(text, [...secrets, ...environment.secrets()]), usage());
    }
  }
}

/** The message without the blocks that the same chunk opened: they are announced by their own events. */
function startOf(draft: Draft, events: readonly AssistantMessageEvent[]): AssistantMessageEvent {
  const start = draft.start();
  return events.length === 0 || start.type !== "start" ? start : { ...start, partial: { ...start.partial, content: [] } };
}

/** Later ones win, whatever their spelling. */
function mergedHeaders(...layers: (Record<string, string | null> | undefined)[]): Record<string, string | null> {
  const merged = new Map<string, [name: string, value: string | null]>();
  for (const layer of layers) for (const [name, value] of Object.entries(layer ?? {})) merged.set(name.toLowerCase(), [name, value]);
  return Object.fromEntries(merged.values());
}

function credentialsIn(headers: Record<string, string | null>): string[] {
  const values = Object.entries(headers).flatMap(([name, value]) => (value && /auth|key|token|secret|cookie/i.test(name) ? [value] : []));
  return values.flatMap((value) => [value, value.replace(/^\w+ /, "")]);
}

function usageOf(model: Model, counts: Counts | undefined): Usage {
  if (!counts) return zeroUsage();
  const { input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning } = counts;
  const known = { input, output, cacheRead, cacheWrite, ...(cacheWrite1h && { cacheWrite1h }), ...(reasoning && { reasoning }) };
  return { ...known, totalTokens: input + output + cacheRead + cacheWrite, cost: calculateCost(model, known) };
}
