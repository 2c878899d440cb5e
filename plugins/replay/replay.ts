/** Answers requests from a recording instead of asking a model. A request that was not recorded is refused with what differs. */
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ABORTED,
  type AssistantMessage,
  type AssistantMessageEvent,
  emptyMessage,
  type Model,
  type ModelRequest,
  type PluginKernel,
  type Provider,
  Stage,
  type StopReason,
} from "../../core/index.ts";
import type { ModelSource } from "../models/contract.ts";
import type {} from "../settings/contract.ts";
import { Draft } from "../shared/draft.ts";
import { difference, linesOf } from "./compare.ts";
import type { EventLine } from "./contract.ts";
import { type Exchange, type Recording, readRecording } from "./file.ts";
import { OUTERMOST } from "./record.ts";

const REFUSED = "Replay refused: ";

export async function startReplay(kernel: PluginKernel, file: string): Promise<void> {
  const player = new Player(kernel, await readRecording(resolve(kernel.service("settings").cwd(), file)), file);
  player.install();
}

class Player {
  readonly #kernel: PluginKernel;
  readonly #recording: Recording;
  readonly #file: string;
  readonly #unused: Exchange[];

  constructor(kernel: PluginKernel, recording: Recording, file: string) {
    this.#kernel = kernel;
    this.#recording = recording;
    this.#file = file;
    this.#unused = [...recording.exchanges];
  }

  install(): void {
    const kernel = this.#kernel;
    kernel.registry("modelSources").filter(this.#withRecordedModels, OUTERMOST);
    kernel.registry("providers").filter(this.#instead, OUTERMOST);
    // Asking again would only be refused again, whatever words the difference contains.
    kernel.hooks.verdict.tap({ name: "replay", stage: Stage.open }, ({ last }) => (last?.errorMessage?.startsWith(REFUSED) ? false : undefined));
    this.#chooseModel();
  }

  get #models(): Model[] {
    return this.#recording.exchanges.map(({ request }) => request.model);
  }

  readonly #withRecordedModels = (sources: Map<string, ModelSource>) => {
    for (const provider of new Set(this.#models.map((model) => model.provider))) {
      const recorded = unique(this.#models.filter((model) => model.provider === provider));
      const known = sources.get(provider);
      const rest = (known?.models ?? []).filter((model) => !recorded.some(({ id }) => id === model.id));
      const { baseUrlFrom: _, discover: __, ...source } = known ?? { name: provider };
      // Nothing is sent, so no key is needed.
      sources.set(provider, { ...source, models: [...recorded, ...rest], keyless: true });
    }
  };

  readonly #instead = (providers: Map<string, Provider>) => {
    const names = new Set([...providers.keys(), ...this.#models.map(({ api }) => api)]);
    for (const name of names) providers.set(name, { name, stream: (request) => this.#answer(request) });
  };

  /** Unless the command line says otherwise, the conversation begins with the recorded model. */
  #chooseModel(): void {
    const first = this.#recording.exchanges[0]?.request;
    const { options } = this.#kernel;
    if (!first || options.model !== undefined || options.provider !== undefined) return;
    options.model = `${first.model.provider}/${first.model.id}`;
    options.thinking ??= first.thinkingLevel;
  }

  async *#answer(request: ModelRequest): AsyncGenerator<AssistantMessageEvent> {
    const found = this.#find(request);
    if (typeof found === "string") {
      yield { type: "error", reason: "error", error: emptyMessage(request.model, "error", REFUSED + found) };
      return;
    }
    const draft = new Draft(request.model);
    try {
      let at = 0;
      for (const line of found.events) {
        if (this.#kernel.options["replay-timing"]) await sleep(Math.max(0, line.at - at), undefined, { signal: request.signal });
        request.signal.throwIfAborted();
        at = line.at;
        yield* played(line, draft);
      }
    } catch (error) {
      if (!request.signal.aborted) throw error;
      yield draft.fail("aborted", ABORTED, draft.message.usage);
    }
  }

  /** The first exchange that nobody asked for yet and that fits; else why the next one does not. */
  #find(request: ModelRequest): Exchange | string {
    const settings = this.#kernel.service("settings");
    const now = linesOf(request, { cwd: settings.cwd(), home: settings.home() });
    let first: string | undefined;
    for (const [index, exchange] of this.#unused.entries()) {
      const differs = difference(linesOf(exchange.request, this.#recording.header), now);
      if (differs === undefined) return this.#unused.splice(index, 1)[0] as Exchange;
      first ??= `the request differs from request ${exchange.number} of ${this.#file}.\n${differs}`;
    }
    return first ?? `${this.#file} has no further request; all ${this.#recording.exchanges.length} were answered.`;
  }
}

function unique(models: readonly Model[]): Model[] {
  return [...new Map(models.map((model) => [model.id, model])).values()];
}

function* played(line: EventLine, draft: Draft): Generator<AssistantMessageEvent> {
  const { type, contentIndex = 0 } = line;
  if (type === "done") yield { type, reason: line.reason as "stop", message: final(line, draft) };
  else if (type === "error") yield { type, reason: line.reason as "error", error: final(line, draft) };
  else {
    if (type === "start") draft.note(line.message ?? {});
    else if (type === "text_start") draft.open({ type: "text", text: "" });
    else if (type === "thinking_start") draft.open({ type: "thinking", thinking: "" });
    else if (type === "toolcall_start") draft.openCall(line.id ?? "", line.toolName ?? "");
    else if (type.endsWith("_delta")) draft.append(contentIndex, line.delta ?? "");
    else if (type.endsWith("_end")) {
      if (line.block && line.block.type !== "toolCall") draft.amend(contentIndex, line.block);
      draft.close(contentIndex);
    }
    yield* draft.take();
  }
}

/** The recorded message, said now. */
function final({ message, reason }: EventLine, draft: Draft): AssistantMessage {
  return { ...draft.message, ...message, timestamp: draft.message.timestamp, stopReason: reason as StopReason };
}
