/** Asks the model again after failures that pass by themselves: back-off, events, two commands. */
import { Type } from "typebox";
import { type AgentMessage, type AssistantMessage, command, definePlugin, type PluginKernel, type RunOutcome } from "../../core/index.ts";
import type {} from "../session/contract.ts";
import type {} from "../settings/contract.ts";
import { eventSchema } from "../shared/schemas.ts";
import type { Retry } from "./contract.ts";
import { isTransient, requestedDelay } from "./transient.ts";

const CANCELLED = "Retry cancelled";

const retry = definePlugin({
  name: "retry",
  apply(kernel) {
    const retrier = new Retrier(kernel);
    kernel.provide("retry", retrier);
    kernel.hooks.verdict.tap("retry", (outcome) => retrier.decide(outcome));
    kernel.hooks.afterRun.tap("retry", (outcome) => retrier.afterRun(outcome));
    kernel.hooks.concluded.tap("retry", (message) => retrier.concluded(message));
    // An aborted run does not ask for a verdict.
    kernel.hooks.event.tap("retry", (event) => {
      if (event.type === "agent_end") retrier.passEnded(event.messages.at(-1));
    });
    kernel.hooks.describe.tap("retry", (state) => {
      state.autoRetryEnabled = retrier.enabled();
    });
    const count = () => Type.Integer({ minimum: 0 });
    kernel.registry("events").add({
      name: "auto_retry_start",
      schema: () => eventSchema("auto_retry_start", { attempt: count(), maxAttempts: count(), delayMs: count(), errorMessage: Type.String() }),
    });
    kernel.registry("events").add({
      name: "auto_retry_end",
      schema: () => eventSchema("auto_retry_end", { success: Type.Boolean(), attempt: count(), finalError: Type.Optional(Type.String()) }),
    });
    return () => retrier.abort();
  },
});

interface Decided {
  outcome: RunOutcome;
  delayMs: number;
}

class Retrier implements Retry {
  readonly #kernel: PluginKernel;
  /** retries made since the last message that did not fail */
  #attempt = 0;
  #enabled: boolean | undefined;
  /** the outcome that `agent_end` called retried, and the wait before that; until the wait is over it can be cancelled */
  #decided: Decided | undefined;
  #cancel: (() => void) | undefined;
  #forgetAbort = () => {};
  /** failed attempts that models must not see, where no session keeps track of them */
  readonly #hidden = new WeakSet<object>();
  #hides = false;

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
  }

  enabled(): boolean {
    return this.#enabled ?? this.#kernel.tryService("settings")?.get<boolean>("retry.enabled") ?? true;
  }

  setEnabled(enabled: boolean): void {
    this.#enabled = enabled;
  }

  isTransient(errorMessage: string): boolean {
    return isTransient(errorMessage);
  }

  maxAttempts(): number {
    return this.#setting("maxRetries", 3);
  }

  delayFor(attempt: number): number {
    return Math.min(this.#setting("baseDelayMs", 2000) * 2 ** (attempt - 1), this.#setting("maxAgentDelayMs", 60_000));
  }

  abort(): void {
    if (this.#cancel) this.#cancel();
    else this.#takeBack();
  }

  // ------------------------------------------------------------ moments of a run

  /** Will this outcome be retried? Asked before `agent_end`, and then held. */
  decide(outcome: RunOutcome): true | undefined {
    const delayMs = this.#delayBefore(outcome.last);
    this.#decided = delayMs === undefined ? undefined : { outcome, delayMs };
    if (!this.#decided) return undefined;
    const { signal } = this.#kernel.run;
    const onAbort = () => this.abort();
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#forgetAbort = () => signal?.removeEventListener("abort", onAbort);
    return true;
  }

  async afterRun(outcome: RunOutcome): Promise<"continue" | undefined> {
    const decided = this.#decided?.outcome === outcome ? this.#decided : undefined;
    this.#decided = undefined;
    const failed = outcome.last;
    if (!decided || !failed) {
      this.#giveUp(failed?.errorMessage);
      return undefined;
    }
    this.#announce(decided);
    const isOver = await this.#wait(decided.delayMs);
    this.#forgetAbort();
    if (!isOver) return undefined;
    // After the wait: a cancelled retry leaves the failure as the last word.
    this.#hide(failed);
    return "continue";
  }

  /** The first message that did not fail ends the chain. */
  concluded(message: AgentMessage): void {
    if (this.#attempt === 0 || message.role !== "assistant" || message.stopReason === "error" || message.stopReason === "aborted") return;
    this.#end({ success: true });
  }

  passEnded(last: AgentMessage | undefined): void {
    if (last?.role === "assistant" && last.stopReason === "aborted") this.#giveUp(last.errorMessage);
  }

  // ------------------------------------------------------------ inside

  #delayBefore(failed: AssistantMessage | undefined): number | undefined {
    if (failed?.stopReason !== "error" || !failed.errorMessage || !this.enabled() || this.#attempt >= this.maxAttempts()) return undefined;
    if (!isTransient(failed.errorMessage)) return undefined;
    const requested = requestedDelay(failed.errorMessage) ?? 0;
    const limit = this.#setting("provider.maxRetryDelayMs", 60_000);
    if (limit > 0 && requested > limit) return undefined;
    return Math.max(this.delayFor(this.#attempt + 1), requested);
  }

  #announce({ outcome, delayMs }: Decided): void {
    this.#attempt++;
    const errorMessage = outcome.last?.errorMessage ?? "";
    this.#kernel.emit({ type: "auto_retry_start", attempt: this.#attempt, maxAttempts: this.maxAttempts(), delayMs, errorMessage });
  }

  /** Cancelled while others still looked at `agent_end`, which has promised a retry to clients. */
  #takeBack(): void {
    if (!this.#decided) return;
    this.#announce(this.#decided);
    this.#decided = undefined;
    this.#forgetAbort();
    this.#giveUp(CANCELLED);
  }

  /** True when the time is up, false when somebody cancelled. */
  #wait(delayMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (isOver: boolean) => {
        clearTimeout(timer);
        this.#cancel = undefined;
        resolve(isOver);
      };
      const timer = setTimeout(() => settle(true), delayMs);
      this.#cancel = () => {
        this.#giveUp(CANCELLED);
        settle(false);
      };
    });
  }

  #giveUp(finalError = ""): void {
    if (this.#attempt > 0) this.#end({ success: false, finalError });
  }

  #end(outcome: { success: boolean; finalError?: string }): void {
    const attempt = this.#attempt;
    this.#attempt = 0;
    const { success, finalError } = outcome;
    this.#kernel.emit({ type: "auto_retry_end", success, attempt, ...(finalError !== undefined && { finalError }) });
  }

  /** Takes a failed attempt out of what models see; the record of it stays. */
  #hide(failed: AssistantMessage): void {
    const session = this.#kernel.tryService("session");
    if (!session) {
      this.#hideInMemory(failed);
      return;
    }
    const entry = session.branch().findLast((candidate) => candidate.type === "message" && candidate.message.role === "assistant");
    if (entry?.type === "message" && (entry.message as AssistantMessage).stopReason === "error") {
      session.appendAnnounced({ type: "context_edit", targetId: entry.id, replacement: null });
    }
  }

  #hideInMemory(failed: AssistantMessage): void {
    this.#hidden.add(failed);
    if (this.#hides) return;
    this.#hides = true;
    this.#kernel.hooks.context.tap("retry", (messages) => messages.filter((message) => !this.#hidden.has(message)));
  }

  #setting<T>(name: string, fallback: T): T {
    return this.#kernel.tryService("settings")?.get<T>(`retry.${name}`) ?? fallback;
  }
}

const setAutoRetry = command({
  name: "set_auto_retry",
  params: () => Type.Object({ enabled: Type.Boolean() }),
  run: ({ enabled }, kernel) => kernel.service("retry").setEnabled(enabled),
});

const abortRetry = command({
  name: "abort_retry",
  lane: "immediate",
  run: (_, kernel) => kernel.service("retry").abort(),
});

export default [retry, setAutoRetry, abortRetry];
