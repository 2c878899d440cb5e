/** The tool `edit`: several replacements in one file, all matched against what it holds now. */
import { parametersOf, type ToolDefinition } from "../shared/definition.ts";
import type { EditDetails } from "../shared/diff.ts";
import { withFileMutationQueue } from "../shared/mutation-queue.ts";
import { resolvePath } from "../shared/paths.ts";
import type { Edit } from "../shared/replace.ts";

export interface EditParams {
  path: string;
  edits: Edit[];
}

export interface EditOperations {
  readFile(path: string): Promise<Buffer>;
  writeFile(path: string, content: string): Promise<void>;
  access(path: string): Promise<void>;
}

export interface EditToolOptions {
  operations?: EditOperations;
}

export function createEditTool(cwd: string, { operations }: EditToolOptions = {}): ToolDefinition<EditParams, EditDetails> {
  return {
    name: "edit",
    label: "edit",
    description:
      "Change a file by replacing exact texts. Each oldText must occur once in the file and is matched against the original, not after earlier edits; " +
      "edits must not overlap. Change several places of one file in one call.",
    promptSnippet: "Change files by exact replacements, several places of one file in one call",
    promptGuidelines: [
      "Give edit the exact text to replace, as short as is unique.",
      "Change several places of one file in one edit call; each oldText is matched against the original file.",
    ],
    parameters: parametersOf({
      path: { type: "string", description: "Path of the file, relative or absolute" },
      edits: {
        type: "array",
        description: "Replacements, all matched against the original file",
        items: parametersOf({
          oldText: { type: "string", description: "Exact text to replace; must be unique in the file" },
          newText: { type: "string", description: "Text to put there" },
        }),
      },
    }),
    prepareArguments: repairArguments,
    async execute(_id, { path, edits }, signal) {
      if (!edits || edits.length === 0) throw new Error("edits must contain at least one replacement.");
      const absolute = resolvePath(path, cwd);
      return withFileMutationQueue(absolute, async () => {
        const { edit } = await import("../actions/edit.ts");
        return edit(absolute, path, edits, operations, signal);
      });
    },
  };
}

/** Models send `edits` as JSON text, as one object, or in the older form with `oldText` and `newText` beside `path`. */
export function repairArguments(raw: unknown): EditParams {
  if (typeof raw !== "object" || raw === null) return raw as EditParams;
  const { oldText, newText, ...rest } = raw as Record<string, unknown>;
  const repaired: Record<string, unknown> = { ...(raw as object) };
  const edits = toList(parsed(rest.edits));
  if (edits !== undefined) repaired.edits = edits;
  if (typeof oldText === "string" && typeof newText === "string") {
    delete repaired.oldText;
    delete repaired.newText;
    repaired.edits = [...(Array.isArray(edits) ? edits : []), { oldText, newText }];
  }
  return repaired as unknown as EditParams;
}

function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function toList(value: unknown): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? [value] : value;
}
