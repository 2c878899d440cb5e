/** OpenAI's chat completions as server-sent events. */
import type { ServerAnswer, ServerBlock } from "../model-server.ts";
import { blocksOf, kindOf, piecesOf, toolCallId } from "./blocks.ts";

export function completionsFrames(answer: ServerAnswer, body: any): (object | string)[] {
  const blocks = blocksOf(answer);
  const shell = { id: answer.id ?? "chatcmpl-1", object: "chat.completion.chunk", created: 1_700_000_000, model: answer.model ?? body?.model ?? "gpt" };
  const chunk = (delta: object, finish_reason: string | null = null) => ({ ...shell, choices: [{ index: 0, delta, finish_reason }] });
  const callNumber = (index: number) => blocks.slice(0, index).filter((block) => "toolCall" in block).length;
  const hasCalls = blocks.some((block) => "toolCall" in block);
  const given = answer.usage === false || body?.stream_options?.include_usage !== true ? undefined : (answer.usage ?? {});
  const prompt = given ? (given.input ?? 10) + (given.cacheRead ?? 0) + (given.cacheWrite ?? 0) : 0;
  return [
    chunk({ role: "assistant", content: "" }),
    ...piecesOf(answer).flatMap(({ block: index, phase, delta }): object[] => {
      const block = blocks[index] as ServerBlock;
      const kind = kindOf(block);
      if (kind === "toolCall") {
        if (phase === "stop") return [];
        const call = (block as Extract<ServerBlock, { toolCall: unknown }>).toolCall;
        const head = phase === "start" ? { id: toolCallId(block, index, "call_"), type: "function" } : {};
        const fn = phase === "start" ? { name: call.name, arguments: "" } : { arguments: delta };
        return [chunk({ tool_calls: [{ index: callNumber(index), ...head, function: fn }] })];
      }
      if (phase !== "delta") return [];
      if (kind === "thinking") return [chunk({ reasoning_content: delta })];
      return [chunk(kind === "refusal" ? { refusal: delta } : { content: delta })];
    }),
    chunk({}, answer.stop ?? (hasCalls ? "tool_calls" : "stop")),
    ...(given
      ? [
          {
            ...shell,
            choices: [],
            usage: {
              prompt_tokens: prompt,
              completion_tokens: given.output ?? 5,
              total_tokens: prompt + (given.output ?? 5),
              prompt_tokens_details: { cached_tokens: given.cacheRead ?? 0, ...(given.cacheWrite !== undefined && { cache_write_tokens: given.cacheWrite }) },
              completion_tokens_details: { reasoning_tokens: given.reasoning ?? 0 },
            },
          },
        ]
      : []),
    "data: [DONE]\n\n",
  ];
}
