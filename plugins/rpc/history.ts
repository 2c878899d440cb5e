/** Numbers outbound records and keeps the latest, so that a client that lost some can ask for them again. */
import { KernelError } from "../../core/index.ts";

/** What is kept, in bytes. */
const KEPT_BYTES = 8 * 1024 * 1024;

interface Kept {
  seq: number;
  line: Buffer;
}

export class History {
  readonly #limit: number;
  readonly #kept: Kept[] = [];
  #bytes = 0;
  #last = 0;

  constructor(limit = KEPT_BYTES) {
    this.#limit = limit;
  }

  /** number of the latest record that was written */
  get last(): number {
    return this.#last;
  }

  /** The line with its number. Called when it is written, so that merged records count once. */
  stamp(line: string | Buffer): Buffer {
    const seq = ++this.#last;
    const stamped = Buffer.concat([Buffer.from(`{"seq":${seq},`), Buffer.from(line as string).subarray(1)]);
    this.#kept.push({ seq, line: stamped });
    this.#bytes += stamped.length;
    while (this.#bytes > this.#limit && this.#kept.length > 0) this.#bytes -= this.#kept.shift()?.line.length ?? 0;
    return stamped;
  }

  /** The lines after a number, oldest first. */
  since(after: number): Buffer[] {
    const first = this.#kept[0]?.seq ?? this.#last + 1;
    if (after + 1 < first) throw new KernelError("E_REFUSED", `Events before ${first} are gone`);
    return this.#kept.filter(({ seq }) => seq > after).map(({ line }) => line);
  }
}
