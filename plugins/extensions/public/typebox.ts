/** TypeBox 1.x for extensions, with what they may still expect of 0.34: one instance under both names. */
import * as typebox1 from "typebox";

const { Type } = typebox1;
type Schema = Record<string, unknown>;
type Options = Record<string, unknown> | undefined;

let recursive = 0;

/** Builders that 1.x no longer has, as JSON Schema. */
const legacy = {
  Composite: (schemas: Schema[], options?: Options) => Type.Object(Object.assign({}, ...schemas.map(({ properties }) => properties)), options),
  Const: (value: unknown, options?: Options) => constant(value, options),
  Date: (options?: Options) => Type.Unsafe({ type: "string", format: "date-time", ...options }),
  Not: (schema: Schema, options?: Options) => Type.Unsafe({ not: schema, ...options }),
  ReadonlyOptional: (schema: never) => Type.Readonly(Type.Optional(schema)),
  Recursive: (build: (self: Schema) => Schema, options?: { $id?: string }) => {
    const $id = options?.$id ?? `T${recursive++}`;
    return Type.Unsafe({ ...build(Type.Unsafe({ $ref: $id }) as unknown as Schema), ...options, $id });
  },
  RegExp: (pattern: RegExp | string, options?: Options) => Type.String({ pattern: typeof pattern === "string" ? pattern : pattern.source, ...options }),
  Transform: (schema: unknown) => ({ Decode: () => ({ Encode: () => schema }) }),
  Uint8Array: (options?: Options) => Type.Unsafe({ type: "object", ...options }),
  Awaited: (schema: unknown) => schema,
  Promise: (schema: unknown) => schema,
};

function constant(value: unknown, options: Options): unknown {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return Type.Literal(value, options);
  if (Array.isArray(value)) return Type.Tuple(value.map((item) => constant(item, undefined)) as never, options);
  if (typeof value === "object" && value !== null) {
    return Type.Object(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, constant(item, undefined)])) as never, options);
  }
  return Type.Null(options);
}

const withLegacy = { ...Type, ...legacy };

/** Formats that somebody registers are remembered; nothing asks for them. */
class Registry {
  readonly #known = new Map<string, unknown>();
  Set = (name: string, value: unknown) => void this.#known.set(name, value);
  Has = (name: string) => this.#known.has(name);
  Get = (name: string) => this.#known.get(name);
  Delete = (name: string) => this.#known.delete(name);
  Clear = () => this.#known.clear();
  Entries = () => new Map(this.#known);
}

export const typebox: Record<string, any> = {
  ...typebox1,
  ...legacy,
  Type: withLegacy,
  default: withLegacy,
  Kind: Symbol.for("TypeBox.Kind"),
  OptionalKind: Symbol.for("TypeBox.Optional"),
  ReadonlyKind: Symbol.for("TypeBox.Readonly"),
  Hint: Symbol.for("TypeBox.Hint"),
  FormatRegistry: new Registry(),
  TypeRegistry: new Registry(),
  TypeBoxError: Error,
  CloneType: (schema: object) => structuredClone(schema),
};
