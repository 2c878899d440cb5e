/** Identifiers: sessions have time-ordered UUIDs, entries short hexadecimal ones. */
import { closeSync, openSync, readSync } from "node:fs";

const POOL_BYTES = 512;

let lastTime = 0;
let counter = 0;
let pool: Buffer = Buffer.alloc(0);

/** Bytes that nobody can guess; each is given out once. */
function chance(size: number): Buffer {
  if (pool.length < size) pool = fromSystem();
  const bytes = Buffer.from(pool.subarray(0, size));
  pool = pool.subarray(size);
  return bytes;
}

/** Read from the system directly where that is possible: node:crypto would cost every start more than all files it reads. */
function fromSystem(): Buffer {
  const bytes = Buffer.alloc(POOL_BYTES);
  try {
    const device = openSync("/dev/urandom", "r");
    try {
      if (readSync(device, bytes, 0, POOL_BYTES, null) === POOL_BYTES) return bytes;
    } finally {
      closeSync(device);
    }
  } catch {
    // e.g. on Windows
  }
  return process.getBuiltinModule("node:crypto").randomFillSync(bytes);
}

/** A UUID of version 7: 48 bits of time, then a counter within the millisecond, then chance. */
export function uuidv7(now = Date.now()): string {
  const bytes = chance(16);
  if (now > lastTime) {
    lastTime = now;
    counter = bytes.readUInt16BE(6) & 0x07ff;
  } else {
    // The clock stands still or went back: the counter keeps the order, and a full counter borrows a millisecond.
    counter++;
    if (counter > 0x0fff) {
      lastTime++;
      counter = 0;
    }
  }
  bytes.writeUIntBE(lastTime, 0, 6);
  bytes.writeUInt16BE(0x7000 | counter, 6);
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f);
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Eight hexadecimal digits that `isTaken` does not know. */
export function shortId(isTaken: (id: string) => boolean): string {
  for (;;) {
    const id = chance(4).toString("hex");
    if (!isTaken(id)) return id;
  }
}
