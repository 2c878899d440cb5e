/** Schemas of entries, trees, statistics and lists. */
import { type TSchema, Type } from "typebox";
import { agentMessageSchema, flatImageSchema, nullable, once, textContentSchema, thinkingLevelSchema, usageSchema } from "../shared/schemas.ts";

const base = () => ({ id: Type.String(), parentId: nullable(Type.String()), timestamp: Type.String() });
const entry = (type: string, fields: Record<string, TSchema>) => Type.Object({ type: Type.Literal(type), ...base(), ...fields });
const content = () => Type.Union([Type.String(), Type.Array(Type.Union([textContentSchema(), flatImageSchema()]))]);
const summary = () => ({
  summary: Type.String(),
  usage: Type.Optional(usageSchema()),
  details: Type.Optional(Type.Unknown()),
  fromHook: Type.Optional(Type.Boolean()),
});

/** Entries of other types may follow: clients keep them. */
export const entrySchema = once(() =>
  Type.Union([
    entry("message", { message: agentMessageSchema() }),
    entry("model_change", { provider: Type.String(), modelId: Type.String() }),
    entry("thinking_level_change", { thinkingLevel: thinkingLevelSchema() }),
    entry("compaction", { ...summary(), firstKeptEntryId: Type.String(), tokensBefore: Type.Integer() }),
    entry("branch_summary", { ...summary(), fromId: nullable(Type.String()) }),
    entry("custom", { customType: Type.String(), data: Type.Optional(Type.Unknown()) }),
    entry("custom_message", { customType: Type.String(), content: content(), display: Type.Boolean(), details: Type.Optional(Type.Unknown()) }),
    entry("label", { targetId: Type.String(), label: Type.Optional(Type.String()) }),
    entry("session_info", { name: Type.Optional(Type.String()) }),
    entry("usage", {
      kind: Type.String(),
      provider: Type.Optional(Type.String()),
      model: Type.Optional(Type.String()),
      usage: usageSchema(),
      note: Type.Optional(Type.String()),
    }),
    entry("context_edit", { targetId: Type.String(), replacement: nullable(Type.Object({ content: content() })) }),
  ]),
);

export const treeSchema = once(() =>
  Type.Array(
    Type.Object({
      entry: entrySchema(),
      children: Type.Array(Type.Unknown(), { description: "nodes of the same shape" }),
      label: Type.Optional(Type.String()),
      labelTimestamp: Type.Optional(Type.String()),
    }),
  ),
);

const count = () => Type.Integer({ minimum: 0 });

export const statsSchema = once(() =>
  Type.Object({
    sessionFile: Type.Optional(Type.String()),
    sessionId: Type.String(),
    userMessages: count(),
    assistantMessages: count(),
    toolCalls: count(),
    toolResults: count(),
    totalMessages: count(),
    tokens: Type.Object({ input: count(), output: count(), cacheRead: count(), cacheWrite: count(), total: count() }),
    cost: Type.Number(),
    contextUsage: Type.Optional(Type.Object({ tokens: nullable(count()), contextWindow: count(), percent: nullable(Type.Number()) })),
  }),
);

export const sessionListSchema = once(() =>
  Type.Object({
    sessions: Type.Array(
      Type.Object({
        path: Type.String(),
        id: Type.String(),
        cwd: Type.String(),
        name: Type.Optional(Type.String()),
        created: Type.String(),
        modified: Type.String(),
        messageCount: count(),
        firstMessage: Type.String(),
        parentSession: Type.Optional(Type.String()),
      }),
    ),
    nextCursor: Type.Optional(Type.String()),
  }),
);
