/** The entries of one session as a tree: leaf, path to the root, labels, name, and the context that grows with each append. */
import type { AgentMessage } from "../../core/index.ts";
import { shortId } from "../shared/ids.ts";
import { contextEntries, entryMessage, messagesOf, pathTo } from "../shared/session-context.ts";
import type { EntryDraft, SessionEntry, SessionHeader, TreeNode } from "./contract.ts";

interface Label {
  text: string;
  timestamp: string;
}

/** The context of the active branch, kept so that a turn costs what the turn adds and not what the file holds. */
interface Context {
  entries: SessionEntry[];
  messages: AgentMessage[];
  /** somebody holds the lists: the next append makes new ones */
  isShared: boolean;
}

export class SessionTree {
  readonly header: SessionHeader;
  readonly #entries: SessionEntry[] = [];
  readonly #byId = new Map<string, SessionEntry>();
  readonly #labels = new Map<string, Label>();
  #leaf: SessionEntry | undefined;
  #name: string | undefined;
  /** root to leaf, until either changes */
  #branch: SessionEntry[] | undefined;
  #context: Context | undefined;

  constructor(header: SessionHeader, entries: Iterable<SessionEntry> = []) {
    this.header = header;
    for (const entry of entries) this.add(entry);
  }

  // ------------------------------------------------------------ writing

  /** Makes an entry below the leaf and moves the leaf to it. */
  append(draft: EntryDraft, timestamp = new Date().toISOString()): SessionEntry {
    const { type, ...fields } = draft;
    const id = shortId((candidate) => this.#byId.has(candidate));
    const entry = { type, id, parentId: this.leafId(), timestamp, ...fields } as SessionEntry;
    this.add(entry);
    return entry;
  }

  /** Takes an entry as it is; it becomes the leaf. */
  add(entry: SessionEntry): void {
    this.#extendContext(entry);
    this.#branch = undefined;
    this.#entries.push(entry);
    this.#byId.set(entry.id, entry);
    this.#leaf = entry;
    if (entry.type === "label") this.#setLabel(entry);
    if (entry.type === "session_info") this.#name = nameOf(entry.name);
  }

  /** Moves the leaf; null is before the first entry. */
  moveLeaf(id: string | null): void {
    const entry = id === null ? undefined : this.#byId.get(id);
    if (id !== null && !entry) throw new Error(`Entry not found: ${id}`);
    if (entry === this.#leaf) return;
    this.#leaf = entry;
    this.#branch = undefined;
    this.#context = undefined;
  }

  #setLabel({ targetId, label, timestamp }: Extract<SessionEntry, { type: "label" }>): void {
    if (label) this.#labels.set(targetId, { text: label, timestamp });
    else this.#labels.delete(targetId);
  }

  // ------------------------------------------------------------ reading

  leafId(): string | null {
    return this.#leaf?.id ?? null;
  }

  entry(id: string): SessionEntry | undefined {
    return this.#byId.get(id);
  }

  entries(): readonly SessionEntry[] {
    return this.#entries;
  }

  /** Root to leaf, or to `fromId`. */
  branch(fromId?: string): SessionEntry[] {
    if (fromId !== undefined) return pathTo(this.#byId.get(fromId), this.#byId);
    // Asked for by several at every start, and long in a long session.
    this.#branch ??= pathTo(this.#leaf, this.#byId);
    return this.#branch.slice();
  }

  /** The active branch from its end, without building it. */
  *backwards(): Generator<SessionEntry> {
    let steps = this.#entries.length;
    for (let entry = this.#leaf; entry && steps > 0; entry = entry.parentId === null ? undefined : this.#byId.get(entry.parentId)) {
      yield entry;
      steps--;
    }
  }

  name(): string | undefined {
    return this.#name;
  }

  label(id: string): string | undefined {
    return this.#labels.get(id)?.text;
  }

  labelTime(id: string): string | undefined {
    return this.#labels.get(id)?.timestamp;
  }

  /** All entries as a forest, children by time; an entry without a known parent is a root. */
  tree(): TreeNode[] {
    const nodes = new Map<SessionEntry, TreeNode>();
    for (const entry of this.#entries) {
      const label = this.#labels.get(entry.id);
      nodes.set(entry, { entry, children: [], ...(label && { label: label.text, labelTimestamp: label.timestamp }) });
    }
    const roots: TreeNode[] = [];
    for (const [entry, node] of nodes) {
      const parent = entry.parentId === null ? undefined : nodes.get(this.#byId.get(entry.parentId) as SessionEntry);
      (parent && parent !== node ? parent.children : roots).push(node);
    }
    // Other programs may have written them in another order.
    for (const { children } of nodes.values()) if (children.length > 1) children.sort(byTime);
    return roots;
  }

  // ------------------------------------------------------------ context

  /** The entries behind `messages`, also those that add none. The list does not change later. */
  contextEntries(): readonly SessionEntry[] {
    const context = this.#currentContext();
    context.isShared = true;
    return context.entries;
  }

  /** The messages of the active branch as the model sees them. The list does not change later. */
  messages(): readonly AgentMessage[] {
    const context = this.#currentContext();
    context.isShared = true;
    return context.messages;
  }

  #currentContext(): Context {
    if (!this.#context) {
      const entries = contextEntries(this.branch());
      this.#context = { entries, messages: messagesOf(entries), isShared: false };
    }
    return this.#context;
  }

  /** Called before `entry` is taken in: a plain continuation of the leaf extends the context, anything else makes it anew. */
  #extendContext(entry: SessionEntry): void {
    const context = this.#context;
    if (!context) return;
    if (entry.parentId !== this.leafId() || entry.type === "compaction") {
      this.#context = undefined;
      return;
    }
    if (context.isShared) this.#context = { entries: [...context.entries], messages: [...context.messages], isShared: false };
    const own = this.#context as Context;
    own.entries.push(entry);
    const message = entryMessage(entry);
    if (entry.type === "context_edit") own.messages = messagesOf(own.entries);
    else if (message) own.messages.push(message);
  }
}

function byTime(a: TreeNode, b: TreeNode): number {
  return Date.parse(a.entry.timestamp) - Date.parse(b.entry.timestamp) || 0;
}

function nameOf(name: string | undefined): string | undefined {
  return name?.trim() || undefined;
}
