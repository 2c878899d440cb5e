/** The three providers on a bare kernel, for tests of what goes over the wire and what comes of it. */
import { onTestFinished } from "vitest";
import { type AssistantMessage, type AssistantMessageEvent, Kernel, type LlmMessage, type Model, type PluginKernel } from "../../../core/index.ts";
import type { StreamRequest } from "../../../core/plugin.ts";
import providers from "../../../plugins/providers/index.ts";
import settings from "../../../plugins/settings/index.ts";
import { blockedImages } from "../../../plugins/tools/blocked-images.ts";
import { type AnswerSource, ModelServer, type WireFormat } from "../model-server.ts";
import { tempDir } from "../pi.ts";

export const wires: readonly WireFormat[] = ["anthropic-messages", "openai-completions", "openai-responses"];

export interface Streamed {
  events: AssistantMessageEvent[];
  /** the final message, good or bad */
  message: AssistantMessage;
}

export interface Setup {
  server: ModelServer;
  view: PluginKernel;
  model(wire: WireFormat, fields?: Partial<Model>): Model;
  ask(wire: WireFormat, request?: Partial<Omit<StreamRequest, "model">> & { model?: Partial<Model> }): Promise<Streamed>;
}

export async function setUp(answers: AnswerSource[] = [], options: { env?: Record<string, string>; settings?: Record<string, unknown> } = {}): Promise<Setup> {
  const server = await ModelServer.start(...answers);
  const kernel = new Kernel();
  let view!: PluginKernel;
  const probe = {
    name: "probe",
    apply(own: PluginKernel) {
      view = own;
    },
  };
  await kernel.useAll([probe, settings, providers, blockedImages]);
  await kernel.start({ cwd: tempDir(), env: { HOME: tempDir(), ...options.env } });
  for (const [key, value] of Object.entries(options.settings ?? {})) view.service("settings").override(key, value);
  onTestFinished(async () => {
    await kernel.stop("quit");
    await server.close();
  });
  const model = (wire: WireFormat, fields: Partial<Model> = {}): Model => ({
    id: `${wire}-1`,
    name: wire,
    api: wire,
    provider: wire.split("-")[0] as string,
    baseUrl: server.baseUrl(wire),
    reasoning: true,
    input: ["text", "image"],
    cost: { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 1.25 },
    contextWindow: 200_000,
    maxTokens: 32_000,
    ...fields,
  });
  return {
    server,
    view,
    model,
    async ask(wire, { model: fields, ...request } = {}) {
      const events: AssistantMessageEvent[] = [];
      const stream = view.stream({
        systemPrompt: "Be brief.",
        messages: [user("Hello")],
        apiKey: "sk-test-key-1234",
        sessionId: "session-1",
        ...request,
        model: model(wire, fields),
      });
      for await (const event of stream) events.push(event);
      const last = events.at(-1);
      const message = last?.type === "done" ? last.message : last?.type === "error" ? last.error : undefined;
      if (!message) throw new Error("The stream has no final event.");
      return { events, message };
    },
  };
}

export function user(text: string): LlmMessage {
  return { role: "user", content: text, timestamp: 1 };
}

export function toolResult(toolCallId: string, text: string, toolName = "read"): LlmMessage {
  return { role: "toolResult", toolCallId, toolName, content: [{ type: "text", text }], isError: false, timestamp: 1 };
}

export const readTool = {
  name: "read",
  description: "Read a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};
