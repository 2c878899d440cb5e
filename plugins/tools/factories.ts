/** What extensions get of the built-in tools: factories, and the helpers that keep their own tools in step with ours. */
import { createBashTool } from "./definitions/bash.ts";
import { createEditTool } from "./definitions/edit.ts";
import { createFindTool } from "./definitions/find.ts";
import { createGrepTool } from "./definitions/grep.ts";
import { createLsTool } from "./definitions/ls.ts";
import { createReadTool } from "./definitions/read.ts";
import { createWriteTool } from "./definitions/write.ts";

export { createLocalBashOperations, getShellConfig, type ShellOperations as BashOperations } from "../shared/shell.ts";
export {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  formatSize,
  type TruncationOptions,
  type TruncationResult,
  truncateHead,
  truncateLine,
  truncateTail,
} from "../shared/truncate.ts";
export { type BashDetails, type BashToolOptions, createBashTool } from "./definitions/bash.ts";
export { createEditTool, type EditOperations, type EditToolOptions } from "./definitions/edit.ts";
export { createFindTool, type FindDetails, type FindOperations, type FindToolOptions } from "./definitions/find.ts";
export { createGrepTool, type GrepDetails, type GrepOperations, type GrepToolOptions } from "./definitions/grep.ts";
export { createLsTool, type LsDetails, type LsOperations, type LsToolOptions } from "./definitions/ls.ts";
export { createReadTool, type ReadDetails, type ReadOperations, type ReadToolOptions } from "./definitions/read.ts";
export { createWriteTool, type WriteOperations, type WriteToolOptions } from "./definitions/write.ts";
export type { ToolDefinition } from "./shared/definition.ts";
export { describeChange, type EditDetails } from "./shared/diff.ts";
export type { ImageLimits } from "./shared/image-limits.ts";
export { toContent } from "./shared/images.ts";
export { withFileMutationQueue } from "./shared/mutation-queue.ts";

export const createCodingTools = (cwd: string) => [createReadTool(cwd), createBashTool(cwd), createEditTool(cwd), createWriteTool(cwd)];
export const createReadOnlyTools = (cwd: string) => [createReadTool(cwd), createGrepTool(cwd), createFindTool(cwd), createLsTool(cwd)];
