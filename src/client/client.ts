/** The client: starts an agent, or joins one over streams, and speaks its protocol. */
import { randomBytes } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import { AgentProcess } from "./agent-process.ts";
import { type DialogHandlers, Dialogs } from "./dialogs.ts";
import { AgentGoneError, type Exit, RpcError } from "./errors.ts";
import { EventQueue } from "./event-queue.ts";
import { type HostTool, HostTools } from "./host-tools.ts";
import { LineSplitter } from "./lines.ts";
import { type ClientEvent, MessageAssembler } from "./messages.ts";
import { Outgoing } from "./outgoing.ts";
import { type AgentEvent, type AgentMessage, type AssistantMessage, type BashResult, CommandMethods, type CommandName, type Commands } from "./protocol.ts";
import { Sequence } from "./sequence.ts";

export interface RpcClientOptions {
  /** the program, with arguments that come first: `["node", "/path/to/pi.cjs"]`. Default: `pi` */
  command?: string | string[];
  /** further options of the program, such as `["--model", "anthropic/claude-sonnet-4-5"]` */
  args?: string[];
  cwd?: string;
  /** added to this process's environment; `undefined` takes a variable away */
  env?: Record<string, string | undefined>;
  /** Instead of starting a process: streams to an agent that somebody else keeps alive. */
  streams?: { input: Writable; output: Readable };
  /** How increments travel; what you see is the same. Default: `delta`, which costs less. */
  updates?: "full" | "delta";
  /** Start the agent with `--rpc-seq`: events carry `seq`, and a later client can go on after any of them. */
  numbered?: boolean;
  /** `seq` of the last event that you handled: `start` brings what came after it. */
  after?: number;
  hostTools?: HostTool[];
  /** Without handlers all dialogs are declined. */
  dialogs?: DialogHandlers;
  onStderr?(text: string): void;
  /** Events were lost for good in the middle of a connection: rebuild from `getState` and `getEntries`. */
  onEventsLost?(): void;
}

export interface Started {
  /** false: events since `after` are gone, or the agent is another one. Rebuild from `getState` and `getEntries`. */
  complete: boolean;
}

export interface PromptResult {
  /** text of the last assistant message */
  text: string;
  /** the last assistant message; absent if the prompt needed no model */
  message?: AssistantMessage;
  /** every message that entered the conversation */
  messages: AgentMessage[];
  /** why the last assistant message failed or was aborted */
  error?: string;
}

interface Pending {
  command: string;
  resolve(data: unknown): void;
  reject(error: Error): void;
  onOutput?: ((text: string) => void) | undefined;
}

type WireRecord = { type: string; id?: string; seq?: number; [field: string]: unknown };

export class RpcClient extends CommandMethods {
  readonly #options: RpcClientOptions;
  /** Answers to an earlier client may be replayed: ids of two clients must differ. */
  readonly #idPrefix = `${randomBytes(6).toString("base64url")}-`;
  readonly #pending = new Map<string, Pending>();
  readonly #listeners = new Set<(event: ClientEvent) => void>();
  readonly #queues = new Set<EventQueue>();
  readonly #messages = new MessageAssembler();
  readonly #sequence: Sequence<WireRecord>;
  readonly #dialogs: Dialogs;
  readonly #hostTools: HostTools;
  readonly #goneHandlers = new Set<(error: AgentGoneError) => void>();
  /** wait for whatever comes next */
  readonly #recordWaiters: (() => void)[] = [];
  #lastId = 0;
  #out: Outgoing | undefined;
  #process: AgentProcess | undefined;
  #closed: Promise<Exit> | undefined;
  #gone: AgentGoneError | undefined;
  #isStopping = false;
  #goOn: (() => void) | undefined;
  #resuming: { id: string; isLost: boolean } | undefined;

  constructor(options: RpcClientOptions = {}) {
    super();
    this.#options = options;
    this.#sequence = new Sequence(options.after);
    const send = (record: object) => this.#send(record);
    this.#dialogs = new Dialogs(options.dialogs ?? {}, send);
    this.#hostTools = new HostTools(send);
  }

  // ------------------------------------------------------------ life

  /** Starts or joins the agent; resolves when it answers. */
  async start(): Promise<Started> {
    if (this.#out) throw new Error("The client was started before; make a new one.");
    const { streams, updates, hostTools, after } = this.#options;
    const { input, output } = streams ?? this.#spawn();
    this.#out = new Outgoing(input);
    this.#closed = this.#live(output);
    if (hostTools) this.#hostTools.set(hostTools);
    const complete = after === undefined || (await this.#resume());
    if (streams && updates) await this.setUpdateMode({ mode: updates });
    if (hostTools) await this.useHostTools(hostTools);
    else await this.getState();
    return { complete };
  }

  /** The agent's end, whoever wanted it. */
  get closed(): Promise<Exit> {
    return this.#closed ?? Promise.reject(notStarted());
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** `seq` of the last record that was handed on. */
  get lastSeq(): number | undefined {
    return this.#sequence.last;
  }

  /** Closes the agent's input and waits for its end; kills it, or leaves the streams, if that takes too long. */
  async stop({ timeoutMs = 10_000 }: { timeoutMs?: number } = {}): Promise<Exit> {
    if (!this.#closed) return { code: null, signal: null };
    this.#isStopping = true;
    this.#continueReading();
    this.#out?.end();
    const timer = setTimeout(() => {
      if (this.#process) this.#process.kill("SIGKILL");
      else this.#options.streams?.output.destroy();
    }, timeoutMs);
    try {
      return await this.#closed;
    } finally {
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  // ------------------------------------------------------------ commands

  /** Sends a command and resolves with its data. Every command is also a method. */
  call<Name extends CommandName>(command: Name, params?: Commands[Name]["params"]): Promise<Commands[Name]["result"]> {
    return this.#request(command, params) as Promise<Commands[Name]["result"]>;
  }

  /** Runs a shell command for the user; `onOutput` sees its output as it comes. */
  override bash(params: Commands["bash"]["params"], onOutput?: (text: string) => void): Promise<BashResult> {
    return this.#request("bash", params, { onOutput }) as Promise<BashResult>;
  }

  /** Prompts and resolves when everything that follows from it is done. An abort of the signal aborts the run. */
  async promptAndWait(prompt: string | Commands["prompt"]["params"], { signal }: { signal?: AbortSignal } = {}): Promise<PromptResult> {
    signal?.throwIfAborted();
    const messages: AgentMessage[] = [];
    const off = this.onEvent((event) => {
      if (event.type === "message_end") messages.push(event.message);
    });
    const abort = () => void this.abort().catch(() => {});
    signal?.addEventListener("abort", abort, { once: true });
    try {
      await this.prompt(typeof prompt === "string" ? { message: prompt } : prompt);
      if (signal?.aborted) abort();
      // A slash command need not start a run, so there may be nothing to wait for.
      const { isStreaming } = await this.getState();
      if (isStreaming) await this.#event("agent_settled");
      return resultOf(messages);
    } finally {
      off();
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Lends functions to the agent as tools, in place of those lent before. */
  async useHostTools(tools: HostTool[]): Promise<string[]> {
    const definitions = tools.map(({ name, label, description, parameters }) => ({ name, ...(label && { label }), description, parameters }));
    this.#hostTools.set(tools);
    return (await this.setHostTools({ tools: definitions })).toolNames;
  }

  // ------------------------------------------------------------ events

  /** Calls the listener for each event, in order; the function that is returned ends it. */
  onEvent(listener: (event: ClientEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Events from now on. Once iteration has begun, a consumer that falls behind stops the client from reading, and so the agent, unless a
   * command is waiting for its answer. Leave the loop by `break` or let it end; it throws if the agent dies.
   */
  events(): AsyncIterableIterator<ClientEvent> {
    const queue: EventQueue = new EventQueue(
      () => this.#continueReading(),
      () => {
        this.#queues.delete(queue);
        this.#continueReading();
      },
    );
    if (this.#gone) queue.end(this.#isStopping ? undefined : this.#gone);
    else this.#queues.add(queue);
    return queue;
  }

  #event(type: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = () => {
        off();
        this.#goneHandlers.delete(onGone);
      };
      const onGone = (error: AgentGoneError) => {
        done();
        reject(error);
      };
      const off = this.onEvent((event) => {
        if (event.type !== type) return;
        done();
        resolve();
      });
      this.#goneHandlers.add(onGone);
      if (this.#gone) onGone(this.#gone);
    });
  }

  // ------------------------------------------------------------ out

  #spawn(): { input: Writable; output: Readable } {
    const { command = "pi", args = [], cwd, env, updates = "delta", numbered, onStderr } = this.#options;
    // The dialect is named, so that a variable in the environment does not change it.
    const mode = ["--mode", "rpc", "--rpc-dialect", "pi", "--rpc-updates", updates, ...(numbered ? ["--rpc-seq"] : [])];
    this.#process = new AgentProcess({
      command: typeof command === "string" ? [command] : command,
      args: [...mode, ...args],
      ...(cwd && { cwd }),
      ...(env && { env }),
      ...(onStderr && { onStderr }),
    });
    return this.#process;
  }

  #request(command: string, params: object = {}, { id = this.#newId(), onOutput }: { id?: string; onOutput?: Pending["onOutput"] } = {}): Promise<unknown> {
    if (!this.#out) return Promise.reject(notStarted());
    if (this.#gone) return Promise.reject(this.#gone);
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { command, resolve, reject, onOutput });
      // A consumer of events may itself be waiting for this answer.
      this.#continueReading();
      this.#send({ ...params, id, type: command }).catch((error) => {
        this.#pending.delete(id);
        reject(error);
      });
    });
  }

  async #send(record: object): Promise<void> {
    await this.#out?.write(record);
  }

  #newId(): string {
    return `${this.#idPrefix}${++this.#lastId}`;
  }

  // ------------------------------------------------------------ in

  async #live(output: Readable): Promise<Exit> {
    const ended = this.#process?.exited.then((end) => {
      const error = this.#process?.goneError(end) as AgentGoneError;
      this.#refuse(error);
      // Somebody else may hold the pipe open; what a slow consumer has not read yet is still read.
      if (!this.#mustWait()) output.destroy();
      return error;
    });
    await this.#read(output);
    const error = (await ended) ?? new AgentGoneError("The connection to the agent ended.");
    this.#refuse(error);
    for (const queue of this.#queues) queue.end(this.#isStopping ? undefined : error);
    this.#queues.clear();
    return error.exit;
  }

  async #read(output: Readable): Promise<void> {
    const lines = new LineSplitter();
    try {
      for await (const bytes of output) {
        for (const line of lines.push(bytes)) await this.#receive(line);
        while (this.#mustWait()) {
          await new Promise<void>((resolve) => {
            this.#goOn = resolve;
          });
        }
      }
    } catch {
      // A broken pipe is an end like any other.
    }
    for (const line of lines.end()) await this.#receive(line);
  }

  #mustWait(): boolean {
    return !this.#isStopping && this.#pending.size === 0 && [...this.#queues].some(({ isFull }) => isFull);
  }

  #continueReading(): void {
    this.#goOn?.();
    this.#goOn = undefined;
  }

  async #receive(line: string): Promise<void> {
    const record = parsed(line);
    if (!record) return;
    const isAnswer = record.type === "response" && record.id === this.#resuming?.id;
    const ready = isAnswer && this.#isLost(record) ? this.#sequence.skipTo(Number(record.seq)) : this.#sequence.take(record);
    // It is heard at once: what it brings comes after it, and what came before it waits for that.
    if (isAnswer) await this.#settle(record);
    for (const next of ready) await this.#handOn(next, line.length);
    for (const resolve of this.#recordWaiters.splice(0)) resolve();
    if (this.#sequence.isMissing && !this.#resuming) {
      void this.#resume().then(
        (complete) => complete || this.#options.onEventsLost?.(),
        () => {},
      );
    }
  }

  async #handOn(record: WireRecord, size: number): Promise<void> {
    if (record.type === "response") return this.#settle(record);
    const event = this.#messages.apply(record as unknown as AgentEvent);
    if (event.type === "bash_execution_update") guarded(() => this.#pending.get(String(event.id))?.onOutput?.(event.delta));
    this.#hostTools.onEvent(event);
    this.#dialogs.onEvent(event);
    for (const listener of [...this.#listeners]) guarded(() => listener(event));
    for (const queue of this.#queues) queue.push(event, size);
  }

  async #settle({ id, success, data, error }: WireRecord): Promise<void> {
    const pending = this.#pending.get(String(id));
    if (!pending) return;
    this.#pending.delete(String(id));
    if (success) pending.resolve(data);
    else pending.reject(new RpcError(pending.command, String(error)));
    // Whoever awaited this goes on before the next event is handed out, and so misses none.
    await new Promise((resolve) => setImmediate(resolve));
  }

  #refuse(error: AgentGoneError): void {
    if (this.#gone) return;
    this.#gone = error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    for (const onGone of [...this.#goneHandlers]) onGone(error);
    for (const resolve of this.#recordWaiters.splice(0)) resolve();
    this.#hostTools.close();
    this.#dialogs.close();
  }

  // ------------------------------------------------------------ coming back

  /** Asks for the records that are missing. False: they are gone. */
  async #resume(): Promise<boolean> {
    const id = this.#newId();
    const resuming = { id, isLost: false };
    this.#resuming = resuming;
    this.#hostTools.hold();
    try {
      const { to } = (await this.#request("resume_events", { after: this.#sequence.last ?? 0 }, { id })) as { to: number };
      while (!resuming.isLost && (this.#sequence.last ?? 0) < to) await this.#nextRecord();
    } catch (error) {
      if (!resuming.isLost) throw error;
    } finally {
      this.#resuming = undefined;
      this.#hostTools.release();
    }
    return !resuming.isLost;
  }

  /** Whether this answer to `resume_events` means that the rest will not come. */
  #isLost({ success, data, error }: WireRecord): boolean {
    const isGone = !success && /^Events before \d+ are gone$/.test(String(error));
    // It has sent less than we have seen: this is not the agent that we knew.
    const isOther = success === true && (data as { to: number }).to < (this.#sequence.last ?? 0);
    if (this.#resuming) this.#resuming.isLost = isGone || isOther;
    return isGone || isOther;
  }

  #nextRecord(): Promise<void> {
    if (this.#gone) return Promise.reject(this.#gone);
    return new Promise((resolve) => this.#recordWaiters.push(resolve));
  }
}

/** A listener that throws is its owner's mistake, reported as such; the client reads on. */
function guarded(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

function parsed(line: string): WireRecord | undefined {
  try {
    const record = JSON.parse(line);
    return typeof record?.type === "string" ? record : undefined;
  } catch {
    // The tail of a record that an earlier client read the head of.
    return undefined;
  }
}

function resultOf(messages: AgentMessage[]): PromptResult {
  const message = messages.findLast((candidate) => candidate.role === "assistant");
  const text = message?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
  const isFailed = message?.stopReason === "error" || message?.stopReason === "aborted";
  return { text, ...(message && { message }), messages, ...(isFailed && { error: message.errorMessage ?? message.stopReason }) };
}

function notStarted(): Error {
  return new Error("The client is not started: call start() first.");
}
