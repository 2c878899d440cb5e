/** A tool as extensions know it, and how one becomes a plugin. */
import { definePlugin, type Plugin, type PluginKernel, type SourceInfo, type TextContent, type Tool, type ToolResult } from "../../../core/index.ts";
import type {} from "../../settings/contract.ts";

/** Works without a kernel: the working directory and the operations come with its factory. */
export interface ToolDefinition<P = any, D = any> {
  name: string;
  label: string;
  description: string;
  promptSnippet: string;
  promptGuidelines?: string[];
  /** plain JSON Schema: nothing is built at start */
  parameters: Record<string, unknown>;
  prepareArguments?(raw: unknown): P;
  execute(toolCallId: string, params: P, signal?: AbortSignal, onUpdate?: (partial: ToolResult<D>) => void, context?: unknown): Promise<ToolResult<D>>;
}

/** The plugin of a built-in tool. `create` runs anew for each call: the working directory and settings may have changed. */
export function builtinTool(create: (kernel: PluginKernel, cwd: string) => ToolDefinition, shape: ToolDefinition): Plugin {
  const { execute: _, ...description } = shape;
  const sourceInfo: SourceInfo = { path: `<builtin:${shape.name}>`, source: "builtin", scope: "temporary", origin: "top-level" };
  return definePlugin({
    name: `tool:${shape.name}`,
    apply(kernel) {
      const execute: Tool["execute"] = ({ toolCallId, params, signal, onUpdate }) =>
        create(kernel, workingDirectory(kernel)).execute(toolCallId, params, signal, onUpdate);
      kernel.registry("tools").add({ ...description, sourceInfo, execute });
    },
  });
}

export function workingDirectory(kernel: PluginKernel): string {
  return kernel.tryService("settings")?.cwd() ?? kernel.options.cwd ?? process.cwd();
}

export function text(content: string): { content: TextContent[] } {
  return { content: [{ type: "text", text: content }] };
}

/** Ends the work of a tool whose run was aborted. */
export function checkAbort(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new Error("Operation aborted");
}

/** The schema of an object of parameters; all are required but those listed. */
export function parametersOf(properties: Record<string, object>, optional: string[] = []): Record<string, unknown> {
  return { type: "object", properties, required: Object.keys(properties).filter((name) => !optional.includes(name)) };
}
