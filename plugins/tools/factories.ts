/** What extensions get of the built-in tools: factories, and the helpers that keep their own tools in step with ours. */
import { createBashTool } from "./bash.ts";
import { createEditTool } from "./edit.ts";
import { createFindTool } from "./find.ts";
import { createGrepTool } from "./grep.ts";
import { createLsTool } from "./ls.ts";
import { createReadTool } from "./read.ts";
import { createWriteTool } from "./write.ts";

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
export { type BashDetails, type BashToolOptions, createBashTool } from "./bash.ts";
export { createEditTool, type EditOperations, type EditToolOptions } from "./edit.ts";
export { createFindTool, type FindDetails, type FindOperations, type FindToolOptions } from "./find.ts";
export { createGrepTool, type GrepDetails, type GrepOperations, type GrepToolOptions } from "./grep.ts";
export { createLsTool, type LsDetails, type LsOperations, type LsToolOptions } from "./ls.ts";
export { createReadTool, type ReadDetails, type ReadOperations, type ReadToolOptions } from "./read.ts";
export type { ToolDefinition } from "./shared/definition.ts";
export { describeChange, type EditDetails } from "./shared/diff.ts";
export { type ImageLimits, toContent } from "./shared/images.ts";
export { withFileMutationQueue } from "./shared/mutation-queue.ts";
export { createWriteTool, type WriteOperations, type WriteToolOptions } from "./write.ts";

export const createCodingTools = (cwd: string) => [createReadTool(cwd), createBashTool(cwd), createEditTool(cwd), createWriteTool(cwd)];
export const createReadOnlyTools = (cwd: string) => [createReadTool(cwd), createGrepTool(cwd), createFindTool(cwd), createLsTool(cwd)];
