/** The session as extensions know it: `ctx.sessionManager`, and the writable one that `setup` of a new session gets. */
import type { Session, SessionReader } from "../session/contract.ts";
import { buildSessionContext, projectionOf } from "../shared/session-context.ts";
import type { Instance } from "./instance.ts";
import type { Runtime } from "./runtime.ts";
import type { ReadonlySessionManager, WritableSessionManager } from "./types.ts";

/** Reads whatever session is open at the time of the call. */
export function readSession(runtime: Runtime, instance: Instance): ReadonlySessionManager {
  return reader(runtime, () => {
    instance.assertUsable();
    return runtime.kernel.service("session");
  });
}

export function writeSession(runtime: Runtime, session: Session): WritableSessionManager {
  const append = (draft: Parameters<Session["append"]>[0]): string => session.append(draft).id;
  const writing: Omit<WritableSessionManager, keyof ReadonlySessionManager> = {
    appendMessage: (message) => append({ type: "message", message }),
    appendCustomEntry: (customType, data) => append({ type: "custom", customType, ...(data !== undefined && { data }) }),
    appendCustomMessageEntry: (customType, content, display, details) =>
      append({ type: "custom_message", customType, content, display, ...(details !== undefined && { details }) }),
    appendSessionInfo: (name) => append({ type: "session_info", name }),
    appendLabelChange: (targetId, label) => append({ type: "label", targetId, ...(label && { label }) }),
    appendModelChange: (provider, modelId) => append({ type: "model_change", provider, modelId }),
    appendThinkingLevelChange: (thinkingLevel) => append({ type: "thinking_level_change", thinkingLevel }),
  };
  return { ...reader(runtime, () => session), ...writing };
}

function reader(runtime: Runtime, session: () => SessionReader): ReadonlySessionManager {
  return {
    getCwd: () => {
      session();
      return runtime.cwd;
    },
    getSessionDir: () => session().dir(),
    getSessionId: () => session().id(),
    getSessionFile: () => session().file(),
    getLeafId: () => session().leafId(),
    getLeafEntry: () => {
      const opened = session();
      const id = opened.leafId();
      return id === null ? undefined : opened.entry(id);
    },
    getEntry: (id) => session().entry(id),
    getLabel: (id) => session().label(id),
    getBranch: (fromId) => [...session().branch(fromId)],
    getEntries: () => [...session().entries()],
    getTree: () => session().tree(),
    getHeader: () => session().header(),
    getSessionName: () => session().name(),
    isPersisted: () => session().file() !== undefined,
    buildContextEntries: () => [...session().contextEntries()],
    buildSessionContext: () => {
      const opened = session();
      return buildSessionContext(opened.entries(), opened.leafId());
    },
    buildSessionProjection: () => projectionOf(session().contextEntries()),
  };
}
