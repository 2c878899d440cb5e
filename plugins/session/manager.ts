/** `SessionManager`, the class by which extensions work on session files of their own: pi's names over our documents. */
import { type AgentMessage, type ThinkingLevel, textOf, type UserContent } from "../../core/index.ts";
import { buildSessionContext, contextEntries, projectionOf, type SessionContext, type SessionProjection } from "../shared/session-context.ts";
import { sessionDir } from "./choose.ts";
import type { EntryDraft, SessionEntry, SessionHeader, SessionInfo, TreeNode } from "./contract.ts";
import { copyPath, type DocumentOptions, SessionDocument } from "./document.ts";
import { listSessions } from "./list.ts";
import { allProjectDirs, latestSession } from "./places.ts";
import { loadSession } from "./read.ts";

/** Where sessions lie if nobody says otherwise. */
export interface DefaultPlaces {
  agentDir(): string;
  cwd(): string;
}

/** A file in a list, with times as dates. */
export interface ListedSession extends Omit<SessionInfo, "created" | "modified" | "parentSession"> {
  created: Date;
  modified: Date;
  parentSessionPath?: string;
  /** what was said, for searching; read when it is asked for */
  readonly allMessagesText: string;
}

/** A class whose instances extensions see as their session manager; its static members make one. */
export type SessionManagerClass = (new (document: SessionDocument) => object) & Record<string, any>;

/** Makes the class for one program's places. */
export function defineSessionManager(places: DefaultPlaces): SessionManagerClass {
  const dirFor = (cwd: string, dir: string | undefined) => dir ?? sessionDir({ cwd, agentDir: places.agentDir(), allDirs: () => [], expand: (path) => path });

  return class SessionManager {
    #document: SessionDocument;

    constructor(document: SessionDocument) {
      this.#document = document;
    }

    // ---------------------------------------------------------- making one

    static create(cwd: string, dir?: string): SessionManager {
      return new SessionManager(SessionDocument.create({ cwd, dir: dirFor(cwd, dir) }));
    }

    static open(path: string): SessionManager {
      return new SessionManager(SessionDocument.open(path, { cwd: places.cwd(), isVisited: true }).document);
    }

    static inMemory(cwd: string = places.cwd()): SessionManager {
      return new SessionManager(SessionDocument.create({ cwd }));
    }

    static continueRecent(cwd: string, dir?: string): SessionManager {
      const latest = latestSession(dirFor(cwd, dir), dir === undefined ? undefined : cwd);
      return latest ? SessionManager.open(latest.path) : SessionManager.create(cwd, dir);
    }

    /** A copy of all entries of a file in a session of another directory. */
    static forkFrom(path: string, cwd: string, dir?: string): SessionManager {
      return new SessionManager(SessionDocument.create({ cwd, dir: dirFor(cwd, dir), parentSession: path }, loadSession(path).entries));
    }

    static async list(cwd: string, dir?: string): Promise<ListedSession[]> {
      return listed([dirFor(cwd, dir)]);
    }

    static async listAll(): Promise<ListedSession[]> {
      return listed(allProjectDirs(places.agentDir()));
    }

    // ---------------------------------------------------------- reading

    getCwd(): string {
      return this.getHeader().cwd;
    }

    getSessionDir(): string {
      return this.#document.dir;
    }

    getSessionId(): string {
      return this.getHeader().id;
    }

    getSessionFile(): string | undefined {
      return this.#document.file;
    }

    getHeader(): SessionHeader {
      return this.#tree.header;
    }

    getSessionName(): string | undefined {
      return this.#tree.name();
    }

    isPersisted(): boolean {
      return this.#document.file !== undefined;
    }

    getLeafId(): string | null {
      return this.#tree.leafId();
    }

    getLeafEntry(): SessionEntry | undefined {
      const id = this.getLeafId();
      return id === null ? undefined : this.getEntry(id);
    }

    getEntry(id: string): SessionEntry | undefined {
      return this.#tree.entry(id);
    }

    getLabel(id: string): string | undefined {
      return this.#tree.label(id);
    }

    getBranch(fromId?: string): SessionEntry[] {
      return this.#tree.branch(fromId);
    }

    getChildren(parentId: string): SessionEntry[] {
      return this.#tree.entries().filter((entry) => entry.parentId === parentId);
    }

    getEntries(): SessionEntry[] {
      return [...this.#tree.entries()];
    }

    getTree(): TreeNode[] {
      return this.#tree.tree();
    }

    buildContextEntries(): SessionEntry[] {
      return contextEntries(this.getBranch());
    }

    buildSessionContext(): SessionContext {
      return buildSessionContext(this.#tree.entries(), this.getLeafId());
    }

    buildSessionProjection(): SessionProjection {
      return projectionOf(this.buildContextEntries());
    }

    // ---------------------------------------------------------- writing

    appendMessage(message: AgentMessage): string {
      return this.#document.appendMessage(message).id;
    }

    appendCustomEntry(customType: string, data?: unknown): string {
      return this.#append({ type: "custom", customType, ...(data !== undefined && { data }) });
    }

    appendCustomMessageEntry(customType: string, content: string | UserContent[], display: boolean, details?: unknown): string {
      return this.#append({ type: "custom_message", customType, content, display, ...(details !== undefined && { details }) });
    }

    appendModelChange(provider: string, modelId: string): string {
      return this.#append({ type: "model_change", provider, modelId });
    }

    appendThinkingLevelChange(thinkingLevel: ThinkingLevel): string {
      return this.#append({ type: "thinking_level_change", thinkingLevel });
    }

    appendCompaction(summary: string, firstKeptEntryId: string, tokensBefore: number, details?: unknown, fromHook?: boolean): string {
      return this.#append({
        type: "compaction",
        summary,
        firstKeptEntryId,
        tokensBefore,
        ...(details !== undefined && { details }),
        ...(fromHook && { fromHook }),
      });
    }

    appendSessionInfo(name: string): string {
      return this.#append({ type: "session_info", name: name.trim() });
    }

    appendLabelChange(targetId: string, label: string | undefined): string {
      if (!this.getEntry(targetId)) throw new Error(`Entry ${targetId} not found`);
      return this.#append({ type: "label", targetId, ...(label && { label }) });
    }

    branch(id: string): void {
      this.#tree.moveLeaf(id);
    }

    resetLeaf(): void {
      this.#tree.moveLeaf(null);
    }

    branchWithSummary(fromId: string | null, summary: string, details?: unknown, fromHook?: boolean): string {
      const left = this.getLeafId() ?? "root";
      this.#tree.moveLeaf(fromId);
      return this.#append({ type: "branch_summary", fromId: left, summary, ...(details !== undefined && { details }), ...(fromHook && { fromHook }) });
    }

    /** Goes on in a new session that holds the path to an entry; answers its file. */
    createBranchedSession(leafId: string): string | undefined {
      if (!this.getEntry(leafId)) throw new Error(`Entry ${leafId} not found`);
      const entries = copyPath(this.#tree, this.getBranch(leafId));
      this.#continueIn(entries, this.getSessionFile());
      return this.getSessionFile();
    }

    newSession(options: { id?: string; parentSession?: string } = {}): string | undefined {
      this.#continueIn([], options.parentSession, options.id);
      return this.getSessionFile();
    }

    setSessionFile(path: string): void {
      this.#document.close();
      this.#document = SessionDocument.open(path, { cwd: places.cwd(), isVisited: true }).document;
    }

    /** Gives the file free for other writers; ours, not pi's: the end of the process does the same. */
    close(): void {
      this.#document.close();
    }

    get #tree() {
      return this.#document.tree;
    }

    #append(draft: EntryDraft): string {
      return this.#document.append(draft).id;
    }

    #continueIn(entries: readonly SessionEntry[], parentSession: string | undefined, id?: string): void {
      const options: DocumentOptions = { cwd: this.getCwd(), ...(id !== undefined && { id }), ...(parentSession !== undefined && { parentSession }) };
      if (this.isPersisted()) options.dir = this.getSessionDir();
      this.#document.close();
      this.#document = SessionDocument.create(options, entries);
    }
  };
}

function listed(dirs: readonly string[]): ListedSession[] {
  return (listSessions(dirs)?.sessions ?? []).map(({ created, modified, parentSession, ...info }) => ({
    ...info,
    created: new Date(created),
    modified: new Date(modified),
    ...(parentSession !== undefined && { parentSessionPath: parentSession }),
    get allMessagesText() {
      return textIn(info.path);
    },
  }));
}

function textIn(path: string): string {
  const texts = loadSession(path).entries.flatMap((entry) => {
    if (entry.type !== "message" || (entry.message?.role !== "user" && entry.message?.role !== "assistant")) return [];
    return textOf(entry.message.content ?? "");
  });
  return texts.join(" ");
}
