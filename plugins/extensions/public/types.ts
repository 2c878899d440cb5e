/**
 * What `import … from "@mariozechner/pi-coding-agent"` means to a type checker: the types of the API and the values that most
 * extensions use. Point `paths` of a tsconfig.json here; at run time the program serves the module itself.
 */
import type { TSchema } from "typebox";
import type { AgentMessage } from "../../../core/index.ts";
import type {
  createBashTool as bash,
  createEditTool as edit,
  createFindTool as find,
  createGrepTool as grep,
  truncateHead as head,
  truncateLine as line,
  createLsTool as ls,
  withFileMutationQueue as queue,
  createReadTool as read,
  formatSize as size,
  truncateTail as tail,
  createWriteTool as write,
} from "../../tools/factories.ts";
import type { ToolCallEvent, ToolDefinition } from "../types.ts";
import type { DynamicBorder as Component, CustomEditor as Editor } from "./components.ts";

export type * from "../types.ts";

export declare const VERSION: string;
export declare const CONFIG_DIR_NAME: string;
export declare const DEFAULT_MAX_BYTES: number;
export declare const DEFAULT_MAX_LINES: number;
export declare function getAgentDir(): string;
export declare function defineTool<P extends TSchema, D = unknown>(definition: ToolDefinition<P, D>): ToolDefinition<P, D>;
export declare function isToolCallEventType(name: string, event: ToolCallEvent): boolean;
export declare function parseFrontmatter<T = Record<string, unknown>>(text: string): { frontmatter: T; body: string };
export declare function stripFrontmatter(text: string): string;
export declare function convertToLlm(messages: AgentMessage[]): AgentMessage[];
export declare function serializeConversation(messages: AgentMessage[]): string;
export declare const createReadTool: typeof read;
export declare const createBashTool: typeof bash;
export declare const createEditTool: typeof edit;
export declare const createWriteTool: typeof write;
export declare const createGrepTool: typeof grep;
export declare const createFindTool: typeof find;
export declare const createLsTool: typeof ls;
export declare const formatSize: typeof size;
export declare const truncateHead: typeof head;
export declare const truncateTail: typeof tail;
export declare const truncateLine: typeof line;
export declare const withFileMutationQueue: typeof queue;

export type {
  BashDetails as BashToolDetails,
  EditDetails as EditToolDetails,
  EditOperations,
  FindDetails as FindToolDetails,
  GrepDetails as GrepToolDetails,
  LsDetails as LsToolDetails,
  ReadDetails as ReadToolDetails,
  ReadOperations,
  TruncationResult,
  WriteOperations,
} from "../../tools/factories.ts";

/** Made by the terminal program; nothing is known of it here. */
export type KeybindingsManager = any;
export declare const CustomEditor: new (tui?: any, theme?: any, keybindings?: any, ...more: any[]) => Editor & { [member: string]: any };
export declare const DynamicBorder: new (paint?: (text: string) => string) => Component;
export declare const BorderedLoader: new (
  tui: any,
  theme: any,
  message: string,
  options?: unknown,
) => Component & { signal: AbortSignal; onAbort?: () => void };
export declare const getMarkdownTheme: () => any;
export declare const getSettingsListTheme: () => any;
export declare const getSelectListTheme: () => any;
export declare const keyHint: (action: string, description: string) => string;
