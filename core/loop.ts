/** One pass of the agent loop: turns, steering and follow-ups, from agent_start to agent_end. */
import type { Behaviour, RunDraft, RunOutcome } from "./contracts.ts";
import type { Kernel } from "./kernel.ts";
import type { AgentMessage, AssistantMessage } from "./messages.ts";
import { patiently } from "./patience.ts";
import { isTapped } from "./taps.ts";
import { runToolCalls } from "./tool-calls.ts";
import { modelTurn } from "./turn.ts";

/** What a pass begins with: new messages, then what is due in a queue. */
export interface Beginning {
  messages: readonly AgentMessage[];
  queue: Behaviour;
}

/** Runs turns until nothing is left to do. */
export async function runLoop(kernel: Kernel, draft: RunDraft, first: Beginning, signal: AbortSignal): Promise<RunOutcome> {
  const pass = new Pass(kernel, draft, signal);
  kernel.emit({ type: "agent_start" });
  const last = await pass.turns(first);
  const outcome: RunOutcome = { messages: pass.messages, last, status: statusOf(last) };
  const willRetry = !signal.aborted && kernel.hooks.verdict.call(outcome) === true;
  kernel.emit({ type: "agent_end", messages: pass.messages, willRetry });
  const delivered = kernel.bus.flush();
  if (delivered) await patiently(delivered, signal);
  return outcome;
}

function statusOf(message: AssistantMessage | undefined): RunOutcome["status"] {
  if (message?.stopReason === "aborted") return "aborted";
  return message?.stopReason === "error" ? "error" : "completed";
}

class Pass {
  readonly messages: AgentMessage[] = [];
  readonly #kernel: Kernel;
  readonly #draft: RunDraft;
  readonly #signal: AbortSignal;

  constructor(kernel: Kernel, draft: RunDraft, signal: AbortSignal) {
    this.#kernel = kernel;
    this.#draft = draft;
    this.#signal = signal;
  }

  async turns(first: Beginning): Promise<AssistantMessage | undefined> {
    const { queue } = this.#kernel;
    let fresh = first.messages;
    let source = first.queue;
    for (let turnIndex = 0; ; turnIndex++) {
      const joining = turnIndex > 0 ? await this.#boundary() : [];
      this.#kernel.emit({ type: "turn_start" });
      for (const message of joining) await this.#add(message);
      for (const message of fresh) await this.#deliver(message);
      fresh = [];
      if (!this.#signal.aborted) await this.#deliverQueued(source);
      const { message, goesOn } = await this.#turn(turnIndex);
      if (message.stopReason === "error" || (message.stopReason === "aborted" && !goesOn)) return message;
      source = "steer";
      if (goesOn || this.#signal.aborted || !queue.isEmpty("steer")) continue;
      if (queue.isEmpty("followUp")) return message;
      source = "followUp";
    }
  }

  /** One assistant message with its tools. `goesOn`: the model is owed another call. */
  async #turn(turnIndex: number): Promise<{ message: AssistantMessage; goesOn: boolean }> {
    const { message, tools } = await modelTurn(this.#kernel, this.#draft, this.#signal);
    this.messages.push(message);
    const ended = message.stopReason === "error" || message.stopReason === "aborted";
    const hasCalls = !ended && message.content.some(({ type }) => type === "toolCall");
    const batch = hasCalls ? await runToolCalls(this.#kernel, message, tools, this.#signal) : { results: [], terminate: false };
    this.messages.push(...batch.results);
    const draft = { turnIndex, message, toolResults: batch.results, continue: false };
    if (isTapped(this.#kernel.hooks.turn)) {
      const flushed = this.#kernel.bus.flush();
      if (flushed) await patiently(flushed, this.#signal);
      await patiently(this.#kernel.hooks.turn.promise(draft), this.#signal);
    }
    this.#kernel.emit({ type: "turn_end", message, toolResults: batch.results });
    return { message, goesOn: !ended && ((hasCalls && !batch.terminate) || draft.continue) };
  }

  async #deliver(message: AgentMessage): Promise<void> {
    this.messages.push(await this.#kernel.announce(message, this.#signal));
  }

  async #add(message: AgentMessage): Promise<void> {
    await this.#kernel.add(message);
    this.messages.push(message);
  }

  /** A message leaves the queue at the moment it is delivered. */
  async #deliverQueued(kind: Behaviour): Promise<void> {
    for (let due = this.#kernel.queue.due(kind); due > 0; due--) {
      const message = this.#kernel.queue.shift(kind);
      if (message) await this.#deliver({ ...message, timestamp: Date.now() });
    }
  }

  async #boundary(): Promise<readonly AgentMessage[]> {
    const joining: AgentMessage[] = [];
    if (this.#signal.aborted || !isTapped(this.#kernel.hooks.boundary)) return joining;
    const flushed = this.#kernel.bus.flush();
    if (flushed) await patiently(flushed, this.#signal);
    await patiently(this.#kernel.hooks.boundary.promise({ at: "turn", signal: this.#signal, status: "completed", joining }), this.#signal);
    return joining;
  }
}
