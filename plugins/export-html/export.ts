/** Writes a session as one page: entries are rendered one by one into chunks of data, an index ties them together. */
import { createHash } from "node:crypto";
import { setImmediate as breathe } from "node:timers/promises";
import { KernelError } from "../../core/index.ts";
import { pageScript } from "./page/script.ts";
import { pageEnd, pageStart } from "./page/shell.ts";
import { style } from "./page/style.ts";
import { type OpenCalls, type Rendered, renderEntry } from "./render/entry.ts";
import { scriptJson } from "./render/escape.ts";
import { createMask } from "./render/mask.ts";
import { type ExportSource, NOTHING } from "./source.ts";
import type { PageFile } from "./target.ts";

/** Characters per chunk: the page reads a chunk as a whole when one of its entries comes into view. */
const CHUNK = 96 * 1024;
/** How long rendering may keep the agent's thread. */
const SLICE_MS = 12;
/** Calls that never got a result must not pile up. */
const MAX_OPEN_CALLS = 1000;

/** What the page's index says of one entry. Short names: there may be tens of thousands. */
export interface Row {
  /** id */
  i: string;
  /** position of the parent; -1: none */
  p: number;
  /** kind */
  k: Rendered["kind"];
  /** time in ms */
  t?: number;
  /** chunk and position inside of it; absent: nothing to show */
  c?: number;
  o?: number;
  /** one line about it */
  s?: string;
  /** of a tool result: its call, a word on its size */
  f?: string;
  z?: string;
  /** failed */
  e?: 1;
  /** position in the list of models */
  m?: number;
  /** input, output, cache read, cache write, cost */
  u?: number[];
  /** position of the entry that left the context */
  x?: number;
  /** label */
  l?: string;
}

export interface ExportOptions {
  secrets: readonly string[];
  generator: string;
}

export async function exportPage(source: ExportSource, file: PageFile, { secrets, generator }: ExportOptions): Promise<void> {
  const mask = createMask(secrets);
  const script = pageScript();
  const header = mask(source.header);
  const index = new Index();
  const chunks = new Chunks(file);
  const calls: OpenCalls = new Map();
  let name = source.name === undefined ? undefined : mask(source.name);
  let title = name;
  let hasMessage = false;
  let hasBegun = false;
  let since = performance.now();

  const begin = (text: string) => file.write(pageStart({ title: text, style, csp: policy(script, style), generator }));
  for await (const raw of source.entries) {
    const entry = mask(raw);
    hasMessage ||= entry.type === "message";
    if (entry.type === "session_info" && source.name === undefined) name = entry.name || undefined;
    const rendered = renderEntry(entry, calls);
    if (rendered.kind === "user") title ??= rendered.summary;
    // The title stands at the top of the file, so nothing is written before there is one.
    if (!hasBegun && (title !== undefined || chunks.isFull)) {
      hasBegun = true;
      await begin(title ?? "Session");
    }
    const place = rendered.html === undefined ? undefined : chunks.add(rendered.html);
    index.add(entry, rendered, place);
    if (hasBegun && chunks.isFull) await chunks.write();
    if (calls.size > MAX_OPEN_CALLS) calls.clear();
    if (performance.now() - since < SLICE_MS) continue;
    await breathe();
    since = performance.now();
  }
  if (!hasMessage) throw new KernelError("E_REFUSED", NOTHING);
  if (!hasBegun) await begin(title ?? "Session");
  await chunks.write();
  await index.write(file, source.leafId, {
    title: name ?? title ?? "Session",
    id: header.id,
    cwd: header.cwd,
    created: header.timestamp,
    exported: new Date().toISOString(),
    generator,
  });
  await file.write(pageEnd(script));
}

/** Only this script and this style run; nothing is loaded from anywhere. */
function policy(script: string, css: string): string {
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  return `default-src 'none'; script-src ${hash(script)}; style-src ${hash(css)}; img-src data:; base-uri 'none'; form-action 'none'`;
}

/** Fragments on their way into the file. */
class Chunks {
  readonly #file: PageFile;
  #fragments: string[] = [];
  #size = 0;
  #number = 0;

  constructor(file: PageFile) {
    this.#file = file;
  }

  get isFull(): boolean {
    return this.#size >= CHUNK;
  }

  add(html: string): [chunk: number, position: number] {
    this.#fragments.push(html);
    this.#size += html.length;
    return [this.#number, this.#fragments.length - 1];
  }

  async write(): Promise<void> {
    if (this.#fragments.length === 0) return;
    await this.#file.write(`<script type="application/json" id="chunk-${this.#number}">${scriptJson(this.#fragments)}</script>\n`);
    this.#fragments = [];
    this.#size = 0;
    this.#number++;
  }
}

/** The tree and the numbers, without content. */
class Index {
  readonly #rows: Row[] = [];
  readonly #positions = new Map<string, number>();
  readonly #models = new Map<string, number>();

  add(entry: { id: string; parentId: string | null; type: string }, rendered: Rendered, place: [number, number] | undefined): void {
    const { kind, summary, call, stat, isError, model, usage, target, time } = rendered;
    // A parent that comes later, or not at all, makes a root: no file can make the page walk in circles.
    // Half a surrogate pair cannot stand in an address.
    const row: Row = { i: String(entry.id).replace(/\p{Surrogate}/gu, "\ufffd"), p: this.#positions.get(entry.parentId ?? "") ?? -1, k: kind };
    if (time !== undefined) row.t = time;
    if (place) [row.c, row.o] = place;
    if (summary) row.s = summary;
    if (call !== undefined) row.f = call;
    if (stat) row.z = stat;
    if (isError) row.e = 1;
    if (model) row.m = this.#model(model);
    if (usage) row.u = numbersOf(usage);
    if (target !== undefined) row.x = this.#positions.get(target);
    if (entry.type === "label") this.#label(entry as unknown as { targetId: string; label?: string });
    this.#positions.set(row.i, this.#rows.length);
    this.#rows.push(row);
  }

  async write(file: PageFile, leafId: string | undefined, meta: Record<string, unknown>): Promise<void> {
    const leaf = this.#positions.get(leafId ?? "") ?? this.#rows.length - 1;
    const head = scriptJson({ ...meta, leaf, models: [...this.#models.keys()] });
    await file.write(`<script type="application/json" id="meta">${head}</script>\n<script type="application/json" id="rows">[`);
    for (let from = 0; from < this.#rows.length; from += 500) {
      const part = scriptJson(this.#rows.slice(from, from + 500)).slice(1, -1);
      await file.write((from > 0 ? ",\n" : "") + part);
    }
    await file.write("]</script>\n");
  }

  #label({ targetId, label }: { targetId: string; label?: string }): void {
    const target = this.#rows[this.#positions.get(String(targetId)) ?? -1];
    if (target) target.l = typeof label === "string" && label !== "" ? label : undefined;
  }

  #model(name: string): number {
    let position = this.#models.get(name);
    if (position === undefined) {
      position = this.#models.size;
      this.#models.set(name, position);
    }
    return position;
  }
}

function numbersOf(usage: unknown): number[] {
  const { input, output, cacheRead, cacheWrite, cost } = usage as Record<string, unknown>;
  const total = (cost as { total?: unknown } | undefined)?.total;
  return [input, output, cacheRead, cacheWrite, total].map((value) => (Number.isFinite(value) ? (value as number) : 0));
}
