/** Tools that the host lends to the agent, as plain functions. */
import type { AgentToolResult, ClientEvent, Events } from "./types.ts";

export interface HostToolContext {
  toolCallId: string;
  /** fires when the run was aborted; nobody waits for the result then */
  signal: AbortSignal;
  /** Shows everything so far. Resolves when it is written: await it in loops. */
  update(partialResult: AgentToolResult | string): Promise<void>;
}

export interface HostTool {
  name: string;
  label?: string;
  description: string;
  /** JSON Schema of type object; the agent checks the model's arguments against it */
  parameters: Record<string, unknown>;
  /** Answers a result, or its text. What it throws becomes a tool error that the model sees. */
  run(args: any, context: HostToolContext): AgentToolResult | string | Promise<AgentToolResult | string>;
}

type Call = Events["host_tool_call"];

export class HostTools {
  readonly #send: (record: object) => Promise<void>;
  readonly #running = new Map<string, AbortController>();
  #tools = new Map<string, HostTool>();
  /** while records are replayed: calls that an earlier client may have answered */
  #held: Map<string, Call> | undefined;

  constructor(send: (record: object) => Promise<void>) {
    this.#send = send;
  }

  set(tools: readonly HostTool[]): void {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  hold(): void {
    this.#held ??= new Map();
  }

  /** Runs what is still open after the replay. */
  release(): void {
    const open = [...(this.#held?.values() ?? [])];
    this.#held = undefined;
    for (const call of open) void this.#run(call);
  }

  onEvent(event: ClientEvent): void {
    if (event.type === "host_tool_call") {
      if (this.#held) this.#held.set(event.toolCallId, event);
      else void this.#run(event);
    } else if (event.type === "host_tool_cancel") {
      this.#running.get(event.targetId)?.abort();
    } else if (event.type === "tool_execution_end") {
      this.#held?.delete(event.toolCallId);
    }
  }

  /** Nobody waits for results any more. */
  close(): void {
    for (const running of this.#running.values()) running.abort();
    this.#running.clear();
    this.#held = undefined;
  }

  async #run({ id, toolCallId, toolName, arguments: args }: Call): Promise<void> {
    const controller = new AbortController();
    this.#running.set(id, controller);
    const { signal } = controller;
    const update = async (partialResult: AgentToolResult | string) => {
      if (!signal.aborted) await this.#send({ type: "host_tool_update", id, partialResult: resultOf(partialResult) });
    };
    const outcome = await this.#outcome(toolName, args, { toolCallId, signal, update });
    this.#running.delete(id);
    if (signal.aborted) return;
    await this.#send({ type: "host_tool_result", id, ...outcome }).catch((error) => this.#send({ type: "host_tool_result", id, ...failure(error) }));
  }

  async #outcome(name: string, args: unknown, context: HostToolContext): Promise<object> {
    const tool = this.#tools.get(name);
    if (!tool) return failure(new Error(`The host has no function for its tool ${name}.`));
    try {
      return { result: resultOf(await tool.run(args, context)) };
    } catch (error) {
      return failure(error);
    }
  }
}

function resultOf(result: AgentToolResult | string): AgentToolResult {
  return typeof result === "string" ? { content: [{ type: "text", text: result }] } : result;
}

function failure(error: unknown): object {
  return { result: resultOf(error instanceof Error ? error.message : String(error)), isError: true };
}
