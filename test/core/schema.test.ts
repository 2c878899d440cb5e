/** Arguments of tools: what plain schemas say is judged without a validator, and as it would judge. */
import { Type } from "typebox";
import { expect, test } from "vitest";
import { validateArguments } from "../../core/index.ts";

const values = [
  ["a", "", 1, 1.5, -1, "1", "x", true, false, null, [], ["a"], [1], ["a", 1], {}, { a: 1 }, { a: "1" }, { a: null }, { a: { b: 1 } }],
  [{ a: 1, b: "x" }, { a: 1, b: ["x"] }, { a: [{ b: 1 }] }, { a: [{ b: "x" }] }, { c: 1 }, { a: undefined }, [[1]], Number.NaN],
].flat();

const schemas: object[] = [
  { type: "string" },
  { type: "string", enum: ["a", "x"] },
  { type: "number" },
  { type: "integer" },
  { type: "boolean" },
  { type: "null" },
  { type: "array" },
  { type: "array", items: { type: "string" } },
  { type: "array", items: { type: "array", items: { type: "number" } } },
  { type: "object" },
  { type: "object", properties: { a: { type: "number", description: "A" }, b: { type: "string", default: "x" } }, required: ["a"] },
  { type: "object", properties: { a: { type: "object", properties: { b: { type: "number" } }, required: ["b"] } }, required: ["a"] },
  { type: "object", properties: { a: { type: "array", items: { type: "object", properties: { b: { type: "number" } } } } } },
  { type: "object", required: ["c"] },
  { type: "object", properties: { a: { type: "number", minimum: 1 } }, additionalProperties: false },
  Type.Object({ a: Type.Optional(Type.Number()), b: Type.Optional(Type.Array(Type.String())) }),
  {},
];

async function outcome(parameters: unknown, value: unknown): Promise<unknown> {
  return validateArguments({ name: "t", parameters }, value).catch((error: Error) => error.message);
}

test("plain schemas are judged as a validator judges them", async () => {
  for (const schema of schemas) {
    // A word that says nothing, and that the short way does not know.
    const judged = { ...schema, $comment: "for the validator" };
    for (const value of values) {
      const [one, other] = [await outcome(schema, structuredClone(value)), await outcome(judged, structuredClone(value))];
      expect(one, `${JSON.stringify(value)} by ${JSON.stringify(schema)}`).toEqual(other);
    }
  }
});

test("what a tool gets is its own", async () => {
  const raw = { a: [{ b: 1 }], date: new Date(0), ...JSON.parse('{"c":{"__proto__":{"d":1}}}') };
  const given = await validateArguments({ name: "t", parameters: { type: "object", properties: { a: { type: "array" } } } }, raw);
  expect(given).toEqual(raw);
  expect(given).not.toBe(raw);
  expect((given.a as unknown[])[0]).not.toBe(raw.a[0]);
  expect(given.date).toBeInstanceOf(Date);
  expect(Object.hasOwn(given.c as object, "__proto__")).toBe(true);
  expect(Object.getPrototypeOf(given.c)).toBe(Object.prototype);
});
