/** Session files for extensions that look at other sessions than the open one. */
import { existsSync } from "node:fs";
import type { AgentMessage, ThinkingLevel, UserContent } from "../../../core/index.ts";
import type { EntryDraft, SessionEntry, SessionHeader, SessionInfo, TreeNode } from "../../session/contract.ts";
import { SessionDocument } from "../../session/document.ts";
import { listSessions } from "../../session/list.ts";
import { allProjectDirs, latestSession, projectSessionDir } from "../../session/places.ts";
import { buildSessionContext, messagesOf, type SessionContext } from "../../shared/session-context.ts";
import type { WritableSessionManager } from "../types.ts";

/** Made with the agent's directory, so that default places are right. */
export function createSessionManagerClass(agentDir: () => string): object {
  return class SessionManager implements WritableSessionManager {
    readonly #document: SessionDocument;
    readonly #cwd: string;

    /** @private use the static functions */
    constructor(document: SessionDocument, cwd: string) {
      this.#document = document;
      this.#cwd = cwd;
    }

    static create(cwd: string, sessionDir?: string): SessionManager {
      return new SessionManager(SessionDocument.create({ cwd, dir: sessionDir ?? projectSessionDir(agentDir(), cwd) }), cwd);
    }
    static open(path: string, _sessionDir?: string): SessionManager {
      const { document } = SessionDocument.open(path, { cwd: process.cwd() });
      return new SessionManager(document, document.tree.header.cwd);
    }
    static inMemory(cwd = process.cwd()): SessionManager {
      return new SessionManager(SessionDocument.create({ cwd }), cwd);
    }
    static continueRecent(cwd: string, sessionDir?: string): SessionManager {
      const latest = latestSession(sessionDir ?? projectSessionDir(agentDir(), cwd), sessionDir ? cwd : undefined);
      return latest && existsSync(latest.path) ? SessionManager.open(latest.path) : SessionManager.create(cwd, sessionDir);
    }
    static async list(cwd: string, sessionDir?: string): Promise<ListedSession[]> {
      return listed(listSessions([sessionDir ?? projectSessionDir(agentDir(), cwd)], { cwd }));
    }
    static async listAll(): Promise<ListedSession[]> {
      return listed(listSessions(allProjectDirs(agentDir())));
    }

    getCwd = (): string => this.#cwd;
    getSessionDir = (): string => this.#document.dir;
    getSessionId = (): string => this.#document.tree.header.id;
    getSessionFile = (): string | undefined => this.#document.file;
    getHeader = (): SessionHeader => this.#document.tree.header;
    getSessionName = (): string | undefined => this.#document.tree.name();
    isPersisted = (): boolean => this.#document.file !== undefined;
    getLeafId = (): string | null => this.#document.tree.leafId();
    getLeafEntry = (): SessionEntry | undefined => this.#document.tree.entry(this.getLeafId() ?? "");
    getEntry = (id: string): SessionEntry | undefined => this.#document.tree.entry(id);
    getEntries = (): SessionEntry[] => [...this.#document.tree.entries()];
    getBranch = (fromId?: string): SessionEntry[] => this.#document.tree.branch(fromId);
    getTree = (): TreeNode[] => this.#document.tree.tree();
    getLabel = (id: string): string | undefined => this.#document.tree.label(id);
    buildContextEntries = (): SessionEntry[] => [...this.#document.tree.contextEntries()];
    buildSessionContext = (): SessionContext => buildSessionContext(this.getEntries(), this.getLeafId());
    buildSessionProjection = () => {
      const contextEntries = this.buildContextEntries();
      return { contextEntries, contextMessages: messagesOf(contextEntries) };
    };

    branch = (id: string): void => this.#document.tree.moveLeaf(id);
    resetLeaf = (): void => this.#document.tree.moveLeaf(null);
    appendMessage = (message: AgentMessage): string => this.#document.appendMessage(message).id;
    appendCustomEntry = (customType: string, data?: unknown): string => this.#append({ type: "custom", customType, ...(data !== undefined && { data }) });
    appendCustomMessageEntry = (customType: string, content: string | UserContent[], display: boolean, details?: unknown): string =>
      this.#append({ type: "custom_message", customType, content, display, ...(details !== undefined && { details }) });
    appendSessionInfo = (name: string): string => this.#append({ type: "session_info", name });
    appendLabelChange = (targetId: string, label: string | undefined): string => this.#append({ type: "label", targetId, ...(label && { label }) });
    appendModelChange = (provider: string, modelId: string): string => this.#append({ type: "model_change", provider, modelId });
    appendThinkingLevelChange = (thinkingLevel: ThinkingLevel): string => this.#append({ type: "thinking_level_change", thinkingLevel });

    #append(draft: EntryDraft): string {
      return this.#document.append(draft).id;
    }
  };
}

type ListedSession = Omit<SessionInfo, "created" | "modified"> & { created: Date; modified: Date; allMessagesText: string };

function listed(page: { sessions: SessionInfo[] } | undefined): ListedSession[] {
  return (page?.sessions ?? []).map((session) => ({
    ...session,
    created: new Date(session.created),
    modified: new Date(session.modified),
    allMessagesText: session.firstMessage,
  }));
}
