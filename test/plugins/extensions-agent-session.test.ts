/** Sessions within the session: `createAgentSession` and what belongs to it. */
import { expect, test } from "vitest";
import { command, errors, notice, startWith } from "../extensions/helpers.ts";

/** A model that asks for the tools named in the prompt, and then repeats what came of them. */
const script = `const textOf = (content: any) => typeof content === "string" ? content : content.map((block: any) => block.text ?? "").join("");
export default ({ systemPrompt, messages, tools }: any) => {
  const last = messages.at(-1);
  if (last.role === "toolResult") return { text: messages.filter((m: any) => m.role === "toolResult").map((m: any) => textOf(m.content).trim()).join(" ") };
  const asked = textOf(last.content);
  if (asked === "hang") return { hang: true };
  if (asked === "prompt") return { text: systemPrompt.split("\\n")[0] + " " + tools.map((tool: any) => tool.name).join() + " " + messages.length };
  return { text: "calling", toolCalls: asked.split(" ").map((name) => ({ name, arguments: name === "bash" ? { command: "pwd" } : { n: 1 } })) };
};`;

const extension = (body: string) => `import { createAgentSession, DefaultResourceLoader, SessionManager } from "@earendil-works/pi-coding-agent";
  const own = { name: "own", label: "Own", description: "d", parameters: { type: "object", properties: { n: { type: "number" } } }, execute: async (_id: string, { n }: any, _signal: any, _update: any, ctx: any) => ({ content: [{ type: "text", text: "own " + (n + 1) + " " + (ctx.cwd !== "") }], details: {} }) };
  export default (pi: any) => {
    let kept: any;
    const text = (session: any) => session.getLastAssistantText();
    ${body}
  };`;

function start(body: string, scriptFile = script) {
  return startWith({ "sub.ts": extension(body) }, { files: { "model.ts": scriptFile }, script: undefined as never, args: ["--model", "scripted/model.ts"] });
}

test("a session within the session has its own prompt, tools, messages and events, and leaves the one around it alone", async () => {
  const rpc = start(`pi.registerCommand("sub", { handler: async (_: string, ctx: any) => {
    const resourceLoader = new DefaultResourceLoader({ cwd: ctx.cwd, systemPromptOverride: () => "You are small.", noContextFiles: true, noExtensions: true });
    await resourceLoader.reload();
    const { session } = await createAgentSession({ cwd: "/", model: ctx.model, tools: ["bash", "own"], customTools: [own], resourceLoader, sessionManager: SessionManager.inMemory() });
    const types: string[] = [];
    const leave = session.subscribe((event: any) => { if (!types.includes(event.type)) types.push(event.type); });
    await session.prompt("bash own");
    leave();
    ctx.ui.notify(text(session));
    ctx.ui.notify(types.join(" "));
    ctx.ui.notify(session.messages.map((m: any) => m.role).join(" ") + " " + session.getSessionStats().toolResults);
    await session.prompt("prompt");
    ctx.ui.notify(text(session));
    session.setActiveToolsByName(["own"]);
    session.agent.state.messages = [];
    await session.prompt("prompt");
    ctx.ui.notify(text(session));
    session.dispose();
    ctx.ui.notify(ctx.sessionManager.getEntries().filter((e: any) => e.type === "message").length + " " + ctx.isIdle());
    ctx.ui.notify(await session.prompt("more").catch((error: Error) => error.message));
  } });`);
  expect(await command(rpc, "/sub")).toEqual([
    "/ own 2 true",
    "agent_start turn_start message_start message_end message_update tool_execution_start tool_execution_update tool_execution_end turn_end agent_end agent_settled",
    "user assistant toolResult toolResult assistant 2",
    "You are small. bash,own 6",
    "You are small. own 1",
    "0 true",
    "This session has been disposed of.",
  ]);
  expect(rpc.frames.some(({ type }) => type === "agent_start")).toBe(false);
  expect(errors(rpc)).toEqual([]);
});

test("a session within the session goes on with a conversation, is aborted, and takes one prompt at a time", async () => {
  const rpc = start(`pi.registerCommand("sub", { handler: async (_: string, ctx: any) => {
    const sessionManager = SessionManager.inMemory();
    sessionManager.appendMessage({ role: "user", content: [{ type: "text", text: "before" }], timestamp: 1 });
    const { session } = await createAgentSession({ noTools: "builtin", customTools: [own], sessionManager });
    const running = session.prompt("hang");
    ctx.ui.notify(await session.prompt("again").catch((error: Error) => String(error.message.includes("already processing"))));
    await session.followUp("own");
    ctx.ui.notify([session.isStreaming, session.pendingMessageCount, session.model.id === ctx.model.id].join());
    setTimeout(() => session.abort(), 50);
    await running;
    ctx.ui.notify([session.isStreaming, session.messages.at(-1).stopReason, sessionManager.buildSessionContext().messages.length, session.sessionId === sessionManager.getSessionId(), session.clearQueue().followUp.length].join());
    session.dispose();
  } });`);
  expect(await command(rpc, "/sub")).toEqual(["true", "true,1,true", "false,aborted,3,true,1"]);
  expect(errors(rpc)).toEqual([]);
});

test("a session within the session ends with the extension that made it, and a prompt without a credential is refused", async () => {
  const rpc = start(`
    pi.on("session_start", ({ reason }: any, ctx: any) => {
      if (reason === "reload") return;
      void createAgentSession({ tools: [] }).then(async ({ session }) => { kept = session; const running = session.prompt("hang"); ctx.ui.notify("running"); await running; console.error("ended " + session.messages.at(-1).stopReason); });
    });
    pi.registerCommand("keyless", { handler: async (_: string, ctx: any) => {
      const { session } = await createAgentSession({ model: ctx.modelRegistry.getAll().find((m: any) => m.provider === "anthropic") });
      ctx.ui.notify(await session.prompt("x").catch((error: Error) => error.message));
    } });`);
  await notice(rpc, "running");
  expect((await command(rpc, "/keyless"))[0]).toContain("No API key found for anthropic");
  await rpc.ask("reload");
  await expect.poll(() => rpc.stderr).toContain("ended aborted");
});
