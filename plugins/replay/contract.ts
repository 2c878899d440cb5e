/** What a recording consists of: one line of JSON each. */
import type { AssistantContent, AssistantMessage, LlmMessage, Model, ThinkingLevel, ToolSpec } from "../../core/index.ts";

/** The first line. The places are needed to recognise paths in another place. */
export interface Header {
  recording: 1;
  program: string;
  cwd: string;
  home: string;
}

/** What a model was asked. What is the same as in the request before is not repeated. */
export interface RequestLine {
  request: number;
  model: Model;
  thinkingLevel: ThinkingLevel;
  systemPrompt?: string;
  tools?: ToolSpec[];
  /** so many messages of the request before come first */
  keeps?: number;
  messages: LlmMessage[];
}

/** One event of the answer, without its snapshot. */
export interface EventLine {
  /** the request it answers */
  of: number;
  /** milliseconds after the request */
  at: number;
  type: string;
  contentIndex?: number;
  delta?: string;
  id?: string;
  toolName?: string;
  /** of an ending block */
  block?: AssistantContent;
  reason?: string;
  /** of `start`, `done` and `error` */
  message?: Partial<AssistantMessage>;
}

/** A request with all its parts. */
export interface RecordedRequest {
  model: Model;
  thinkingLevel: ThinkingLevel;
  systemPrompt: string;
  tools: readonly ToolSpec[];
  messages: readonly LlmMessage[];
}

declare module "../../core/index.ts" {
  interface Options {
    record?: string;
    replay?: string;
    "replay-timing"?: boolean;
  }
}
