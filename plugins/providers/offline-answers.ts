/** What the demo answers: rules that choose a tool and tell what it said. */
import { setTimeout as sleep } from "node:timers/promises";
import { ABORTED, type AssistantMessageEvent, type LlmMessage, type ModelRequest, type ToolResultMessage, textOf } from "../../core/index.ts";
import { usageOf } from "./scripted-play.ts";
import { MessageBuilder } from "./shared/builder.ts";

/** What the demo does next: call a tool, or say something. */
type Move = { thinking: string; call: { name: string; arguments: Record<string, unknown> } } | { thinking: string; say: string };

interface Rule {
  pattern: RegExp;
  /** the first tool of these that is active is used */
  tools: (match: RegExpExecArray) => Record<string, Record<string, unknown>>;
  /** what to say about the tool's text */
  report: (match: RegExpExecArray, output: string) => string;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const fenced = (text: string) => `\n\n\`\`\`\n${text.replace(/\n+$/, "")}\n\`\`\``;

/** The requests it understands; the first that matches counts. */
const rules: readonly Rule[] = [
  {
    pattern: /\bwrite\s+[`"']?([^\s:`"']+)[`"']?\s*:\s*([\s\S]+)$/i,
    tools: ([, path = "", content = ""]) => ({ write: { path, content }, bash: { command: `printf %s ${quoted(content)} > ${quoted(path)}` } }),
    report: ([, path]) => `Done: I wrote ${path}.`,
  },
  {
    pattern: /\brun\s+`([^`]+)`/i,
    tools: ([, command = ""]) => ({ bash: { command } }),
    report: ([, command], output) => `\`${command}\` printed:${fenced(output)}`,
  },
  {
    pattern: /\b(?:search|grep|look)\s+for\s+[`"']?(.+?)[`"']?\s*[.?!]?\s*$/i,
    tools: ([, text = ""]) => ({
      grep: { pattern: text, literal: true },
      bash: { command: `grep -rnF --exclude-dir=.git --exclude-dir=node_modules -- ${quoted(text)} . | head -50 || true` },
    }),
    report: ([, text], output) =>
      /^(no matches found|\(no output\))?\s*$/i.test(output) ? `I found nothing for "${text}".` : `Matches for "${text}":${fenced(output)}`,
  },
  {
    pattern: /\b(?:read|show|open|print)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?[`"']?([^\s`"']*[./][^\s`"']*?)[`"']?\s*[.?!]?\s*$/i,
    tools: ([, path = ""]) => ({ read: { path }, bash: { command: `cat ${quoted(path)}` } }),
    report: ([, path], output) => `Here is ${path}:${fenced(output)}`,
  },
  {
    pattern: /\blist\b[\s\S]*\b(?:files?|director(?:y|ies)|folders?)\b(?:\s+in\s+[`"']?([^\s`"'?!]+)[`"']?)?/i,
    tools: ([, where]) => {
      const path = where && !/^(here|this|the)$/i.test(where) ? where : ".";
      return { ls: { path }, bash: { command: `ls -A ${quoted(path)}` } };
    },
    report: (_, output) => `These are the files:${fenced(output)}`,
  },
];

const help = [
  "I am the offline demo model: a small set of rules, no language model. I can",
  "- list the files (in a directory)",
  "- read FILE",
  "- run `COMMAND`",
  "- write FILE: CONTENT",
  "- search for TEXT",
  "- think about SOMETHING",
  "",
  "For a real model set a key, for example ANTHROPIC_API_KEY or OPENAI_API_KEY, and name a model with --model; `--list-models` shows what is there.",
].join("\n");

export async function* stream(request: ModelRequest): AsyncGenerator<AssistantMessageEvent> {
  const builder = new MessageBuilder(request.model);
  const payload = await request.onPayload({ system: request.systemPrompt, messages: request.messages });
  const move = nextMove(request);
  try {
    yield builder.start();
    if (request.thinkingLevel !== "off") yield* say(builder, "thinking", move.thinking, request.signal);
    if ("call" in move) {
      const { name, arguments: args } = move.call;
      yield* say(builder, "text", `I will use the ${name} tool.`, request.signal);
      yield* builder.toolCall(name, inPieces(JSON.stringify(args)));
    } else yield* say(builder, "text", move.say, request.signal);
    builder.setUsage(usageOf(request.model, payload, builder.textLength));
    yield builder.done();
  } catch (error) {
    if (!request.signal.aborted) throw error;
    yield builder.fail("aborted", ABORTED);
  }
}

/** Streams a text in small deltas, one event-loop turn each, so that clients see a stream. */
async function* say(builder: MessageBuilder, kind: "text" | "thinking", text: string, signal: AbortSignal): AsyncGenerator<AssistantMessageEvent> {
  yield builder.open(kind);
  for (const piece of inPieces(text)) {
    await sleep(0, undefined, { signal });
    yield builder.append(piece);
  }
  yield builder.close();
}

function inPieces(text: string): string[] {
  return text.match(/[\s\S]{1,24}/gu) ?? [text];
}

function nextMove({ messages, tools }: ModelRequest): Move {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const text = asked < 0 ? "" : textOf((messages[asked] as LlmMessage).content).trim();
  const results = messages.slice(asked + 1).filter((message): message is ToolResultMessage => message.role === "toolResult");
  const thought = /\bthink\s+about\s+([\s\S]+)$/i.exec(text)?.[1];
  if (thought) {
    return {
      thinking: `The question is about ${thought}. As a set of rules I can only say that it was asked.`,
      say: `I thought about ${thought.replace(/[.?!]+$/, "")}. A real model would have more to say.`,
    };
  }
  for (const rule of rules) {
    const match = rule.pattern.exec(text);
    if (match) return follow(rule, match, results, new Set(tools.map(({ name }) => name)));
  }
  return { thinking: "I do not know this kind of request, so I explain what I can do.", say: help };
}

function follow(rule: Rule, match: RegExpExecArray, results: ToolResultMessage[], active: Set<string>): Move {
  const result = results.at(-1);
  if (result) {
    const output = textOf(result.content, "\n");
    const thinking = "The tool has answered; I report what it said.";
    return result.isError ? { thinking, say: `That did not work:${fenced(output)}` } : { thinking, say: rule.report(match, output) };
  }
  const choices = Object.entries(rule.tools(match));
  const choice = choices.find(([name]) => active.has(name));
  if (!choice) {
    const names = choices.map(([name]) => name).join(", ");
    return { thinking: "The tool I would need is not active.", say: `For this I need one of the tools ${names}, and none is active.` };
  }
  return { thinking: `The request asks me to use ${choice[0]}.`, call: { name: choice[0], arguments: choice[1] } };
}
