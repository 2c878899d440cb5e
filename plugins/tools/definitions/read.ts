/** The tool `read`: lines of a text file, or an image. */
import type { TruncationResult } from "../../shared/truncate.ts";
import { parametersOf, type ToolDefinition } from "../shared/definition.ts";
import type { ImageLimits } from "../shared/image-limits.ts";

export interface ReadParams {
  path: string;
  /** 1-based */
  offset?: number;
  limit?: number;
}

export interface ReadDetails {
  truncation?: TruncationResult;
}

export interface ReadOperations {
  readFile(path: string): Promise<Buffer>;
  access(path: string): Promise<void>;
  detectImageMimeType?(path: string): Promise<string | null | undefined>;
}

export interface ReadToolOptions {
  operations?: ReadOperations;
  autoResizeImages?: boolean;
  resizeOptions?: Partial<ImageLimits>;
  /** false: the model in use cannot see images */
  modelSeesImages?: boolean;
}

export function createReadTool(cwd: string, options: ReadToolOptions = {}): ToolDefinition<ReadParams, ReadDetails> {
  return {
    name: "read",
    label: "read",
    description:
      "Read a file. Text comes as it is, cut to 2000 lines or 50KB, whichever is reached first; go on with offset and limit. " +
      "Images (jpg, png, gif, webp, bmp) are shown to you.",
    promptSnippet: "Read the contents of files, also images",
    promptGuidelines: ["Look at files with read instead of cat or sed."],
    parameters: parametersOf(
      {
        path: { type: "string", description: "Path of the file, relative or absolute" },
        offset: { type: "number", description: "Line to start from (1-based)" },
        limit: { type: "number", description: "Maximum number of lines" },
      },
      ["offset", "limit"],
    ),
    async execute(_id, params, signal) {
      const { read } = await import("../actions/read.ts");
      return read(cwd, params, options, signal);
    },
  };
}
