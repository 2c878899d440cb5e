/** What extensions import from pi-agent-core at run time: nearly nothing; its types are in ours. */
import { unavailable } from "./unavailable.ts";

export { uuidv7 } from "../../shared/ids.ts";

export const Agent = unavailable("Agent");
export const agentLoop = (): never => {
  throw new Error("agentLoop is not available here: start a session of your own with `pi --mode json` instead.");
};
