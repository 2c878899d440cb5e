/** Reading and writing records, without a process. */
import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import type { AssistantContent, AssistantMessage, BlockEvent } from "../../core/index.ts";
import { zeroUsage } from "../../core/index.ts";
import { RecordSplitter } from "../../plugins/shared/frames/jsonl.ts";
import { portionsOf } from "../../plugins/shared/frames/portions.ts";
import { growingFrame, recordFrame, replaceableFrame, toJson } from "../../plugins/shared/frames/serialize.ts";
import { MessageUpdates } from "../../plugins/shared/frames/updates.ts";
import { FrameWriter } from "../../plugins/shared/frames/writer.ts";
import { generator } from "../helpers/random.ts";

describe("reading records", () => {
  function read(chunks: Buffer[], limit?: number): string[] {
    const records: string[] = [];
    const splitter = new RecordSplitter({ onRecord: (text) => records.push(text), onTooLong: () => records.push("<too long>") }, limit);
    for (const chunk of chunks) splitter.push(chunk);
    splitter.end();
    return records;
  }

  /** As input comes: each chunk at the beginning of the same memory, with what was there before behind it. */
  function readInPlace(chunks: Buffer[]): string[] {
    const records: string[] = [];
    const splitter = new RecordSplitter({ onRecord: (text) => records.push(text), onTooLong: () => {} });
    const memory = Buffer.from('{"old":1}\n'.repeat(20));
    for (const chunk of chunks) splitter.push(memory, chunk.copy(memory));
    splitter.end();
    return records;
  }

  const cutAt = (bytes: Buffer, size: number) =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));

  test("any cut gives the same records", () => {
    const text = '\uFEFF{"a":"ä\u2028😀"}\r\n\n  \r\n{"b":\r1}\n{"c":"\u2029"}\r\n{"last":true}';
    const expected = ['{"a":"ä\u2028😀"}', '{"b":\r1}', '{"c":"\u2029"}', '{"last":true}'];
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size++) {
      expect(read(cutAt(bytes, size))).toEqual(expected);
      expect(readInPlace(cutAt(bytes, size))).toEqual(expected);
    }
  });

  test("malformed UTF-8 becomes U+FFFD, and only the first byte order mark is dropped", () => {
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}\n\uFEFF{}\n')]);
    expect(read([bytes])).toEqual(['{"a":"\uFFFD\uFFFD"}', "\uFEFF{}"]);
  });

  test("a record that is too long is skipped up to its LF, and told once", () => {
    const records = read([Buffer.from('"123456789'), Buffer.from("01234567890123456789"), Buffer.from('"\n"ok"\n"1234567890"\r\n"12345678"\r\n')], 10);
    expect(records).toEqual(["<too long>", '"ok"', "<too long>", '"12345678"']);
  });

  test("a record without LF that is too long is told at the end of input at the latest", () => {
    expect(read([Buffer.from("12345678901")], 10)).toEqual(["<too long>"]);
  });
});

describe("JSON", () => {
  test("separators are escaped, also in keys", () => {
    const json = toJson({ "k\u2028": "a\u2028b\u2029" });
    expect(json).toBe('{"k\\u2028":"a\\u2028b\\u2029"}');
    expect(JSON.parse(json)).toEqual({ "k\u2028": "a\u2028b\u2029" });
  });

  test("what JSON cannot hold is described instead of thrown", () => {
    const cyclic: Record<string, unknown> = { big: 10n, fine: [1] };
    cyclic.self = cyclic;
    Object.defineProperty(cyclic, "bad", {
      enumerable: true,
      get() {
        throw new Error("no");
      },
    });
    expect(JSON.parse(toJson(cyclic))).toEqual({ big: "10", fine: [1], self: "[circular]", bad: "[unreadable]" });
    let deep: unknown = 1;
    for (let level = 0; level < 50_000; level++) deep = [deep];
    expect(JSON.parse(toJson({ deep })).deep).toBeInstanceOf(Array);
  });
});

describe("an answer in portions", () => {
  const many = Array.from({ length: 300 }, (_, n) => ({ n, text: "ä\u2028".repeat(n * 5) }));
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);

  test.each<[string, object]>([
    ["alone", { id: "a", type: "response", success: true, data: { messages: many } }],
    ["between others", { data: { first: 1, none: undefined, messages: many, others: many, last: { a: [] } } }],
    ["behind nothing that JSON has", { id: undefined, data: { none: undefined, messages: many, neither: undefined } }],
    ["of what JSON cannot hold", { data: { 'quo"te': [...many, undefined, () => {}, 10n, cyclic], big: 1n } }],
  ])("is the same text: a list %s", (_, record) => {
    const frames = [...(portionsOf(record) ?? [])];
    const portions = frames.map((frame) => String(frame.render()));
    expect(JSON.parse(portions.join(""))).toEqual(JSON.parse(toJson(record)));
    if (!toJson(record).includes("circular")) expect(portions.join("")).toBe(`${toJson(record)}\n`);
    expect(portions.length).toBeGreaterThan(2);
    expect(frames.map(({ size }) => size)).toEqual(portions.map((text) => Buffer.byteLength(text)));
  });

  test("is none of short lists, and of lists elsewhere", () => {
    const others = [
      { data: null },
      { data: many },
      { data: { messages: [1] } },
      { data: { messages: many }, error: "" },
      { type: "agent_end", messages: many },
    ];
    for (const record of others) expect(portionsOf(record)).toBeUndefined();
  });
});

/** A stream that takes bytes only when it is told to. */
class Pipe extends Writable {
  readonly #taken: Buffer[] = [];
  writes = 0;
  isOpen = true;
  #waiting: (() => void) | undefined;

  override _write(chunk: Buffer, _: string, done: (error?: Error) => void): void {
    this.writes++;
    const take = () => {
      this.take(chunk);
      done();
    };
    if (this.isOpen) take();
    else this.#waiting = take;
  }

  open(): void {
    this.isOpen = true;
    this.#waiting?.();
    this.#waiting = undefined;
  }

  /** Copied: the writer may use its memory again. */
  take(bytes: Buffer): void {
    this.#taken.push(Buffer.from(bytes));
  }

  text(): string {
    return Buffer.concat(this.#taken).toString();
  }

  get lines(): any[] {
    return this.text()
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

describe("writing", () => {
  test("records of one tick leave in one write, in order, and are not merged", async () => {
    const pipe = new Pipe();
    const writer = new FrameWriter();
    writer.write(growingFrame({ type: "d", delta: "a" }, "1"));
    writer.attach({ stdout: pipe });
    for (let n = 0; n < 3; n++) writer.write(growingFrame({ type: "d", delta: `${n}` }, "1"));
    await writer.flush();
    expect(pipe.writes).toBe(1);
    expect(pipe.lines.map(({ delta }) => delta)).toEqual(["a", "0", "1", "2"]);
  });

  test("while the reader is behind, neighbours of the same kind are merged and nothing else", async () => {
    const pipe = new Pipe();
    pipe.isOpen = false;
    const writer = new FrameWriter();
    writer.attach({ stdout: pipe });
    writer.write(recordFrame({ n: 0 }));
    await tick();
    writer.write(growingFrame({ type: "d", delta: "a" }, "1"));
    writer.write(growingFrame({ type: "d", delta: "b" }, "1"));
    writer.write(growingFrame({ type: "d", delta: "c" }, "2"));
    writer.write(recordFrame({ n: 1 }));
    writer.write(growingFrame({ type: "d", delta: "e" }, "2"));
    writer.write(replaceableFrame({ v: 1 }, "x"));
    writer.write(replaceableFrame({ v: 2 }, "x"));
    pipe.open();
    await writer.flush();
    expect(pipe.lines).toEqual([{ n: 0 }, { type: "d", delta: "ab" }, { type: "d", delta: "c" }, { n: 1 }, { type: "d", delta: "e" }, { v: 2 }]);
  });

  test("above 8 MiB sources wait until less than 4 MiB wait", async () => {
    const pipe = new Pipe();
    pipe.isOpen = false;
    const writer = new FrameWriter();
    writer.attach({ stdout: pipe });
    const megabyte = "x".repeat(1024 * 1024);
    for (let n = 0; n < 8; n++) writer.write(recordFrame({ n: megabyte.slice(100) }));
    expect(writer.ready()).toBeUndefined();
    writer.write(recordFrame({ n: megabyte }));
    const pressure = writer.ready();
    expect(pressure).toBeInstanceOf(Promise);
    await tick();
    pipe.open();
    await pressure;
    expect(writer.waitingBytes).toBeLessThan(4 * 1024 * 1024);
    await writer.flush();
    expect(writer.ready()).toBeUndefined();
    expect(pipe.lines).toHaveLength(9);
  });

  test("lines that wait are kept together, whole and in order, however little the pipe takes at a time", async () => {
    const kinds = new Set<string>();
    for (let seed = 1; seed <= 20; seed++) {
      const random = generator(seed);
      const pipe = new Pipe();
      const writer = new FrameWriter();
      const writeNow = (line: Buffer | string) => {
        const bytes = Buffer.from(line as string);
        kinds.add(typeof line);
        const taken = random() < 0.3 ? 0 : random() < 0.5 ? bytes.length : Math.floor(random() * bytes.length);
        if (pipe.writableLength > 0) return 0;
        pipe.take(bytes.subarray(0, taken));
        return taken;
      };
      writer.attach({ stdout: pipe, writeNow });
      const expected: object[] = [];
      const words = ["plain ", "ä", "😀", "\u2028", "\u2029", '"'];
      for (let turn = 0; turn < 12; turn++) {
        if (random() < 0.3) pipe.isOpen = !pipe.isOpen;
        const isHeld = random() < 0.7;
        if (isHeld) writer.hold();
        for (let n = Math.floor(random() * 60); n > 0; n--) {
          const record = { turn, n, text: (words[Math.floor(random() * words.length)] as string).repeat(1 + Math.floor(random() * (turn % 2 ? 30 : 3000))) };
          expected.push(record);
          writer.write(random() < 0.1 ? replaceableFrame(record, `${turn} ${n}`) : recordFrame(record));
        }
        if (isHeld) writer.release();
        if (random() < 0.5) await tick();
        if (pipe.isOpen) pipe.open();
      }
      pipe.open();
      await writer.flush();
      expect(pipe.lines, `seed ${seed}`).toEqual(expected);
      expect(pipe.text()).not.toMatch(/[\u2028\u2029]/);
      expect(writer.waitingBytes).toBe(0);
    }
    expect(kinds).toEqual(new Set(["string", "object"]));
  });

  test("a short text may be taken in part, also in the middle of a character", async () => {
    const record = { text: "ä€😀".repeat(4) };
    const whole = Buffer.from(`${JSON.stringify(record)}\n`);
    for (let taken = 0; taken <= whole.length; taken++) {
      const pipe = new Pipe();
      const writer = new FrameWriter();
      const writeNow = (line: Buffer | string) => {
        expect(line).toBeTypeOf("string");
        pipe.take(Buffer.from(line as string).subarray(0, taken));
        return taken;
      };
      writer.attach({ stdout: pipe, writeNow });
      writer.write(recordFrame(record));
      await tick();
      await writer.flush();
      expect(pipe.lines, `${taken} bytes at once`).toEqual([record]);
    }
  });

  test("while commands are answered, answers leave as the pipe takes them and the stream is not asked", async () => {
    const pipe = new Pipe();
    const writer = new FrameWriter();
    let room = 0;
    const writeNow = (line: Buffer | string) => {
      const bytes = Buffer.from(line as string);
      const taken = Math.min(room, bytes.length);
      pipe.take(bytes.subarray(0, taken));
      room -= taken;
      return taken;
    };
    writer.attach({ stdout: pipe, writeNow });
    writer.hold();
    for (let n = 0; n < 1000; n++) {
      writer.write(recordFrame({ n, text: "x".repeat(1000) }));
      if (n % 100 === 0) room = 64 * 1024;
    }
    expect(pipe.writes).toBe(0);
    expect(writer.waitingBytes).toBeLessThan(500 * 1024);
    writer.release();
    await writer.flush();
    expect(pipe.lines.map(({ n }) => n)).toEqual(Array.from({ length: 1000 }, (_, n) => n));
  });

  test("numbers are given line by line, also to lines that waited", async () => {
    const pipe = new Pipe();
    pipe.isOpen = false;
    let last = 0;
    const writer = new FrameWriter({ stamp: (line) => line.toString().replace("{", `{"seq":${++last},`) });
    writer.attach({ stdout: pipe });
    writer.write(recordFrame({ n: 0 }));
    await tick();
    for (let n = 1; n < 5; n++) writer.write(recordFrame({ n }));
    pipe.open();
    await writer.flush();
    expect(pipe.lines).toEqual([0, 1, 2, 3, 4].map((n) => ({ seq: n + 1, n })));
  });

  test("EAGAIN is tried again; a reader that left ends the writing quietly", async () => {
    let attempts = 0;
    const flaky = {
      written: "",
      on() {},
      write(chunk: string, done: (error?: Error) => void) {
        attempts++;
        if (attempts < 3) return done(Object.assign(new Error("again"), { code: "EAGAIN" }));
        if (chunk.includes("last")) return done(Object.assign(new Error("gone"), { code: "EPIPE" }));
        this.written += chunk;
        done();
      },
    };
    let gone: Error | undefined;
    const writer = new FrameWriter({
      onGone: (error) => {
        gone = error;
      },
    });
    writer.attach({ stdout: flaky as never });
    writer.write(recordFrame({ n: 1 }));
    await writer.flush();
    expect(flaky.written).toBe('{"n":1}\n');
    writer.write(recordFrame({ last: true }));
    await writer.flush();
    expect(gone?.message).toBe("gone");
    expect(writer.isGone).toBe(true);
    writer.write(recordFrame({ n: 2 }));
    await writer.flush();
  });
});

describe("full updates", () => {
  const base: AssistantMessage = {
    role: "assistant",
    content: [],
    api: "a",
    provider: "p",
    model: "m",
    usage: zeroUsage(),
    stopReason: "stop",
    timestamp: 1,
  };
  const lineOf = (updates: MessageUpdates, event: BlockEvent, sendsPartial = true) => updates.frame(event, "full", sendsPartial).render().toString();
  const wire = (event: BlockEvent) => ({ type: "message_update", message: event.partial, assistantMessageEvent: event });

  /** A conversation of random increments, with the changes that plugins and providers may make in between. */
  function* increments(random: () => number): Generator<BlockEvent> {
    const words = ["a", '"quoted"', "\\", "ä", "😀", "\u2028", "\n", "word "];
    let content: AssistantContent[] = [];
    const snapshot = (): AssistantMessage => ({ ...base, content });
    const replace = (index: number, block: AssistantContent) => {
      content = content.map((old, at) => (at === index ? block : old));
    };
    for (let contentIndex = 0; contentIndex < 4; contentIndex++) {
      const kind = random() < 0.5 ? "text" : "thinking";
      const empty = (kind === "text" ? { type: "text", text: "" } : { type: "thinking", thinking: "" }) as AssistantContent;
      content = [...content, empty];
      yield { type: `${kind}_start`, contentIndex, partial: snapshot() };
      for (let n = 0; n < 30; n++) {
        const delta = words[Math.floor(random() * words.length)] as string;
        const block = content[contentIndex] as any;
        replace(contentIndex, { ...block, [kind]: block[kind] + delta });
        yield { type: `${kind}_delta`, contentIndex, delta, partial: snapshot() };
      }
      const block = content[contentIndex] as any;
      replace(contentIndex, { ...block, [`${kind}Signature`]: "sig\u2028" });
      yield { type: `${kind}_end`, contentIndex, content: block[kind], partial: snapshot() };
    }
    content = [...content, { type: "toolCall", id: "c", name: "t", arguments: {} }];
    yield { type: "toolcall_start", contentIndex: 4, id: "c", toolName: "t", partial: snapshot() };
    for (const path of ["x", "xy"]) {
      replace(4, { type: "toolCall", id: "c", name: "t", arguments: { path } });
      yield { type: "toolcall_delta", contentIndex: 4, delta: path, partial: snapshot() };
    }
    // Something else than the delta says: the texts must be made anew.
    replace(0, { type: "text", text: "replaced" });
    yield { type: "toolcall_end", contentIndex: 4, toolCall: content[4] as never, partial: snapshot() };
  }

  test("each line is what serializing the whole event would give", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const updates = new MessageUpdates();
      updates.begin();
      for (const event of increments(generator(seed))) expect(lineOf(updates, event)).toBe(`${toJson(wire(event))}\n`);
    }
  });

  test("halves of a pair of surrogates join again", () => {
    const updates = new MessageUpdates();
    updates.begin();
    let text = "";
    let line = "";
    for (const delta of ["x\ud83d", "\ude00y"]) {
      text += delta;
      line = lineOf(updates, { type: "text_delta", contentIndex: 0, delta, partial: { ...base, content: [{ type: "text", text }] } });
    }
    expect(JSON.parse(line).message.content[0].text).toBe("x😀y");
  });

  test("without `partial` for dialects that do not send it", () => {
    const updates = new MessageUpdates();
    const event: BlockEvent = { type: "text_start", contentIndex: 0, partial: { ...base, content: [{ type: "text", text: "" }] } };
    expect(JSON.parse(lineOf(updates, event, false)).assistantMessageEvent).toEqual({ type: "text_start", contentIndex: 0 });
  });

  test("merged updates have both deltas and the later message; a frame keeps its moment although the text goes on", () => {
    for (const mode of ["full", "delta"] as const) {
      const updates = new MessageUpdates();
      updates.begin();
      let text = "";
      const frames = ["a", "b", "c"].map((delta) => {
        text += delta;
        return updates.frame({ type: "text_delta", contentIndex: 0, delta, partial: { ...base, content: [{ type: "text", text }] } }, mode, true);
      });
      const [first, second, third] = frames as [any, any, any];
      const merged = JSON.parse(first.merge(second).render().toString());
      expect(merged.assistantMessageEvent.delta).toBe("ab");
      if (mode === "full") expect(merged.message.content[0].text).toBe("ab");
      expect(JSON.parse(third.render().toString()).assistantMessageEvent.delta).toBe("c");
      updates.begin();
      const other = updates.frame(
        { type: "text_delta", contentIndex: 0, delta: "d", partial: { ...base, content: [{ type: "text", text: "d" }] } },
        mode,
        true,
      );
      expect(third.merge(other)).toBeUndefined();
    }
  });

  test("a long message costs less than serializing it again and again", () => {
    const cpu = (work: (event: BlockEvent) => unknown) => {
      let text = "";
      const started = process.cpuUsage();
      for (let n = 0; n < 4000; n++) {
        text += "words ";
        work({ type: "text_delta", contentIndex: 0, delta: "words ", partial: { ...base, content: [{ type: "text", text }] } });
      }
      const { user, system } = process.cpuUsage(started);
      return user + system;
    };
    const ours = () => {
      const updates = new MessageUpdates();
      updates.begin();
      return cpu((event) => lengthOf(updates.frame(event, "full", true).render()));
    };
    const plain = () => cpu((event) => Buffer.from(JSON.stringify(wire(event))).length);
    // The best of several, in turns: a busy machine makes single measurements worthless.
    const rounds = Array.from({ length: 4 }, () => ({ ours: ours(), plain: plain() }));
    expect(Math.min(...rounds.map((round) => round.ours))).toBeLessThan(Math.min(...rounds.map((round) => round.plain)) * 0.75);
  });
});

const lengthOf = (line: string | Buffer) => line.length;
