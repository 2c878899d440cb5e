/** stdin and stdout where they are pipes or sockets: without a stream in between, which costs more than a short command does. */
import fs from "node:fs";
import { type ConnectOpts, Socket, type SocketConstructorOpts } from "node:net";

const STDIN = 0;
const STDOUT = 1;
const CHUNK = 64 * 1024;

/** How soon the next command comes from a client that sends one as soon as it is answered. */
const QUICK_MS = 0.25;
/** How long it is looked for before the process goes to sleep. */
const LOOK_MS = 0.1;
/** After how many quick commands; doubled each time that looking was in vain. */
const FEWEST_QUICK = 16;
const MOST_QUICK = 4096;

export interface Input {
  readonly stdin: NodeJS.ReadStream;
  /** See `Io`. */
  read(onBytes: (bytes: Buffer) => void): NodeJS.ReadableStream | undefined;
  giveBack(): void;
}

/** Descriptor 0 is opened once: as a stream by whoever asks for `process.stdin` first, or for bytes. */
export function takeInput(): Input {
  const original = Object.getOwnPropertyDescriptor(process, "stdin") as PropertyDescriptor;
  let opened: NodeJS.ReadStream | undefined;
  const stdin = () => {
    opened ??= original.get?.call(process) as NodeJS.ReadStream;
    return opened;
  };
  Object.defineProperty(process, "stdin", { configurable: true, enumerable: true, get: stdin });
  return {
    get stdin() {
      return stdin();
    },
    read(onBytes) {
      if (opened || !isPipe(STDIN)) return undefined;
      const buffer = Buffer.allocUnsafeSlow(CHUNK);
      const take = (count: number) => onBytes(buffer.subarray(0, count));
      const eager = new EagerInput(buffer, take, () => !socket.isPaused() && !socket.destroyed);
      const callback = (count: number) => {
        take(count);
        eager.taken();
        return true;
      };
      const options: SocketConstructorOpts & ConnectOpts = { fd: STDIN, readable: true, writable: false, onread: { buffer, callback } };
      const socket = new Socket(options);
      opened = socket as unknown as NodeJS.ReadStream;
      return socket.resume();
    },
    giveBack: () => Object.defineProperty(process, "stdin", original),
  };
}

/**
 * Sleeping and waking up takes longer than answering a short command. While a client sends its next command as soon as the last one is
 * answered, it is looked for a moment longer before the process sleeps; where that is in vain, seldom.
 */
class EagerInput {
  readonly #buffer: Buffer;
  readonly #take: (count: number) => void;
  readonly #mayRead: () => boolean;
  readonly #readSync = fs.readSync;
  /** when the last input was dealt with */
  #last = 0;
  #quick = 0;
  #needed = FEWEST_QUICK;

  constructor(buffer: Buffer, take: (count: number) => void, mayRead: () => boolean) {
    this.#buffer = buffer;
    this.#take = take;
    this.#mayRead = mayRead;
  }

  /** Input came in the usual way. */
  taken(): void {
    const now = performance.now();
    this.#quick = now - this.#last < QUICK_MS ? this.#quick + 1 : 0;
    this.#last = now;
    if (this.#quick >= this.#needed) setImmediate(this.#look);
  }

  /** After the answers have been written. */
  readonly #look = (): void => {
    if (!this.#mayRead()) return;
    const until = performance.now() + LOOK_MS;
    for (;;) {
      const count = this.#read();
      // At the end of input, which the socket is to find for itself.
      if (count === 0) return;
      if (count > 0) {
        this.#take(count);
        this.#last = performance.now();
        setImmediate(this.#look);
        return;
      }
      if (performance.now() < until) continue;
      this.#quick = 0;
      this.#needed = Math.min(this.#needed * 2, MOST_QUICK);
      return;
    }
  };

  /** -1: nothing is there. */
  #read(): number {
    try {
      return this.#readSync(STDIN, this.#buffer);
    } catch {
      return -1;
    }
  }
}

/** Writes that the pipe takes at once. To be made before `fs` is patched. */
export function directOutput(stdout: NodeJS.WriteStream): (bytes: Buffer) => number {
  const { writeSync } = fs;
  const isDirect = isPipe(STDOUT);
  return (bytes) => {
    // What the stream holds comes first.
    if (!isDirect || stdout.writableLength > 0 || stdout.destroyed) return 0;
    try {
      return writeSync(STDOUT, bytes);
    } catch {
      // The pipe is full, or nobody reads it: the stream finds out for itself, and knows how to wait.
      return 0;
    }
  };
}

/** On Windows pipes are another thing. */
function isPipe(descriptor: number): boolean {
  if (process.platform === "win32" || process.channel) return false;
  const kind = fs.fstatSync(descriptor);
  return kind.isFIFO() || kind.isSocket();
}
