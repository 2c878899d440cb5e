/** One inbound record: read it, find its command, run it in its lane, answer. Never rejects: a bad record is its own failure and nobody else's. */
import { type Call, type Command, type Contributions, type Executed, KernelError, type Lane, messageOf, ownJson, type PluginKernel } from "../../core/index.ts";
import { MAX_RECORD_BYTES } from "../shared/frames/jsonl.ts";
import type { Dialect, Reply, RpcCall } from "./contract.ts";
import type { Lanes, Waiting } from "./lanes.ts";
import type { Outbound } from "./outbound.ts";
import { Repeats } from "./repeats.ts";

/** Behind everything: no position is this one. */
const IN_ORDER = -1;

type Failure = Reply & { success: false };

/** A record as it was read: a command to run, or what there is to say instead. */
type Inbound = { command: Command; call: RpcCall; lane: Lane } | { command?: undefined; refusal: Failure; call: RpcCall | undefined; lane: "ordered" };

export interface ClientSignals {
  /** aborted when nothing more will come from the client */
  silent: AbortSignal;
  /** aborted when nobody reads what is sent */
  gone: AbortSignal;
}

export class Answerer {
  readonly #kernel: PluginKernel;
  readonly #out: Outbound;
  readonly #lanes: Lanes;
  readonly #client: ClientSignals;
  readonly #dialect: Dialect;
  readonly #commands: Contributions<Command>;
  /** what is waited for while the reader is behind */
  #room: { pressure: Promise<void>; until: Promise<void> } | undefined;
  /** told by the connection when a chunk of input begins and ends */
  readonly repeats = new Repeats();

  constructor(kernel: PluginKernel, out: Outbound, lanes: Lanes, client: ClientSignals) {
    this.#kernel = kernel;
    this.#out = out;
    this.#lanes = lanes;
    this.#client = client;
    this.#dialect = out.dialect();
    this.#commands = kernel.registry("commands");
  }

  /** A record has come; undefined: one that was too long. */
  readonly receive = (record: Waiting): void => {
    const inbound = this.#read(record);
    const { command, call, lane } = inbound;
    if (command && lane === "immediate") this.#lanes.immediate(() => this.#run(command, call), command.silent === true);
    // Nearly always there is nothing to wait for.
    else if (this.#lanes.isFree && !this.#out.writer.ready()) this.#start(inbound);
    else this.#lanes.wait(record);
  };

  /** Its turn has come. Extensions may have brought or taken the command since. */
  readonly startWaiting = (record: Waiting): void => this.#start(this.#read(record));

  /** What a command has to wait for until its answer finds room. A client that has ended its input sends no more. */
  readonly room = (): Promise<void> | undefined => {
    const pressure = this.#out.writer.ready();
    if (!pressure || this.#client.silent.aborted) return undefined;
    if (this.#room?.pressure !== pressure) this.#room = { pressure, until: unlessAborted(pressure, this.#client.silent) };
    return this.#room.until;
  };

  #read(record: Waiting): Inbound {
    if (record === undefined) return unreadable(`record exceeds ${MAX_RECORD_BYTES} bytes`);
    let frame: unknown;
    try {
      frame = ownJson.parse(record);
    } catch (error) {
      return unreadable(messageOf(error));
    }
    if (!isCommandFrame(frame)) {
      return unreadable('expected an object with a string "type"', isRecord(frame) ? { ...this.#dialect.call(frame), command: "parse" } : undefined);
    }
    const call = this.#dialect.call(frame);
    const command = this.#find(call.command);
    if (command) return { command, call, lane: laneOf(command, call) };
    return { refusal: { success: false, kind: "unknown", error: `Unknown command: ${call.command}` }, call, lane: "ordered" };
  }

  #start(inbound: Inbound): void {
    const running = inbound.command ? this.#run(inbound.command, inbound.call) : this.#reply(inbound.refusal, inbound.call, this.#kernel.position());
    this.#lanes.started(running, inbound.lane);
  }

  #find(name: string): Command | undefined {
    return this.#dialect.hides?.has(name) ? undefined : this.#commands.get(name);
  }

  /** Most commands are done at once, and then so is their answer: no promise is made for them. */
  #run(command: Command, call: RpcCall): Promise<void> | undefined {
    const since = this.#kernel.position();
    const known = this.repeats.of(command);
    if (known) return this.#reply(known, call, since);
    let isAnswered = command.silent === true;
    const given: Partial<Call> = { source: "rpc", signal: this.#client.gone };
    if (call.id !== undefined) given.id = call.id;
    if (this.#dialect.acknowledges === "early") {
      given.acknowledge = () => {
        if (!isAnswered) void this.#reply({ success: true }, call, since);
        isAnswered = true;
      };
    }
    try {
      const executed = this.#kernel.invoke(command, call.params, given);
      if (!(executed instanceof Promise)) {
        const reply = isAnswered ? undefined : success(command, executed.data);
        if (reply) this.repeats.keep(command, reply);
        return this.#reply(reply, call, since, executed);
      }
      // What took its time comes behind all that happened in it; an abort is not to wait for the observer that it passed over.
      const after = command.lane === "immediate" ? since : IN_ORDER;
      return executed.then(
        (settled) => this.#reply(isAnswered ? undefined : success(command, settled.data), call, after, settled),
        (error) => (command.silent ? undefined : this.#reply(failure(error), call, after)),
      );
    } catch (error) {
      return command.silent ? undefined : this.#reply(failure(error), call, since);
    }
  }

  /** Puts the reply behind the events that the command caused, then does what may only follow it. */
  #reply(reply: Reply | undefined, call: RpcCall | undefined, since: number, executed?: Executed): Promise<void> | undefined {
    let isSaid = false;
    let settle: (() => void) | undefined;
    let following: Promise<unknown> | undefined;
    this.#kernel.enqueue(() => {
      following = this.#say(reply, call, executed);
      isSaid = true;
      settle?.();
    }, since);
    if (isSaid) return following?.then(() => undefined);
    return new Promise<void>((resolve) => {
      settle = resolve;
    }).then(() => following?.then(() => undefined));
  }

  #say(reply: Reply | undefined, call: RpcCall | undefined, executed: Executed | undefined): Promise<unknown> | undefined {
    try {
      if (reply) this.#write(reply, call);
      return executed?.after()?.catch((error) => this.#report(error, call));
    } catch (error) {
      this.#report(error, call);
      return undefined;
    }
  }

  #write(reply: Reply, call: RpcCall | undefined): void {
    const records = () => this.#dialect.reply(reply, call);
    const line = call && this.repeats.line(reply, call, records);
    if (line) this.#out.spelled(line);
    else this.#out.records(records());
  }

  #report(error: unknown, call: RpcCall | undefined): void {
    this.#kernel.fault({ during: call?.command ?? "parse", error });
  }
}

function unreadable(why: string, call?: RpcCall): Inbound {
  return { refusal: { success: false, kind: "parse", error: `Failed to parse command: ${why}` }, call, lane: "ordered" };
}

function success(command: Command, data: unknown): Reply {
  return command.result ? { success: true, data: data ?? null } : { success: true };
}

function failure(error: unknown): Failure {
  return { success: false, error: messageOf(error), kind: kindOf(error) };
}

function kindOf(error: unknown): Failure["kind"] {
  if (!(error instanceof KernelError)) return "exception";
  if (error.code === "E_PARAMETER") return "parameter";
  return error.code === "E_UNKNOWN_COMMAND" ? "unknown" : "state";
}

function laneOf({ lane }: Command, { params }: RpcCall): Lane {
  if (typeof lane !== "function") return lane ?? "ordered";
  try {
    return lane(params);
  } catch {
    // Its parameters are not checked yet; the check will say what is wrong with them.
    return "ordered";
  }
}

function isRecord(frame: unknown): frame is Record<string, unknown> {
  return typeof frame === "object" && frame !== null && !Array.isArray(frame);
}

function isCommandFrame(frame: unknown): frame is Record<string, unknown> {
  return isRecord(frame) && typeof frame.type === "string";
}

/** `work`, or until the signal is aborted. */
function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done);
    void work.then(done);
  });
}
