/** What was made of a conversation the last time. Conversations grow at their end, so all but the newest of each request is as it was. */

/** Remembers what was made of objects for as long as they live. What is remembered must not be changed. */
export class Memory<Source extends object, Made> {
  readonly #made = new WeakMap<Source, { key: string; made: Made }>();

  /** `key` names all else that the outcome depends on. */
  of(source: Source, key: string, make: () => Made): Made {
    const found = this.#made.get(source);
    if (found?.key === key) return found.made;
    const made = make();
    this.#made.set(source, { key, made });
    return made;
  }
}

/** Longer ones are made again: nothing big is held twice. */
const LONGEST = 16 * 1024;
const encoded = new WeakMap<object, Buffer>();
const [OPEN, COMMA, CLOSE] = ["[", ",", "]"].map((mark) => Buffer.from(mark)) as [Buffer, Buffer, Buffer];

/** The JSON of a payload, whose lists (messages, tools) are made of objects that come again. Bytes, because copying them is all that is left to do. */
export function rememberedJson(payload: object): Buffer {
  const parts: Buffer[] = [];
  let before = "{";
  for (const [name, value] of Object.entries(payload)) {
    if (value === undefined) continue;
    const start = `${before}${JSON.stringify(name)}:`;
    before = ",";
    if (!Array.isArray(value)) {
      parts.push(Buffer.from(start + JSON.stringify(value)));
      continue;
    }
    parts.push(Buffer.from(start), OPEN);
    for (const [index, item] of value.entries()) {
      if (index > 0) parts.push(COMMA);
      parts.push(bytesOf(item));
    }
    parts.push(CLOSE);
  }
  parts.push(Buffer.from(before === "{" ? "{}" : "}"));
  return Buffer.concat(parts);
}

/** The JSON of a payload that was in other hands. */
export function freshJson(payload: object): Buffer {
  return Buffer.from(JSON.stringify(payload));
}

function bytesOf(item: unknown): Buffer {
  if (typeof item !== "object" || item === null) return Buffer.from(JSON.stringify(item) ?? "null");
  let bytes = encoded.get(item);
  if (!bytes) {
    bytes = Buffer.from(JSON.stringify(item));
    if (bytes.length <= LONGEST) encoded.set(item, bytes);
  }
  return bytes;
}
