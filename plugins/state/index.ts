/** What the agent is doing, for whoever asks. */
import { runState, stateCommands } from "./commands.ts";
import { eventSchemas } from "./events.ts";

export default [runState, stateCommands, eventSchemas];
