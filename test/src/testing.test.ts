import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { definePlugin } from "../../core/index.ts";
import type { ExtensionAPI } from "../../plugins/extensions/types.ts";
import { startAgent, type TestAgentOptions } from "../../src/testing/index.ts";
import { tempDir } from "../helpers/pi.ts";

async function start(options: TestAgentOptions) {
  const agent = await startAgent(options);
  onTestFinished(() => agent.stop());
  return agent;
}

function greeter(pi: ExtensionAPI): void {
  pi.registerTool({
    name: "greet",
    label: "Greet",
    description: "Greets",
    parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    execute: async (_, { name }: any) => ({ content: [{ type: "text", text: `Hello, ${name}.` }] }),
  });
  pi.registerCommand("ask", {
    handler: async (_, ctx) => {
      const colour = await ctx.ui.select("Colour?", ["red", "green"]);
      const sure = await ctx.ui.confirm("Sure?", "really");
      ctx.ui.notify(`${colour} ${sure} ${await ctx.ui.input("Name?")}`);
    },
  });
  pi.on("tool_call", ({ input }) => (input.name === "Nobody" ? { block: true, reason: "nobody is there" } : undefined));
}

const greeting = (name: string) => ({ toolCalls: [{ name: "greet", arguments: { name } }] });

describe("startAgent", () => {
  it("runs prompts against scripted answers and says what happened", async () => {
    const agent = await start({ extensions: [greeter], responses: [greeting("Ada"), "Greeted.", greeting("Nobody"), "Not greeted."] });
    const first = await agent.prompt("Greet Ada");
    expect(first.tools).toEqual([{ name: "greet", args: { name: "Ada" }, text: "Hello, Ada.", isError: false }]);
    expect(first.text).toBe("Greeted.");
    expect(first.events.map(({ type }) => type)).toContain("agent_settled");
    expect((await agent.prompt("Greet nobody")).tools).toMatchObject([{ isError: true, text: "nobody is there" }]);
    expect(agent.model.requests).toHaveLength(4);
    expect(agent.model.requests[0]?.tools.map(({ name }) => name)).toContain("greet");
    expect(agent.messages().length).toBe(8);
    expect(agent.faults).toEqual([]);
  });

  it("records UI calls and answers dialogs from a script; without answers they are cancelled", async () => {
    const agent = await start({ extensions: [greeter], answers: ["green", true, "Bo"] });
    await agent.prompt("/ask");
    await agent.prompt("/ask");
    expect(agent.ui.notices).toEqual(["green true Bo", "undefined false undefined"]);
    agent.ui.answers = ({ method }) => (method === "select" ? "red" : undefined);
    await agent.prompt("/ask");
    expect(agent.ui.calls.at(-4)).toEqual({ method: "select", title: "Colour?", options: ["red", "green"], answer: "red" });
  });

  it("has a home, settings and files of its own, and takes kernel plugins", async () => {
    const seen: string[] = [];
    const plugin = definePlugin({ name: "mine", apply: (kernel) => void kernel.hooks.turn.tap("mine", () => void seen.push("turn")) });
    const reading = { toolCalls: [{ name: "read", arguments: { path: "a.txt" } }] };
    const agent = await start({ plugins: [plugin], files: { "a.txt": "content" }, settings: { defaultThinkingLevel: "low" }, responses: [reading, "done"] });
    expect((await agent.prompt("go")).tools).toMatchObject([{ name: "read", text: "content" }]);
    expect(seen).toEqual(["turn", "turn"]);
    const settings = agent.kernel.service("settings");
    expect(settings.get("defaultThinkingLevel")).toBe("low");
    expect(settings.home()).toBe(agent.home);
    expect(settings.env("USER")).toBeUndefined();
  });

  it("refuses an extension that does not load, in a sentence with its place", async () => {
    const file = join(tempDir(), "broken.ts");
    writeFileSync(file, "export default () => {\n  throw new Error('no');\n};\n");
    await expect(startAgent({ extensions: [file] })).rejects.toThrow(/broken\.ts could not be loaded: no .*broken\.ts:2/);
  });

  it("reloads files on request and by itself", async () => {
    const file = join(tempDir(), "hot.ts");
    const version = (text: string) => `export default (pi: any) => pi.registerCommand("v", { handler: (_: string, ctx: any) => ctx.ui.notify("${text}") });\n`;
    writeFileSync(file, version("one"));
    const agent = await start({ extensions: [file], hotReload: true });
    await agent.prompt("/v");
    writeFileSync(file, version("two"));
    expect(await agent.event(({ type }) => type === "extension_reload")).toMatchObject({ success: true, generation: 2 });
    await agent.prompt("/v");
    expect(agent.ui.notices).toEqual(["one", "two"]);
    expect(agent.extensions()).toMatchObject([{ state: "active", generation: 2, owns: { commands: ["v"] } }]);
  });

  it("20 agents side by side know nothing of each other, and leave nothing global behind", async () => {
    const before = { cwd: process.cwd(), home: process.env.HOME, listeners: process.listenerCount("uncaughtException") };
    const agents = await Promise.all(
      Array.from({ length: 20 }, (_, index) => start({ extensions: [greeter], responses: [greeting(`N${index}`), `answer ${index}`] })),
    );
    const runs = await Promise.all(agents.map((agent, index) => agent.prompt(`prompt ${index}`)));
    for (const [index, run] of runs.entries()) {
      expect(run.text).toBe(`answer ${index}`);
      expect(run.tools).toMatchObject([{ text: `Hello, N${index}.` }]);
    }
    expect(new Set(agents.map(({ home }) => home)).size).toBe(20);
    expect({ cwd: process.cwd(), home: process.env.HOME, listeners: process.listenerCount("uncaughtException") }).toEqual(before);
  });
});
