/** A plain chat on a terminal: line by line, streamed answers, Ctrl-C aborts the run, Ctrl-D leaves. */
import { definePlugin, messageOf, type PluginKernel, Stage } from "../../core/index.ts";
import type {} from "../models/contract.ts";
import type {} from "../rpc/contract.ts";
import type {} from "../settings/contract.ts";
import type {} from "../skills/contract.ts";
import { Terminal } from "./terminal.ts";
import { terminalUi } from "./ui.ts";

export const chat = definePlugin({
  name: "transport:chat",
  apply(kernel) {
    kernel.registry("transports").add({
      name: "chat",
      // Dialogs work, components for a full-screen terminal do not: what extensions know as "rpc".
      mode: "rpc",
      async serve(io) {
        const terminal = new Terminal(io);
        const undo = [kernel.provide("ui", terminalUi(terminal)), show(kernel, terminal)];
        try {
          await converse(kernel, terminal);
        } finally {
          for (const back of undo) back();
          terminal.close();
        }
        return 0;
      },
    });
  },
});

async function converse(kernel: PluginKernel, terminal: Terminal): Promise<void> {
  const model = kernel.tryService("models")?.current();
  const name = kernel.tryService("settings")?.branding.name ?? "agent";
  const using = model ? `${model.provider}/${model.id}` : "no model";
  terminal.line(`${name} with ${using}. /commands lists what a slash does; Ctrl-C stops an answer, Ctrl-D leaves.`);
  terminal.onInterrupt(() => {
    if (kernel.run.idle) return false;
    void kernel.run.abort();
    return true;
  });
  for (;;) {
    const text = await terminal.ask("> ");
    if (text === undefined) return;
    if (text.trim() === "") continue;
    if (text.trim() === "/commands") listCommands(kernel, terminal);
    else await submit(kernel, terminal, text);
  }
}

async function submit(kernel: PluginKernel, terminal: Terminal, text: string): Promise<void> {
  try {
    const accepted = await kernel.prompt({ text, source: "interactive" });
    accepted.begin();
    await kernel.run.whenIdle();
    await kernel.flush();
  } catch (error) {
    terminal.line(messageOf(error));
  }
}

function listCommands(kernel: PluginKernel, terminal: Terminal): void {
  const skills = kernel.registry("skills").all();
  const called = skills.map(({ name, description }) => ({ name: `skill:${name}`, description }));
  const commands = [...kernel.registry("slashCommands").all(), ...kernel.registry("promptTemplates").all(), ...called];
  if (commands.length === 0) terminal.line("There are no slash commands.");
  for (const { name, description } of commands) terminal.line(`/${name}${description ? `  ${description}` : ""}`);
}

/** Writes what the agent does as it happens. */
function show(kernel: PluginKernel, terminal: Terminal): () => void {
  return kernel.hooks.event.tap({ name: "chat", stage: Stage.wire }, (event) => {
    if (event.type === "message_update") {
      const { assistantMessageEvent: increment } = event;
      if (increment.type === "text_delta") terminal.stream(increment.delta);
      if (increment.type === "thinking_delta") terminal.stream(increment.delta, "dim");
      if (increment.type === "text_end" || increment.type === "thinking_end") terminal.endStream();
    }
    if (event.type === "tool_execution_start") terminal.line(`· ${event.toolName} ${JSON.stringify(event.args).slice(0, 120)}`, "dim");
    if (event.type === "tool_execution_end" && event.isError) terminal.line("· failed", "dim");
    if (event.type === "message_end" && event.message.role === "assistant" && event.message.errorMessage) terminal.line(event.message.errorMessage);
  });
}

export default [chat];
