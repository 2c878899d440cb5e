/** In the page: the embedded data, the tree it makes, and paths through it. */
import type { Row } from "../export.ts";

export type Data = ReturnType<typeof createData>;

export function createData(window: any) {
  const { document } = window;
  const read = (id: string) => JSON.parse(document.getElementById(id).textContent);
  const meta: { title: string; id?: string; cwd?: string; created?: string; exported: string; generator: string; leaf: number; models: string[] } =
    read("meta");
  const rows: Row[] = read("rows");
  const positions = new Map<string, number>(rows.map((row, index) => [row.i, index]));
  const isShown = (index: number) => rows[index]?.c !== undefined;

  // Children always stand behind their parents, so one pass from the end adds everything up.
  const shownBelow = new Int32Array(rows.length);
  const latest = new Int32Array(rows.length);
  for (let index = rows.length - 1; index >= 0; index--) {
    const { p: parent } = rows[index] as Row;
    shownBelow[index]! += isShown(index) ? 1 : 0;
    latest[index] = Math.max(latest[index]!, index);
    if (parent < 0) continue;
    shownBelow[parent]! += shownBelow[index]!;
    latest[parent] = Math.max(latest[parent]!, latest[index]!);
  }
  /** children that lead to something to see, by parent; -1: the roots */
  const children = new Map<number, number[]>();
  for (const [index, { p: parent }] of rows.entries()) {
    if (shownBelow[index] === 0) continue;
    const siblings = children.get(parent);
    if (siblings) siblings.push(index);
    else children.set(parent, [index]);
  }
  const childrenOf = (index: number): number[] => children.get(index) ?? [];

  /** The end of the most recent branch from here: what was appended last below it. */
  const leafBelow = (from: number): number => latest[from]!;
  const pathTo = (leaf: number): number[] => {
    const path: number[] = [];
    for (let at = leaf; at >= 0; at = rows[at]!.p) path.push(at);
    return path.reverse();
  };

  /** parsed chunks, the most recently used last */
  const chunks = new Map<number, string[]>();
  const html = ({ c, o }: Row): string => {
    if (c === undefined || o === undefined) return "";
    const chunk = chunks.get(c) ?? read(`chunk-${c}`);
    chunks.delete(c);
    chunks.set(c, chunk);
    if (chunks.size > 100) chunks.delete(chunks.keys().next().value as number);
    return chunk[o];
  };
  const entities: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&#x27;": "'", "&amp;": "&" };
  const text = (row: Row): string =>
    html(row)
      // Marks inside of a line part no words; everything else does.
      .replace(/<\/?(?:span|code|strong|em|a|del)(?: [^>]*)?>/g, "")
      .replace(/<[^>]*>/g, "\n")
      .replace(/&(?:lt|gt|quot|amp|#39|#x27);/g, (entity) => entities[entity] as string);

  return { meta, rows, positions, isShown, childrenOf, leafBelow, pathTo, html, text };
}
