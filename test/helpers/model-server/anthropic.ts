/** Anthropic's Messages as server-sent events. */
import type { ServerAnswer, ServerBlock } from "../model-server.ts";
import { blocksOf, kindOf, piecesOf, toolCallId } from "./blocks.ts";

export function anthropicFrames(answer: ServerAnswer, body: any): object[] {
  const blocks = blocksOf(answer);
  const given = answer.usage === false ? undefined : (answer.usage ?? {});
  const input = given && {
    input_tokens: given.input ?? 10,
    cache_read_input_tokens: given.cacheRead ?? 0,
    cache_creation_input_tokens: given.cacheWrite ?? 0,
    ...(given.cacheWrite1h !== undefined && {
      cache_creation: { ephemeral_1h_input_tokens: given.cacheWrite1h, ephemeral_5m_input_tokens: (given.cacheWrite ?? 0) - given.cacheWrite1h },
    }),
  };
  const output = given && {
    output_tokens: given.output ?? 5,
    ...(given.reasoning !== undefined && { output_tokens_details: { thinking_tokens: given.reasoning } }),
  };
  const hasCalls = blocks.some((block) => "toolCall" in block);
  return [
    {
      type: "message_start",
      message: {
        id: answer.id ?? "msg_1",
        type: "message",
        role: "assistant",
        model: answer.model ?? body?.model ?? "claude",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        ...(input && { usage: { ...input, output_tokens: 1 } }),
      },
    },
    ...piecesOf(answer).flatMap(({ block: index, phase, delta }): object[] => {
      const block = blocks[index] as ServerBlock;
      if (phase === "start") return [{ type: "content_block_start", index, content_block: opening(block, index) }];
      if (phase === "delta") return [{ type: "content_block_delta", index, delta: deltaOf(block, delta) }];
      const signature = "thinking" in block ? (block.signature ?? `sig-${index}`) : undefined;
      return [
        ...(signature ? [{ type: "content_block_delta", index, delta: { type: "signature_delta", signature } }] : []),
        { type: "content_block_stop", index },
      ];
    }),
    {
      type: "message_delta",
      delta: { stop_reason: answer.stop ?? (hasCalls ? "tool_use" : "end_turn"), stop_sequence: null },
      ...(output && { usage: output }),
    },
    { type: "message_stop" },
  ];
}

function opening(block: ServerBlock, index: number): object {
  if ("toolCall" in block) return { type: "tool_use", id: toolCallId(block, index, "toolu_"), name: block.toolCall.name, input: {} };
  if ("redacted" in block) return { type: "redacted_thinking", data: block.redacted };
  if ("thinking" in block) return { type: "thinking", thinking: "", signature: "" };
  return { type: "text", text: "" };
}

function deltaOf(block: ServerBlock, delta: string): object {
  const kind = kindOf(block);
  if (kind === "toolCall") return { type: "input_json_delta", partial_json: delta };
  if (kind === "thinking") return { type: "thinking_delta", thinking: delta };
  return { type: "text_delta", text: delta };
}
