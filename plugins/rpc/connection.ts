/** One client on a pair of streams, from the first dialog of an extension at start to the last byte. */
import { type Io, type PluginKernel, Stage } from "../../core/index.ts";
import type {} from "../process/contract.ts";
import { chosenDialect, chosenUpdates } from "../shared/frames/choice.ts";
import { RecordSplitter } from "../shared/frames/jsonl.ts";
import { Answerer } from "./answer.ts";
import { History } from "./history.ts";
import { Lanes } from "./lanes.ts";
import { Outbound } from "./outbound.ts";
import { FrameUi } from "./ui.ts";

/** How long commands that were read before the end of input may take to be answered. */
const ANSWERING_MS = 5000;
/** How long commands that closing cut short may take to say so. */
const LAST_ANSWERS_MS = 1000;

export class Connection {
  readonly out: Outbound;
  readonly ui: FrameUi;
  readonly history: History | undefined;
  readonly #kernel: PluginKernel;
  readonly #lanes: Lanes;
  readonly #splitter: RecordSplitter;
  readonly #answerer: Answerer;
  readonly #silent = new AbortController();
  readonly #gone = new AbortController();
  readonly #over: Promise<void>;
  #setOver: () => void = () => {};
  #open: () => void = () => {};
  #input: NodeJS.ReadableStream | undefined;
  #isServing = false;

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
    this.#over = new Promise((resolve) => {
      this.#setOver = resolve;
    });
    const opening = new Promise<void>((resolve) => {
      this.#open = resolve;
    });
    const settings = kernel.tryService("settings");
    const isNumbered = kernel.options["rpc-seq"] === true || settings?.ownEnv("RPC_SEQ") === "1";
    this.history = isNumbered ? new History() : undefined;
    const dialect = chosenDialect(kernel);
    this.out = new Outbound(kernel, {
      dialect,
      updateMode: chosenUpdates(kernel),
      ...(this.history && { history: this.history }),
      onGone: () => this.#leave(),
    });
    const titles = settings?.ownEnv("RPC_EMIT_TITLE");
    this.ui = new FrameUi({
      send: (record) => this.out.sendNow(record),
      showsTitles: titles === "1" || (titles !== "0" && !dialect.hidesTitles),
      onAsk: () => this.#answerEarly(),
    });
    this.#lanes = new Lanes(opening, {
      start: (record) => this.#answerer.startWaiting(record),
      room: () => this.#answerer.room(),
      together: (work) => this.#together(work),
    });
    this.#answerer = new Answerer(kernel, this.out, this.#lanes, { silent: this.#silent.signal, gone: this.#gone.signal });
    this.#splitter = new RecordSplitter({ onRecord: this.#answerer.receive, onTooLong: () => this.#answerer.receive(undefined) });
  }

  /** Takes part in the kernel: what it says goes out, what waits in the pipe holds it back. */
  join(): void {
    const { hooks } = this.#kernel;
    hooks.event.tap({ name: "rpc", stage: Stage.wire }, (event) => this.out.event(event));
    hooks.fault.tap("rpc", (fault) => this.out.fault(fault));
    hooks.stopping.tap("rpc", () => this.#endInput());
    hooks.stop.tap({ name: "rpc", stage: Stage.listen }, () => this.#finish());
    this.#kernel.gate(() => this.out.writer.ready());
  }

  /** Serves until input ends, the reader is gone, or the agent is stopped. Whoever called then stops the agent. */
  async serve(io: Io): Promise<number> {
    this.#connect(io);
    this.#isServing = true;
    this.#open();
    await this.#over;
    if (!this.out.writer.isGone) await atMost(ANSWERING_MS, this.#lanes.ordered());
    return 0;
  }

  // ------------------------------------------------------------ streams

  /** Extensions may ask while the agent starts: then the client must be heard before it is served. */
  #answerEarly(): void {
    const io = this.#kernel.tryService("process")?.io;
    if (io) this.#connect(io);
  }

  #connect(io: Io): void {
    if (this.#input) return;
    this.out.writer.attach(io);
    this.#input = io.readBytes?.(this.#take) ?? io.stdin.on("data", this.#onData);
    this.#input.on("end", this.#onEnd);
    this.#input.on("error", this.#onEnd);
    this.#input.on("close", this.#onEnd);
  }

  readonly #take = (bytes: Buffer, count?: number): void => this.#together(() => this.#splitter.push(bytes, count));

  /** What is answered in one go leaves in one go. */
  #together(work: () => void): void {
    const { writer } = this.out;
    const { repeats } = this.#answerer;
    writer.hold();
    repeats.begin();
    try {
      work();
    } finally {
      repeats.end();
      writer.release();
    }
  }

  readonly #onData = (chunk: Buffer | string): void => this.#take(typeof chunk === "string" ? Buffer.from(chunk) : chunk);

  readonly #onEnd = (): void => {
    if (this.#silent.signal.aborted) return;
    this.#splitter.end();
    this.#endInput();
  };

  /** Nothing more is read. Nobody can answer dialogs any more, and a command may be waiting for exactly that. */
  #endInput(): void {
    this.#silent.abort();
    this.#input?.off("data", this.#onData);
    this.#input?.pause();
    this.ui.close();
    this.#setOver();
  }

  // ------------------------------------------------------------ the end

  #leave(): void {
    this.#gone.abort();
    this.#endInput();
  }

  /** Work that was cut short by the stop still gets its answer. Then nothing more is to come. */
  async #finish(): Promise<void> {
    if (this.#isServing) await atMost(LAST_ANSWERS_MS, this.#lanes.all());
    this.out.writer.handOver();
  }
}

/** Waits for `work`, but not longer than that. */
function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    work.then(done, done);
  });
}
