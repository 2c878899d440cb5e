/** Arguments of tool calls while they arrive: right at every moment, and as cheap at the end as at the beginning. */
import { expect, test } from "vitest";
import type { Model } from "../../core/index.ts";
import { Draft } from "../../plugins/shared/draft.ts";
import { PartialJson } from "../../plugins/shared/partial-json.ts";

const samples: Record<string, unknown>[] = [
  {},
  { path: "a.txt", content: 'line 1\nline "2"\t\\ end \u0001 é 🌍 \u2028' },
  { a: 1, b: -2.5e-7, c: true, d: false, e: null, f: [], g: {}, h: "" },
  {
    edits: [
      { old: "x", new: "y" },
      { old: "", new: ["deep", [1, [2, [3]]]] },
    ],
    last: { a: { b: { c: "d" } } },
  },
  { 'key with "quotes"': "v", "": "empty key", __proto__x: 1 },
];

const inPieces = (text: string, size: number) => text.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];

test.each(samples.map((sample) => [JSON.stringify(sample).slice(0, 40), sample] as const))("%s, cut anywhere, becomes what was written", (_, sample) => {
  for (const text of [JSON.stringify(sample), JSON.stringify(sample, null, 2), JSON.stringify(sample).replaceAll("🌍", "\\ud83c\\udf0d")]) {
    for (const size of [1, 2, 3, 7, 1000]) {
      const reader = new PartialJson();
      for (const piece of inPieces(text, size)) reader.feed(piece);
      expect(reader.end()).toEqual(sample);
      expect(reader.isComplete).toBe(true);
    }
  }
});

test("every snapshot is the beginning of the next and stays as it was", () => {
  const whole = JSON.stringify(samples[3]);
  const reader = new PartialJson();
  const snapshots = [...whole].map((piece) => {
    const snapshot = reader.feed(piece);
    return { snapshot, text: JSON.stringify(snapshot) };
  });
  for (const { snapshot, text } of snapshots) expect(JSON.stringify(snapshot)).toBe(text);
  const lengths = snapshots.map(({ text }) => text.length);
  expect(lengths).toEqual([...lengths].sort((a, b) => a - b));
});

test("strings show while they grow, but never half a character; numbers show when they are complete", () => {
  const reader = new PartialJson();
  expect(reader.feed('{"text":"ab')).toEqual({ text: "ab" });
  expect(reader.feed("\\")).toEqual({ text: "ab" });
  expect(reader.feed("n\\ud83c")).toEqual({ text: "ab\n" });
  expect(reader.feed('\\udf0d","n":12')).toEqual({ text: "ab\n🌍" });
  expect(reader.feed("3}")).toEqual({ text: "ab\n🌍", n: 123 });
});

test("what is no JSON does no harm", () => {
  for (const text of ["", "nonsense", "[1,2]", '"text"', '{"a":}', "{,}", "}}}", '{"a":1}{"b":2}', '{"a":tru', "{'a':1}", '{"a" 1}']) {
    const reader = new PartialJson();
    for (const piece of text) reader.feed(piece);
    expect(typeof reader.end()).toBe("object");
  }
  const reader = new PartialJson();
  reader.feed('{"__proto__":{"polluted":true},"cut":"of');
  expect(Object.keys(reader.end())).toEqual(["__proto__", "cut"]);
  expect(({} as Record<string, unknown>).polluted).toBe(undefined);
});

test("ten thousand deltas cost no more each than a thousand", () => {
  const model = { id: "m", api: "a", provider: "p" } as Model;
  const costOf = (deltas: number) => {
    const draft = new Draft(model);
    const contentIndex = draft.openCall("call", "write");
    const pieces = inPieces(JSON.stringify({ path: "big.txt", content: "0123456789\n".repeat(deltas) }), 12).slice(0, deltas);
    const before = process.cpuUsage();
    for (const piece of pieces) {
      draft.append(contentIndex, piece);
      draft.take();
    }
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  costOf(10_000);
  const ratios = Array.from({ length: 10 }, () => {
    const short = Array.from({ length: 10 }, () => costOf(1000)).reduce((sum, cost) => sum + cost);
    return costOf(10_000) / short;
  });
  // The least of several rounds: what else the machine does only ever adds.
  expect(Math.min(...ratios)).toBeLessThanOrEqual(1.3);
});

test("what is nested without end is refused, and not kept for those who would follow it down", () => {
  const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  expect(JSON.stringify(new PartialJson().feed(nested(500)))).toBe(nested(500));
  expect(() => new PartialJson().feed(nested(501))).toThrow("nested more than 500 levels");
});
