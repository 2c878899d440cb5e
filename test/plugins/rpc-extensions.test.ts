/** Extensions and the client: dialogs at any time, errors, purity of stdout, and shutting down. */
import { expect, test } from "vitest";
import { runPi, startRpc } from "../helpers/pi.ts";

const extension = (body: string) => ({ "extensions/ours.ts": `export default function (pi: any) {\n${body}\n}` });

test("an extension may ask while the agent starts, before any command", async () => {
  const rpc = startRpc({
    agentFiles: extension(`
      pi.on("session_start", async (_: unknown, ctx: any) => {
        ctx.ui.notify("starting");
        const name = await ctx.ui.input("Who are you?");
        ctx.ui.setStatus("who", name);
      });`),
  });
  // Written before anybody listens; answered once the agent has started, which an open dialog does not hold up.
  rpc.send({ id: "s", type: "get_state" });
  const dialog = await rpc.find(({ method }) => method === "input");
  expect(rpc.frames.slice(0, 2).map(({ method }) => method)).toEqual(["notify", "input"]);
  await rpc.find(({ id }) => id === "s");
  rpc.send({ type: "extension_ui_response", id: dialog.id, value: "a client" });
  expect(await rpc.find(({ method }) => method === "setStatus")).toMatchObject({ statusKey: "who", statusText: "a client" });
});

test("a dialog that nobody can answer any more does not keep the agent", async () => {
  const rpc = startRpc({
    agentFiles: extension(`
      pi.registerCommand("ask", { handler: async (_: string, ctx: any) => {
        const answer = await ctx.ui.confirm("Sure?", "");
        ctx.ui.notify("answer: " + answer);
      } });`),
  });
  rpc.send({ id: "p", type: "prompt", message: "/ask" });
  await rpc.find(({ method }) => method === "confirm");
  expect(await rpc.stop()).toEqual({ status: 0, signal: null });
  expect(rpc.frames.map(({ method, id, message }) => message ?? method ?? id)).toEqual(["", "answer: false", "p"]);
});

test("whatever code prints, stdout carries records only", async () => {
  const { stdout, stderr, status } = await runPi({
    args: ["--mode", "rpc"],
    agentFiles: extension(`
      console.log("from the factory");
      process.stdout.write("written\\n");
      pi.on("session_start", async () => {
        console.log("from a handler");
        (await import("node:fs")).writeSync(1, "to the descriptor\\n");
        (await import("node:child_process")).execFileSync("echo", ["from a child"], { stdio: "inherit" });
      });`),
    input: '{"id":1,"type":"get_state"}\n',
  });
  expect(status).toBe(0);
  expect(stdout.trim().split("\n")).toHaveLength(1);
  expect(JSON.parse(stdout)).toMatchObject({ id: 1, success: true });
  for (const text of ["from the factory", "written", "from a handler", "to the descriptor", "from a child"]) expect(stderr).toContain(text);
});

test("handlers that throw are told once, with their file and event", async () => {
  const rpc = startRpc({
    script: ["Fine."],
    agentFiles: {
      ...extension('pi.on("agent_start", () => { throw new Error("handler broke"); });'),
      "extensions/broken.ts": "export default function () { throw new Error('factory broke'); }",
    },
  });
  await rpc.prompt("go");
  const errors = rpc.frames.filter(({ type }) => type === "extension_error");
  expect(errors.map(({ event, error }) => [event, error])).toEqual([
    ["load", expect.stringContaining("factory broke")],
    ["agent_start", "handler broke"],
  ]);
  expect(errors[0]?.extensionPath).toMatch(/extensions\/broken\.ts$/);
  expect(errors[1]?.extensionPath).toMatch(/extensions\/ours\.ts$/);
});

test("an extension ends the agent once its command is answered", async () => {
  const rpc = startRpc({
    agentFiles: extension('pi.registerCommand("bye", { handler: async (_: string, ctx: any) => { ctx.shutdown(); } });'),
  });
  rpc.send({ id: "p", type: "prompt", message: "/bye" });
  expect(await rpc.exited).toEqual({ status: 0, signal: null });
  expect(rpc.frames).toEqual([{ id: "p", type: "response", command: "prompt", success: true }]);
});

test("an extension's shutdown waits for the run to settle", async () => {
  const rpc = startRpc({
    script: [{ toolCalls: [{ name: "bash", arguments: { command: "ls" } }] }, "Listed."],
    agentFiles: extension('pi.on("tool_call", (_: unknown, ctx: any) => { ctx.shutdown(); });'),
  });
  rpc.send({ id: "p", type: "prompt", message: "go" });
  expect(await rpc.exited).toEqual({ status: 0, signal: null });
  expect(rpc.frames.at(-1)?.type).toBe("agent_settled");
  const end = rpc.frames.find(({ type }) => type === "agent_end");
  expect(end?.messages.at(-1)).toMatchObject({ stopReason: "stop", content: [{ text: "Listed." }] });
});
