/** Dialect `legacy`: pi of December 2025. Four commands without responses, a closed set of events, failures as `error` records. */
import { type AgentEvent, type AgentMessage, definePlugin, textOf } from "../../core/index.ts";
import type {} from "../compaction/contract.ts";
import type { Dialect, Reply, RpcCall } from "../rpc/contract.ts";
import type { BashOutcome } from "../user-bash/contract.ts";
import { pi } from "./pi.ts";

/** These had no response in their time; with an `id` they get one all the same. */
const silent = new Set(["prompt", "abort_and_prompt", "abort", "compact", "bash"]);

/** Everything else is not sent. */
const known = new Set([
  "agent_start",
  "agent_end",
  "turn_start",
  "turn_end",
  "message_start",
  "message_end",
  "tool_execution_start",
  "tool_execution_end",
  "extension_ui_request",
  "extension_error",
  "host_tool_call",
  "host_tool_cancel",
]);

/** Commands that came long after. */
const additions = ["list_sessions", "reload", "get_tools", "set_active_tools", "get_extensions", "get_protocol", "navigate_tree", "set_label", "resume_events"];

export const legacy: Dialect = {
  ...pi,
  name: "legacy",
  defaults: { "compaction.reserveTokens": 20000 },
  hides: new Set(additions),

  reply(reply, call) {
    const records = reply.success ? endOfBash(reply, call) : errorOf(reply, call);
    return wantsResponse(reply, call) ? [...records, ...pi.reply(reply, call)] : records;
  },

  event(event) {
    if (event.type === "compaction_end") return compaction(event);
    if (event.type === "tool_execution_end" && event.isError) return [{ ...event, result: textOf(event.result.content, "\n") }];
    return known.has(event.type) ? [withStringContents(event)] : [];
  },
};

function wantsResponse(reply: Reply, call: RpcCall | undefined): boolean {
  if (!reply.success && reply.kind === "parse") return false;
  if (call?.id !== undefined) return true;
  return call !== undefined && !silent.has(call.command) && (reply.success || reply.kind !== "unknown");
}

/** The record of a failure, where a response alone would not be noticed. */
function errorOf(reply: Reply & { success: false }, call: RpcCall | undefined): object[] {
  const isTold = reply.kind === "parse" || reply.kind === "unknown" || reply.kind === "exception" || silent.has(call?.command ?? "");
  return isTold ? [{ type: "error", error: reply.error }] : [];
}

function endOfBash(reply: Reply & { success: true }, call: RpcCall | undefined): object[] {
  if (call?.command !== "bash") return [];
  const { output, exitCode, cancelled, truncated, fullOutputPath } = reply.data as BashOutcome;
  const message = {
    role: "bashExecution",
    command: call.params.command,
    output,
    exitCode,
    cancelled,
    truncated,
    ...(truncated && fullOutputPath !== undefined && { fullOutputPath }),
    ...(call.params.excludeFromContext === true && { excludeFromContext: true }),
    timestamp: Date.now(),
  };
  return [{ type: "bash_end", message }];
}

/** A failure of the command itself is told by its reply; that of an automatic compaction by nobody else. */
function compaction({ reason, result, errorMessage }: AgentEvent & { type: "compaction_end" }): object[] {
  const isAutomatic = reason !== "manual";
  if (!result) return isAutomatic && errorMessage !== undefined ? [{ type: "error", error: errorMessage }] : [];
  return [{ type: "compaction", summary: result.summary, tokensBefore: result.tokensBefore, ...(isAutomatic && { auto: true }) }];
}

function withStringContents(event: AgentEvent): object {
  if (event.type === "message_start" || event.type === "message_end") return { ...event, message: withStringContent(event.message) };
  if (event.type === "agent_end") return { ...event, messages: event.messages.map(withStringContent) };
  return event;
}

function withStringContent(message: AgentMessage): AgentMessage {
  if (message.role !== "user" || typeof message.content === "string" || message.content.some(({ type }) => type !== "text")) return message;
  return { ...message, content: textOf(message.content, "\n") };
}

export const legacyDialect = definePlugin({ name: "dialect:legacy", apply: (kernel) => void kernel.registry("dialects").add(legacy) });
