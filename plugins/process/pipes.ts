/** stdin and stdout where they are pipes or sockets: without a stream in between, which costs more than a short command does. */
import fs from "node:fs";
import { type ConnectOpts, Socket, type SocketConstructorOpts } from "node:net";
import { devNull } from "node:os";
import type { Io } from "../../core/index.ts";

const STDIN = 0;
const STDOUT = 1;
const CHUNK = 64 * 1024;

/** Rounds of the event loop that are made without sleeping; each takes some microseconds. */
const ROUNDS = 60;
/** How much input comes before that is tried for the first time, and at most between two times that were in vain. */
const FIRST_WAIT = 8;
const LONGEST_WAIT = 256;

export interface Input {
  readonly stdin: NodeJS.ReadStream;
  /** See `Io`. */
  read(onBytes: (bytes: Buffer, count: number) => void): NodeJS.ReadableStream | undefined;
  giveBack(): void;
}

/**
 * Descriptor 0 is opened once, as a stream or for bytes. Others find an empty `process.stdin`: a line reader that one of them closes pauses its
 * stream, and with it the client. A terminal is for people, and whoever asks them.
 */
export function takeInput(): Input {
  const original = Object.getOwnPropertyDescriptor(process, "stdin") as PropertyDescriptor;
  let opened: NodeJS.ReadStream | undefined;
  let empty: NodeJS.ReadStream | undefined;
  const stdin = () => {
    opened ??= original.get?.call(process) as NodeJS.ReadStream;
    return opened;
  };
  const shown = () => {
    if (fs.fstatSync(STDIN).isCharacterDevice()) return stdin();
    empty ??= emptyInput();
    return empty;
  };
  Object.defineProperty(process, "stdin", { configurable: true, enumerable: true, get: shown });
  return {
    get stdin() {
      return stdin();
    },
    read(onBytes) {
      if (opened || !isPipe(STDIN)) return undefined;
      const buffer = Buffer.allocUnsafeSlow(CHUNK);
      const wakefulness = new Wakefulness();
      const callback = (count: number) => {
        onBytes(buffer, count);
        wakefulness.taken();
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

/** What Node makes of `< /dev/null`, with what it has besides where stdin is a pipe. */
function emptyInput(): NodeJS.ReadStream {
  const stream = fs.createReadStream(devNull);
  const self = () => stream;
  return Object.assign(stream, { ref: self, unref: self }) as unknown as NodeJS.ReadStream;
}

/**
 * Falling asleep and waking up takes longer than answering a short command. While a client sends its next command as soon as the last one
 * is answered, the event loop goes round a few times more before the process sleeps. Where that is in vain it is done ever more seldom.
 */
class Wakefulness {
  #isAwake = false;
  #left = 0;
  #wait = FIRST_WAIT;
  #nextWait = 1;

  /** Input has come. */
  taken(): void {
    if (this.#isAwake) this.#nextWait = 1;
    else if (this.#wait > 0) {
      this.#wait--;
      return;
    } else setImmediate(this.#round);
    this.#isAwake = true;
    this.#left = ROUNDS;
  }

  readonly #round = (): void => {
    if (this.#left-- > 0) {
      setImmediate(this.#round);
      return;
    }
    this.#isAwake = false;
    this.#wait = this.#nextWait;
    this.#nextWait = Math.min(this.#nextWait * 2, LONGEST_WAIT);
  };
}

/** Writes that the pipe takes at once; nothing where stdout is something else. To be made before `fs` is patched. */
export function directOutput(stdout: NodeJS.WriteStream): Io["writeNow"] {
  if (!isPipe(STDOUT)) return undefined;
  const { writeSync } = fs;
  return (line) => {
    // What the stream holds comes first.
    if (stdout.writableLength > 0 || stdout.destroyed) return 0;
    try {
      return typeof line === "string" ? writeSync(STDOUT, line) : writeSync(STDOUT, line);
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
