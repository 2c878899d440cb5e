/** Values by dotted key, looked up in layers of plain objects. */

export type Tree = Readonly<Record<string, unknown>>;

export function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Objects key by key; everything else is replaced by the upper value. */
export function merge(lower: unknown, upper: unknown): unknown {
  if (upper === undefined) return lower;
  if (!isTree(lower) || !isTree(upper)) return upper;
  const merged: Record<string, unknown> = { ...lower };
  for (const [key, value] of Object.entries(upper)) {
    if (key !== "__proto__") merged[key] = merge(merged[key], value);
  }
  return merged;
}

/** The value of a dotted key in one layer. Names may hold dots themselves: `{"todo.reminders.max": 3}` and nested objects both count. */
export function lookup(layer: Tree, key: string): unknown {
  let found: unknown;
  for (const [name, value] of Object.entries(layer)) {
    if (name === key) found = merge(found, value);
    else if (key.startsWith(`${name}.`) && isTree(value)) found = merge(found, lookup(value, key.slice(name.length + 1)));
  }
  return found;
}

/** The same over all layers, lowest first. A group that no layer holds as an object is put together from its members' names. */
export function resolve(layers: readonly Tree[], key: string): unknown {
  const exact = layers.reduce<unknown>((lower, layer) => merge(lower, lookup(layer, key)), undefined);
  if (exact !== undefined && !isTree(exact)) return exact;
  return layers.reduce<unknown>((lower, layer) => merge(lower, merge(members(layer, key), lookup(layer, key))), undefined);
}

/** `{reminders: {max: 3}}` for "todo" of `{"todo.reminders.max": 3}`. */
function members(layer: Tree, group: string): unknown {
  return Object.entries(layer)
    .filter(([name]) => name.startsWith(`${group}.`))
    .reduce<unknown>((found, [name, value]) => merge(found, nested(name.slice(group.length + 1), value)), undefined);
}

/** `{a: {b: value}}` of "a.b". */
function nested(key: string, value: unknown): Record<string, unknown> {
  return key.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
}

/** A copy of the tree with one dotted key set, or taken away if the value is undefined. */
export function withKey(tree: Tree, key: string, value: unknown): Record<string, unknown> {
  const [head = "", ...rest] = Object.hasOwn(tree, key) ? [key] : key.split(".");
  const changed: Record<string, unknown> = { ...tree };
  const below = rest.length > 0 ? withKey(isTree(tree[head]) ? tree[head] : {}, rest.join("."), value) : value;
  if (below === undefined || (rest.length > 0 && isTree(below) && Object.keys(below).length === 0)) delete changed[head];
  else changed[head] = below;
  return changed;
}
