/** Compactions as older clients know them: only the automatic ones are told, under other names. */
import type { AgentEvent } from "../../../core/index.ts";
import type {} from "../../compaction/contract.ts";

/** The renamed event, nothing for a manual compaction, undefined for other events. */
export function autoCompaction(event: AgentEvent): object[] | undefined {
  if (event.type !== "compaction_start" && event.type !== "compaction_end") return undefined;
  return event.reason === "manual" ? [] : [{ ...event, type: `auto_${event.type}` }];
}
