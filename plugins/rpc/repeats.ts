/**
 * A command that only reads, asked again in the same chunk of input with nothing else done in between, has the same answer: it is
 * looked up and spelled once. While a chunk is taken nothing but its own commands runs.
 */
import type { Command } from "../../core/index.ts";
import { spelled } from "../shared/frames/serialize.ts";
import type { Reply, RpcCall } from "./contract.ts";

interface Known {
  command: Command;
  reply: Reply;
  isRepeated: boolean;
  /** the line behind its id, from the first repetition on */
  rest?: string;
}

export class Repeats {
  #isTaking = false;
  #known: Known | undefined;

  /** A chunk of input begins. */
  begin(): void {
    this.#isTaking = true;
  }

  end(): void {
    this.#isTaking = false;
    this.#known = undefined;
  }

  /** The answer, if this command was the last that ran; whatever else runs makes it unknown. */
  of(command: Command): Reply | undefined {
    if (this.#known?.command !== command) {
      this.#known = undefined;
      return undefined;
    }
    this.#known.isRepeated = true;
    return this.#known.reply;
  }

  keep(command: Command, reply: Reply): void {
    if (this.#isTaking && command.reads) this.#known = { command, reply, isRepeated: false };
  }

  /** The answer's line for this call, if it differs from the last one by its id only. `records` spells it in the dialect. */
  line(reply: Reply, { id }: RpcCall, records: () => object[]): string | undefined {
    const known = this.#known;
    if (!known?.isRepeated || known.reply !== reply || id === undefined) return undefined;
    const head = `{"id":${spelled(id)}`;
    known.rest ??= restOf(records(), head);
    return known.rest === "" ? undefined : head + known.rest;
  }
}

/** What stands behind the id; nothing if a dialect says more than one record, or does not begin with it. */
function restOf(records: object[], head: string): string {
  const line = records.length === 1 ? spelled(records[0]) : "";
  return line.startsWith(`${head},`) ? line.slice(head.length) : "";
}
