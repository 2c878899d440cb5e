/** `SessionManager` for extensions: session files other than the open one, in the places of this agent. */
import { defineSessionManager } from "../../session/manager.ts";

export function createSessionManagerClass(agentDir: () => string): object {
  return defineSessionManager({ agentDir, cwd: () => process.cwd() });
}
