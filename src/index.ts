/** What `import … from "pi-kernel"` gives: the SDK. */
export * from "../core/index.ts";
export { type Agent, type AgentOptions, createAgent } from "./agent.ts";
