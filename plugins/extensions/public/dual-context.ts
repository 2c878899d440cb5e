/**
 * What a stream function is given, in the form of both generations of the API: the prompt and tools as fields, and also
 * findable from the message array, where newer extensions look for them.
 */
import type { AgentMessage, LlmMessage, ToolSpec } from "../../../core/index.ts";
import { convertToLlm } from "../../shared/conversation.ts";

const hidden = Symbol("system");

interface System {
  role: "system";
  content: string;
  toolsAdded?: readonly ToolSpec[];
  timestamp: number;
}

type MaybeSystem = { role: string; content?: unknown; toolsAdded?: readonly ToolSpec[]; toolsRemoved?: readonly string[] };

interface AnyContext {
  systemPrompt?: string;
  tools?: readonly ToolSpec[];
  messages: readonly MaybeSystem[];
}

export interface DualContext {
  systemPrompt: string;
  tools: ToolSpec[];
  messages: LlmMessage[];
}

export function dualContext({
  systemPrompt,
  tools,
  messages,
}: {
  systemPrompt: string;
  tools: readonly ToolSpec[];
  messages: readonly LlmMessage[];
}): DualContext {
  const list = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  return { systemPrompt, tools: list, messages: withSystem([...messages], { role: "system", content: systemPrompt, toolsAdded: list, timestamp: Date.now() }) };
}

function withSystem<T extends object>(messages: T, system: System): T {
  return Object.defineProperty(messages, hidden, { value: system, enumerable: false });
}

/** The system message that counts: the hidden one, or the last in the list. */
export function getCurrentSystemMessage(messages: readonly MaybeSystem[]): MaybeSystem | undefined {
  return (messages as { [hidden]?: System })[hidden] ?? messages.findLast(({ role }) => role === "system");
}

export function getCurrentSystemPrompt(messages: readonly MaybeSystem[]): string | undefined {
  const content = getCurrentSystemMessage(messages)?.content;
  if (content === undefined || typeof content === "string") return content;
  return (content as { text?: string }[]).map(({ text }) => text ?? "").join("\n");
}

/** Tools as added and removed on the way. */
export function getCurrentTools(messages: readonly MaybeSystem[]): ToolSpec[] {
  const known = (messages as { [hidden]?: System })[hidden];
  if (known) return [...(known.toolsAdded ?? [])];
  const tools = new Map<string, ToolSpec>();
  for (const message of messages) {
    if (message.role !== "system") continue;
    for (const tool of message.toolsAdded ?? []) tools.set(tool.name, tool);
    for (const name of message.toolsRemoved ?? []) tools.delete(name);
  }
  return [...tools.values()];
}

/** The context without system messages in its list; they stay findable. */
export function collapseSystemMessages<T extends AnyContext>(context: T): T {
  const { systemPrompt, tools } = readContext(context);
  const messages = context.messages.filter(({ role }) => role !== "system");
  return {
    ...context,
    systemPrompt,
    tools,
    messages: withSystem(messages, { role: "system", content: systemPrompt, toolsAdded: tools, timestamp: Date.now() }),
  };
}

/** Any form of a context, read: what the kernel's own streams need. */
export function readContext(context: AnyContext): DualContext {
  const messages = context.messages ?? [];
  const systemPrompt = context.systemPrompt ?? getCurrentSystemPrompt(messages) ?? "";
  const tools = context.tools ?? getCurrentTools(messages);
  return { systemPrompt, tools: [...tools], messages: convertToLlm(messages.filter(({ role }) => role !== "system") as AgentMessage[]) };
}
