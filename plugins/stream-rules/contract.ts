/** Stream rules: patterns that interrupt a model while it writes. */

/** A rule as clients see it. */
export interface TriggeredRule {
  name: string;
  description?: string;
  /** the file that holds it */
  path?: string;
}

declare module "../../core/index.ts" {
  interface AgentEvents {
    ttsr_triggered: { rules: TriggeredRule[] };
  }
}
