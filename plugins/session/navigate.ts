/** Moving the leaf within the session, with a summary of what is left behind if one is wanted. */
import { KernelError } from "../../core/index.ts";
import { entryMessage } from "../shared/session-context.ts";
import type { NavigateOptions, Session, SessionEntry, TreeChange, TreeVerdict } from "./contract.ts";
import { isUserMessage, userText } from "./replace.ts";
import type { SessionService } from "./service.ts";

type Outcome = Awaited<ReturnType<Session["navigate"]>>;

export async function navigate(service: SessionService, targetId: string, options: NavigateOptions): Promise<Outcome> {
  const { kernel } = service;
  const target = service.entry(targetId);
  if (!target) throw new KernelError("E_REFUSED", `Entry not found: ${targetId}`);
  if (!kernel.run.idle) throw new KernelError("E_BUSY", "Cannot navigate the session tree while a run or a compaction is active.");
  if (targetId === service.leafId()) return { cancelled: false };
  const controller = new AbortController();
  return service.exclusively("its tree is being navigated", async () => {
    const free = kernel.run.occupy({ name: "navigate", abort: () => controller.abort() });
    try {
      return await move(service, target, options, controller.signal);
    } finally {
      free();
    }
  });
}

async function move(service: SessionService, target: SessionEntry, options: NavigateOptions, signal: AbortSignal): Promise<Outcome> {
  const oldLeafId = service.leafId();
  const change = treeChange(service, target, options, signal);
  const verdict = (await service.hooks.beforeTree.promise(change)) ?? {};
  if (verdict.cancel || signal.aborted) return { cancelled: true };
  const wanted = { ...change, ...instructionsOf(verdict) };
  const summary = await summaryFor(service, wanted, verdict);
  if (signal.aborted) return { cancelled: true };

  // A user's text is taken back to be edited: the leaf goes before it.
  const isEditable = isUserMessage(target) || target.type === "custom_message";
  // An entry whose parent was lost is a root.
  const before = service.branch(target.id).at(-2)?.id ?? null;
  const newLeaf = isEditable ? before : target.id;
  service.moveLeaf(newLeaf);
  const summaryEntry = summary && service.append({ type: "branch_summary", fromId: oldLeafId ?? "root", ...summary });
  if (wanted.label) service.setLabel(summaryEntry?.id ?? target.id, wanted.label);
  await service.hooks.treeChanged.promise({
    newLeafId: service.leafId(),
    oldLeafId,
    ...(summaryEntry && { summaryEntry, fromExtension: verdict.summary !== undefined }),
  });
  return { cancelled: false, ...(isEditable && { editorText: userText(target) }), ...(summaryEntry && { summaryEntry }) };
}

function instructionsOf({ customInstructions, replaceInstructions, label }: TreeVerdict): Partial<TreeChange> {
  return {
    ...(customInstructions !== undefined && { customInstructions }),
    ...(replaceInstructions !== undefined && { replaceInstructions }),
    ...(label !== undefined && { label }),
  };
}

/** An extension's summary, else the model's; none if none is wanted or nothing is left behind. */
async function summaryFor(service: SessionService, change: TreeChange, verdict: TreeVerdict) {
  if (!change.userWantsSummary || !change.entriesToSummarize.some(entryMessage)) return undefined;
  if (verdict.summary) return { ...verdict.summary, fromHook: true };
  const summary = await service.hooks.summarizeBranch.promise(change);
  if (!summary && !change.signal.aborted) throw new KernelError("E_REFUSED", "No plugin summarizes branches; navigate without a summary.");
  return summary;
}

function treeChange(service: SessionService, target: SessionEntry, options: NavigateOptions, signal: AbortSignal): TreeChange {
  const { summarize, customInstructions, replaceInstructions, label } = options;
  const targetPath = new Set(service.branch(target.id));
  const branch = service.branch();
  const common = branch.findLastIndex((entry) => targetPath.has(entry));
  return {
    targetId: target.id,
    oldLeafId: service.leafId(),
    commonAncestorId: branch[common]?.id ?? null,
    entriesToSummarize: branch.slice(common + 1),
    userWantsSummary: summarize === true,
    ...(customInstructions?.trim() && { customInstructions }),
    ...(replaceInstructions !== undefined && { replaceInstructions }),
    ...(label !== undefined && { label }),
    signal,
  };
}
