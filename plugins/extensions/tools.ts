/** Tools of extensions, made safe for the kernel: whatever `execute` answers becomes a result or a clear error. */
import { messageOf, type Tool, type ToolResult, type UserContent } from "../../core/index.ts";
import { wholeUsage } from "../shared/usage.ts";
import { checkedBlock } from "./content.ts";
import type { Instance } from "./instance.ts";
import { assertJson } from "./json.ts";
import type { Runtime } from "./runtime.ts";
import type { ToolDefinition } from "./types.ts";

/** More text than this is of no use to a model and harms everything on its way. */
const MAX_TEXT = 1024 * 1024;

export function assertTool(definition: ToolDefinition): void {
  const { name, parameters, execute } = definition ?? {};
  if (typeof name !== "string" || name === "") throw new TypeError("A tool needs a name.");
  if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters)) {
    throw new TypeError(`The tool "${name}" needs parameters: a JSON Schema object.`);
  }
  if (typeof execute !== "function") throw new TypeError(`The tool "${name}" needs an execute function.`);
}

export function adaptTool(runtime: Runtime, instance: Instance, definition: ToolDefinition): Tool {
  const { name, label, description, parameters, promptSnippet, promptGuidelines, executionMode, prepareArguments } = definition;
  return {
    name,
    label: String(label ?? name),
    description: String(description ?? ""),
    parameters,
    ...(promptSnippet !== undefined && promptSnippet !== null && { promptSnippet: String(promptSnippet) }),
    ...(Array.isArray(promptGuidelines) && { promptGuidelines: promptGuidelines.map(String) }),
    ...(executionMode && { executionMode }),
    ...(prepareArguments && { prepareArguments: (raw: unknown) => runtime.runAs(instance, () => definition.prepareArguments?.(raw)) }),
    sourceInfo: instance.sourceInfo,
    async execute({ toolCallId, params, signal, onUpdate }) {
      instance.assertUsable();
      const leave = instance.enter();
      const update = (partial: unknown) => {
        try {
          runtime.leave(() => onUpdate(checkedResult(name, partial)));
        } catch (error) {
          runtime.report(instance, "tool_execution_update", error);
        }
      };
      try {
        const work = () => definition.execute(toolCallId, params as never, signal, update as never, runtime.contextOf(instance));
        return checkedResult(name, await runtime.runAs(instance, work));
      } catch (error) {
        const message = messageOf(error);
        throw message.length > MAX_TEXT ? new Error(cutText(message, MAX_TEXT)) : error;
      } finally {
        leave();
      }
    },
  };
}

/** The result as the kernel can use it. Throws a sentence otherwise. */
function checkedResult(name: string, result: unknown): ToolResult {
  if (typeof result !== "object" || result === null) {
    const got = result === undefined ? "nothing" : result === null ? "null" : `a ${typeof result}`;
    throw new TypeError(`Tool ${name} returned ${got} instead of a result object with a content array.`);
  }
  const { content = [], details, usage, terminate } = result as Partial<ToolResult>;
  if (!Array.isArray(content)) throw new TypeError(`Tool ${name} returned a content that is not an array.`);
  assertJson(details, `details of the result of tool ${name}`);
  assertJson(usage, `usage of the result of tool ${name}`);
  return {
    content: cut(content.map((block) => checkedBlock(block, `Tool ${name} returned`))),
    ...(details !== undefined && { details }),
    ...(typeof usage === "object" && usage !== null && { usage: wholeUsage(usage) }),
    ...(terminate !== undefined && { terminate }),
  };
}

/** Bounds the text of a result, and says what was left out. */
function cut(content: UserContent[]): UserContent[] {
  let room = MAX_TEXT;
  return content.map((block) => {
    if (block.type !== "text") return block;
    const { text } = block;
    const kept = Math.max(room, 0);
    room -= text.length;
    if (text.length <= kept) return block;
    return { ...block, text: cutText(text, kept) };
  });
}

function cutText(text: string, kept: number): string {
  return `${text.slice(0, kept)}\n\n[Output cut: the first ${kept} of ${text.length} characters are shown.]`;
}
