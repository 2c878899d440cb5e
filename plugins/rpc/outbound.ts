/** The way out: events, replies and wire records as frames of the dialect, numbered and kept if the client asked for it. */
import type { AgentEvent, Fault, PluginKernel } from "../../core/index.ts";
import { EventFrames } from "../shared/frames/events.ts";
import { portionsOf } from "../shared/frames/portions.ts";
import { growingFrame, recordFrame, spelledFrame } from "../shared/frames/serialize.ts";
import { type Frame, FrameWriter } from "../shared/frames/writer.ts";
import type { Dialect, UpdateMode, Wire } from "./contract.ts";
import type { History } from "./history.ts";

export interface OutboundOptions {
  dialect: Dialect;
  updateMode: UpdateMode;
  /** absent: records carry no number */
  history?: History;
  onGone(): void;
}

export class Outbound implements Wire {
  readonly writer: FrameWriter;
  readonly #kernel: PluginKernel;
  readonly #dialect: Dialect;
  readonly #frames: EventFrames;
  readonly #isNumbered: boolean;
  #updateMode: UpdateMode;

  constructor(kernel: PluginKernel, { dialect, updateMode, history, onGone }: OutboundOptions) {
    this.#kernel = kernel;
    this.#dialect = dialect;
    this.#updateMode = updateMode;
    this.#isNumbered = history !== undefined;
    this.#frames = new EventFrames(
      () => this.#dialect,
      () => this.#updateMode,
    );
    this.writer = new FrameWriter({ onGone, ...(history && { stamp: (line) => history.stamp(line) }) });
  }

  dialect(): Dialect {
    return this.#dialect;
  }

  updateMode(): UpdateMode {
    return this.#updateMode;
  }

  setUpdateMode(mode: UpdateMode): UpdateMode {
    const previous = this.#updateMode;
    this.#updateMode = mode;
    return previous;
  }

  send(record: { type: string; [field: string]: unknown }): Promise<void> | undefined {
    this.#kernel.enqueue(() => this.sendNow(record));
    return this.writer.readyForBulk();
  }

  /** Not behind the events: for what an observer of an event says, who would otherwise wait for himself. */
  sendNow(record: { type: string; [field: string]: unknown }): void {
    for (const spelled of this.#dialect.event(record as unknown as AgentEvent)) this.writer.write(frameOf(spelled as Record<string, unknown>));
  }

  event(event: AgentEvent): void {
    for (const frame of this.#frames.of(event)) this.writer.write(frame);
  }

  fault(fault: Fault): void {
    this.records(this.#dialect.fault(fault));
  }

  /** Records in the dialect's spelling already. */
  records(records: readonly object[]): void {
    for (let index = 0; index < records.length; index++) this.#record(records[index] as object);
  }

  #record(record: object): void {
    // A numbered line is kept as a whole.
    const portions = this.#isNumbered ? undefined : portionsOf(record);
    if (!portions) this.writer.write(recordFrame(record));
    else for (const portion of portions) this.writer.write(portion);
  }

  /** One record that is text already. */
  spelled(json: string): void {
    this.writer.write(spelledFrame(json));
  }

  /** Lines that were written before. */
  replay(lines: readonly Buffer[]): void {
    for (const line of lines) this.writer.write({ size: line.length, isStamped: true, render: () => line });
  }
}

function frameOf(record: Record<string, unknown>): Frame {
  if (record.type === "bash_execution_update" && record.id !== undefined && typeof record.delta === "string") {
    return growingFrame({ ...record, delta: record.delta }, `${typeof record.id} ${record.id}`);
  }
  return recordFrame(record);
}
