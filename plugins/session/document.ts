/** A session: its tree, and the file that follows it. Knows nothing of the agent, so that tools and extensions can use it alone. */
import { dirname, join } from "node:path";
import type { AgentMessage } from "../../core/index.ts";
import { uuidv7 } from "../shared/ids.ts";
import type { EntryDraft, SessionEntry, SessionHeader } from "./contract.ts";
import { type Dump, SessionFile } from "./file.ts";
import { toLine } from "./lines.ts";
import { SESSION_VERSION } from "./migrate.ts";
import { loadSession } from "./read.ts";
import { SessionTree } from "./tree.ts";

/** How long after a refused write the disk is tried again, if nothing else is written meanwhile. */
const RETRY_MS = 2000;

export interface DocumentOptions {
  cwd: string;
  /** where files of this session go; absent: it lives in memory */
  dir?: string;
  /** the file itself, where it is not to be named after time and id */
  path?: string;
  id?: string;
  parentSession?: string;
  /** Told once when the disk refuses, and again only after it worked in between. */
  onTrouble?(error: unknown): void;
}

/** What was found on opening and may interest people. */
export interface Opened {
  document: SessionDocument;
  isTorn: boolean;
  skipped: number;
}

export class SessionDocument {
  readonly tree: SessionTree;
  readonly #file: SessionFile | undefined;
  readonly #dir: string;
  readonly #onTrouble: (error: unknown) => void;
  #isTroubled = false;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  private constructor(tree: SessionTree, dir: string, makeFile: ((dump: Dump) => SessionFile) | undefined, onTrouble?: (error: unknown) => void) {
    this.tree = tree;
    this.#dir = dir;
    this.#onTrouble = onTrouble ?? (() => {});
    this.#file = makeFile?.(() => this.#lines());
  }

  /** A fresh session, or a copy of `entries`. Its file comes with the first assistant message. */
  static create(options: DocumentOptions, entries: readonly SessionEntry[] = []): SessionDocument {
    const header = newHeader(options);
    const { dir, path = dir && join(dir, fileName(header)), onTrouble } = options;
    const makeFile = path === undefined ? undefined : (dump: Dump) => SessionFile.unborn(path, dump);
    const document = new SessionDocument(new SessionTree(header, entries), dir ?? "", makeFile, onTrouble);
    if (entries.some(isAnswer)) document.#save();
    return document;
  }

  /**
   * An existing file. Throws sentences for people; the file has not been touched then.
   * `isVisited`: it is not ours until something is written. `isTentative`: nothing is written before `confirm`.
   */
  static open(path: string, options: { cwd: string; isVisited?: boolean; isTentative?: boolean; onTrouble?(error: unknown): void }): Opened {
    const { header, entries, isMigrated, skipped, isTorn, lacksNewline } = loadSession(path);
    const tree = new SessionTree(header ?? newHeader({ cwd: options.cwd }), entries);
    const condition = { isMigrated, keepsOriginal: skipped > 0, lacksNewline, isVisited: options.isVisited === true };
    const document = new SessionDocument(tree, dirname(path), (dump) => SessionFile.existing(path, dump, condition), options.onTrouble);
    if (!header) document.#file?.add(toLine(tree.header));
    if (!options.isVisited && !options.isTentative) document.confirm();
    return { document, isTorn, skipped };
  }

  // ------------------------------------------------------------ facts

  get file(): string | undefined {
    return this.#file?.path;
  }

  get dir(): string {
    return this.#dir;
  }

  /** Whether the file exists; a session in memory has none to wait for. */
  get isSaved(): boolean {
    return this.#file === undefined || this.#file.isSaved;
  }

  // ------------------------------------------------------------ writing

  /** Appends below the leaf; on disk, if there is a file, when this returns. */
  append(draft: EntryDraft, timestamp?: string): SessionEntry {
    const entry = this.tree.append(draft, timestamp);
    if (this.#file?.isUnborn) {
      if (isAnswer(entry)) this.#save();
    } else {
      this.#file?.add(toLine(entry));
      this.#flush();
    }
    return entry;
  }

  /** Stores a message in the entry that fits its role. */
  appendMessage(message: AgentMessage): SessionEntry {
    if (message.role !== "custom") return this.append({ type: "message", message });
    const { customType, content, display, details, timestamp } = message;
    const time = Number.isFinite(timestamp) ? new Date(timestamp).toISOString() : undefined;
    return this.append({ type: "custom_message", customType, content, display, ...(details !== undefined && { details }) }, time);
  }

  /** Writes what opening found to be necessary: the new form of an old file, the header of an empty one. */
  confirm(): void {
    this.#flush();
  }

  /** Brings the file up to date as far as the disk allows and gives it free. */
  close(): void {
    this.#flush();
    this.discard();
  }

  /** Gives the file free as it is. */
  discard(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#retry);
    this.#isClosed = true;
    this.#file?.close();
  }

  #save(): void {
    this.#file?.create();
    this.#flush();
  }

  /** The disk's refusal is told and not thrown: the conversation goes on in memory. */
  #flush(): void {
    if (!this.#file || this.#isClosed) return;
    clearTimeout(this.#retry);
    try {
      this.#file.flush();
      this.#isTroubled = false;
    } catch (error) {
      this.#retry = setTimeout(() => this.#flush(), RETRY_MS);
      this.#retry.unref();
      if (this.#isTroubled) return;
      this.#isTroubled = true;
      this.#onTrouble(error);
    }
  }

  *#lines(): Generator<string> {
    yield toLine(this.tree.header);
    for (const entry of this.tree.entries()) yield toLine(entry);
  }
}

function newHeader({ cwd, id, parentSession }: DocumentOptions): SessionHeader {
  const timestamp = new Date().toISOString();
  return { type: "session", version: SESSION_VERSION, id: id ?? uuidv7(), timestamp, cwd, ...(parentSession !== undefined && { parentSession }) };
}

function fileName({ timestamp, id }: SessionHeader): string {
  return `${timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`;
}

function isAnswer(entry: SessionEntry): boolean {
  return entry.type === "message" && entry.message?.role === "assistant";
}

/** The entries of a path for a session of their own: chained anew, labels put at the end. */
export function copyPath(tree: SessionTree, path: readonly SessionEntry[]): SessionEntry[] {
  const kept = path.filter(({ type }) => type !== "label");
  const copied = kept.map((entry, index): SessionEntry => {
    const parentId = kept[index - 1]?.id ?? null;
    return entry.type === "compaction" ? { ...entry, parentId, firstKeptEntryId: firstKeptOf(entry, path) } : { ...entry, parentId };
  });
  const copy = new SessionTree(tree.header, copied);
  for (const { id } of kept) {
    const label = tree.label(id);
    if (label !== undefined) copy.append({ type: "label", targetId: id, label }, tree.labelTime(id));
  }
  return [...copy.entries()];
}

/** What a compaction kept may begin with a label: without that, with the entry behind it. */
function firstKeptOf({ firstKeptEntryId }: Extract<SessionEntry, { type: "compaction" }>, path: readonly SessionEntry[]): string {
  const at = path.findIndex(({ id }) => id === firstKeptEntryId);
  return path.find(({ type }, index) => at >= 0 && index >= at && type !== "label")?.id ?? firstKeptEntryId;
}
