/** The events that extensions can listen to. */
import type { ExtensionEvents } from "../extensions/contract.ts";
import { nearest } from "../shared/nearest.ts";
import type { Problem } from "./report.ts";

/** A record, so that the compiler complains if one is missing. */
const known: Record<keyof ExtensionEvents, true> = {
  project_trust: true,
  session_start: true,
  session_switch: true,
  session_fork: true,
  resources_discover: true,
  session_info_changed: true,
  session_before_switch: true,
  session_before_branch: true,
  session_before_fork: true,
  session_shutdown: true,
  session_before_compact: true,
  session_compact: true,
  session_compact_failed: true,
  session_before_tree: true,
  session_tree: true,
  input: true,
  before_agent_start: true,
  agent_start: true,
  agent_end: true,
  agent_before_settle: true,
  agent_settled: true,
  turn_start: true,
  turn_end: true,
  message_start: true,
  message_update: true,
  message_end: true,
  context: true,
  context_with_system: true,
  before_provider_headers: true,
  before_provider_request: true,
  after_provider_response: true,
  tool_execution_start: true,
  tool_call: true,
  tool_execution_update: true,
  tool_result: true,
  tool_execution_end: true,
  user_bash: true,
  model_select: true,
  thinking_level_select: true,
  ui_prompt_start: true,
  ui_prompt_end: true,
};

/** Handlers that nobody will ever call. */
export function unknownEvents(events: readonly string[]): Problem[] {
  const names = Object.keys(known);
  return events
    .filter((event) => !Object.hasOwn(known, event))
    .map((event) => {
      const meant = nearest(event, names);
      return {
        level: "error",
        kind: "event",
        message: `There is no event "${event}", so its handler is never called${meant ? `; did you mean "${meant}"?` : "."}`,
      };
    });
}
