/** Identifiers: sessions have time-ordered UUIDs, entries short hexadecimal ones. */

let lastTime = 0;
let counter = 0;

/** These ids must be unique and need not be secret: node:crypto would cost every start more than all files it reads. */
function chance(size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  for (let at = 0; at < size; at += 4) bytes.writeUInt32BE(Math.floor(Math.random() * 0x1_0000_0000), at);
  return bytes;
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
