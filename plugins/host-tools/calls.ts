/** Calls that the host is working on: asked, updated, settled, cancelled. */
import type { PluginKernel, ToolInvocation, ToolResult } from "../../core/index.ts";
import type {} from "../rpc/contract.ts";
import { readResult } from "./result.ts";

const CANCELLED = "Host tool call was cancelled.";
const INVALID = "Host tool returned an invalid result.";

interface Waiting {
  update(partial: ToolResult): void;
  resolve(result: ToolResult): void;
  reject(error: Error): void;
}

export class HostCalls {
  readonly #kernel: PluginKernel;
  readonly #waiting = new Map<string, Waiting>();
  /** Contents that the host marked as an error: a tool that throws could only bring a text. */
  readonly #errors = new WeakSet<object>();
  #asked = 0;
  #cancelled = 0;

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
  }

  /** Asks the host and waits for its one answer, as long as it takes. */
  ask(toolName: string, { toolCallId, params, signal, onUpdate }: ToolInvocation): Promise<ToolResult> {
    const wire = this.#kernel.tryService("wire");
    if (!wire) return Promise.reject(new Error("No client is connected that could execute host tools."));
    if (signal.aborted) return Promise.reject(new Error(CANCELLED));
    const id = `host_${++this.#asked}`;
    const cancel = () => {
      if (!this.#waiting.has(id)) return;
      wire.send({ type: "host_tool_cancel", id: `host_cancel_${++this.#cancelled}`, targetId: id });
      this.#take(id)?.reject(new Error(CANCELLED));
    };
    signal.addEventListener("abort", cancel, { once: true });
    const answer = new Promise<ToolResult>((resolve, reject) => {
      this.#waiting.set(id, { update: onUpdate, resolve, reject });
    });
    wire.send({ type: "host_tool_call", id, toolCallId, toolName, arguments: params });
    return answer.finally(() => signal.removeEventListener("abort", cancel));
  }

  update(id: string, partialResult: unknown): void {
    const partial = readResult(partialResult);
    if (partial) this.#waiting.get(id)?.update(partial);
  }

  settle(id: string, given: unknown, isError: boolean): void {
    const call = this.#take(id);
    if (!call) return;
    const result = readResult(given);
    if (result && isError) this.#errors.add(result.content);
    if (result) call.resolve(result);
    else call.reject(new Error(INVALID));
  }

  isError(content: object): boolean {
    return this.#errors.has(content);
  }

  /** Fails whatever is in flight without telling the host, which is leaving. */
  abandon(): void {
    for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(new Error(CANCELLED));
  }

  #take(id: string): Waiting | undefined {
    const call = this.#waiting.get(id);
    this.#waiting.delete(id);
    return call;
  }
}
