/** The open session: one owner of the transcript, and every way to change or replace it. */
import { AsyncSeriesBailHook, AsyncSeriesHook } from "tapable";
import { type AgentMessage, KernelError, messageOf, type PluginKernel, type Transcript } from "../../core/index.ts";
import type {} from "../models/contract.ts";
import type {} from "../process/contract.ts";
import type {} from "../settings/contract.ts";
import { lastLevelOf, lastModelOf } from "../shared/session-context.ts";
import type { EntryDraft, NavigateOptions, ReplaceOptions, Session, SessionEntry, SessionHeader, SessionHooks, SessionStats, TreeNode } from "./contract.ts";
import type { SessionDocument } from "./document.ts";
import { navigate } from "./navigate.ts";
import { forkSession, startNewSession, switchSession } from "./replace.ts";
import { branchStats, contextUsage } from "./stats.ts";

export class SessionService implements Session {
  readonly hooks: SessionHooks = {
    beforeChange: new AsyncSeriesBailHook(["change"]),
    leaving: new AsyncSeriesHook(["change"]),
    changed: new AsyncSeriesHook(["changed"]),
    beforeTree: new AsyncSeriesBailHook(["change"]),
    treeChanged: new AsyncSeriesHook(["changed"]),
    nameChanged: new AsyncSeriesHook(["name"]),
    summarizeBranch: new AsyncSeriesBailHook(["change"]),
  };
  readonly kernel: PluginKernel;
  /** what keeps prompts out, while it lasts */
  #busyWith: string | undefined;
  #document: SessionDocument | undefined;

  constructor(kernel: PluginKernel) {
    this.kernel = kernel;
  }

  // ------------------------------------------------------------ life

  get isOpen(): boolean {
    return this.#document !== undefined;
  }

  get document(): SessionDocument {
    if (!this.#document) throw new KernelError("E_REFUSED", "The session is not open yet.");
    return this.#document;
  }

  /** Makes a document the current one; the one before is closed by whoever replaces it. */
  adopt(document: SessionDocument): void {
    this.#document = document;
  }

  close(): void {
    this.#document?.close();
  }

  /** Told to the client, once per trouble: the file does not follow the conversation. */
  readonly onTrouble = (error: unknown): void => {
    const told = new Error(`The session file cannot be written; the conversation goes on in memory: ${messageOf(error)}`, { cause: error });
    // In angle brackets a part of ours: the client is told, and not only stderr.
    this.kernel.fault({ from: "<session>", during: "session", error: told });
  };

  /** A word on stderr for what is worth knowing and no failure. */
  notice(text: string): void {
    this.kernel.tryService("process")?.io.stderr.write(`session: ${text}\n`);
  }

  /** Refuses prompts and further changes of the session while `work` goes on. */
  async exclusively<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.refuseIfBusy();
    this.#busyWith = what;
    try {
      return await work();
    } finally {
      this.#busyWith = undefined;
    }
  }

  refuseIfBusy(): void {
    if (this.#busyWith) throw new KernelError("E_BUSY", `The session is busy: ${this.#busyWith}. Wait for it to finish and retry.`);
  }

  // ------------------------------------------------------------ reading

  header(): SessionHeader {
    return this.document.tree.header;
  }

  id(): string {
    return this.header().id;
  }

  file(): string | undefined {
    return this.document.file;
  }

  dir(): string {
    return this.document.dir;
  }

  name(): string | undefined {
    return this.document.tree.name();
  }

  isSaved(): boolean {
    return this.document.isSaved;
  }

  leafId(): string | null {
    return this.document.tree.leafId();
  }

  entry(id: string): SessionEntry | undefined {
    return this.document.tree.entry(id);
  }

  entries(): readonly SessionEntry[] {
    return this.document.tree.entries();
  }

  branch(fromId?: string): SessionEntry[] {
    return this.document.tree.branch(fromId);
  }

  tree(): TreeNode[] {
    return this.document.tree.tree();
  }

  label(id: string): string | undefined {
    return this.document.tree.label(id);
  }

  contextEntries(): readonly SessionEntry[] {
    return this.document.tree.contextEntries();
  }

  lastModel(): { provider: string; modelId: string } | undefined {
    return lastModelOf(this.branch());
  }

  lastThinkingLevel() {
    return lastLevelOf(this.branch());
  }

  stats(): SessionStats {
    const file = this.file();
    const window = this.kernel.tryService("model")?.current()?.contextWindow;
    return {
      ...(file !== undefined && { sessionFile: file }),
      sessionId: this.id(),
      ...branchStats(this.branch()),
      ...(window && { contextUsage: contextUsage(this.contextEntries(), window) }),
    };
  }

  // ------------------------------------------------------------ writing

  append(draft: EntryDraft): SessionEntry {
    return this.document.append(draft);
  }

  appendAnnounced(draft: EntryDraft): SessionEntry {
    const entry = this.append(draft);
    this.kernel.emit({ type: "entry_appended", entry });
    return entry;
  }

  setName(name: string): void {
    this.append({ type: "session_info", name: name.trim() });
    const current = this.name();
    this.kernel.emit({ type: "session_info_changed", ...(current !== undefined && { name: current }) });
    void this.hooks.nameChanged.promise(current).catch((error) => this.kernel.fault({ during: "session_info_changed", error }));
  }

  setLabel(id: string, label: string | undefined): void {
    if (!this.entry(id)) throw new KernelError("E_REFUSED", `Entry not found: ${id}`);
    const text = label?.trim();
    this.append({ type: "label", targetId: id, ...(text && { label: text }) });
  }

  moveLeaf(id: string | null): void {
    this.document.tree.moveLeaf(id);
  }

  // ------------------------------------------------------------ changes

  startNew(options: Parameters<Session["startNew"]>[0] = {}): Promise<{ cancelled: boolean }> {
    return startNewSession(this, options);
  }

  switchTo(path: string, options: ReplaceOptions = {}): Promise<{ cancelled: boolean }> {
    return switchSession(this, path, options);
  }

  fork(entryId: string, options: Parameters<Session["fork"]>[1] = {}): Promise<{ cancelled: boolean; text: string }> {
    return forkSession(this, entryId, options);
  }

  async clone(options: ReplaceOptions = {}): Promise<{ cancelled: boolean }> {
    const { cancelled } = await forkSession(this, this.leafId(), { ...options, position: "at", via: "clone" });
    return { cancelled };
  }

  navigate(targetId: string, options: NavigateOptions = {}): ReturnType<Session["navigate"]> {
    return navigate(this, targetId, options);
  }
}

/** The kernel's narrow view of the session. */
export function transcriptOf(service: SessionService): Transcript {
  return {
    sessionId: () => service.id(),
    messages: () => service.document.tree.messages(),
    append: (message: AgentMessage) => void service.document.appendMessage(message),
  };
}
