/** One turn's tools: validate, ask the guards, execute, let results be changed, announce in order. */
import type { Tool, ToolCallDraft, ToolOutcome, ToolResult } from "./contracts.ts";
import { messageOf } from "./errors.ts";
import type { Kernel } from "./kernel.ts";
import { type AssistantMessage, type ToolCall, type ToolResultMessage, textBlock } from "./messages.ts";
import { passedOver, patiently } from "./patience.ts";
import { validateArguments } from "./schema.ts";

/** How long a tool that ignores the abort is waited for. */
const ABANDON_MS = 10_000;
const OPERATION_ABORTED = "Operation aborted";
const SKIPPED = "Skipped due to queued user message.";
const CUT_OFF = "Tool call was cut off by the output limit.";

export interface BatchResult {
  results: ToolResultMessage[];
  /** every result asked to end the run */
  terminate: boolean;
}

/** A call that passed its checks, or the outcome that it already has. */
type Prepared = { draft: ToolCallDraft } | { outcome: ToolOutcome };

/** Runs the tool calls of `message` and stores their results in call order. */
export async function runToolCalls(kernel: Kernel, message: AssistantMessage, offered: readonly Tool[], signal: AbortSignal): Promise<BatchResult> {
  const calls = message.content.filter((block): block is ToolCall => block.type === "toolCall");
  const batch = new Batch(kernel, offered, signal);
  let outcomes: ToolOutcome[];
  if (message.stopReason === "length") outcomes = await batch.refuseAll(calls, CUT_OFF);
  else if (isSequential(kernel, calls, offered)) outcomes = await batch.oneByOne(calls);
  else outcomes = await batch.together(calls);
  const results: ToolResultMessage[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    const call = calls[index] as ToolCall;
    results.push((await kernel.announce(toMessage(call, outcome), signal)) as ToolResultMessage);
  }
  return { results, terminate: outcomes.length > 0 && outcomes.every(({ terminate }) => terminate === true) };
}

function isSequential(kernel: Kernel, calls: ToolCall[], offered: readonly Tool[]): boolean {
  if (kernel.queue.interruptMode === "immediate") return true;
  return calls.some((call) => offered.find(({ name }) => name === call.name)?.executionMode === "sequential");
}

class Batch {
  readonly #kernel: Kernel;
  readonly #offered: readonly Tool[];
  readonly #signal: AbortSignal;

  constructor(kernel: Kernel, offered: readonly Tool[], signal: AbortSignal) {
    this.#kernel = kernel;
    this.#offered = offered;
    this.#signal = signal;
  }

  async refuseAll(calls: ToolCall[], text: string): Promise<ToolOutcome[]> {
    const outcomes: ToolOutcome[] = [];
    for (const call of calls) {
      this.#announceStart(call);
      outcomes.push(this.#announceEnd(call, failed(text)));
    }
    return outcomes;
  }

  /** Preparation runs in call order; then all prepared calls start together. */
  async together(calls: ToolCall[]): Promise<ToolOutcome[]> {
    const prepared: Prepared[] = [];
    for (const call of calls) {
      const ready = await this.#prepare(call);
      if ("outcome" in ready) this.#announceEnd(call, ready.outcome);
      prepared.push(ready);
    }
    return Promise.all(
      calls.map(async (call, index) => {
        const ready = prepared[index] as Prepared;
        if ("outcome" in ready) return ready.outcome;
        return this.#announceEnd(call, await this.#execute(ready.draft));
      }),
    );
  }

  /** The interrupt mode is read before each start: it may change while a tool runs. */
  async oneByOne(calls: ToolCall[]): Promise<ToolOutcome[]> {
    const outcomes: ToolOutcome[] = [];
    for (const call of calls) {
      const skip = this.#kernel.queue.interruptMode === "immediate" && !this.#kernel.queue.isEmpty("steer");
      if (skip || this.#signal.aborted) {
        this.#announceStart(call);
        outcomes.push(this.#announceEnd(call, failed(this.#signal.aborted ? OPERATION_ABORTED : SKIPPED)));
        continue;
      }
      const ready = await this.#prepare(call);
      outcomes.push(this.#announceEnd(call, "outcome" in ready ? ready.outcome : await this.#execute(ready.draft)));
    }
    return outcomes;
  }

  async #prepare(toolCall: ToolCall): Promise<Prepared> {
    this.#announceStart(toolCall);
    if (this.#signal.aborted) return { outcome: failed(OPERATION_ABORTED) };
    const tool = this.#offered.find(({ name }) => name === toolCall.name);
    if (!tool) return { outcome: failed(`Tool ${toolCall.name} not found`) };
    let input: Record<string, unknown>;
    try {
      const raw = tool.prepareArguments ? tool.prepareArguments(toolCall.arguments) : toolCall.arguments;
      input = await validateArguments(tool, raw);
    } catch (error) {
      return { outcome: failed(messageOf(error)) };
    }
    return this.#guard({ toolCall, tool, input, signal: this.#signal });
  }

  async #guard(draft: ToolCallDraft): Promise<Prepared> {
    const { bus, hooks } = this.#kernel;
    try {
      const flushed = bus.flush();
      if (flushed) await patiently(flushed, this.#signal);
      const verdict = await patiently(hooks.toolCall.promise(draft), this.#signal);
      if (verdict === passedOver || this.#signal.aborted) return { outcome: failed(OPERATION_ABORTED) };
      if (!verdict?.block) return { draft };
      const reason = verdict.reason || "The tool call was blocked.";
      return { outcome: { ...failed(reason), ...(verdict.terminate && { terminate: true }) } };
    } catch (error) {
      // A guard that fails must not let the call through.
      return { outcome: failed(messageOf(error)) };
    }
  }

  async #execute(draft: ToolCallDraft): Promise<ToolOutcome> {
    const { hooks } = this.#kernel;
    const outcome = await this.#outcomeOf(draft);
    try {
      const changed = await patiently(hooks.toolResult.promise(outcome, draft), this.#signal);
      return changed === passedOver ? outcome : (changed ?? outcome);
    } catch (error) {
      this.#kernel.fault({ from: draft.tool.name, during: "tool_result", error });
      return outcome;
    }
  }

  async #outcomeOf({ toolCall, tool, input }: ToolCallDraft): Promise<ToolOutcome> {
    let settled = false;
    const onUpdate = (partialResult: ToolResult) => {
      if (settled) return;
      this.#kernel.emit({ type: "tool_execution_update", toolCallId: toolCall.id, toolName: toolCall.name, args: toolCall.arguments, partialResult });
    };
    try {
      const work = Promise.resolve(tool.execute({ toolCallId: toolCall.id, params: input, signal: this.#signal, onUpdate }));
      const result = await patiently(work, this.#signal, ABANDON_MS);
      return result === passedOver ? failed(OPERATION_ABORTED) : succeeded(tool, result);
    } catch (error) {
      return failed(messageOf(error));
    } finally {
      settled = true;
    }
  }

  #announceStart({ id, name, arguments: args }: ToolCall): void {
    this.#kernel.emit({ type: "tool_execution_start", toolCallId: id, toolName: name, args });
  }

  #announceEnd({ id, name }: ToolCall, outcome: ToolOutcome): ToolOutcome {
    const { isError, terminate: _, ...result } = outcome;
    this.#kernel.emit({ type: "tool_execution_end", toolCallId: id, toolName: name, result, isError });
    return outcome;
  }
}

function failed(text: string): ToolOutcome {
  return { content: [textBlock(text)], details: {}, isError: true };
}

function succeeded(tool: Tool, result: ToolResult | undefined): ToolOutcome {
  if (typeof result !== "object" || result === null) {
    const got = result === null ? "null" : typeof result;
    return failed(`Tool ${tool.name} returned ${got} instead of a result object with a content array.`);
  }
  const { content = [], details, usage, terminate } = result;
  if (!Array.isArray(content)) return failed(`Tool ${tool.name} returned a content that is not an array.`);
  return {
    content,
    ...(details !== undefined && { details }),
    ...(usage !== undefined && { usage }),
    isError: false,
    ...(terminate !== undefined && { terminate }),
  };
}

function toMessage(call: ToolCall, { content, details, usage, isError }: ToolOutcome): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content,
    ...(details !== undefined && { details }),
    ...(usage !== undefined && { usage }),
    isError,
    timestamp: Date.now(),
  };
}
