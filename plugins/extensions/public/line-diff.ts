/** `generateDiffString` and `generateUnifiedPatch`: what changed between two texts, at once and without a library. */

interface Line {
  kind: "same" | "added" | "removed";
  /** with its line break, which the last one may lack */
  text: string;
  /** counted from 1, in the old and in the new text; of a line that is missing there, where it would stand */
  old: number;
  fresh: number;
}

/** Beyond this many comparisons the changed region is shown as replaced whole. */
const MOST_CELLS = 4_000_000;

/** Numbered lines around the changes, as the edit tool tells them. */
export function generateDiffString(before: string, after: string, context = 4): { diff: string; firstChangedLine?: number } {
  const lines = changesBetween(linesOf(before), linesOf(after));
  const width = String(Math.max(linesOf(before).length, linesOf(after).length)).length;
  const gap = ` ${" ".repeat(width)} ...`;
  const shown = near(lines, context);
  const rows = lines.flatMap(({ kind, text, old, fresh }, index) => {
    if (!shown[index]) return index === 0 || shown[index - 1] ? [gap] : [];
    return [`${marks[kind]}${String(kind === "added" ? fresh : old).padStart(width)} ${bare(text)}`];
  });
  const first = lines.find(({ kind }) => kind !== "same");
  if (!first) return { diff: "" };
  return { diff: rows.join("\n"), firstChangedLine: first.fresh };
}

/** Without time stamps. */
export function generateUnifiedPatch(path: string, before: string, after: string, context = 4): string {
  const lines = changesBetween(linesOf(before), linesOf(after));
  const shown = near(lines, context);
  const rows: string[] = [`--- ${path}`, `+++ ${path}`];
  for (let start = shown.indexOf(true); start >= 0; ) {
    let end = start;
    while (shown[end]) end++;
    rows.push(...hunk(lines.slice(start, end)));
    start = shown.indexOf(true, end);
  }
  return `${rows.join("\n")}\n`;
}

const marks = { same: " ", added: "+", removed: "-" };

const bare = (line: string): string => (line.endsWith("\n") ? line.slice(0, -1) : line);

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

function hunk(lines: readonly Line[]): string[] {
  const removed = lines.filter(({ kind }) => kind !== "added").length;
  const added = lines.filter(({ kind }) => kind !== "removed").length;
  const { old, fresh } = lines[0] as Line;
  const range = (start: number, count: number) => `${count === 0 ? start - 1 : start},${count}`;
  const rows = lines.flatMap(({ kind, text }) => [`${marks[kind]}${bare(text)}`, ...(text.endsWith("\n") ? [] : ["\\ No newline at end of file"])]);
  return [`@@ -${range(old, removed)} +${range(fresh, added)} @@`, ...rows];
}

/** Which lines stand within `context` lines of a change. */
function near(lines: readonly Line[], context: number): boolean[] {
  const shown = lines.map(() => false);
  for (const [index, { kind }] of lines.entries()) if (kind !== "same") shown.fill(true, Math.max(0, index - context), index + context + 1);
  return shown;
}

/** By the longest common subsequence of the region that differs. */
function changesBetween(old: readonly string[], fresh: readonly string[]): Line[] {
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < fresh.length - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++;
  const rows = old.length - head - tail;
  const columns = fresh.length - head - tail;
  const isTooMuch = (rows + 1) * (columns + 1) > MOST_CELLS;
  // How many lines are common from here on, row by row.
  const common = new Uint32Array(isTooMuch ? 0 : (rows + 1) * (columns + 1));
  const at = (row: number, column: number) => row * (columns + 1) + column;
  for (let row = rows - 1; row >= 0 && !isTooMuch; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      const isSame = old[head + row] === fresh[head + column];
      common[at(row, column)] = isSame
        ? countAt(common, at(row + 1, column + 1)) + 1
        : Math.max(countAt(common, at(row + 1, column)), countAt(common, at(row, column + 1)));
    }
  }
  const lines: Line[] = [];
  let row = 0;
  let column = 0;
  const push = (kind: Line["kind"], from: number, to: number) =>
    lines.push({ kind, text: (kind === "added" ? fresh[to] : old[from]) as string, old: from + 1, fresh: to + 1 });
  for (let index = 0; index < head; index++) push("same", index, index);
  while (row < rows || column < columns) {
    const isSame = !isTooMuch && row < rows && column < columns && old[head + row] === fresh[head + column];
    if (isSame) push("same", head + row++, head + column++);
    else if (row < rows && (column >= columns || isTooMuch || countAt(common, at(row + 1, column)) >= countAt(common, at(row, column + 1))))
      push("removed", head + row++, head + column);
    else push("added", head + row, head + column++);
  }
  for (let index = tail; index > 0; index--) push("same", old.length - index, fresh.length - index);
  return lines;
}

const countAt = (list: Uint32Array, index: number): number => list[index] as number;
