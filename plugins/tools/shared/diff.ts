/** What an edit changed, for people and for programs. */

export interface EditDetails {
  /** numbered lines around the changes */
  diff: string;
  /** unified */
  patch: string;
  /** in the new file */
  firstChangedLine?: number;
}

const CONTEXT = 4;
/** Comparing very different texts takes quadratic time; past this the changed region is shown as replaced whole. */
const PATIENCE_MS = 1000;

interface Change {
  kind: "same" | "added" | "removed";
  lines: string[];
}

export async function describeChange(path: string, before: string, after: string): Promise<EditDetails> {
  const { createTwoFilesPatch, diffLines, FILE_HEADERS_ONLY } = await import("diff");
  const found = diffLines(before, after, { timeout: PATIENCE_MS });
  const changes = found ? found.map(toChange) : replacedWhole(before, after);
  const patch = found
    ? createTwoFilesPatch(path, path, before, after, undefined, undefined, { context: CONTEXT, headerOptions: FILE_HEADERS_ONLY })
    : onePatch(path, changes);
  const firstChangedLine = firstChange(changes);
  return { diff: numbered(changes), patch, ...(firstChangedLine !== undefined && { firstChangedLine }) };
}

function toChange({ added, removed, value }: { added?: boolean; removed?: boolean; value: string }): Change {
  return { kind: added ? "added" : removed ? "removed" : "same", lines: linesOf(value) };
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function replacedWhole(before: string, after: string): Change[] {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++;
  let end = 0;
  while (end < old.length - start && end < fresh.length - start && old.at(-1 - end) === fresh.at(-1 - end)) end++;
  return [
    { kind: "same", lines: old.slice(0, start) },
    { kind: "removed", lines: old.slice(start, old.length - end) },
    { kind: "added", lines: fresh.slice(start, fresh.length - end) },
    { kind: "same", lines: old.slice(old.length - end) },
  ];
}

/** A patch with one hunk, for changes of the shape that `replacedWhole` makes. */
function onePatch(path: string, [head, removed, added, tail]: readonly Change[]): string {
  const before = head?.lines.slice(-CONTEXT) ?? [];
  const after = tail?.lines.slice(0, CONTEXT) ?? [];
  const first = (head?.lines.length ?? 0) - before.length + 1;
  const around = before.length + after.length;
  const rows = [
    ...before.map((line) => ` ${line}`),
    ...(removed?.lines ?? []).map((line) => `-${line}`),
    ...(added?.lines ?? []).map((line) => `+${line}`),
    ...after.map((line) => ` ${line}`),
  ];
  const header = `@@ -${first},${around + (removed?.lines.length ?? 0)} +${first},${around + (added?.lines.length ?? 0)} @@`;
  return `--- ${path}\n+++ ${path}\n${header}\n${rows.join("\n")}\n`;
}

function firstChange(changes: readonly Change[]): number | undefined {
  let line = 1;
  for (const { kind, lines } of changes) {
    if (kind !== "same" && lines.length > 0) return line;
    line += lines.length;
  }
  return undefined;
}

/** Removed and unchanged lines carry their old number, added ones their new number. */
function numbered(changes: readonly Change[]): string {
  const total = (kinds: Change["kind"][]) => changes.reduce((sum, { kind, lines }) => sum + (kinds.includes(kind) ? lines.length : 0), 0);
  const width = String(Math.max(total(["same", "removed"]), total(["same", "added"]))).length;
  const gap = ` ${" ".repeat(width)} ...`;
  const output: string[] = [];
  let oldLine = 1;
  let newLine = 1;
  for (const [index, { kind, lines }] of changes.entries()) {
    if (kind === "same") {
      const head = index === 0 ? 0 : Math.min(CONTEXT, lines.length);
      const tail = index === changes.length - 1 ? 0 : Math.min(CONTEXT, lines.length - head);
      const row = (offset: number) => ` ${String(oldLine + offset).padStart(width)} ${lines[offset]}`;
      for (let offset = 0; offset < head; offset++) output.push(row(offset));
      if (head + tail < lines.length) output.push(gap);
      for (let offset = lines.length - tail; offset < lines.length; offset++) output.push(row(offset));
    } else {
      const first = kind === "added" ? newLine : oldLine;
      const sign = kind === "added" ? "+" : "-";
      for (const [offset, line] of lines.entries()) output.push(`${sign}${String(first + offset).padStart(width)} ${line}`);
    }
    if (kind !== "added") oldLine += lines.length;
    if (kind !== "removed") newLine += lines.length;
  }
  return output.join("\n");
}
