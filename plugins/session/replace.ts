/** Replacing the open session: new, another file, or a copy of a part of this one. */
import { KernelError, textOf } from "../../core/index.ts";
import type {} from "../resources/contract.ts";
import { expandPath } from "../shared/paths.ts";
import type { ReplaceOptions, Session, SessionChange, SessionChanged, SessionEntry } from "./contract.ts";
import { copyPath, SessionDocument } from "./document.ts";
import { currentDir } from "./open.ts";
import { requireWorkingDirectory } from "./places.ts";
import type { SessionService } from "./service.ts";

const INVALID_FORK = "Invalid entry ID for forking";
const NOT_SAVED = "This session has not been saved yet. Wait for the first assistant response before cloning or forking it.";

/** A session about to be opened: `open` is called when the old one has been left, `discard` if that never happens. */
interface Successor {
  open(): SessionDocument;
  discard?(): void;
}

type NewOptions = NonNullable<Parameters<Session["startNew"]>[0]>;

export async function startNewSession(service: SessionService, { parentSession, setup, ...options }: NewOptions): Promise<{ cancelled: boolean }> {
  const open = () => SessionDocument.create({ ...surroundings(service), ...(parentSession !== undefined && { parentSession }) });
  return replace(service, { kind: "new", via: "new_session" }, { open }, options, setup);
}

export async function switchSession(service: SessionService, given: string, options: ReplaceOptions): Promise<{ cancelled: boolean }> {
  const settings = service.kernel.service("settings");
  const path = expandPath(given, settings.cwd(), settings.home());
  service.refuseIfBusy();
  return replace(service, { kind: "resume", via: "switch_session", targetFile: path }, fileSuccessor(service, path), options);
}

export async function forkSession(
  service: SessionService,
  entryId: string | null,
  { position = "before", via = "fork", ...options }: NonNullable<Parameters<Session["fork"]>[1]>,
): Promise<{ cancelled: boolean; text: string }> {
  const entry = via === "clone" ? undefined : forkPoint(service, entryId, position);
  if (!service.isSaved()) throw new KernelError("E_REFUSED", NOT_SAVED);
  if (entryId === null) throw new KernelError("E_REFUSED", "Cannot clone session: no current entry selected");
  const open = () => {
    // Looked at only now: the run that was aborted meanwhile belongs to a clone.
    const { tree } = service.document;
    const end = via === "clone" ? tree.leafId() : position === "at" ? entryId : entry?.parentId;
    const path = end === null || end === undefined ? [] : tree.branch(end);
    return SessionDocument.create({ ...surroundings(service), ...parentOf(service) }, copyPath(tree, path));
  };
  const { cancelled } = await replace(service, { kind: "fork", via, entryId, position }, { open }, options);
  return { cancelled, text: entry && position === "before" ? userText(entry) : "" };
}

function forkPoint(service: SessionService, entryId: string | null, position: "before" | "at"): SessionEntry {
  const entry = entryId === null ? undefined : service.entry(entryId);
  const fits = entry && (position === "at" || (isUserMessage(entry) && isOnBranch(service, entry)));
  if (!entry || !fits) throw new KernelError("E_REFUSED", INVALID_FORK);
  return entry;
}

function isOnBranch(service: SessionService, entry: SessionEntry): boolean {
  for (const other of service.document.tree.backwards()) if (other === entry) return true;
  return false;
}

export function isUserMessage(entry: SessionEntry): boolean {
  return entry.type === "message" && entry.message?.role === "user";
}

export function userText(entry: SessionEntry): string {
  if (entry.type === "custom_message") return textOf(entry.content);
  return entry.type === "message" && "content" in entry.message ? textOf(entry.message.content) : "";
}

/** What a session that follows this one shares with it; in memory stays in memory. */
function surroundings(service: SessionService) {
  const inMemory = service.file() === undefined;
  return { cwd: service.kernel.service("settings").cwd(), onTrouble: service.onTrouble, ...(!inMemory && { dir: currentDir(service.kernel) }) };
}

function parentOf(service: SessionService): { parentSession?: string } {
  const file = service.file();
  return file === undefined ? {} : { parentSession: file };
}

/** Reads the file before anything else changes, so that every complaint comes while the old session is whole. */
function fileSuccessor(service: SessionService, path: string): Successor {
  const { onTrouble } = service;
  const cwd = service.kernel.service("settings").cwd();
  if (path === service.file() && service.isSaved()) {
    // Ours already: it is read again once the run is over and all is written.
    return {
      open: () => {
        service.document.close();
        return SessionDocument.open(path, { cwd, onTrouble }).document;
      },
    };
  }
  requireWorkingDirectory(path, cwd);
  const { document, isTorn } = SessionDocument.open(path, { cwd, onTrouble, isTentative: true });
  if (isTorn) service.notice(`the last line of ${path} was cut off and is left out`);
  const open = () => {
    document.confirm();
    return document;
  };
  return { open, discard: () => document.discard() };
}

const reasons = { new: "new", resume: "resume", fork: "fork" } as const;

/** Veto, end of the run, farewell, the new session, welcome. */
async function replace(
  service: SessionService,
  change: SessionChange,
  successor: Successor,
  { later }: ReplaceOptions,
  setup?: NewOptions["setup"],
): Promise<{ cancelled: boolean }> {
  const { kernel, hooks } = service;
  let changed: SessionChanged | undefined;
  try {
    changed = await service.exclusively("it is being replaced", async () => {
      if ((await hooks.beforeChange.promise(change)) === "cancel") return undefined;
      await kernel.run.abort();
      await hooks.leaving.promise(change);
      kernel.queue.clear();
      return exchange(service, change, successor, setup);
    });
  } catch (error) {
    successor.discard?.();
    throw error;
  }
  if (!changed) {
    successor.discard?.();
    return { cancelled: true };
  }
  const welcome = changed;
  const raise = () => hooks.changed.promise(welcome);
  // A client learns of the replacement before it learns of anything in the new session.
  if (later) later(raise);
  else await raise();
  return { cancelled: false };
}

async function exchange(service: SessionService, change: SessionChange, successor: Successor, setup: NewOptions["setup"]): Promise<SessionChanged> {
  const old = service.document;
  const previousFile = old.file;
  const next = successor.open();
  service.adopt(next);
  old.close();
  await followCwd(service, next.tree.header.cwd);
  await setup?.(service);
  return { reason: reasons[change.kind], ...(previousFile !== undefined && { previousFile }), ...(next.file !== undefined && { file: next.file }) };
}

/** A session of another directory takes the agent there, with that directory's settings and resources. */
export async function followCwd({ kernel }: SessionService, cwd: string): Promise<void> {
  const settings = kernel.service("settings");
  if (!cwd || cwd === settings.cwd()) return;
  settings.setCwd(cwd);
  await kernel.tryService("trust")?.decide(cwd);
  await settings.reload();
  await kernel.tryService("resources")?.reload();
}
