/** What a session within the session is made of: its tools, its system prompt, its owner and its numbers. */
import type { AgentMessage, AssistantMessage, Tool } from "../../../core/index.ts";
import type { SystemPromptOptions } from "../../system-prompt/contract.ts";
import * as builtin from "../../tools/factories.ts";
import { Instance } from "../instance.ts";
import type { Runtime } from "../runtime.ts";
import type { ToolDefinition } from "../types.ts";

export interface ToolChoice {
  /** names; older extensions give the tools themselves */
  tools?: (string | ToolDefinition)[];
  noTools?: "all" | "builtin";
  excludeTools?: string[];
  customTools?: ToolDefinition[];
}

/** What a resource loader tells of the prompt; extensions write loaders of their own as well. */
export interface PromptParts {
  getSystemPrompt?(): string | undefined;
  getAppendSystemPrompt?(): string[] | string | undefined;
  getAgentsFiles?(): { agentsFiles: SystemPromptOptions["contextFiles"] };
  getSkills?(): { skills: SystemPromptOptions["skills"] };
}

const DEFAULT_ACTIVE = ["read", "bash", "edit", "write"];

const isTool = (tool: string | ToolDefinition): tool is ToolDefinition => typeof tool !== "string";

/** All that could be used: ours in its directory, and those it was given, which win. */
export function toolsOf({ tools = [], customTools = [] }: ToolChoice, cwd: string): ToolDefinition[] {
  const ours = [...builtin.createCodingTools(cwd), ...builtin.createReadOnlyTools(cwd)] as ToolDefinition[];
  const byName = new Map([...ours, ...tools.filter(isTool), ...customTools].map((definition) => [definition.name, definition]));
  return [...byName.values()];
}

/** The names of those that it begins with. */
export function chosenTools({ tools, noTools, excludeTools = [], customTools = [] }: ToolChoice): string[] {
  const custom = customTools.map(({ name }) => name);
  const builtins = noTools === "builtin" ? [] : DEFAULT_ACTIVE;
  const named = tools?.map((tool) => (isTool(tool) ? tool.name : tool));
  // A list of names is all there is; a list of tools stands beside those of one's own.
  const chosen = named ? [...named, ...(tools?.some(isTool) ? custom : [])] : noTools === "all" ? [] : [...builtins, ...custom];
  return [...new Set(chosen)].filter((name) => !excludeTools.includes(name));
}

/** The prompt of the session around it, for these tools, with what the loader says instead. */
export function promptOf({ kernel }: Runtime, { loader, cwd, tools }: { loader: PromptParts | undefined; cwd: string; tools: readonly Tool[] }): string {
  const service = kernel.tryService("systemPrompt");
  const customPrompt = loader?.getSystemPrompt?.();
  const appendSystemPrompt = [loader?.getAppendSystemPrompt?.() ?? []].flat().join("\n\n");
  if (!service) return [customPrompt, appendSystemPrompt].filter(Boolean).join("\n\n");
  const options = { ...service.options(), cwd, selectedTools: tools.map(({ name }) => name) };
  for (const { name, promptSnippet, promptGuidelines } of tools) {
    if (promptSnippet !== undefined) options.toolSnippets[name] = promptSnippet;
    if (promptGuidelines) options.toolGuidelines[name] = [...promptGuidelines];
  }
  if (!loader) return service.render(options);
  const { agentsFiles: contextFiles = options.contextFiles } = loader.getAgentsFiles?.() ?? {};
  const { skills = options.skills } = loader.getSkills?.() ?? {};
  const { customPrompt: _, ...rest } = options;
  return service.render({ ...rest, ...(customPrompt !== undefined && { customPrompt }), appendSystemPrompt, contextFiles, skills });
}

/** The extension that makes the session; nobody known, where several agents share a process. */
export function ownerOf({ kernel }: Runtime): Instance {
  const owner = kernel.tryService("process")?.currentOwner();
  if (owner instanceof Instance) return owner;
  const sourceInfo = { path: "<sdk:session>", source: "sdk", scope: "temporary", origin: "top-level" } as const;
  const nobody = new Instance({ path: sourceInfo.path, sourceInfo, module: { exported: undefined, files: new Map() }, generation: 0, staged: false });
  nobody.state = "active";
  return nobody;
}

export function statsOf(messages: readonly AgentMessage[]) {
  const count = (role: string) => messages.filter((message) => message.role === role).length;
  const usages = messages.flatMap((message) => (message.role === "assistant" ? [message.usage] : []));
  const sum = (read: (usage: AssistantMessage["usage"]) => number) => usages.reduce((total, usage) => total + read(usage), 0);
  const tokens = {
    input: sum(({ input }) => input),
    output: sum(({ output }) => output),
    cacheRead: sum(({ cacheRead }) => cacheRead),
    cacheWrite: sum(({ cacheWrite }) => cacheWrite),
  };
  return {
    userMessages: count("user"),
    assistantMessages: count("assistant"),
    toolResults: count("toolResult"),
    totalMessages: messages.length,
    tokens: { ...tokens, total: Object.values(tokens).reduce((total, part) => total + part, 0) },
    cost: sum(({ cost }) => cost.total),
  };
}
