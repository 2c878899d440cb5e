/** Compaction under way: when it begins, what it does in which order, and how it ends. */
import { AsyncSeriesBailHook, AsyncSeriesHook } from "tapable";
import { KernelError, type Model, messageOf, type PluginKernel, type RunOutcome } from "../../core/index.ts";
import { estimateTokens } from "../shared/conversation.ts";
import { isContextOverflow, isCutByWindow } from "../shared/overflow.ts";
import { estimateContextTokens, isSizeUnknown } from "../shared/session-context.ts";
import type { Compaction, CompactionPreparation, CompactionReason, CompactionResult } from "./contract.ts";
import { prepareCompaction, shouldCompact } from "./cut.ts";
import { detailsOf, fileBlocks } from "./files.ts";
import { historyPrompt, splitTurnSummary, turnPrefixPrompt } from "./prompts.ts";
import { requireModel, settingsFor } from "./settings.ts";
import { addUsage, Cancelled, conversationText, orAborted, outputLimit, type Summary, summarize } from "./summarize.ts";

const BUSY = "Compaction already in progress";
const PROMPT_REFUSED = "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry.";
const ALREADY = "Already compacted";
const NOTHING = "Nothing to compact (session too small)";
const SECOND_OVERFLOW = "The request is too long even after a compaction. Shorten the prompt or choose a model with a larger context window.";

const prefixes: Readonly<Record<CompactionReason, string>> = {
  manual: "Compaction failed: ",
  threshold: "Auto-compaction failed: ",
  overflow: "Context overflow recovery failed: ",
};

interface Task {
  reason: CompactionReason;
  signal: AbortSignal;
  willRetry: boolean;
  customInstructions?: string;
}

export class Compactor implements Compaction {
  readonly hooks: Compaction["hooks"] = {
    before: new AsyncSeriesBailHook(["moment"]),
    after: new AsyncSeriesHook(["done"]),
    failed: new AsyncSeriesHook(["failure"]),
  };
  readonly #kernel: PluginKernel;
  #enabled: boolean | undefined;
  #underWay: CompactionReason | undefined;
  /** the user message whose run was already saved once from an overflow */
  #recovered: string | undefined;
  readonly #reported = new Set<string>();

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
  }

  // ------------------------------------------------------------ service

  enabled(): boolean {
    return this.#enabled ?? this.#kernel.tryService("settings")?.get<boolean>("compaction.enabled") ?? true;
  }

  setEnabled(enabled: boolean): void {
    this.#enabled = enabled;
  }

  inProgress(): boolean {
    return this.#underWay !== undefined;
  }

  contextTokens(): number | null {
    const entries = this.#session.contextEntries();
    return isSizeUnknown(entries) ? null : estimateContextTokens(entries);
  }

  async compact({ customInstructions }: { customInstructions?: string } = {}): Promise<CompactionResult> {
    if (this.#underWay) throw new KernelError("E_BUSY", BUSY);
    // Claimed before anything is awaited, so that two compactions cannot race.
    this.#underWay = "manual";
    const controller = new AbortController();
    const { ready, free } = this.#kernel.run.takeOver({ name: "compaction", abort: () => controller.abort() });
    try {
      await ready;
      const instructions = customInstructions?.trim();
      return await this.#perform({ reason: "manual", signal: controller.signal, willRetry: false, ...(instructions && { customInstructions: instructions }) });
    } finally {
      this.#underWay = undefined;
      free();
    }
  }

  /** Throws while a manual compaction rewrites the conversation. */
  refusePrompts(): void {
    if (this.#underWay === "manual") throw new KernelError("E_REFUSED", PROMPT_REFUSED);
  }

  // ------------------------------------------------------------ by itself

  /** Compacts a context that has become too large. Never throws: events tell how it ended. */
  async compactIfLarge(at: "start" | "turn" | "end", signal: AbortSignal): Promise<void> {
    if (this.#underWay || signal.aborted || !this.#isTooLarge(at)) return;
    await this.#automatically({ reason: "threshold", signal, willRetry: false });
  }

  /** After a run: one recovery per user message from a request that was too long. True: the run is to be repeated. */
  async recover({ last, status }: RunOutcome, signal: AbortSignal): Promise<boolean> {
    const model = this.#kernel.service("model").current();
    if (!last || !model || !this.enabled() || this.#underWay || last.provider !== model.provider || last.model !== model.id) return false;
    if (!(status === "error" ? isContextOverflow(last) : isCutByWindow(last, model))) return false;
    const asked = this.#session.branch().findLast((entry) => entry.type === "message" && entry.message.role === "user");
    if (this.#recovered !== undefined && this.#recovered === asked?.id) {
      await this.#fail({ reason: "overflow", signal, willRetry: true }, new Error(SECOND_OVERFLOW));
      return false;
    }
    this.#recovered = asked?.id;
    // If nothing comes of it, the failure is the run's result and stays out of the context, where it would do nobody any good.
    this.#hideAttempt(last);
    return this.#automatically({ reason: "overflow", signal, willRetry: true });
  }

  #isTooLarge(at: "start" | "turn" | "end"): boolean {
    const model = this.#kernel.service("model").current();
    if (!model?.contextWindow || !this.enabled()) return false;
    const entries = this.#session.contextEntries();
    // Outside of a run nothing new was said since the compaction: its numbers are old.
    if (this.#endsWithCompaction() || (at !== "turn" && isSizeUnknown(entries))) return false;
    try {
      const settings = settingsFor(this.#kernel, model, true);
      return shouldCompact(estimateContextTokens(entries), model.contextWindow, settings) && prepareCompaction(entries, settings) !== undefined;
    } catch (error) {
      this.#reportOnce(error);
      return false;
    }
  }

  #reportOnce(error: unknown): void {
    if (this.#reported.has(messageOf(error))) return;
    this.#reported.add(messageOf(error));
    this.#kernel.fault({ from: "<compaction>", during: "compaction", error });
  }

  /** The failed answer and what belongs to it stay in the file and leave the context. */
  #hideAttempt(failed: object): void {
    const entries = this.#session.contextEntries();
    const at = entries.findLastIndex((entry) => entry.type === "message" && entry.message === failed);
    if (at < 0) return;
    for (const entry of entries.slice(at)) {
      if (entry.type !== "message" || (entry.message !== failed && entry.message.role !== "toolResult")) continue;
      this.#session.appendAnnounced({ type: "context_edit", targetId: entry.id, replacement: null });
    }
  }

  async #automatically(task: Task): Promise<boolean> {
    this.#underWay = task.reason;
    try {
      await this.#perform(task);
      return true;
    } catch {
      return false;
    } finally {
      this.#underWay = undefined;
    }
  }

  // ------------------------------------------------------------ the work

  async #perform(task: Task): Promise<CompactionResult> {
    const { reason, signal, willRetry } = task;
    this.#kernel.emit({ type: "compaction_start", reason });
    try {
      const result = await this.#work(task);
      this.#kernel.emit({ type: "compaction_end", reason, result, aborted: false, willRetry });
      return result;
    } catch (error) {
      throw await this.#ended(task, signal.aborted ? new Cancelled() : error);
    }
  }

  async #fail(task: Task, error: Error): Promise<void> {
    this.#kernel.emit({ type: "compaction_start", reason: task.reason });
    await this.#ended(task, error);
  }

  /** Tells of a compaction that came to nothing; answers the error. */
  async #ended({ reason }: Task, error: unknown): Promise<unknown> {
    const aborted = error instanceof Cancelled;
    const errorMessage = aborted ? undefined : prefixes[reason] + messageOf(error);
    this.#kernel.emit({ type: "compaction_end", reason, result: null, aborted, willRetry: false, ...(errorMessage !== undefined && { errorMessage }) });
    await this.#kernel.flush();
    const fromExtension = error instanceof CancelledByExtension;
    await this.hooks.failed.promise({ reason, aborted, willRetry: false, fromExtension, ...(errorMessage !== undefined && { errorMessage }) });
    return error;
  }

  async #work({ reason, signal, willRetry, customInstructions }: Task): Promise<CompactionResult> {
    const session = this.#session;
    if (signal.aborted) throw new Cancelled();
    if (this.#endsWithCompaction()) throw new KernelError("E_REFUSED", ALREADY);
    const model = this.#kernel.service("model").current();
    const preparation = prepareCompaction(session.contextEntries(), settingsFor(this.#kernel, model, this.enabled()));
    if (!preparation) throw new KernelError("E_REFUSED", NOTHING);
    const summarizer = await requireModel(this.#kernel);
    const moment = { preparation, branchEntries: session.branch(), reason, willRetry, signal, ...(customInstructions && { customInstructions }) };
    const verdict = await orAborted(this.hooks.before.promise(moment), signal);
    if (verdict?.cancel) throw new CancelledByExtension();
    const fromExtension = verdict?.compaction !== undefined;
    const compaction = verdict?.compaction ?? (await this.#summary(summarizer, preparation, { reason, signal, customInstructions }));
    if (signal.aborted) throw new Cancelled();
    const { summary, firstKeptEntryId, tokensBefore, usage, details } = compaction;
    const compactionEntry = session.append({
      type: "compaction",
      summary,
      firstKeptEntryId,
      tokensBefore,
      ...(details !== undefined && { details }),
      ...(usage !== undefined && { usage }),
      ...(fromExtension && { fromHook: true }),
    });
    const messages = this.#kernel.service("transcript").messages();
    const estimatedTokensAfter = messages.reduce((sum, message) => sum + estimateTokens(message), 0);
    await this.hooks.after.promise({ compactionEntry, fromExtension, reason, willRetry });
    return { summary, firstKeptEntryId, tokensBefore, estimatedTokensAfter, ...(usage && { usage }), ...(details !== undefined && { details }) };
  }

  async #summary(model: Model, preparation: CompactionPreparation, task: Omit<Task, "willRetry">): Promise<CompactionResult> {
    const { reason, signal, customInstructions } = task;
    const { messagesToSummarize, turnPrefixMessages, previousSummary, settings, firstKeptEntryId, tokensBefore, fileOps } = preparation;
    const ask = (prompt: string, share: number) =>
      summarize(this.#kernel, {
        model,
        prompt,
        maxTokens: outputLimit(model, settings.reserveTokens * share),
        signal,
        source: { source: "compaction", reason },
      });
    const text = (messages: typeof messagesToSummarize) => conversationText(this.#kernel, messages);
    let history: Summary | undefined;
    if (messagesToSummarize.length > 0) {
      history = await ask(historyPrompt(text(messagesToSummarize), { previousSummary, instructions: customInstructions }), 0.8);
    }
    const turn = turnPrefixMessages.length > 0 ? await ask(turnPrefixPrompt(text(turnPrefixMessages), customInstructions), 0.5) : undefined;
    const body = turn ? splitTurnSummary(history?.text ?? previousSummary, turn.text) : (history as Summary).text;
    const usage = history && turn ? addUsage(history.usage, turn.usage) : (history ?? turn)?.usage;
    const details = detailsOf(fileOps);
    return { summary: body + fileBlocks(details), firstKeptEntryId, tokensBefore, details, ...(usage && { usage }) };
  }

  get #session() {
    return this.#kernel.service("session");
  }

  #endsWithCompaction(): boolean {
    const leaf = this.#session.leafId();
    return leaf !== null && this.#session.entry(leaf)?.type === "compaction";
  }
}

class CancelledByExtension extends Cancelled {}
