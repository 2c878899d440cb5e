/** The tool `write`: a whole file, new or replaced. */
import { dirname } from "node:path";
import { makeDirectory } from "../../shared/directories.ts";
import { checkAbort, parametersOf, type ToolDefinition, text } from "../shared/definition.ts";
import { writeAtomically } from "../shared/files.ts";
import { withFileMutationQueue } from "../shared/mutation-queue.ts";
import { resolvePath } from "../shared/paths.ts";

export interface WriteParams {
  path: string;
  content: string;
}

export interface WriteOperations {
  writeFile(path: string, content: string): Promise<void>;
  mkdir(directory: string): Promise<void>;
}

export interface WriteToolOptions {
  operations?: WriteOperations;
}

const local: WriteOperations = { writeFile: writeAtomically, mkdir: async (directory) => makeDirectory(directory) };

export function createWriteTool(cwd: string, { operations = local }: WriteToolOptions = {}): ToolDefinition<WriteParams, undefined> {
  return {
    name: "write",
    label: "write",
    description: "Write a file. Creates it, with its parent directories, or replaces what is there.",
    promptSnippet: "Create or overwrite files",
    promptGuidelines: ["Use write for new files or complete rewrites only."],
    parameters: parametersOf({
      path: { type: "string", description: "Path of the file, relative or absolute" },
      content: { type: "string", description: "The whole content" },
    }),
    async execute(_id, { path, content }, signal) {
      const absolute = resolvePath(path, cwd);
      return withFileMutationQueue(absolute, async () => {
        checkAbort(signal);
        await operations.mkdir(dirname(absolute));
        checkAbort(signal);
        await operations.writeFile(absolute, content);
        checkAbort(signal);
        return text(`Successfully wrote to ${path}`);
      });
    },
  };
}
