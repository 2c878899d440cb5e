/** Which files a conversation read and changed, so that a summary does not lose them. */
import type { AgentMessage } from "../../core/index.ts";
import type { CompactionDetails, SessionEntry } from "../session/contract.ts";
import type { CompactionPreparation } from "./contract.ts";

export type FileOps = CompactionPreparation["fileOps"];

/** Begins with the lists of an earlier summary of ours. Those of an extension have a shape of their own. */
export function newFileOps(...earlier: (SessionEntry | undefined)[]): FileOps {
  const ops: FileOps = { read: new Set(), written: new Set(), edited: new Set() };
  for (const entry of earlier) {
    if ((entry?.type !== "compaction" && entry?.type !== "branch_summary") || entry.fromHook) continue;
    const { readFiles, modifiedFiles } = (entry.details ?? {}) as Partial<CompactionDetails>;
    for (const path of paths(readFiles)) ops.read.add(path);
    for (const path of paths(modifiedFiles)) ops.edited.add(path);
  }
  return ops;
}

function paths(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((path) => typeof path === "string") : [];
}

const kinds: Readonly<Record<string, keyof FileOps>> = { read: "read", write: "written", edit: "edited" };

/** Adds the paths that tool calls name. */
export function filesOf(messages: readonly AgentMessage[], ops: FileOps): void {
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const block of message.content) {
      if (block.type !== "toolCall") continue;
      const kind = kinds[block.name];
      const path = block.arguments?.path;
      if (kind && typeof path === "string") ops[kind].add(path);
    }
  }
}

/** A file that was changed is not listed as read. */
export function detailsOf({ read, written, edited }: FileOps): CompactionDetails {
  const modified = new Set([...written, ...edited]);
  return { readFiles: [...read].filter((path) => !modified.has(path)).sort(), modifiedFiles: [...modified].sort() };
}

/** The lists as they stand at the end of a summary. */
export function fileBlocks({ readFiles, modifiedFiles }: CompactionDetails): string {
  return block("read-files", readFiles) + block("modified-files", modifiedFiles);
}

function block(name: string, files: readonly string[]): string {
  return files.length === 0 ? "" : `\n\n<${name}>\n${files.join("\n")}\n</${name}>`;
}
