/** Writes what models are asked and answer, as it happens. */
import { createWriteStream, type WriteStream } from "node:fs";
import { resolve } from "node:path";
import { type AssistantMessageEvent, KernelError, type ModelRequest, messageOf, type PluginKernel, type Provider, Stage } from "../../core/index.ts";
import type {} from "../models/contract.ts";
import type {} from "../settings/contract.ts";
import { hideSecrets } from "../shared/secrets.ts";
import type { EventLine, Header, RecordedRequest, RequestLine } from "./contract.ts";

/** Wrappers of providers stand outside of all others. */
export const OUTERMOST = 1000;

export async function startRecording(kernel: PluginKernel, file: string): Promise<void> {
  const recorder = new Recorder(kernel, await opened(resolve(kernel.service("settings").cwd(), file), file));
  const wrapAll = (providers: Map<string, Provider>) => {
    for (const [name, provider] of providers) providers.set(name, recorder.wrapped(provider));
  };
  kernel.registry("providers").filter(wrapAll, OUTERMOST);
  kernel.hooks.stop.tap({ name: "record", stage: Stage.listen }, () => recorder.close());
}

function opened(path: string, name: string): Promise<WriteStream> {
  const stream = createWriteStream(path, { mode: 0o600 });
  return new Promise((done, fail) => {
    stream.once("open", () => done(stream));
    stream.once("error", (error) => fail(new KernelError("E_USAGE", `--record ${name} cannot be written: ${messageOf(error)}`)));
  });
}

class Recorder {
  readonly #kernel: PluginKernel;
  readonly #stream: WriteStream;
  #count = 0;
  #last: RecordedRequest | undefined;
  /** texts of the messages of the last request, to see what is new */
  #known: string[] = [];
  #secrets: readonly string[] = [];

  constructor(kernel: PluginKernel, stream: WriteStream) {
    this.#kernel = kernel;
    this.#stream = stream;
    stream.on("error", (error) => kernel.fault({ during: "record", error }));
    const settings = kernel.service("settings");
    const header: Header = { recording: 1, program: `${settings.branding.name} ${settings.branding.version}`, cwd: settings.cwd(), home: settings.home() };
    this.#write(header);
  }

  wrapped(provider: Provider): Provider {
    const recorder = this;
    return {
      ...provider,
      async *stream(request) {
        const number = recorder.#begin(request);
        const began = performance.now();
        for await (const event of provider.stream(request)) {
          recorder.#write(lineOf(event, number, Math.round(performance.now() - began)));
          yield event;
        }
      },
    };
  }

  close(): Promise<void> {
    return new Promise((done) => {
      this.#stream.once("error", () => done());
      this.#stream.end(() => done());
    });
  }

  #begin({ model, thinkingLevel, systemPrompt, tools, messages }: ModelRequest): number {
    const number = ++this.#count;
    const texts = messages.map((message) => JSON.stringify(message));
    const different = texts.findIndex((text, index) => text !== this.#known[index]);
    const keeps = different < 0 ? texts.length : different;
    const specs = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
    const { headers: _, ...plain } = model;
    const line: RequestLine = {
      request: number,
      model: plain,
      thinkingLevel,
      ...(systemPrompt !== this.#last?.systemPrompt && { systemPrompt }),
      ...(JSON.stringify(specs) !== JSON.stringify(this.#last?.tools ?? []) && { tools: specs }),
      ...(keeps > 0 && { keeps }),
      messages: messages.slice(keeps),
    };
    this.#known = texts;
    this.#last = { model, thinkingLevel, systemPrompt, tools: specs, messages };
    this.#write(line);
    return number;
  }

  #write(line: Header | RequestLine | EventLine): void {
    // Secrets come up when a credential is looked up, hence not between two deltas.
    if (!("delta" in line)) this.#secrets = this.#kernel.tryService("models")?.secrets() ?? [];
    this.#stream.write(`${hideSecrets(JSON.stringify(line), this.#secrets)}\n`);
  }
}

function lineOf(event: AssistantMessageEvent, of: number, at: number): EventLine {
  const head = { of, at, type: event.type };
  if (event.type === "start") {
    const { responseId, responseModel, usage } = event.partial;
    return { ...head, message: { ...(responseId && { responseId }), ...(responseModel && { responseModel }), usage } };
  }
  if (event.type === "done") return { ...head, reason: event.reason, message: event.message };
  if (event.type === "error") return { ...head, reason: event.reason, message: event.error };
  const line: EventLine = { ...head, contentIndex: event.contentIndex };
  if ("delta" in event) line.delta = event.delta;
  if (event.type === "toolcall_start") Object.assign(line, { id: event.id, toolName: event.toolName });
  if (event.type.endsWith("_end")) line.block = event.partial.content[event.contentIndex];
  return line;
}
