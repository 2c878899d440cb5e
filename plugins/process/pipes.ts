/** stdin and stdout where they are pipes or sockets: without a stream in between, which costs more than a short command does. */
import fs from "node:fs";
import { type ConnectOpts, Socket, type SocketConstructorOpts } from "node:net";

const STDIN = 0;
const STDOUT = 1;
const CHUNK = 64 * 1024;

/** How often input is looked for before the process goes to sleep; each look takes some microseconds. */
const LOOKS = 16;
/** How much input comes in the usual way before the first look, and at most between two that were in vain. */
const FIRST_WAIT = 8;
const LONGEST_WAIT = 256;

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
 * Sleeping and waking up takes longer than answering a short command. A client that sends its next command as soon as the last one is
 * answered is looked out for a moment longer before the process sleeps. Where that is in vain it is done ever more seldom.
 */
class EagerInput {
  readonly #buffer: Buffer;
  readonly #take: (count: number) => void;
  readonly #mayRead: () => boolean;
  readonly #readSync = fs.readSync;
  #upcoming: NodeJS.Immediate | undefined;
  #wait = FIRST_WAIT;
  #nextWait = 1;

  constructor(buffer: Buffer, take: (count: number) => void, mayRead: () => boolean) {
    this.#buffer = buffer;
    this.#take = take;
    this.#mayRead = mayRead;
  }

  /** Input came in the usual way. */
  taken(): void {
    if (this.#wait > 0) this.#wait--;
    else this.#lookSoon();
  }

  #lookSoon(): void {
    this.#upcoming ??= setImmediate(this.#look);
  }

  /** After the answers have been written; everything else gets its turn between two looks that found something. */
  readonly #look = (): void => {
    this.#upcoming = undefined;
    for (let left = LOOKS; left > 0 && this.#mayRead(); left--) {
      const count = this.#read();
      // At the end of input, which the socket is to find for itself.
      if (count === 0) return;
      if (count < 0) continue;
      this.#nextWait = 1;
      this.#take(count);
      this.#lookSoon();
      return;
    }
    this.#wait = this.#nextWait;
    this.#nextWait = Math.min(this.#nextWait * 2, LONGEST_WAIT);
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
