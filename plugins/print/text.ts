/** Print mode: the final text on stdout, progress on a terminal's stderr. */
import { type AgentMessage, type AssistantMessage, definePlugin, type Io, type PluginKernel, Stage, textOf } from "../../core/index.ts";
import type {} from "../compaction/contract.ts";
import type {} from "../retry/contract.ts";
import { terminalText, textFor } from "../shared/terminal-text.ts";
import { collectPrompts, runPrompt } from "./prompts.ts";
import { watchReader } from "./reader.ts";

export const printTransport = definePlugin({
  name: "transport:text",
  apply(kernel) {
    kernel.registry("flags").add({ name: "print", alias: "p", type: "boolean", group: "Mode", description: "Answer the prompt and exit" });
    kernel.registry("transports").add({ name: "text", mode: "print", serve: (io) => serve(kernel, io) });
  },
});

async function serve(kernel: PluginKernel, io: Io): Promise<number> {
  const prompts = await collectPrompts(kernel, io);
  if (prompts.length === 0) {
    io.stderr.write('Nothing to do: give a prompt, e.g. "List the files here", or pipe one in.\n');
    return 1;
  }
  // A failure that no compaction saved is not in the conversation any more, but it is what came of the prompt.
  let last: AssistantMessage | undefined;
  const stopListening = kernel.hooks.event.tap("print", (event) => {
    if (event.type === "message_end" && event.message.role === "assistant") last = event.message;
  });
  const stopProgress = io.stderr.isTTY ? showProgress(kernel, io) : () => {};
  let isGone = false;
  const stopWatching = watchReader(() => {
    isGone = true;
    void kernel.run.abort();
  });
  try {
    for (const prompt of prompts) {
      if (isGone || kernel.run.closed) break;
      await runPrompt(kernel, prompt);
    }
  } finally {
    stopWatching();
    stopProgress();
    stopListening();
  }
  return answer(io, last ?? lastAssistant(kernel.service("transcript").messages()));
}

/** Writes the outcome; a failed or aborted run has no answer but an error. */
async function answer(io: Io, message: AssistantMessage | undefined): Promise<number> {
  if (!message) return 0;
  if (message.stopReason === "error" || message.stopReason === "aborted") {
    io.stderr.write(`${textFor(io.stderr, message.errorMessage || `Request ${message.stopReason}`)}\n`);
    return 1;
  }
  const failure = await write(io, `${textFor(io.stdout, textOf(message.content))}\n`);
  // A reader that went away has read what it wanted.
  if (!failure || failure.code === "EPIPE") return 0;
  io.stderr.write(`Error: The answer cannot be written: ${failure.message}\n`);
  return 1;
}

function write({ stdout }: Io, text: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    stdout.on("error", resolve);
    stdout.write(text, (error) => resolve(error ?? undefined));
  });
}

function lastAssistant(messages: readonly AgentMessage[]): AssistantMessage | undefined {
  return messages.findLast((message): message is AssistantMessage => message.role === "assistant");
}

function showProgress(kernel: PluginKernel, io: Io): () => void {
  const tell = (text: string) => io.stderr.write(`· ${terminalText(text)}\n`);
  return kernel.hooks.event.tap({ name: "progress", stage: Stage.wire }, (event) => {
    if (event.type === "tool_execution_start") tell(`${event.toolName} ${brief(event.args)}`);
    if (event.type === "auto_retry_start") tell(`retrying in ${Math.round(event.delayMs / 1000)} s: ${event.errorMessage}`);
    if (event.type === "compaction_start") tell("compacting the conversation");
  });
}

function brief(args: Record<string, unknown>): string {
  const first = Object.values(args).find((value) => typeof value === "string");
  const line = typeof first === "string" ? (first.split("\n", 1)[0] ?? "") : "";
  return line.length > 100 ? `${line.slice(0, 100)}…` : line;
}
