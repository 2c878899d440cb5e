/** What `edit` does to a file. */
import { isUtf8 } from "node:buffer";
import { messageOf, type ToolResult } from "../../../core/index.ts";
import type { EditOperations } from "../definitions/edit.ts";
import { checkAbort, text } from "../shared/definition.ts";
import { describeChange, type EditDetails } from "../shared/diff.ts";
import { checkWritable, codeOf, readRegular, writeAtomically } from "../shared/files.ts";
import { type Edit, replaceAll, replaceBytes } from "../shared/replace.ts";

/** Larger files are for other tools: matching and comparing would take many times their size in memory. */
const MAX_BYTES = 64 * 1024 * 1024;
const BOM = "\uFEFF";

const local: EditOperations = { readFile: (path) => readRegular(path, MAX_BYTES), writeFile: writeAtomically, access: checkWritable };

export async function edit(
  absolute: string,
  path: string,
  edits: readonly Edit[],
  operations: EditOperations | undefined,
  signal?: AbortSignal,
): Promise<ToolResult<EditDetails>> {
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
