/** stdin and stdout where they are pipes or sockets: without a stream in between, which costs more than a short command does. */
import fs from "node:fs";
import { type ConnectOpts, Socket, type SocketConstructorOpts } from "node:net";

const STDIN = 0;
const STDOUT = 1;
const CHUNK = 64 * 1024;

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
      const callback = (count: number, buffer: Uint8Array) => {
        onBytes((buffer as Buffer).subarray(0, count));
        return true;
      };
      const onread = { buffer: Buffer.allocUnsafeSlow(CHUNK), callback };
      const options: SocketConstructorOpts & ConnectOpts = { fd: STDIN, readable: true, writable: false, onread };
      const socket = new Socket(options);
      opened = socket as unknown as NodeJS.ReadStream;
      return socket.resume();
    },
    giveBack: () => Object.defineProperty(process, "stdin", original),
  };
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
