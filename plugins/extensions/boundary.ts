/** What handlers of `turn_end` and `agent_before_settle` may propose: session entries, and one more model call. */
import type { RunOutcome } from "../../core/index.ts";
import type { EntryDraft } from "../session/contract.ts";
import { convertToLlm } from "../shared/conversation.ts";
import { projectionOf } from "../shared/session-context.ts";
import { assertJson } from "./json.ts";
import type { Runtime } from "./runtime.ts";
import type { BoundaryDraft, BoundaryResult, BoundaryState } from "./types.ts";

/** States whose latest proposal cannot be used. */
const invalid = new WeakSet<BoundaryState>();

/** The state that the first handler sees. Its context is computed when it is read. */
export function boundaryState(runtime: Runtime, outcome: RunOutcome["status"]): BoundaryState {
  const { kernel } = runtime;
  const state = { entries: [], continue: false, outcome } as unknown as BoundaryState;
  Object.defineProperty(state, "context", {
    enumerable: true,
    get() {
      const { entries: contextEntries, messages: contextMessages } = projectionOf(kernel.tryService("session")?.contextEntries() ?? []);
      const canContinue = !kernel.queue.isEmpty() || contextMessages.at(-1)?.role !== "assistant";
      return { contextEntries, contextMessages, llmMessages: convertToLlm(contextMessages), pendingMessages: [], canContinue };
    },
  });
  return state;
}

/** Takes one handler's proposal, which the next handler sees. */
export function takeBoundary(runtime: Runtime, state: BoundaryState, { entries, continue: goesOn }: BoundaryResult): void {
  if (goesOn !== undefined) state.continue = goesOn === true;
  if (entries === undefined) return;
  state.entries = entries;
  invalid.delete(state);
  const complaint = complaintOf(runtime, entries);
  if (!complaint) return;
  invalid.add(state);
  throw new Error(`Invalid boundary entries: ${complaint}`);
}

/** Appends what was proposed; true if the model is to be asked once more. Nothing is kept of an invalid proposal. */
export function commitDrafts(runtime: Runtime, state: BoundaryState): boolean {
  if (invalid.has(state)) return false;
  const { kernel } = runtime;
  const session = kernel.tryService("session");
  // A handler may have written into the list without answering one.
  if (state.entries?.length !== 0 && complaintOf(runtime, state.entries)) return false;
  if (session) for (const draft of state.entries) session.appendAnnounced(entryOf(runtime, draft));
  if (!state.continue || state.outcome !== "completed") return false;
  if (state.context.canContinue) return true;
  kernel.fault({ from: "<runtime>", during: "turn_end", error: "Cannot continue: the context ends with an assistant message and nothing is queued." });
  return false;
}

function complaintOf({ kernel }: Runtime, drafts: unknown): string | undefined {
  if (!Array.isArray(drafts)) return "entries must be an array";
  const ids = new Set(
    kernel
      .tryService("session")
      ?.branch()
      .map(({ id }) => id),
  );
  for (const [index, draft] of drafts.entries()) {
    const problem = problemOf(draft, ids);
    if (problem) return `entries[${index}] ${problem}`;
  }
  return undefined;
}

function problemOf(draft: BoundaryDraft, ids: ReadonlySet<string>): string | undefined {
  try {
    assertJson(draft, "entry");
  } catch (error) {
    return (error as Error).message;
  }
  switch (draft?.type) {
    case "custom":
      return typeof draft.customType === "string" ? undefined : "needs a customType";
    case "custom_message":
      if (typeof draft.customType !== "string") return "needs a customType";
      return typeof draft.content === "string" || Array.isArray(draft.content) ? undefined : "needs a content";
    case "context_edit":
      return ids.has(draft.targetId) ? undefined : `names an unknown entry: ${draft.targetId}`;
    case "compaction":
      if (typeof draft.summary !== "string") return "needs a summary";
      return draft.firstKeptEntryId === null || ids.has(draft.firstKeptEntryId) ? undefined : `names an unknown entry: ${draft.firstKeptEntryId}`;
    default:
      return `has an unknown type: ${(draft as { type?: string } | undefined)?.type}`;
  }
}

function entryOf({ kernel }: Runtime, draft: BoundaryDraft): EntryDraft {
  if (draft.type !== "compaction") return draft;
  const tokensBefore = kernel.tryService("compaction")?.contextTokens() ?? 0;
  return { ...draft, firstKeptEntryId: draft.firstKeptEntryId ?? "", tokensBefore, fromHook: true };
}
