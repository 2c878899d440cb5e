/** Replacing texts in a text: exact first, then by what looks the same. */

export interface Edit {
  oldText: string;
  newText: string;
}

interface Place {
  start: number;
  end: number;
  newText: string;
  /** position in the list, for messages */
  index: number;
}

/** How messages call the file and one of its edits. */
interface Naming {
  path: string;
  count: number;
}

/** Applies all edits to the original text. Throws a sentence that a model can act on. */
export function replaceAll(content: string, edits: readonly Edit[], path: string): string {
  const naming = { path, count: edits.length };
  for (const [index, { oldText }] of edits.entries()) {
    if (oldText === "") throw new Error(`${nameOf(index, naming, "oldText")} must not be empty in ${path}.`);
  }
  const isExact = edits.every(({ oldText }) => content.includes(oldText));
  const result = isExact ? replaceExactly(content, edits, naming) : replaceLoosely(content, edits, naming);
  if (result === content) throw new Error(`No changes made to ${path}. The replacement gives the same content.`);
  return result;
}

/** The same for bytes that are no UTF-8: exact only, and every other byte stays. */
export function replaceBytes(content: Buffer, edits: readonly Edit[], path: string): Buffer {
  const asBytes = (text: string) => Buffer.from(text, "utf8").toString("latin1");
  const naming = { path, count: edits.length };
  const text = content.toString("latin1");
  const byteEdits = edits.map(({ oldText, newText }) => ({ oldText: asBytes(oldText), newText: asBytes(newText) }));
  const missing = byteEdits.findIndex(({ oldText }) => oldText !== "" && !text.includes(oldText));
  if (missing >= 0) throw notFound(missing, naming);
  return Buffer.from(replaceAll(text, byteEdits, path), "latin1");
}

function replaceExactly(content: string, edits: readonly Edit[], naming: Naming): string {
  const loose = normalize(content);
  const places = edits.map(({ oldText, newText }, index) => {
    const looseOld = normalize(oldText);
    // Counted in what looks the same, so that an edit never picks one of two lines that a reader cannot tell apart.
    const count = looseOld.trim() === "" ? countOf(content, oldText) : countOf(loose, looseOld);
    if (count > 1) throw severalFound(count, index, naming);
    const start = content.indexOf(oldText);
    return { start, end: start + oldText.length, newText, index };
  });
  return splice(content, inOrder(places, naming));
}

/** Matches in normalized text; lines that no edit touches keep their own bytes. */
function replaceLoosely(content: string, edits: readonly Edit[], naming: Naming): string {
  const loose = normalize(content);
  const places = edits.map(({ oldText, newText }, index) => {
    const looseOld = normalize(oldText);
    const start = looseOld === "" ? -1 : loose.indexOf(looseOld);
    if (start < 0) throw notFound(index, naming);
    const count = countOf(loose, looseOld);
    if (count > 1) throw severalFound(count, index, naming);
    return { start, end: start + looseOld.length, newText, index };
  });
  return spliceLines(content, loose, inOrder(places, naming));
}

/** Looked for from the first blank of a run only: from each of them it would take quadratic time. */
const TRAILING_BLANKS = /(?<![^\S\n])[^\S\n]+$/gm;

/** What two texts have in common that look alike: composed characters, plain quotes, dashes and spaces, no trailing blanks. */
export function normalize(text: string): string {
  return text
    .normalize("NFKC")
    .replace(TRAILING_BLANKS, "")
    .replace(/[\u2018\u2019\u201A\u201B]/g, "'")
    .replace(/[\u201C\u201D\u201E\u201F]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, "-")
    .replace(/[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g, " ");
}

function inOrder(places: Place[], naming: Naming): Place[] {
  const sorted = places.sort((a, b) => a.start - b.start);
  for (const [index, place] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next && next.start < place.end) {
      throw new Error(`edits[${place.index}] and edits[${next.index}] overlap in ${naming.path}. Merge them into one edit or make them disjoint.`);
    }
  }
  return sorted;
}

function splice(text: string, places: readonly Place[]): string {
  let result = "";
  let at = 0;
  for (const { start, end, newText } of places) {
    result += text.slice(at, start) + newText;
    at = end;
  }
  return result + text.slice(at);
}

/** Normalizing keeps line feeds, so line n of one text is line n of the other. */
function spliceLines(content: string, loose: string, places: readonly Place[]): string {
  const own = lineStarts(content);
  const normalized = lineStarts(loose);
  const lineAt = (offset: number) => normalized.findLastIndex((start) => start <= offset);
  // A text that ends with its line feed does not touch the line after it.
  const lastLineOf = (place: Place) => lineAt(place.end - 1);
  let result = "";
  let nextLine = 0;
  for (let first = 0; first < places.length; ) {
    // Edits that meet on a line are spliced together.
    const firstLine = lineAt((places[first] as Place).start);
    let last = first;
    let lastLine = lastLineOf(places[first] as Place);
    while (last + 1 < places.length && lineAt((places[last + 1] as Place).start) <= lastLine) {
      last++;
      lastLine = lastLineOf(places[last] as Place);
    }
    result += content.slice(own[nextLine] ?? content.length, own[firstLine]);
    const from = normalized[firstLine] as number;
    const to = normalized[lastLine + 1] ?? loose.length;
    const group = places.slice(first, last + 1).map((place) => ({ ...place, start: place.start - from, end: place.end - from }));
    result += splice(loose.slice(from, to), group);
    nextLine = lastLine + 1;
    first = last + 1;
  }
  return result + content.slice(own[nextLine] ?? content.length);
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function countOf(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

const nameOf = (index: number, { count }: Naming, field?: string) => (count === 1 ? (field ?? "the text") : `edits[${index}]${field ? `.${field}` : ""}`);

function notFound(index: number, naming: Naming): Error {
  return new Error(`Could not find ${nameOf(index, naming)} in ${naming.path}. oldText must match the file, with all its white space and line breaks.`);
}

function severalFound(count: number, index: number, naming: Naming): Error {
  return new Error(`Found ${count} occurrences of ${nameOf(index, naming)} in ${naming.path}. oldText must be unique: add lines around it.`);
}
