/** Commands that only read. */
import { Type } from "typebox";
import { type AgentMessage, type AssistantMessage, command, definePlugin, type PluginKernel, type SourceInfo, Stage, textOf } from "../../core/index.ts";
import type {} from "../rpc/contract.ts";
import {
  agentMessageSchema,
  interruptModeSchema,
  modelSchema,
  nullable,
  oneOf,
  queueModeSchema,
  sourceInfoSchema,
  thinkingLevelSchema,
  updateModeSchema,
} from "../shared/schemas.ts";
import type {} from "../skills/contract.ts";

const PROTOCOL_VERSION = 1;

const count = () => Type.Integer({ minimum: 0 });

const stateSchema = () =>
  Type.Object({
    model: nullable(modelSchema()),
    thinkingLevel: thinkingLevelSchema(),
    isStreaming: Type.Boolean(),
    isCompacting: Type.Boolean(),
    steeringMode: queueModeSchema(),
    followUpMode: queueModeSchema(),
    interruptMode: interruptModeSchema(),
    sessionFile: Type.Optional(Type.String()),
    sessionId: Type.String(),
    sessionName: Type.Optional(Type.String()),
    autoCompactionEnabled: Type.Boolean(),
    autoRetryEnabled: Type.Optional(Type.Boolean()),
    messageCount: count(),
    pendingMessageCount: count(),
    queuedMessageCount: count(),
    todoPhases: Type.Array(Type.Unsafe<object>({ type: "object" })),
    protocol: Type.Object({ version: Type.Literal(PROTOCOL_VERSION), dialect: Type.String(), updates: updateModeSchema() }),
  });

/** The fields of get_state that belong to the kernel; the other owners write theirs. */
export const runState = definePlugin({
  name: "run-state",
  apply(kernel) {
    const { queue, run } = kernel;
    // First, field by field: clients ask often, and the owners of the other fields then find them in place.
    kernel.hooks.describe.tap({ name: "run-state", stage: Stage.open }, (state) => {
      const wire = kernel.tryService("wire");
      const queued = queue.length;
      // What an absent feature would have said: clients read these without asking whether they are there.
      state.model = null;
      state.thinkingLevel = "off";
      state.isStreaming = run.active;
      state.isCompacting = false;
      state.steeringMode = queue.steeringMode;
      state.followUpMode = queue.followUpMode;
      state.interruptMode = queue.interruptMode;
      state.sessionId = "";
      state.autoCompactionEnabled = false;
      state.messageCount = messagesOf(kernel).length;
      state.pendingMessageCount = queued;
      state.queuedMessageCount = queued;
      state.todoPhases = [];
      state.protocol = { version: PROTOCOL_VERSION, dialect: wire ? wire.dialect().name : "pi", updates: wire ? wire.updateMode() : "full" };
    });
  },
});

const getState = command({
  name: "get_state",
  reads: true,
  result: stateSchema,
  run: (_, kernel) => kernel.describe(),
});

const getMessages = command({
  name: "get_messages",
  reads: true,
  result: () => Type.Object({ messages: Type.Array(agentMessageSchema()) }),
  run: (_, kernel) => ({ messages: [...messagesOf(kernel)] }),
});

const getLastAssistantText = command({
  name: "get_last_assistant_text",
  reads: true,
  result: () => Type.Object({ text: nullable(Type.String()) }),
  run: (_, kernel) => ({ text: lastAssistantText(messagesOf(kernel)) }),
});

function messagesOf(kernel: PluginKernel): readonly AgentMessage[] {
  return kernel.tryService("transcript")?.messages() ?? [];
}

function lastAssistantText(messages: readonly AgentMessage[]): string | null {
  const saysSomething = ({ stopReason, content }: AssistantMessage) => stopReason !== "aborted" || content.length > 0;
  const last = messages.findLast((message): message is AssistantMessage => message.role === "assistant" && saysSomething(message));
  return last ? textOf(last.content) : null;
}

const getCommands = command({
  name: "get_commands",
  result: () =>
    Type.Object({
      commands: Type.Array(
        Type.Object({
          name: Type.String(),
          description: Type.Optional(Type.String()),
          source: oneOf("extension", "prompt", "skill"),
          location: Type.Optional(oneOf("user", "project", "path")),
          path: Type.Optional(Type.String()),
          sourceInfo: Type.Optional(sourceInfoSchema()),
        }),
      ),
    }),
  run(_, kernel) {
    const commands = kernel.registry("slashCommands").all();
    const templates = kernel.registry("promptTemplates").all();
    const skills = kernel.registry("skills").all();
    return {
      commands: [
        ...commands.map((slash) => listed(slash.name, slash.description, "extension", slash.sourceInfo)),
        ...templates.map((template) => listed(template.name, template.description, "prompt", template.sourceInfo)),
        ...skills.map((skill) => listed(`skill:${skill.name}`, skill.description, "skill", skill.sourceInfo)),
      ],
    };
  },
});

const locations = { user: "user", project: "project", temporary: "path" } as const;

function listed(name: string, description: string | undefined, source: "extension" | "prompt" | "skill", sourceInfo: SourceInfo | undefined): object {
  return {
    name,
    ...(description !== undefined && { description }),
    source,
    ...(source !== "extension" && sourceInfo && { location: locations[sourceInfo.scope] }),
    ...(sourceInfo && { path: sourceInfo.path, sourceInfo }),
  };
}

export const stateCommands = [getState, getMessages, getLastAssistantText, getCommands];
