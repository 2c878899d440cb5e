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
  const names = namesIn(layer, key);
  // The later one counts, as everywhere in a file.
  if (names.length > 1) names.sort(byPlace(layer));
  return names.reduce<unknown>((found, name) => merge(found, name === key ? layer[name] : below(layer[name], key.slice(name.length + 1))), undefined);
}

/** The beginnings of a dotted key, and the whole of it, that are names in this layer. */
function namesIn(layer: Tree, key: string): string[] {
  const names: string[] = [];
  for (let end = key.indexOf("."); end >= 0; end = key.indexOf(".", end + 1)) {
    const name = key.slice(0, end);
    if (Object.hasOwn(layer, name)) names.push(name);
  }
  if (Object.hasOwn(layer, key)) names.push(key);
  return names;
}

function byPlace(layer: Tree): (a: string, b: string) => number {
  const order = Object.keys(layer);
  return (a, b) => order.indexOf(a) - order.indexOf(b);
}

function below(value: unknown, key: string): unknown {
  return isTree(value) ? lookup(value, key) : undefined;
}

/** The same over all layers, lowest first. A group that no layer holds as an object is put together from its members' names. */
export function resolve(layers: readonly Tree[], key: string): unknown {
  const found = layers.map((layer) => lookup(layer, key));
  const exact = found.reduce(merge, undefined);
  if (exact !== undefined && !isTree(exact)) return exact;
  return layers.reduce<unknown>((lower, layer, index) => merge(lower, merge(members(layer, key), found[index])), undefined);
}

/** `{reminders: {max: 3}}` for "todo" of `{"todo.reminders.max": 3}`. */
function members(layer: Tree, group: string): unknown {
  const beginning = `${group}.`;
  return Object.keys(layer)
    .filter((name) => name.startsWith(beginning))
    .reduce<unknown>((found, name) => merge(found, nested(name.slice(beginning.length), layer[name])), undefined);
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
