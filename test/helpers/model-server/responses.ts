/** OpenAI's responses as server-sent events. */
import type { ServerAnswer, ServerBlock } from "../model-server.ts";
import { blocksOf, deltasOf, kindOf, piecesOf, toolCallId } from "./blocks.ts";

export function responsesFrames(answer: ServerAnswer, body: any): object[] {
  const blocks = blocksOf(answer);
  const given = answer.usage === false ? undefined : (answer.usage ?? {});
  const input = given ? (given.input ?? 10) + (given.cacheRead ?? 0) + (given.cacheWrite ?? 0) : 0;
  const shell = { id: answer.id ?? "resp_1", object: "response", model: answer.model ?? body?.model ?? "gpt" };
  const events: object[] = [
    { type: "response.created", response: { ...shell, status: "in_progress", output: [] } },
    ...piecesOf(answer).flatMap(({ block, phase, delta }) => itemEvents(blocks[block] as ServerBlock, block, phase, delta)),
    {
      type: answer.stop === undefined ? "response.completed" : "response.incomplete",
      response: {
        ...shell,
        status: answer.stop === undefined ? "completed" : "incomplete",
        incomplete_details: answer.stop === undefined ? null : { reason: answer.stop },
        output: blocks.map(finished),
        usage: given
          ? {
              input_tokens: input,
              input_tokens_details: { cached_tokens: given.cacheRead ?? 0, ...(given.cacheWrite !== undefined && { cache_write_tokens: given.cacheWrite }) },
              output_tokens: given.output ?? 5,
              output_tokens_details: { reasoning_tokens: given.reasoning ?? 0 },
              total_tokens: input + (given.output ?? 5),
            }
          : null,
      },
    },
  ];
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

function itemEvents(block: ServerBlock, output_index: number, phase: "start" | "delta" | "stop", delta: string): object[] {
  const kind = kindOf(block);
  const item_id = itemId(block, output_index);
  const part = { item_id, output_index, content_index: 0 };
  if (phase === "stop") {
    const text = deltasOf(block).join("");
    return [
      ...(kind === "toolCall" ? [{ type: "response.function_call_arguments.done", item_id, output_index, arguments: text }] : []),
      ...(kind === "text" ? [{ type: "response.output_text.done", ...part, text }] : []),
      ...(kind === "refusal" ? [{ type: "response.refusal.done", ...part, refusal: text }] : []),
      { type: "response.output_item.done", output_index, item: finished(block, output_index) },
    ];
  }
  if (phase === "start") {
    const item = { ...finished(block, output_index), status: "in_progress", ...openFields[kind] };
    return [
      { type: "response.output_item.added", output_index, item },
      ...(kind === "text" ? [{ type: "response.content_part.added", ...part, part: { type: "output_text", text: "", annotations: [] } }] : []),
      ...(kind === "thinking"
        ? [{ type: "response.reasoning_summary_part.added", item_id, output_index, summary_index: 0, part: { type: "summary_text", text: "" } }]
        : []),
    ];
  }
  if (kind === "toolCall") return [{ type: "response.function_call_arguments.delta", item_id, output_index, delta }];
  if (kind === "thinking") return [{ type: "response.reasoning_summary_text.delta", item_id, output_index, summary_index: 0, delta }];
  return [{ type: kind === "refusal" ? "response.refusal.delta" : "response.output_text.delta", ...part, delta }];
}

const openFields: Record<string, object> = {
  toolCall: { arguments: "" },
  thinking: { summary: [] },
  redacted: { summary: [] },
  text: { content: [] },
  refusal: { content: [] },
};

function itemId(block: ServerBlock, index: number): string {
  if ("thinking" in block && block.id) return block.id;
  return `${{ toolCall: "fc", thinking: "rs", redacted: "rs", text: "msg", refusal: "msg" }[kindOf(block)]}_${index}`;
}

function finished(block: ServerBlock, index: number): object {
  const id = itemId(block, index);
  const text = deltasOf(block).join("");
  if ("toolCall" in block) {
    return {
      type: "function_call",
      id,
      call_id: toolCallId(block, index, "call_"),
      name: block.toolCall.name,
      arguments: text,
      status: "completed",
    };
  }
  if ("thinking" in block) {
    return {
      type: "reasoning",
      id,
      summary: text === "" ? [] : [{ type: "summary_text", text }],
      encrypted_content: block.signature ?? `enc-${index}`,
    };
  }
  if ("redacted" in block) return { type: "reasoning", id, summary: [], encrypted_content: block.redacted };
  const content = "refusal" in block ? { type: "refusal", refusal: text } : { type: "output_text", text, annotations: [] };
  return { type: "message", id, role: "assistant", status: "completed", content: [content] };
}
