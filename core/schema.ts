/** Checks of JSON values against schemas, with one-sentence errors. */
import { KernelError, messageOf } from "./errors.ts";

type Schema = Record<string, any>;

/** Checks a command's parameters; null counts as absent for optional ones. Throws the protocol's sentence. */
export function checkParams(schema: Schema, given: Record<string, unknown>): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  for (const name in schema.properties) {
    const value = given[name];
    if (value !== undefined && value !== null) {
      params[name] = checked(schema.properties[name], value, name);
    } else if (schema.required?.includes(name)) {
      throw new KernelError("E_PARAMETER", `Missing required parameter "${name}"`);
    }
  }
  return params;
}

function checked(schema: Schema, value: unknown, path: string): unknown {
  if (Array.isArray(schema.anyOf)) return checkedAny(schema, value, path);
  if (!fits(schema, value)) throw new KernelError("E_PARAMETER", `Invalid parameter "${path}": expected ${expectation(schema)}`);
  if (schema.type === "array" && schema.items) return (value as unknown[]).map((item, index) => checked(schema.items, item, `${path}[${index}]`));
  if (schema.type === "object" && schema.properties) return checkedObject(schema, value as Record<string, unknown>, path);
  return value;
}

function checkedObject(schema: Schema, value: Record<string, unknown>, path: string): Record<string, unknown> {
  const result: Record<string, unknown> = { ...value };
  for (const [name, property] of Object.entries(schema.properties) as [string, Schema][]) {
    const field = value[name];
    const where = `${path}.${name}`;
    if (field === undefined || field === null) {
      if (schema.required?.includes(name) && !fits(property, field)) throw new KernelError("E_PARAMETER", `Missing required parameter "${where}"`);
      if (field === null && !fits(property, null)) delete result[name];
      continue;
    }
    result[name] = checked(property, field, where);
  }
  return result;
}

/** The alternative that fits; if none does, the complaint of the one that came closest. */
function checkedAny(schema: Schema, value: unknown, path: string): unknown {
  if (schema.expected === undefined) {
    const constants = constantsOf(schema);
    if (constants) {
      if (constants.includes(value)) return value;
      throw new KernelError("E_PARAMETER", `Invalid parameter "${path}": expected one of ${constants.join(", ")}`);
    }
  }
  let complaint: unknown;
  let closest = -1;
  for (const alternative of schema.anyOf as Schema[]) {
    try {
      return checked(alternative, value, path);
    } catch (error) {
      const closeness = closenessOf(alternative, value);
      if (closeness > closest) complaint = error;
      closest = Math.max(closest, closeness);
    }
  }
  if (schema.expected) throw new KernelError("E_PARAMETER", `Invalid parameter "${path}": expected ${schema.expected}`);
  throw complaint;
}

/** How much of an alternative a value has: nothing, the right outer type, and then each required field; a constant counts only if it is the right one. */
function closenessOf(alternative: Schema, value: unknown): number {
  if (!fits({ ...alternative, properties: undefined }, value)) return 0;
  const required: string[] = alternative.required ?? [];
  const fields = value as Record<string, unknown>;
  return 1 + required.filter((name) => fields[name] !== undefined && fields[name] === (alternative.properties?.[name]?.const ?? fields[name])).length;
}

function constantsOf(schema: Schema): unknown[] | undefined {
  const constants = (schema.anyOf as Schema[]).map((alternative) => alternative.const);
  return constants.every((constant) => constant !== undefined) ? constants : undefined;
}

/** Whether the value itself, without what it holds, is of the schema. */
function fits(schema: Schema, value: unknown): boolean {
  if (schema.const !== undefined && value !== schema.const) return false;
  if (schema.enum && !schema.enum.includes(value)) return false;
  if (schema.anyOf) return schema.anyOf.some((alternative: Schema) => fits(alternative, value));
  switch (schema.type) {
    case "string":
      return typeof value === "string" && fitsString(schema, value);
    case "boolean":
      return typeof value === "boolean";
    case "integer":
      return Number.isInteger(value) && fitsRange(schema, value as number);
    case "number":
      return typeof value === "number" && Number.isFinite(value) && fitsRange(schema, value);
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "null":
      return value === null;
    default:
      return true;
  }
}

function fitsString(schema: Schema, value: string): boolean {
  if (schema.minLength && value.trim().length < schema.minLength) return false;
  return schema.pattern === undefined || new RegExp(schema.pattern).test(value);
}

function fitsRange(schema: Schema, value: number): boolean {
  return (schema.minimum === undefined || value >= schema.minimum) && (schema.maximum === undefined || value <= schema.maximum);
}

const article: Record<string, string> = {
  string: "a string",
  boolean: "a boolean",
  array: "an array",
  object: "an object",
  number: "a number",
  integer: "an integer",
  null: "null",
};

function expectation(schema: Schema): string {
  if (schema.expected) return schema.expected;
  if (schema.enum) return `one of ${schema.enum.join(", ")}`;
  if (schema.const !== undefined) return String(schema.const);
  if (schema.type === "string" && schema.minLength) return "a non-empty string";
  if ((schema.type === "integer" || schema.type === "number") && schema.minimum !== undefined && schema.maximum !== undefined) {
    return `${article[schema.type]} from ${schema.minimum} to ${schema.maximum}`;
  }
  return article[schema.type] ?? "another value";
}

/** Checks a tool's arguments after gentle conversion; answers what `execute` gets. Throws a text the model can act on. */
export async function validateArguments(tool: { name: string; parameters: unknown }, raw: unknown): Promise<Record<string, unknown>> {
  const schema = tool.parameters as Schema;
  if (isPlainlyValid(schema, raw)) return copyOf(raw) as Record<string, unknown>;
  const { Check, Errors } = await import("typebox/value");
  const value = coerce(schema, structuredClone(raw)) as Record<string, unknown>;
  let problems: { instancePath: string; message: string }[];
  try {
    if (Check(schema as never, value)) return value;
    problems = [...Errors(schema as never, value)] as { instancePath: string; message: string }[];
  } catch (error) {
    throw new Error(`The parameter schema of tool "${tool.name}" is not usable: ${messageOf(error)}`);
  }
  const lines = problems.slice(0, 20).map(({ instancePath, message }) => ` - ${instancePath.replace(/^\//, "").replaceAll("/", ".") || "root"}: ${message}`);
  throw new Error(`Validation failed for tool "${tool.name}":\n${lines.join("\n")}\n\nReceived arguments:\n${JSON.stringify(raw, null, 2)}`);
}

/** The words of JSON Schema in which nearly all tools are described. */
const plainWords = new Set(["type", "properties", "required", "items", "enum", "description", "title", "default", "examples"]);

/** Whether a value is surely valid. False also says that the schema has more to it, and a validator is to judge. */
function isPlainlyValid(schema: Schema, value: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  for (const word in schema) if (!plainWords.has(word)) return false;
  if (schema.enum && !schema.enum.includes(value)) return false;
  if (typeof schema.type !== "string" || !fits({ type: schema.type }, value)) return false;
  if (schema.type === "array") return !schema.items || (value as unknown[]).every((item) => isPlainlyValid(schema.items, item));
  if (schema.type !== "object") return schema.type in article;
  const fields = value as Record<string, unknown>;
  const isThere = (name: string) => Object.hasOwn(fields, name) && fields[name] !== undefined;
  for (const name of schema.required ?? []) if (!isThere(name)) return false;
  for (const name in schema.properties) if (isThere(name) && !isPlainlyValid(schema.properties[name], fields[name])) return false;
  return true;
}

/** Whoever gets it may change it. */
function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  if (Object.getPrototypeOf(value) !== Object.prototype || Object.hasOwn(value, "__proto__")) return structuredClone(value);
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) copy[name] = copyOf((value as Record<string, unknown>)[name]);
  return copy;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** Turns what models often send into what the schema asks for: "3" for a number, null for an absent option. */
export function coerce(schema: Schema | undefined, value: unknown): unknown {
  if (!schema || !isObject(schema)) return value;
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(alternatives)) return coerceAny(alternatives, value);
  let result = value;
  for (const part of Array.isArray(schema.allOf) ? schema.allOf : []) result = coerce(part, result);
  if (isObject(result) && isObject(schema.properties)) return coerceObject(schema, result);
  if (Array.isArray(result) && isObject(schema.items)) return result.map((item) => coerce(schema.items as Schema, item));
  return coercePrimitive(schema, result);
}

function coerceAny(alternatives: Schema[], value: unknown): unknown {
  const match = alternatives.find((alternative) => fits(alternative, value));
  if (match) return coerce(match, value);
  for (const alternative of alternatives) {
    const converted = coerce(alternative, value);
    if (fits(alternative, converted)) return converted;
  }
  return value;
}

function coerceObject(schema: Schema, value: Record<string, unknown>): Record<string, unknown> {
  for (const [name, property] of Object.entries(schema.properties as Record<string, Schema>)) {
    if (!(name in value)) continue;
    const optional = !schema.required?.includes(name);
    if (value[name] === null && optional && !fits(property, null)) delete value[name];
    else value[name] = coerce(property, value[name]);
  }
  return value;
}

function coercePrimitive(schema: Schema, value: unknown): unknown {
  const types: string[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  if (types.some((type) => fits({ type }, value))) return value;
  for (const type of types) {
    const converted = convert(type, value);
    if (converted !== undefined) return converted;
  }
  return value;
}

function convert(type: string, value: unknown): unknown {
  if (type === "number" || type === "integer") {
    if (value === null) return 0;
    if (typeof value === "boolean") return Number(value);
    if (typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value))) return Number(value);
  }
  if (type === "boolean") {
    if (value === "true" || value === 1 || value === "1") return true;
    if (value === "false" || value === 0 || value === "0" || value === null) return false;
  }
  if (type === "string") {
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    if (value === null) return "";
  }
  return undefined;
}
