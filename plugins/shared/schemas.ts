/** Schemas of what several commands and events carry. Thunks, each built once: building them all at start would cost most of the start-up time. */
import { type TSchema, Type } from "typebox";

/** Builds at the first call and keeps the result. */
export function once<T>(build: () => T): () => T {
  let built: { value: T } | undefined;
  return () => {
    built ??= { value: build() };
    return built.value;
  };
}

const count = () => Type.Integer({ minimum: 0 });
const anyObject = () => Type.Unsafe<Record<string, unknown>>({ type: "object" });

/** "one of a, b" */
export const oneOf = <const W extends string[]>(...words: W) => Type.Union(words.map((word) => Type.Literal(word)) as { [K in keyof W]: Type.TLiteral<W[K]> });
export const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** An event's schema: its type and its fields. */
export const eventSchema = <P extends Record<string, TSchema>>(type: string, fields: P) => Type.Object({ type: Type.Literal(type), ...fields });

export const idSchema = once(() => Type.Union([Type.String(), Type.Number()]));
export const thinkingLevelSchema = once(() => oneOf("off", "minimal", "low", "medium", "high", "xhigh", "max"));
export const queueModeSchema = once(() => oneOf("all", "one-at-a-time"));
export const interruptModeSchema = once(() => oneOf("immediate", "wait"));
export const updateModeSchema = once(() => oneOf("full", "delta"));
export const streamingBehaviorSchema = once(() => oneOf("steer", "followUp"));

// ---------------------------------------------------------------- usage and models

export const costSchema = once(() =>
  Type.Object({ input: Type.Number(), output: Type.Number(), cacheRead: Type.Number(), cacheWrite: Type.Number(), total: Type.Number() }),
);

export const usageSchema = once(() =>
  Type.Object({
    input: count(),
    output: count(),
    cacheRead: count(),
    cacheWrite: count(),
    totalTokens: count(),
    reasoning: Type.Optional(count()),
    cacheWrite1h: Type.Optional(count()),
    cost: costSchema(),
  }),
);

export const modelSchema = once(() =>
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    api: Type.String(),
    provider: Type.String(),
    baseUrl: Type.String(),
    reasoning: Type.Boolean(),
    input: Type.Array(oneOf("text", "image")),
    contextWindow: count(),
    maxTokens: count(),
    cost: Type.Object({ input: Type.Number(), output: Type.Number(), cacheRead: Type.Number(), cacheWrite: Type.Number() }),
    compat: Type.Optional(anyObject()),
    headers: Type.Optional(anyObject()),
  }),
);

// ---------------------------------------------------------------- content

export const textContentSchema = once(() => Type.Object({ type: Type.Literal("text"), text: Type.String(), textSignature: Type.Optional(Type.String()) }));

export const thinkingContentSchema = once(() =>
  Type.Object({
    type: Type.Literal("thinking"),
    thinking: Type.String(),
    thinkingSignature: Type.Optional(Type.String()),
    redacted: Type.Optional(Type.Boolean()),
  }),
);

const imageType = () => Type.Literal("image", { expected: "one of image" });

/** The form that is stored, and sent in most dialects. */
export const flatImageSchema = once(() => Type.Object({ type: imageType(), data: Type.String(), mimeType: Type.String() }));

const sourceType = <T extends string>(type: T) => Type.Literal(type, { expected: "one of base64, url" });
const base64Source = () => Type.Object({ type: sourceType("base64"), mediaType: Type.String(), data: Type.String() });
const urlSource = () => Type.Object({ type: sourceType("url"), url: Type.String() });

/** What clients may send as an image. */
export const imageInputSchema = once(() =>
  Type.Union([flatImageSchema(), Type.Object({ type: imageType(), source: Type.Union([base64Source(), urlSource()]) })]),
);

export const imageContentSchema = once(() => Type.Union([flatImageSchema(), Type.Object({ type: imageType(), source: base64Source() })]));

export const toolCallSchema = once(() =>
  Type.Object({
    type: Type.Literal("toolCall"),
    id: Type.String(),
    name: Type.String(),
    arguments: anyObject(),
    thoughtSignature: Type.Optional(Type.String()),
    namespace: Type.Optional(Type.String()),
  }),
);

export const attachmentSchema = once(() =>
  Type.Object({
    id: Type.String(),
    type: oneOf("image", "document"),
    fileName: Type.String(),
    mimeType: Type.String(),
    size: count(),
    content: Type.String(),
    extractedText: Type.Optional(nullable(Type.String())),
    preview: Type.Optional(nullable(Type.String())),
  }),
);

const resultContent = () => Type.Array(Type.Union([textContentSchema(), imageContentSchema()]));
const userContent = () => Type.Union([Type.String(), resultContent()]);

// ---------------------------------------------------------------- messages

export const userMessageSchema = once(() =>
  Type.Object({
    role: Type.Literal("user"),
    content: userContent(),
    timestamp: count(),
    attachments: Type.Optional(Type.Array(attachmentSchema())),
  }),
);

export const assistantMessageSchema = once(() =>
  Type.Object({
    role: Type.Literal("assistant"),
    content: Type.Array(Type.Union([textContentSchema(), thinkingContentSchema(), toolCallSchema()])),
    api: Type.String(),
    provider: Type.String(),
    model: Type.String(),
    usage: usageSchema(),
    stopReason: oneOf("stop", "length", "toolUse", "error", "aborted", "pending", "deferred"),
    errorMessage: Type.Optional(Type.String()),
    responseModel: Type.Optional(Type.String()),
    responseId: Type.Optional(Type.String()),
    rawStopReason: Type.Optional(Type.String()),
    timestamp: count(),
  }),
);

export const toolResultMessageSchema = once(() =>
  Type.Object({
    role: Type.Literal("toolResult"),
    toolCallId: Type.String(),
    toolName: Type.String(),
    content: resultContent(),
    details: Type.Optional(Type.Unknown()),
    usage: Type.Optional(usageSchema()),
    isError: Type.Boolean(),
    timestamp: count(),
  }),
);

export const bashExecutionMessageSchema = once(() =>
  Type.Object({
    role: Type.Literal("bashExecution"),
    command: Type.String(),
    output: Type.String(),
    exitCode: nullable(Type.Integer()),
    cancelled: Type.Boolean(),
    truncated: Type.Boolean(),
    fullOutputPath: Type.Optional(nullable(Type.String())),
    excludeFromContext: Type.Optional(Type.Boolean()),
    timestamp: count(),
  }),
);

export const customMessageSchema = once(() =>
  Type.Object({
    role: Type.Literal("custom"),
    customType: Type.String(),
    content: userContent(),
    display: Type.Boolean(),
    details: Type.Optional(Type.Unknown()),
    timestamp: count(),
  }),
);

const branchSummaryMessage = () =>
  Type.Object({ role: Type.Literal("branchSummary"), summary: Type.String(), fromId: nullable(Type.String()), timestamp: count() });
const compactionSummaryMessage = () =>
  Type.Object({ role: Type.Literal("compactionSummary"), summary: Type.String(), tokensBefore: count(), timestamp: count() });

export const agentMessageSchema = once(() =>
  Type.Union([
    userMessageSchema(),
    assistantMessageSchema(),
    toolResultMessageSchema(),
    bashExecutionMessageSchema(),
    customMessageSchema(),
    branchSummaryMessage(),
    compactionSummaryMessage(),
  ]),
);

export const toolOutputSchema = once(() =>
  Type.Object({ content: resultContent(), details: Type.Optional(Type.Unknown()), usage: Type.Optional(usageSchema()) }),
);

export const sourceInfoSchema = once(() =>
  Type.Object({
    path: Type.String(),
    source: Type.String(),
    scope: oneOf("user", "project", "temporary"),
    origin: oneOf("top-level", "package"),
    baseDir: Type.Optional(Type.String()),
  }),
);
