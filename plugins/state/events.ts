/** Schemas of the kernel's own events. */
import { type TSchema, Type } from "typebox";
import { definePlugin } from "../../core/index.ts";
import {
  agentMessageSchema,
  assistantMessageSchema,
  eventSchema,
  toolCallSchema,
  toolOutputSchema,
  toolResultMessageSchema,
  usageSchema,
} from "../shared/schemas.ts";

const contentIndex = () => Type.Integer({ minimum: 0 });
const anyObject = () => Type.Unsafe<Record<string, unknown>>({ type: "object" });
const toolCall = () => ({ toolCallId: Type.String(), toolName: Type.String() });

/** One increment of a block; `partial` is there in full updates of most dialects. */
const increments = (partial: Record<string, TSchema>) =>
  Type.Union([
    ...["text_start", "thinking_start"].map((type) => eventSchema(type, { contentIndex: contentIndex(), ...partial })),
    eventSchema("toolcall_start", { contentIndex: contentIndex(), id: Type.String(), toolName: Type.String(), ...partial }),
    ...["text_delta", "thinking_delta", "toolcall_delta"].map((type) => eventSchema(type, { contentIndex: contentIndex(), delta: Type.String(), ...partial })),
    ...["text_end", "thinking_end"].map((type) => eventSchema(type, { contentIndex: contentIndex(), content: Type.String(), ...partial })),
    eventSchema("toolcall_end", { contentIndex: contentIndex(), toolCall: toolCallSchema(), ...partial }),
  ]);

const messageUpdate = () =>
  Type.Union([
    eventSchema("message_update", {
      message: assistantMessageSchema(),
      assistantMessageEvent: increments({ partial: Type.Optional(assistantMessageSchema()) }),
    }),
    eventSchema("message_update", { usage: usageSchema(), assistantMessageEvent: increments({}) }),
  ]);

const fields: Record<string, () => Record<string, TSchema>> = {
  agent_start: () => ({}),
  agent_end: () => ({ messages: Type.Array(agentMessageSchema()), willRetry: Type.Boolean() }),
  agent_settled: () => ({}),
  turn_start: () => ({}),
  turn_end: () => ({ message: assistantMessageSchema(), toolResults: Type.Array(toolResultMessageSchema()) }),
  message_start: () => ({ message: agentMessageSchema() }),
  message_end: () => ({ message: agentMessageSchema() }),
  tool_execution_start: () => ({ ...toolCall(), args: anyObject() }),
  tool_execution_update: () => ({ ...toolCall(), args: anyObject(), partialResult: toolOutputSchema() }),
  tool_execution_end: () => ({ ...toolCall(), result: Type.Union([toolOutputSchema(), Type.String()]), isError: Type.Boolean() }),
  queue_update: () => ({ steering: Type.Array(Type.String()), followUp: Type.Array(Type.String()) }),
};

export const eventSchemas = definePlugin({
  name: "run-state:events",
  apply(kernel) {
    const events = kernel.registry("events");
    for (const [name, properties] of Object.entries(fields)) events.add({ name, schema: () => eventSchema(name, properties()) });
    events.add({ name: "message_update", schema: messageUpdate });
  },
});
