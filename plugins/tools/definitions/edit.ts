/** The tool `edit`: several replacements in one file, all matched against what it holds now. */
import { isUtf8 } from "node:buffer";
import { messageOf } from "../../../core/index.ts";
import { checkAbort, parametersOf, type ToolDefinition, text } from "../shared/definition.ts";
import { describeChange, type EditDetails } from "../shared/diff.ts";
import { checkWritable, codeOf, readRegular, writeAtomically } from "../shared/files.ts";
import { withFileMutationQueue } from "../shared/mutation-queue.ts";
import { resolvePath } from "../shared/paths.ts";
import { type Edit, replaceAll, replaceBytes } from "../shared/replace.ts";

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

/** Larger files are for other tools: matching and comparing would take many times their size in memory. */
const MAX_BYTES = 64 * 1024 * 1024;
const BOM = "\uFEFF";

const local: EditOperations = { readFile: (path) => readRegular(path, MAX_BYTES), writeFile: writeAtomically, access: checkWritable };

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
        checkAbort(signal);
        const before = await readForEdit(operations ?? local, absolute, path);
        checkAbort(signal);
        const change = isUtf8(before) ? changeText(before.toString("utf8"), edits, path) : changeBytes(before, edits, path);
        const details = await describeChange(path, change.before, change.after);
        checkAbort(signal);
        if (operations) await operations.writeFile(absolute, change.content.toString());
        else await writeAtomically(absolute, change.content);
        checkAbort(signal);
        return { ...text(`Successfully replaced ${edits.length} block(s) in ${path}.`), details };
      });
    },
  };
}

async function readForEdit(operations: EditOperations, absolute: string, path: string): Promise<Buffer> {
  try {
    await operations.access(absolute);
    return Buffer.from(await operations.readFile(absolute));
  } catch (error) {
    const code = codeOf(error);
    throw new Error(`Could not edit file: ${path}. ${code ? `Error code: ${code}. ` : ""}${messageOf(error)}`);
  }
}

interface Changed {
  /** as shown in diffs: without byte order mark, with plain line feeds */
  before: string;
  after: string;
  content: string | Buffer;
}

function changeText(raw: string, edits: readonly Edit[], path: string): Changed {
  const mark = raw.startsWith(BOM) ? BOM : "";
  const body = raw.slice(mark.length);
  const hasCrLf = /^[^\n]*\r\n/.test(body);
  const before = toLf(body);
  const after = replaceAll(
    before,
    edits.map(({ oldText, newText }) => ({ oldText: toLf(oldText), newText: toLf(newText) })),
    path,
  );
  return { before, after, content: mark + (hasCrLf ? after.replaceAll("\n", "\r\n") : after) };
}

const toLf = (text: string) => text.replaceAll("\r\n", "\n");

function changeBytes(raw: Buffer, edits: readonly Edit[], path: string): Changed {
  const after = replaceBytes(raw, edits, path);
  return { before: raw.toString("utf8"), after: after.toString("utf8"), content: after };
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
