/** Messages and their content, as the protocol and the session file spell them. */

export interface TextContent {
  type: "text";
  text: string;
  textSignature?: string;
}

export interface ThinkingContent {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string;
  redacted?: boolean;
}

export interface ImageContent {
  type: "image";
  /** base64 without a `data:` prefix */
  data: string;
  mimeType: string;
}

export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  thoughtSignature?: string;
  namespace?: string;
}

export type UserContent = TextContent | ImageContent;
export type AssistantContent = TextContent | ThinkingContent | ToolCall;

export interface Cost {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
}

export interface Usage {
  /** without cached tokens */
  input: number;
  /** with reasoning */
  output: number;
  cacheRead: number;
  cacheWrite: number;
  cacheWrite1h?: number;
  reasoning?: number;
  totalTokens: number;
  cost: Cost;
}

export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted";

/** A file sent with a prompt in the oldest protocol; kept as sent. */
export interface Attachment {
  id: string;
  type: "image" | "document";
  fileName: string;
  mimeType: string;
  size: number;
  content: string;
  extractedText?: string | null;
  preview?: string | null;
}

export interface UserMessage {
  role: "user";
  content: string | UserContent[];
  timestamp: number;
  attachments?: Attachment[];
}

export interface AssistantMessage {
  role: "assistant";
  content: AssistantContent[];
  api: string;
  provider: string;
  model: string;
  usage: Usage;
  stopReason: StopReason;
  errorMessage?: string;
  responseModel?: string;
  responseId?: string;
  rawStopReason?: string;
  timestamp: number;
}

export interface ToolResultMessage {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: UserContent[];
  details?: unknown;
  usage?: Usage;
  isError: boolean;
  timestamp: number;
}

/** A message that a plugin put into the conversation; the model sees it as the user's. */
export interface CustomMessage {
  role: "custom";
  customType: string;
  content: string | UserContent[];
  display: boolean;
  details?: unknown;
  timestamp: number;
}

/** Roles that features add, merged by their contracts: `interface CustomMessages { bashExecution: … }`. */
export interface CustomMessages {
  custom: CustomMessage;
}

/** What models understand. */
export type LlmMessage = UserMessage | AssistantMessage | ToolResultMessage;

/** What a conversation holds. */
export type AgentMessage = LlmMessage | CustomMessages[keyof CustomMessages];

/** One increment of an assistant message. `partial` is a snapshot taken directly after the increment; it never changes later. */
export type AssistantMessageEvent =
  | { type: "start"; partial: AssistantMessage }
  | { type: "text_start" | "thinking_start"; contentIndex: number; partial: AssistantMessage }
  | { type: "toolcall_start"; contentIndex: number; id: string; toolName: string; partial: AssistantMessage }
  | { type: "text_delta" | "thinking_delta" | "toolcall_delta"; contentIndex: number; delta: string; partial: AssistantMessage }
  | { type: "text_end" | "thinking_end"; contentIndex: number; content: string; partial: AssistantMessage }
  | { type: "toolcall_end"; contentIndex: number; toolCall: ToolCall; partial: AssistantMessage }
  | { type: "done"; reason: "stop" | "length" | "toolUse"; message: AssistantMessage }
  | { type: "error"; reason: "aborted" | "error"; error: AssistantMessage };

/** An increment that changes a block, hence one that goes to clients as `message_update`. */
export type BlockEvent = Exclude<AssistantMessageEvent, { type: "start" | "done" | "error" }>;

export function zeroUsage(): Usage {
  return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
}

/** The text of a message's text blocks, joined by `separator`. */
export function textOf(content: string | readonly { type: string }[], separator = ""): string {
  if (typeof content === "string") return content;
  return content
    .filter((block): block is TextContent => block.type === "text")
    .map((block) => block.text)
    .join(separator);
}

export function textBlock(text: string): TextContent {
  return { type: "text", text };
}
