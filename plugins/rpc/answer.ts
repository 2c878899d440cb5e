/** One inbound record: read it, find its command, run it in its lane, answer. Never rejects: a bad record is its own failure and nobody else's. */
import { type Command, KernelError, type Lane, messageOf, type PluginKernel } from "../../core/index.ts";
import { MAX_RECORD_BYTES } from "../shared/frames/jsonl.ts";
import type { Reply, RpcCall } from "./contract.ts";
import type { Lanes } from "./lanes.ts";
import type { Outbound } from "./outbound.ts";

const UNREADABLE = "Failed to parse command";

type Failure = Reply & { success: false };

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

  constructor(kernel: PluginKernel, out: Outbound, lanes: Lanes, client: ClientSignals) {
    this.#kernel = kernel;
    this.#out = out;
    this.#lanes = lanes;
    this.#client = client;
  }

  receive(text: string): void {
    let frame: unknown;
    try {
      frame = JSON.parse(text);
    } catch (error) {
      this.#refuse({ success: false, kind: "parse", error: `${UNREADABLE}: ${messageOf(error)}` });
      return;
    }
    if (!isCommandFrame(frame)) {
      const error = `${UNREADABLE}: expected an object with a string "type"`;
      this.#refuse({ success: false, kind: "parse", error }, isRecord(frame) ? { ...this.#out.dialect().call(frame), command: "parse" } : undefined);
      return;
    }
    this.#start(this.#out.dialect().call(frame));
  }

  tooLong(): void {
    this.#refuse({ success: false, kind: "parse", error: `${UNREADABLE}: record exceeds ${MAX_RECORD_BYTES} bytes` });
  }

  #start(call: RpcCall): void {
    const command = this.#find(call.command);
    if (command && laneOf(command, call) === "immediate") this.#lanes.immediate(() => this.#run(command, call), command.silent === true);
    else {
      this.#lanes.inOrder(
        () => this.#laneNow(call),
        () => this.#runInTurn(call),
      );
    }
  }

  /** Extensions may have brought or taken the command since the record came. */
  async #runInTurn(call: RpcCall): Promise<void> {
    await this.#room();
    const command = this.#find(call.command);
    if (command) return this.#run(command, call);
    await this.#reply({ success: false, kind: "unknown", error: `Unknown command: ${call.command}` }, call);
  }

  /** A client that sends and does not read must not make us pile up answers. One that has ended its input can do so no more. */
  async #room(): Promise<void> {
    const pressure = this.#out.writer.ready();
    if (pressure) await Promise.race([pressure, aborted(this.#client.silent)]);
  }

  #laneNow(call: RpcCall): Lane {
    const command = this.#find(call.command);
    return command ? laneOf(command, call) : "ordered";
  }

  #find(name: string): Command | undefined {
    return this.#out.dialect().hides?.has(name) ? undefined : this.#kernel.registry("commands").get(name);
  }

  async #run(command: Command, call: RpcCall): Promise<void> {
    let isAcknowledged = false;
    const acknowledge = () => {
      if (isAcknowledged) return;
      isAcknowledged = true;
      void this.#reply({ success: true }, call);
    };
    const isEarly = this.#out.dialect().acknowledges === "early";
    try {
      const executed = await this.#kernel.execute(call.command, call.params, {
        ...(call.id !== undefined && { id: call.id }),
        source: "rpc",
        signal: this.#client.gone,
        ...(isEarly && { acknowledge }),
      });
      const isAnswered = isAcknowledged || command.silent === true;
      await this.#reply(isAnswered ? undefined : success(command, executed.data), call, () => executed.after());
    } catch (error) {
      if (!command.silent) await this.#reply(failure(error), call);
    }
  }

  #refuse(reply: Failure, call?: RpcCall): void {
    this.#lanes.inOrder(
      () => "ordered",
      async () => {
        await this.#room();
        await this.#reply(reply, call);
      },
    );
  }

  /** Puts the reply behind the events that the command caused, then does what may only follow it. */
  #reply(reply: Reply | undefined, call: RpcCall | undefined, after?: () => unknown): Promise<void> {
    return new Promise<unknown>((resolve, reject) => {
      this.#kernel.enqueue(() => {
        try {
          if (reply) this.#out.records(this.#out.dialect().reply(reply, call));
          resolve(after?.());
        } catch (error) {
          reject(error);
        }
      });
    }).then(
      () => undefined,
      (error) => this.#kernel.fault({ during: call?.command ?? "parse", error }),
    );
  }
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

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
