/** What the three encoders share: an answer's blocks with their deltas, in the order of sending. */
import type { ServerAnswer, ServerBlock } from "../model-server.ts";

export type Kind = "text" | "thinking" | "redacted" | "toolCall" | "refusal";

export interface Piece {
  block: number;
  phase: "start" | "delta" | "stop";
  delta: string;
}

export function blocksOf(answer: ServerAnswer): ServerBlock[] {
  return answer.blocks ?? (answer.text === undefined ? [] : [{ text: answer.text }]);
}

export function kindOf(block: ServerBlock): Kind {
  return Object.keys(block).find((key): key is Kind => ["text", "thinking", "redacted", "toolCall", "refusal"].includes(key)) as Kind;
}

export function deltasOf(block: ServerBlock): string[] {
  if ("text" in block) return [block.text].flat();
  if ("thinking" in block) return [block.thinking].flat();
  if ("refusal" in block) return [block.refusal].flat();
  if ("redacted" in block) return [];
  const { json, arguments: args } = block.toolCall;
  return json === undefined ? [JSON.stringify(args ?? {})] : [json].flat();
}

export function toolCallId(block: ServerBlock, index: number, prefix: string): string {
  return ("toolCall" in block && block.toolCall.id) || `${prefix}${index}`;
}

/** Starts, deltas and stops: block after block, or all at once. */
export function piecesOf(answer: ServerAnswer): Piece[] {
  const rows = blocksOf(answer).map((block, index): Piece[] => [
    { block: index, phase: "start", delta: "" },
    ...deltasOf(block).map((delta): Piece => ({ block: index, phase: "delta", delta })),
    { block: index, phase: "stop", delta: "" },
  ]);
  if (!answer.interleave) return rows.flat();
  const longest = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: longest }, (_, at) => rows.flatMap((row) => row[at] ?? [])).flat();
}
