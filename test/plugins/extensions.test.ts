/** Extensions against the real program: loading, the API, events, tools, commands, flags, contexts. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { answers, command, error, errors, extensionList, notice, notices, startWith, toolResults } from "../extensions/helpers.ts";
import { type Frame, runPi, startRpc, tempDir } from "../helpers/pi.ts";

const callsTool = (name: string, args: object = {}) => ({ responses: [{ toolCalls: [{ name, arguments: args }] }, "done"], repeat: true });

describe("loading", () => {
  test("a file may use every module form at once, and both scopes are one module", async () => {
    const rpc = startWith(
      {
        "forms.ts": `
          import { Type } from "@sinclair/typebox";
          import { Type as Type1 } from "typebox";
          import { Value } from "typebox/value";
          import { StringEnum } from "@mariozechner/pi-ai";
          import * as old from "@mariozechner/pi-coding-agent";
          import * as newer from "@earendil-works/pi-coding-agent";
          import { doesNotExist } from "@earendil-works/pi-tui";
          import data from "./lib/data.json" with { type: "json" };
          import { helper } from "./lib/helper.js";
          import esm from "./lib/esm.mjs";
          const cjs = require("./lib/common.cjs");
          enum Level { High = 3 }
          class Point { constructor(private x: number) {} get() { return this.x; } }
          namespace Inner { export const y = 7; }
          const later = await Promise.resolve(5);
          export default async function (pi: any) {
            const { promise, resolve } = Promise.withResolvers<string>();
            resolve("resolved");
            const word = await promise;
            const schema = Type.Object({ a: Type1.Optional(StringEnum(["x"])), b: Type.Composite([Type.Object({ c: Type.Number() })]) });
            pi.registerCommand("forms", { handler: async (_: string, ctx: any) => ctx.ui.notify(JSON.stringify([
              Type === Type1, old.createReadTool === newer.createReadTool, doesNotExist === undefined, data.k, helper(), esm, cjs.c, Level.High,
              new Point(2).get(), Inner.y, later, word, __filename === import.meta.filename, __dirname.endsWith("extensions"), schema.required,
              Value.Check(schema, { b: { c: 1 } }), typeof (await import("./lib/helper.ts")).helper, (import.meta as any).url.startsWith("file:"),
            ])) });
          }`,
        "lib/data.json": `{ "k": 1 }`,
        "lib/helper.ts": `export function helper(): string { return "helped"; }`,
        "lib/esm.mjs": `export default "esm";`,
        "lib/common.cjs": `module.exports = { c: "cjs" };`,
        "plain.js": `module.exports = (pi) => pi.registerCommand("plain", { handler: () => {} });`,
        "dir/index.ts": `export default (pi: any) => pi.registerCommand("dir", { handler: () => {} });`,
      },
      { script: { responses: ["x"] } },
    );
    const [text = "[]"] = await command(rpc, "/forms");
    expect(JSON.parse(text)).toEqual([true, true, true, 1, "helped", "esm", "cjs", 3, 2, 7, 5, "resolved", true, true, ["b"], true, "function", true]);
    const { commands } = await rpc.ask("get_commands");
    expect(commands.map(({ name }: { name: string }) => name)).toEqual(["dir", "forms", "plain"]);
    expect(errors(rpc)).toEqual([]);
  });

  test("a name behind a comment is found", async () => {
    const rpc = startWith({
      "hidden.ts": `
        import { word } from /* beside it */ "./lib/word.ts";
        export default (pi) => pi.registerCommand("hidden", { handler: async (_, ctx) => ctx.ui.notify(word) });`,
      "lib/word.ts": `export const word = "found";`,
    });
    expect(await command(rpc, "/hidden")).toEqual(["found"]);
    expect(errors(rpc)).toEqual([]);
  });

  test("a broken extension is reported with file and line and the others load", async () => {
    const rpc = startWith({
      "a-syntax.ts": "export default function (pi) {\n  let x = ;\n}",
      "b-throws.ts": `export default function () {\n  throw new Error("no way");\n}`,
      "c-none.ts": `export const x = 1;`,
      "d-missing.ts": `import "./nope.ts";\nexport default () => {};`,
      "e-rejects.ts": `export default async () => { await null; throw new Error("later"); };`,
      "good.ts": `export default (pi: any) => pi.registerCommand("good", { handler: () => {} });`,
    });
    const list = await extensionList(rpc);
    expect(list.map(({ name, state }) => [name, state])).toEqual([
      ["a-syntax", "failed"],
      ["b-throws", "failed"],
      ["c-none", "failed"],
      ["d-missing", "failed"],
      ["e-rejects", "failed"],
      ["good", "active"],
    ]);
    const reported = errors(rpc);
    expect(reported.map(({ event }) => event)).toEqual(Array(5).fill("load"));
    expect(reported[0]?.error).toMatch(/a-syntax\.ts:2:/);
    expect(reported[1]?.error).toMatch(/no way.*b-throws\.ts:2/);
    expect(reported[2]?.error).toContain("factory function");
    expect(reported[3]?.error).toMatch(/nope\.ts/);
    expect(rpc.stderr).toContain("a-syntax.ts");
  });

  test("a package of the extension wins over ours only if it is not part of the API", async () => {
    const rpc = startWith({
      "pack/package.json": `{ "pi": { "extensions": ["./main.ts"] } }`,
      "pack/main.ts": `import { own } from "own"; import { own as esm } from "own-esm"; import { VERSION } from "@mariozechner/pi-coding-agent";
        export default (pi: any) => pi.on("session_start", (_: any, ctx: any) => ctx.ui.notify([own, esm, VERSION !== "nested"].join()));`,
      "pack/node_modules/own/package.json": `{ "name": "own", "main": "index.js" }`,
      "pack/node_modules/own/index.js": `exports.own = "mine";`,
      "pack/node_modules/own-esm/package.json": `{ "name": "own-esm", "type": "module", "exports": "./index.js" }`,
      "pack/node_modules/own-esm/index.js": `export const own = "esm";`,
      "pack/node_modules/@mariozechner/pi-coding-agent/package.json": `{ "name": "@mariozechner/pi-coding-agent", "main": "index.js" }`,
      "pack/node_modules/@mariozechner/pi-coding-agent/index.js": `exports.VERSION = "nested";`,
    });
    await notice(rpc, "mine,esm,true");
  });

  test("a file may export a kernel plugin instead, with the same reload and the same end", async () => {
    const rpc = startWith({
      "native.ts": `import { definePlugin, command } from "pi-kernel/plugin";
        export default [definePlugin({ name: "mine", apply(kernel) { kernel.hooks.describe.tap("mine", (state) => { state.mine = 1; }); } }),
          command({ name: "get_mine", result: () => ({ type: "object", properties: {} }) as any, run: () => ({ mine: true }) })];`,
    });
    expect(await rpc.ask("get_mine")).toEqual({ mine: true });
    expect(errors(rpc)).toEqual([]);
  });

  test("what cannot be done while loading says so", async () => {
    const rpc = startWith({
      "early.ts": `export default async (pi: any) => {
        const said: string[] = [];
        for (const call of [() => pi.sendUserMessage("x"), () => pi.appendEntry("x"), () => pi.getActiveTools()]) try { call(); } catch (error: any) { said.push(error.message); }
        await pi.setModel({}).catch((error: any) => said.push(error.message));
        pi.on("session_start", (_: any, ctx: any) => ctx.ui.notify(String(said.filter((text) => text.includes("during extension loading")).length)));
      };`,
    });
    await notice(rpc, "4");
  });
});

describe("order and combination", () => {
  test("handlers run in load order, chains pass values on, and the first decision counts", async () => {
    const log = `(text: string) => require("node:fs").appendFileSync(process.env.LOG, text + "\\n")`;
    const file = join(tempDir(), "log");
    const extension = (name: string) => `export default (pi: any) => { const log = ${log};
      for (const event of ["agent_start", "turn_start", "message_start", "message_end", "tool_execution_start", "tool_call", "tool_result", "tool_execution_end", "turn_end", "agent_end", "agent_settled", "before_agent_start", "context", "input"])
        pi.on(event, (e: any, ctx: any) => { log(\`${name} \${event} \${e.message?.role ?? e.turnIndex ?? e.text ?? ""}\`); });
      pi.on("input", (e: any) => ({ action: "transform", text: e.text + "-${name}" }));
      pi.on("tool_result", (e: any) => ({ content: [{ type: "text", text: e.content[0].text + "+${name}" }] }));
      pi.on("before_agent_start", (e: any) => ({ systemPrompt: e.systemPrompt + "|${name}", message: { customType: "${name}", content: "note ${name}", display: false } }));
      pi.on("message_end", (e: any) => e.message.role === "assistant" && e.message.content[0]?.type === "text" ? { message: { ...e.message, content: [{ type: "text", text: e.message.content[0].text + "!${name}" }] } } : undefined);
    };`;
    const rpc = startWith({ "a.ts": extension("a"), "b.ts": extension("b") }, { script: callsTool("ls"), env: { LOG: file }, args: ["--tools", "ls"] });
    const frames = await rpc.prompt("hi");
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const ofA = lines.filter((line) => line.startsWith("a ")).map((line) => line.slice(2).trim());
    expect(ofA).toEqual([
      "input hi",
      "before_agent_start",
      "agent_start",
      "turn_start 0",
      "message_start user",
      "message_end user",
      "message_start custom",
      "message_end custom",
      "message_start custom",
      "message_end custom",
      "context",
      "message_start assistant",
      "message_end assistant",
      "tool_execution_start",
      "tool_call",
      "tool_result",
      "tool_execution_end",
      "message_start toolResult",
      "message_end toolResult",
      "turn_end assistant",
      "turn_start 1",
      "context",
      "message_start assistant",
      "message_end assistant",
      "turn_end assistant",
      "agent_end",
      "agent_settled",
    ]);
    expect(lines.filter((line) => line.includes("agent_start") && !line.includes("before"))).toEqual(["a agent_start ", "b agent_start "]);
    const users = frames.filter(({ type, message }) => type === "message_end" && message.role === "user");
    expect(users[0]?.message.content[0].text).toBe("hi-a-b");
    expect(toolResults(frames)[0]?.text).toMatch(/\+a\+b$/);
    expect(answers(frames).at(-1)).toBe("done!a!b");
    const { messages } = await rpc.ask("get_messages");
    expect(messages.filter(({ role }: { role: string }) => role === "custom").map(({ content }: { content: string }) => content)).toEqual(["note a", "note b"]);
    expect(answers(frames).at(-1)).toBe(messages.at(-1).content[0].text);
  });

  test("the first extension owns a tool, later ones are told, and extensions beat built-ins", async () => {
    const tool = (name: string, text: string) =>
      `export default (pi: any) => pi.registerTool({ name: "${name}", label: "x", description: "${text}", parameters: { type: "object", properties: {} }, execute: async () => ({ content: [{ type: "text", text: "${text}" }] }) });`;
    const rpc = startWith({ "1.ts": tool("twice", "first"), "2.ts": tool("twice", "second"), "3.ts": tool("read", "mine") }, { script: callsTool("twice") });
    expect(toolResults(await rpc.prompt("go"))[0]?.text).toBe("first");
    expect(errors(rpc)).toMatchObject([{ event: "conflict", error: expect.stringContaining("twice") }]);
    const { tools } = await rpc.ask("get_tools");
    expect(tools.find(({ name }: { name: string }) => name === "read").description).toBe("mine");
  });

  test("a command's name ends at the first space, and its arguments stay as they are", async () => {
    const rpc = startWith({
      "a.ts": `export default (pi: any) => pi.registerCommand("say", { handler: (args: string, ctx: any) => ctx.ui.notify("[" + args + "]") });`,
    });
    expect(await command(rpc, "/say  two words\n")).toEqual(["[ two words\n]"]);
    expect(await command(rpc, "/say")).toEqual(["[]"]);
    for (const text of ["/say\nmore", "/say\tmore", " /say"]) {
      const frames = await rpc.prompt(text);
      expect(frames.filter(({ method }) => method === "notify")).toEqual([]);
      expect(answers(frames)).toEqual(["fine"]);
    }
  });

  test("commands of the same name get numbers, and one alone keeps its name", async () => {
    const owner = (...names: string[]) =>
      `export default (pi: any) => { for (const name of ${JSON.stringify(names)}) pi.registerCommand(name, { description: "d", handler: (args: string, ctx: any) => ctx.ui.notify(name + "|" + args + "|" + __filename.slice(-4)) }); };`;
    const rpc = startWith({ "a.ts": owner("same", "only"), "b.ts": owner("same"), "c.ts": owner("same:2") });
    const { commands } = await rpc.ask("get_commands");
    expect(commands.map(({ name }: { name: string }) => name).sort()).toEqual(["only", "same:1", "same:2", "same:3"]);
    expect(await command(rpc, "/same:1 x  y")).toEqual(["same|x  y|a.ts"]);
    expect(await command(rpc, "/same:3")).toEqual(["same||b.ts"]);
    expect(answers(await rpc.prompt("/same"))).toEqual(["fine"]);
  });
});

describe("branching", () => {
  test("the former command asks session_before_branch first, then session_before_fork; either may veto", async () => {
    const source = `export default (pi) => {
      pi.on("session_before_fork", async (event, ctx) => { ctx.ui.notify("fork"); });
      pi.on("session_before_branch", async (event, ctx) => { ctx.ui.notify("branch"); return { cancel: true }; });
    };`;
    const rpc = startWith({ "veto.ts": source }, { script: { responses: ["one"] } });
    await rpc.prompt("first");
    const [message] = (await rpc.ask("get_fork_messages")).messages;
    expect(await rpc.ask("branch", { entryId: message.entryId })).toEqual({ text: "first", cancelled: true });
    expect(notices(rpc)).toEqual(["branch"]);
    expect(await rpc.ask("fork", { entryId: message.entryId })).toMatchObject({ cancelled: false });
    expect(notices(rpc)).toEqual(["branch", "fork"]);
  });
});

describe("guards", () => {
  test("a tool_call handler that throws blocks the call and is reported", async () => {
    const rpc = startWith(
      { "guard.ts": 'export default (pi) => pi.on("tool_call", () => { throw new Error("guard broke"); });' },
      { script: callsTool("read", { path: "a" }) },
    );
    const frames = await rpc.prompt("go");
    expect(errors(rpc).filter(({ event }) => event === "tool_call")).toMatchObject([{ error: "guard broke" }]);
    expect(JSON.stringify(toolResults(frames))).toContain("guard broke");
  });
});

describe("flags", () => {
  const flags = `export default (pi: any) => {
    pi.registerFlag("plan", { type: "boolean", description: "Plan first" });
    pi.registerFlag("who", { type: "string", default: "nobody" });
    const early = pi.getFlag("who");
    pi.on("session_start", (_: any, ctx: any) => ctx.ui.notify([early, pi.getFlag("plan"), pi.getFlag("who"), pi.getFlag("--plan"), pi.getFlag("other")].join()));
  };`;

  test("values of the command line are there from session_start on", async () => {
    await notice(startWith({ "f.ts": flags }, { args: ["--plan", "--who=Ada"] }), "nobody,true,Ada,,");
    await notice(startWith({ "f.ts": flags }), "nobody,,nobody,,");
  });

  test("the first registration decides type and default for all", async () => {
    const saying = (type: string, fallback: string) => `export default (pi: any) => {
      pi.registerFlag("level", { type: "${type}", default: ${fallback} });
      pi.on("session_start", (_: any, ctx: any) => ctx.ui.notify(import.meta.filename.slice(-4) + " " + pi.getFlag("level")));
    };`;
    const both = { "a.ts": saying("string", '"low"'), "b.ts": saying("boolean", "false") };
    const plain = startWith(both);
    await notice(plain, "b.ts low");
    const given = startWith(both, { args: ["--level", "high"] });
    await notice(given, "b.ts high");
    expect([...notices(plain), ...notices(given)]).toEqual(["a.ts low", "b.ts low", "a.ts high", "b.ts high"]);
  });

  test("an option that nobody knows and a string without a value end the start", async () => {
    const unknown = await runPi({ agentFiles: { "extensions/f.ts": flags }, args: ["--mode", "rpc", "--what", "--plan"] });
    expect(unknown).toMatchObject({ status: 1, stdout: "" });
    expect(unknown.stderr).toContain("Unknown option(s): --what");
    const empty = await runPi({ agentFiles: { "extensions/f.ts": flags }, args: ["--mode", "rpc", "--who"] });
    expect(empty).toMatchObject({ status: 1, stdout: "" });
    expect(empty.stderr).toContain('Extension flag "--who" requires a value');
  });
});

describe("contexts", () => {
  test("ctx.ui works over the wire, and what needs a terminal does nothing", async () => {
    const rpc = startWith({
      "ui.ts": `export default (pi: any) => {
        pi.registerCommand("ask", { handler: async (_: string, ctx: any) => {
          const got = [await ctx.ui.select("S", ["a", "b"]), await ctx.ui.confirm("C", "m"), await ctx.ui.input("I", "p"), await ctx.ui.editor("E", "pre"), await ctx.ui.select("T", ["x"], { timeout: 30 })];
          ctx.ui.notify(JSON.stringify(got), "warning");
        } });
        pi.registerCommand("rest", { handler: async (_: string, ctx: any) => {
          let called = 0;
          ctx.ui.setWidget("w", ["l1", ctx.ui.theme.fg("accent", "l2")], { placement: "belowEditor" });
          ctx.ui.setWidget("w", () => called++);
          ctx.ui.setTitle("t"); ctx.ui.setEditorText("e"); ctx.ui.pasteToEditor("p");
          ctx.ui.setFooter(() => called++); ctx.ui.setWorkingMessage("x"); ctx.ui.onTerminalInput(() => {})();
          ctx.ui.notify(JSON.stringify([await ctx.ui.custom(() => called++) === undefined, called, ctx.mode, ctx.hasUI, ctx.ui.getEditorText(), ctx.ui.getAllThemes(), ctx.ui.setTheme("x")]));
        } });
      };`,
    });
    const from = rpc.frames.length;
    const asked = rpc.ask("prompt", { message: "/ask" });
    for (const [method, answer] of [
      ["select", { value: "b" }],
      ["confirm", { confirmed: true }],
      ["input", { value: "" }],
      ["editor", { cancelled: true }],
    ] as const) {
      const { id } = await rpc.find((frame) => frame.type === "extension_ui_request" && frame.method === method, from);
      rpc.send({ type: "extension_ui_response", id, ...answer });
    }
    await asked;
    expect(notices(rpc)).toEqual(['["b",true,"",null,null]']);
    const [text = ""] = await command(rpc, "/rest");
    expect(JSON.parse(text)).toEqual([true, 0, "rpc", true, "", [], { success: false, error: "Theme switching not supported in RPC mode" }]);
    const widgets = rpc.frames.filter(({ method }) => method === "setWidget");
    expect(widgets).toHaveLength(1);
    expect(widgets[0]).toMatchObject({ widgetLines: ["l1", "l2"], widgetPlacement: "belowEditor" });
    expect(rpc.frames.filter(({ method }) => method === "set_editor_text").map(({ text: shown }) => shown)).toEqual(["e", "p"]);
  });

  test("what an extension says to ctx.ui against its types reaches the client in the protocol's words", async () => {
    const rpc = startWith({
      "odd.ts": `export default (pi: any) => pi.registerCommand("odd", { handler: async (_: string, ctx: any) => {
        ctx.ui.notify("saved", "success");
        ctx.ui.setStatus("s", null);
        ctx.ui.setWidget("w", ["line"], { placement: "left" });
        await ctx.ui.input("for ever", null, { timeout: Infinity });
        await ctx.ui.editor("edit", null);
      } });`,
    });
    const response = rpc.call("prompt", { message: "/odd" });
    for (const title of ["for ever", "edit"]) {
      const dialog = await rpc.find((frame) => frame.title === title);
      rpc.send({ type: "extension_ui_response", id: dialog.id, cancelled: true });
    }
    expect(await response).toMatchObject({ success: true });
    const requests = rpc.frames.filter(({ type }) => type === "extension_ui_request");
    expect(requests.map(({ type, id, ...request }) => request)).toEqual([
      { method: "notify", message: "saved", notifyType: "info" },
      { method: "setStatus", statusKey: "s" },
      { method: "setWidget", widgetKey: "w", widgetLines: ["line"] },
      { method: "input", title: "for ever" },
      { method: "editor", title: "edit" },
    ]);
  });

  test("a dialog can be open in any event, also in one that the wire waits for", async () => {
    const rpc = startWith({
      "ask.ts": `export default (pi: any) => { for (const event of ["turn_end", "agent_end", "message_end"])
        pi.on(event, async (e: any, ctx: any) => { if (e.message?.role !== "user") ctx.ui.notify(event + " " + await ctx.ui.confirm(event, "?")); }); };`,
    });
    const run = rpc.prompt("hi");
    for (const event of ["message_end", "turn_end", "agent_end"]) {
      const { id } = await rpc.find(({ method, title }) => method === "confirm" && title === event);
      rpc.send({ type: "extension_ui_response", id, confirmed: true });
    }
    await run;
    expect(notices(rpc)).toEqual(["message_end true", "turn_end true", "agent_end true"]);
  });

  test("a session that is replaced does not wait for a handler whose timers went with it", async () => {
    const rpc = startWith({
      "slow.ts": `export default (pi: any) => { pi.on("agent_settled", () => new Promise((resolve) => setTimeout(resolve, 1000))); };`,
    });
    rpc.send({ id: "p", type: "prompt", message: "hi" });
    await rpc.find(({ type }) => type === "agent_end");
    await expect.poll(async () => (await rpc.ask("get_state")).isStreaming).toBe(false);
    const began = rpc.frames.length;
    expect(await rpc.ask("new_session")).toEqual({ cancelled: false });
    // Its old run is told to the end first.
    expect(rpc.frames.slice(began).map(({ type }) => type)).toEqual(["agent_settled", "response"]);
  }, 20_000);

  test("a command that waits for a timer goes on when the session is replaced, and is answered", async () => {
    const rpc = startWith({
      "slow.ts": `export default (pi: any) => { let ticks = 0; setInterval(() => { ticks++; }, 10); pi.registerCommand("slow", { handler: async (_: string, ctx: any) => {
        ctx.ui.notify("begun");
        await new Promise((resolve) => setTimeout(resolve, 300));
        const before = ticks;
        await new Promise((resolve) => setTimeout(resolve, 100));
        console.error("ticks " + (ticks - before));
        ctx.ui.notify("never");
      } }); };`,
    });
    rpc.send({ id: "slow", type: "prompt", message: "/slow" });
    await notice(rpc, "begun");
    expect(await rpc.ask("new_session")).toEqual({ cancelled: false });
    expect(await rpc.find(({ id, type }) => type === "response" && id === "slow")).toMatchObject({ command: "prompt", success: true });
    expect(errors(rpc)).toMatchObject([{ event: "stale" }]);
    expect(rpc.stderr).toContain("ticks 0");
  });

  test("commands are answered while a dialog of an event is open, and an abort ends what waits for it", async () => {
    for (const event of ["before_agent_start", "agent_start", "message_update", "agent_end", "agent_settled"]) {
      const rpc = startWith({
        "ask.ts": `export default (pi: any) => { let asked = false;
          pi.on("${event}", async (_: any, ctx: any) => { if (!asked) { asked = true; await ctx.ui.confirm("Sure?", ""); } }); };`,
      });
      rpc.send({ id: "p", type: "prompt", message: "hi" });
      const { id } = await rpc.find(({ method }) => method === "confirm");
      // A prompt that is not accepted yet holds up the ordered commands behind it.
      if (event !== "before_agent_start") expect((await rpc.ask("get_state")).messageCount).toBeGreaterThanOrEqual(0);
      expect((await rpc.call("abort_bash")).success).toBe(true);
      expect((await rpc.call("abort")).success).toBe(true);
      rpc.send({ type: "extension_ui_response", id, confirmed: true });
      expect((await rpc.ask("get_state")).isStreaming).toBe(false);
      expect((await rpc.prompt("again")).at(-1)?.type).toBe("agent_settled");
    }
  });

  test("skills, images, cuts and summaries can be made by those who look after some of their own", async () => {
    const rpc = startWith(
      {
        "own.ts": `import { createExtensionRuntime, findCutPoint, findTurnStartIndex, formatSkillsForPrompt, generateBranchSummary, loadSkills, loadSkillsFromDir, resizeImage } from "@mariozechner/pi-coding-agent";
          export default (pi: any) => {
            const show = (name: string, work: (ctx: any) => unknown) => pi.registerCommand(name, { handler: async (_: string, ctx: any) => ctx.ui.notify(JSON.stringify(await work(ctx))) });
            show("dir", ({ cwd }) => { const { skills, diagnostics } = loadSkillsFromDir({ dir: cwd + "/more", source: "mine" }); return [skills.map(({ name, baseDir }) => [name, baseDir.slice(cwd.length)]), diagnostics.length]; });
            show("all", ({ cwd }) => loadSkills({ cwd, skillPaths: ["more"] }).skills.map(({ name, description }) => name + " " + description));
            show("text", ({ cwd }) => [formatSkillsForPrompt(loadSkills({ cwd }).skills).includes("<name>known</name>"), formatSkillsForPrompt([])]);
            show("image", async () => {
              const bmp = Buffer.alloc(54 + 48); bmp.write("BM"); bmp.writeUInt32LE(102, 2); bmp.writeUInt32LE(54, 10); bmp.writeUInt32LE(40, 14); bmp.writeInt32LE(4, 18); bmp.writeInt32LE(4, 22); bmp.writeUInt16LE(1, 26); bmp.writeUInt16LE(24, 28);
              const look = (image: any) => image && [image.mimeType, image.originalWidth, image.width, image.wasResized];
              return [look(await resizeImage(bmp, "image/bmp", { maxWidth: 2, maxHeight: 2 })), look(await resizeImage({ type: "image", data: bmp.toString("base64"), mimeType: "image/bmp" })), await resizeImage(Buffer.from("no"), "image/png")];
            });
            show("cut", ({ sessionManager }) => { const entries = sessionManager.getBranch(); return [findCutPoint(entries, 0, entries.length, 1).isSplitTurn, entries[findTurnStartIndex(entries, entries.length - 1, 0)].message.role, typeof createExtensionRuntime()]; });
            show("branch", async ({ sessionManager, model }) => { const { summary = "", readFiles, modifiedFiles, error } = await generateBranchSummary(sessionManager.getBranch(), { model, signal: new AbortController().signal }); return [summary.endsWith("fine"), readFiles, modifiedFiles, error]; });
            show("typeless", () => pi.sendMessage({ content: "no type", display: true }));
          };`,
      },
      {
        files: {
          ".pi/skills/known/SKILL.md": "---\ndescription: Known\n---\nbody",
          "more/one/SKILL.md": "---\nname: known\ndescription: Other\n---\n",
          "more/deep/two/SKILL.md": "---\ndescription: 'Two: deep'\n---\n",
          "more/notes.md": "just notes",
        },
        args: ["--approve"],
      },
    );
    await rpc.prompt("hi");
    const said = async (name: string) => JSON.parse((await command(rpc, `/${name}`)).at(-1) ?? "null");
    expect(await said("dir")).toEqual([
      [
        ["two", "/more/deep/two"],
        ["known", "/more/one"],
      ],
      1,
    ]);
    expect(await said("all")).toEqual(["known Known", "two Two: deep"]);
    expect(await said("text")).toEqual([true, ""]);
    expect(await said("image")).toEqual([["image/png", 4, 2, true], ["image/png", 4, 4, false], null]);
    expect(await said("cut")).toEqual([expect.any(Boolean), "user", "object"]);
    expect(await said("branch")).toEqual([true, [], [], null]);
    await command(rpc, "/typeless");
    expect(rpc.frames.findLast(({ type }) => type === "message_end")?.message).toMatchObject({ role: "custom", customType: "", content: "no type" });
    expect(errors(rpc)).toEqual([]);
  });

  test("entries, names, labels, tools and models can be read and changed", async () => {
    const rpc = startWith({
      "helpers.ts": `import { convertToLlm, serializeConversation, parseFrontmatter, SessionManager, SettingsManager, CustomEditor, DynamicBorder, keyHint, getMarkdownTheme } from "@mariozechner/pi-coding-agent";
        import { Text, Markdown, SelectList, Key, matchesKey, getEditorKeybindings, sliceByColumn, stripTerminalSequences } from "@mariozechner/pi-tui";
        import { contentText, getCurrentTools, clampThinkingLevel } from "@earendil-works/pi-ai/compat";
        class Mine extends CustomEditor { override render(width: number) { return super.render(width); } }
        export default (pi: any) => pi.registerCommand("helpers", { handler: (_: string, ctx: any) => {
          const messages: any = [{ role: "user", content: "q", timestamp: 0 }, { role: "custom", customType: "c", content: "note", display: true, timestamp: 0 }, { role: "assistant", content: [{ type: "text", text: "a" }, { type: "toolCall", id: "1", name: "read", arguments: { path: "x" } }], timestamp: 0 }];
          const session = SessionManager.inMemory("/tmp"); session.appendMessage(messages[0]);
          ctx.ui.notify(JSON.stringify([serializeConversation(convertToLlm(messages)), parseFrontmatter("---\\na: 1\\n---\\nbody"), session.getEntries().length, SettingsManager.create(ctx.cwd).getDefaultModel() === undefined,
            new Mine().render(3).length, new DynamicBorder().render(2), keyHint("a", "b"), new Text("x").render(4).length > 0, new Markdown("# h", 0, 0, getMarkdownTheme() as any).render(10).length > 0, matchesKey("\\x1b", Key.escape), typeof getEditorKeybindings, sliceByColumn("abcd", 1, 2), stripTerminalSequences("\\x1b[31mred"),
            contentText([{ type: "text", text: "t" }]), getCurrentTools([]).length, clampThinkingLevel({ reasoning: false } as any, "high")]));
        } });`,
      "all.ts": `export default (pi: any) => {
        pi.registerTool({ name: "extra", label: "E", description: "d", parameters: { type: "object", properties: {} }, execute: async () => ({ content: [] }) });
        pi.on("session_info_changed", (e: any, ctx: any) => ctx.ui.notify("name " + e.name));
        pi.on("thinking_level_select", (e: any, ctx: any) => ctx.ui.notify("level " + e.level));
        pi.registerCommand("go", { handler: async (_: string, ctx: any) => {
          pi.appendEntry("mine", { n: 1 });
          pi.setSessionName(" a\\nb ");
          const { sessionManager } = ctx;
          const leaf = sessionManager.getEntries().find((entry: any) => entry.type === "custom");
          pi.setLabel(leaf.id, "here");
          const before = pi.getActiveTools();
          pi.setActiveTools(["read", "nope", "extra"]);
          pi.setThinkingLevel("low");
          let failed = ""; try { pi.appendEntry("x", (() => { const a: any = {}; a.a = a; return a; })()); } catch (error: any) { failed = error.message; }
          const exec = await pi.exec("node", ["-e", "console.log(1);console.error(2);process.exit(3)"]);
          const gone = await pi.exec("no-such-program", []);
          ctx.ui.notify(JSON.stringify({ data: leaf.data, name: pi.getSessionName(), label: sessionManager.getLabel(leaf.id), before, after: pi.getActiveTools(), level: pi.getThinkingLevel(),
            all: pi.getAllTools().find((tool: any) => tool.name === "extra").sourceInfo.source, builtin: pi.getAllTools().find((tool: any) => tool.name === "read").sourceInfo.source,
            failed: failed.includes("JSON"), exec, gone: gone.code, model: ctx.model.provider, idle: ctx.isIdle(), trusted: ctx.isProjectTrusted(), pending: ctx.hasPendingMessages(), signal: ctx.signal === undefined,
            branch: sessionManager.getBranch().length > 0, header: sessionManager.getHeader().type, usage: typeof ctx.getContextUsage().contextWindow, prompt: ctx.getSystemPrompt().length > 0 }));
        } });
      };`,
    });
    const [helped = "[]"] = await command(rpc, "/helpers");
    expect(JSON.parse(helped)).toEqual([
      '[User]: q\n\n[User]: note\n\n[Assistant]: a\n\n[Assistant tool calls]: read(path="x")',
      { frontmatter: { a: 1 }, body: "body" },
      1,
      true,
      3,
      ["──"],
      "a b",
      true,
      true,
      true,
      "function",
      "bc",
      "red",
      "t",
      0,
      "off",
    ]);
    const said = await command(rpc, "/go");
    expect(JSON.parse(said.at(-1) ?? "{}")).toEqual({
      data: { n: 1 },
      name: "a b",
      label: "here",
      before: ["read", "bash", "edit", "write", "extra"],
      after: ["read", "extra"],
      level: "low",
      all: "auto",
      builtin: "builtin",
      failed: true,
      exec: { stdout: "1\n", stderr: "2\n", code: 3, killed: false },
      gone: 1,
      model: "scripted",
      idle: true,
      trusted: true,
      pending: false,
      signal: true,
      branch: true,
      header: "session",
      usage: "number",
      prompt: true,
    });
    await notice(rpc, "name a b");
    await notice(rpc, "level low");
    expect(rpc.frames.some(({ type, entry }) => type === "entry_appended" && entry.customType === "mine")).toBe(true);
  });

  test("print mode has every member and shows nothing", async () => {
    const file = join(tempDir(), "seen");
    const { stdout, status } = await runPi({
      script: { responses: ["answer"] },
      env: { SEEN: file },
      args: ["-p", "hello"],
      agentFiles: {
        "extensions/p.ts": `console.log("noise"); process.stdout.write("noise"); require("fs").writeSync(1, "noise");
          export default (pi: any) => pi.on("agent_end", async (_: any, ctx: any) => { ctx.ui.notify("x"); ctx.ui.setStatus("k", "v"); ctx.shutdown();
            require("node:fs").writeFileSync(process.env.SEEN, JSON.stringify([ctx.mode, ctx.hasUI, await ctx.ui.confirm("a", "b"), await ctx.ui.select("a", ["b"]) === undefined])); });`,
      },
    });
    expect(stdout.trim()).toBe("answer");
    expect(status).toBe(0);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(["print", false, false, true]);
  });
});

describe("tools", () => {
  test("updates, errors, blocks, changed arguments and termination", async () => {
    const rpc = startWith(
      {
        "t.ts": `export default (pi: any) => {
          const parameters = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
          pi.registerTool({ name: "work", label: "W", description: "d", parameters, prepareArguments: (raw: any) => ({ n: raw.n ?? raw.count }),
            async execute(id: string, params: any, signal: any, onUpdate: any, ctx: any) { onUpdate({ content: [{ type: "text", text: "half" }] }); if (params.n > 5) throw new Error("too much"); return { content: [{ type: "text", text: "n=" + params.n + ctx.cwd.length }], details: { n: params.n } }; } });
          pi.registerTool({ name: "last", label: "L", description: "d", parameters: { type: "object", properties: {} }, execute: async () => ({ content: [], terminate: true }) });
          pi.on("tool_call", (e: any) => { if (e.input.n === 2) e.input.n = 3; if (e.input.n === 4) return { block: true, reason: "not four" }; });
        };`,
      },
      {
        script: {
          responses: [
            { toolCalls: [2, 4, 9].map((n) => ({ name: "work", arguments: n === 2 ? { count: "2" } : { n } })) },
            { toolCalls: [{ name: "work", arguments: { n: "x" } }] },
            { toolCalls: [{ name: "last", arguments: {} }] },
            "never",
          ],
        },
      },
    );
    const frames = await rpc.prompt("go");
    const results = toolResults(frames);
    expect(results[0]).toMatchObject({ text: expect.stringMatching(/^n=3/), isError: false, details: { n: 3 } });
    expect(results[1]).toMatchObject({ text: "not four", isError: true });
    expect(results[2]).toMatchObject({ text: "too much", isError: true });
    expect(results[3]?.text).toContain('Validation failed for tool "work"');
    expect(results).toHaveLength(5);
    expect(answers(frames)).not.toContain("never");
    expect(frames.filter(({ type }) => type === "tool_execution_update")).toHaveLength(2);
  });

  test("a tool that comes late is active at once", async () => {
    const rpc = startWith(
      {
        "late.ts": `export default (pi: any) => pi.on("before_agent_start", () => pi.registerTool({ name: "late", label: "L", description: "d", parameters: { type: "object", properties: {} }, execute: async () => ({ content: [{ type: "text", text: "came" }] }) }));`,
      },
      { script: callsTool("late") },
    );
    expect(toolResults(await rpc.prompt("go"))[0]?.text).toBe("came");
  });

  test("built-in tools can be wrapped, with operations of one's own", async () => {
    const rpc = startWith(
      {
        "wrap.ts": `import { createReadTool, createBashTool, truncateHead, formatSize } from "@mariozechner/pi-coding-agent";
          export default (pi: any) => {
            const read = createReadTool("/", { operations: { readFile: async () => Buffer.from("from memory"), access: async () => {} } });
            pi.registerTool({ ...read, execute: async (...args: any[]) => { const result = await (read.execute as any)(...args); return { ...result, content: [...result.content, { type: "text", text: formatSize(2048) + truncateHead("a\\nb", { maxLines: 1 }).content }] }; } });
            pi.registerTool(createBashTool("/", { spawnHook: (context: any) => ({ ...context, env: { ...context.env, HOOKED: "yes" } }) }));
          };`,
      },
      {
        script: {
          responses: [
            {
              toolCalls: [
                { name: "read", arguments: { path: "/x.txt" } },
                { name: "bash", arguments: { command: "echo $HOOKED" } },
              ],
            },
            "ok",
          ],
        },
      },
    );
    const [read, bash] = toolResults(await rpc.prompt("go"));
    expect(read?.text).toBe("from memory2.0KBa");
    expect(bash?.text.trim()).toBe("yes");
  });
});

describe("messages", () => {
  test("a message, an entry or a usage that the protocol does not have is refused or completed", async () => {
    const rpc = startWith(
      {
        "odd.ts": `export default (pi: any) => {
        pi.registerTool({ name: "counts", label: "Counts", description: "d", parameters: { type: "object", properties: {} }, execute: async () => ({ content: [{ type: "text", text: "ok" }], usage: { input: 2, cost: { total: 1 } } }) });
        const attempt = (ctx: any, work: () => void) => { try { work(); } catch (error: any) { ctx.ui.notify(error.message); } };
        pi.registerCommand("odd", { handler: (_: string, ctx: any) => {
          attempt(ctx, () => pi.sendMessage({ customType: "c", content: 5, display: true }));
          attempt(ctx, () => pi.sendMessage({ customType: "c", content: [{ type: "video" }], display: true }));
          attempt(ctx, () => pi.sendMessage({ customType: 5, content: "x", display: true }));
          attempt(ctx, () => pi.appendEntry(undefined, 1));
          attempt(ctx, () => pi.sendMessage({ customType: "c", content: ["x"], display: "yes" }));
        } });
      };`,
      },
      { script: [{ toolCalls: [{ name: "counts", arguments: {} }] }, "done"] },
    );
    const content = "The content of a message must be a text or a list of text and image blocks.";
    expect(await command(rpc, "/odd")).toEqual([content, content, "The customType of a custom message is a text.", "A custom entry needs a customType."]);
    const { messages } = await rpc.ask("get_messages");
    expect(messages).toMatchObject([{ role: "custom", content: [{ type: "text", text: "x" }], display: true }]);
    const result = (await rpc.prompt("go")).find(({ type, message }) => type === "message_end" && message.role === "toolResult");
    expect(result?.message.usage).toMatchObject({ input: 2, output: 0, totalTokens: 2, cost: { input: 0, total: 1 } });
  });

  test("custom messages and texts in the user's name arrive as they should", async () => {
    const rpc = startWith({
      "m.ts": `export default (pi: any) => {
        const send = (options: any) => pi.sendMessage({ customType: "c", content: JSON.stringify(options ?? null), display: true }, options);
        pi.registerCommand("idle", { handler: () => { send(); send({ deliverAs: "nextTurn" }); } });
        pi.registerCommand("trigger", { handler: () => send({ triggerTurn: true }) });
        pi.registerCommand("user", { handler: () => pi.sendUserMessage([{ type: "text", text: "a" }, { type: "text", text: "b" }]) });
        let steered = false;
        pi.on("turn_start", () => { if (steered || !pi.getSessionName()) return; steered = true; send({ deliverAs: "steer" }); send({ triggerTurn: false }); pi.sendUserMessage("lost"); pi.sendUserMessage("/idle", { deliverAs: "followUp" }); });
        pi.registerCommand("name", { handler: () => pi.setSessionName("n") });
      };`,
    });
    await command(rpc, "/idle");
    const first = await rpc.prompt("one");
    const roles = first.filter(({ type }) => type === "message_end").map(({ message }) => [message.role, message.customType ? message.content : ""]);
    expect(roles).toEqual([
      ["user", ""],
      ["custom", '{"deliverAs":"nextTurn"}'],
      ["assistant", ""],
    ]);
    let from = rpc.frames.length;
    await command(rpc, "/trigger");
    await rpc.find(({ type }) => type === "agent_settled", from);
    from = rpc.frames.length;
    await command(rpc, "/user");
    await rpc.find(({ type }) => type === "agent_settled", from);
    const sent = rpc.frames.slice(from).find(({ type, message }) => type === "message_end" && message.role === "user");
    expect(sent?.message.content).toEqual([{ type: "text", text: "a\nb" }]);
    await command(rpc, "/name");
    const busy = await rpc.prompt("two");
    const order = busy
      .filter(({ type }) => type === "message_end" || type === "turn_end")
      .map((frame) => (frame.type === "turn_end" ? "end" : (frame.message.customType && frame.message.content) || frame.message.role));
    expect(order).toContain('{"deliverAs":"steer"}');
    expect(order.indexOf('{"triggerTurn":false}')).toBeGreaterThan(order.indexOf("end"));
    expect(busy.filter(({ type, message }) => type === "message_end" && message.role === "user").map(({ message }) => message.content[0].text)).toEqual([
      "two",
      "/idle",
    ]);
    expect(errors(rpc)).toMatchObject([{ extensionPath: "<runtime>", event: "send_user_message" }]);
  });

  test("of several custom messages each ends before the next begins, and none stands between two turns", async () => {
    const note = `const send = (text: string) => pi.sendMessage({ customType: "c", content: text, display: true }, { triggerTurn: false });`;
    const rpc = startWith(
      {
        "m.ts": `export default (pi: any) => { ${note}
        pi.registerCommand("two", { handler: () => { send("a"); send("b"); } });
        pi.on("turn_end", ({ turnIndex }: any) => { send("c" + turnIndex); send("d" + turnIndex); });
      };`,
      },
      { script: callsTool("ls") },
    );
    const shown = (frames: Frame[]) =>
      frames.flatMap(({ type, message }) => (/^(turn|agent)_/.test(type) ? [type] : message?.customType ? [`${type} ${message.content}`] : []));
    const pair = (text: string) => [`message_start ${text}`, `message_end ${text}`];
    await command(rpc, "/two");
    expect(shown(rpc.frames)).toEqual([...pair("a"), ...pair("b")]);
    const run = await rpc.prompt("go");
    const turn = (...delivered: string[]) => ["turn_start", ...delivered, "turn_end"];
    expect(shown(run)).toEqual(["agent_start", ...turn(), ...turn(...pair("c0"), ...pair("d0")), "agent_end", ...pair("c1"), ...pair("d1"), "agent_settled"]);
    const end = run.findIndex(({ type }) => type === "agent_end");
    expect(run[end]?.messages).toEqual(run.slice(0, end).flatMap(({ type, message }) => (type === "message_end" ? [message] : [])));
  });

  test("no custom message comes between a failed answer and its retry", async () => {
    const rpc = startWith(
      {
        "m.ts": `export default (pi: any) => { pi.on("message_start", ({ message }: any) => { if (message.stopReason === "error") pi.sendMessage({ customType: "c", content: "seen", display: true }, { triggerTurn: false }); }); };`,
      },
      { script: { responses: [{ error: "529 overloaded" }, "done"] }, agentFiles: { "settings.json": JSON.stringify({ retry: { baseDelayMs: 1 } }) } },
    );
    const run = (await rpc.prompt("go")).map(({ type, message }) => (message?.customType ? `${type} custom` : type));
    const at = run.indexOf("agent_end");
    expect(run.slice(at, at + 3)).toEqual(["agent_end", "auto_retry_start", "entry_appended"]);
    expect(run.slice(run.lastIndexOf("agent_end"))).toEqual(["agent_end", "message_start custom", "message_end custom", "agent_settled"]);
  });
});

describe("sessions", () => {
  const life = `let loaded = 0; export default (pi: any) => { loaded++; let here = 0; const log = (text: string) => require("node:fs").appendFileSync(process.env.LOG, text + "\\n");
    pi.on("session_start", (e: any) => log("start " + e.reason + " " + loaded + " " + ++here + (e.previousSessionFile ? " prev" : "")));
    for (const event of ["session_switch", "session_fork", "session_shutdown"]) pi.on(event, (e: any) => log(event.slice(8) + " " + (e.reason ?? "")));
    pi.on("session_before_switch", (e: any, ctx: any) => { log("before " + e.reason); if (ctx.sessionManager.getSessionName() === "keep") return { cancel: true }; });
    pi.on("session_before_fork", (e: any) => log("before fork " + e.position));
    pi.registerCommand("new", { handler: async (_: string, ctx: any) => {
      const result = await ctx.newSession({ setup: (sm: any) => sm.appendCustomEntry("set", 1), withSession: async (next: any) => { next.ui.notify("in " + next.sessionManager.getEntries().some((entry: any) => entry.customType === "set")); await next.sendUserMessage("hello"); next.ui.notify("ran"); } });
      try { ctx.ui.notify("x"); } catch (error: any) { log("stale " + error.message.includes("stale")); }
      log("done " + result.cancelled);
    } });
    pi.registerCommand("keep", { handler: () => pi.setSessionName("keep") });
  };`;

  test("a replaced session runs the factory again on the same module and makes the old one stale", async () => {
    const file = join(tempDir(), "log");
    const rpc = startWith({ "life.ts": life }, { env: { LOG: file } });
    await rpc.prompt("one");
    await rpc.ask("new_session");
    await rpc.prompt("two");
    const { messages } = await rpc.ask("get_fork_messages");
    await rpc.ask("fork", { entryId: messages[0].entryId });
    await command(rpc, "/new");
    await command(rpc, "/keep");
    expect((await rpc.ask("new_session")).cancelled).toBe(true);
    await rpc.stop();
    expect(notices(rpc)).toEqual(["in true", "ran"]);
    expect(readFileSync(file, "utf8").trim().split("\n")).toEqual([
      "start startup 1 1",
      "before new",
      "shutdown new",
      "start new 2 1 prev",
      "switch new",
      "before fork before",
      "shutdown fork",
      "start fork 3 1 prev",
      "fork ",
      "before new",
      "shutdown new",
      "start new 4 1 prev",
      "switch new",
      "stale true",
      "done false",
      "before new",
      "shutdown quit",
    ]);
    expect(errors(rpc)).toEqual([]);
  });
});

describe("another directory", () => {
  test("a session of another directory reads the extensions of that directory afresh, and watches them", async () => {
    const [one, two] = [tempDir(), tempDir()];
    const says = (text: string) =>
      `let runs = 0; export default (pi: any) => { runs++; pi.on("session_start", (e: any, ctx: any) => ctx.ui.notify("${text} " + e.reason + " " + runs)); };`;
    for (const [cwd, text] of [
      [one, "one"],
      [two, "two"],
    ] as const) {
      mkdirSync(join(cwd, ".pi/extensions"), { recursive: true });
      writeFileSync(join(cwd, ".pi/extensions/p.ts"), says(text));
    }
    const home = tempDir();
    const first = startWith({ "u.ts": says("user") }, { cwd: two, home, args: ["-a"] });
    await first.prompt("hi");
    const { sessionFile } = await first.ask("get_state");
    await first.stop();
    const rpc = startWith({ "u.ts": says("user") }, { cwd: one, home, args: ["-a"] });
    await notice(rpc, "one startup 1");
    await rpc.ask("switch_session", { sessionPath: sessionFile });
    await notice(rpc, "two resume 1");
    await notice(rpc, "user resume 1");
    expect((await extensionList(rpc)).map(({ path }) => path)).toEqual([join(two, ".pi/extensions/p.ts"), join(home, ".pi/agent/extensions/u.ts")]);
    writeFileSync(join(two, ".pi/extensions/p.ts"), says("two changed"));
    await notice(rpc, "two changed reload 1");
    expect(errors(rpc)).toEqual([]);
  });
});

describe("trust and places", () => {
  test("project extensions come only with trust, which the user's own may decide", async () => {
    const project = (files: Record<string, string>) => ({
      ".pi/extensions/p.ts": `export default (pi: any) => pi.registerCommand("project", { handler: () => {} });`,
      ...files,
    });
    const names = async (options: Parameters<typeof startRpc>[0]) => {
      const rpc = startRpc({ script: { responses: ["x"] }, ...options });
      return (await rpc.ask("get_commands")).commands.map(({ name }: { name: string }) => name);
    };
    const guard = `export default (pi: any) => { pi.registerCommand("user", { handler: () => {} }); pi.on("project_trust", (e: any, ctx: any) => ({ trusted: ctx.mode === "rpc" ? "yes" : "no" })); };`;
    expect(await names({ files: project({}) })).toEqual([]);
    expect(await names({ files: project({}), args: ["-a"] })).toEqual(["project"]);
    expect(await names({ files: project({}), agentFiles: { "extensions/u.ts": guard } })).toEqual(["project", "user"]);
    expect(
      await names({
        files: project({ "e.ts": `export default (pi: any) => pi.registerCommand("cli", { handler: () => {} });` }),
        args: ["-a", "-ne", "-e", "e.ts"],
      }),
    ).toEqual(["cli"]);
  });

  test("an extension can bring skills and prompts", async () => {
    const rpc = startWith({
      "res/index.ts": `export default (pi: any) => pi.on("resources_discover", (e: any) => ({ promptPaths: [__dirname + "/p"], skillPaths: [__dirname + "/s"] }));`,
      "res/p/greet.md": "Say hello to $1",
      "res/s/cook/SKILL.md": "---\nname: cook\ndescription: Cooks things\n---\nCook.",
    });
    const { commands } = await rpc.ask("get_commands");
    expect(commands.map(({ name }: { name: string }) => name)).toEqual(["greet", "skill:cook"]);
    expect(commands[0].sourceInfo).toMatchObject({ source: "extension:res", scope: "temporary" });
  });
});

const model = (id: string) => ({
  id,
  name: id,
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1000,
  maxTokens: 10,
});

describe("providers", () => {
  test("an extension's own stream answers, with prompt and tools in both forms", async () => {
    const rpc = startRpc({
      args: ["--model", "mine/m1"],
      agentFiles: {
        "extensions/prov.ts": `import { createAssistantMessageEventStream, getCurrentSystemPrompt, getCurrentTools, complete } from "@mariozechner/pi-ai";
          export default (pi: any) => {
            pi.registerProvider("mine", { name: "Mine", baseUrl: "http://x", apiKey: "k", api: "mine-api", models: [{ id: "m1", name: "M1", reasoning: false, input: ["text"], cost: { input: 1e6, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 10 }],
              streamSimple(model: any, context: any, options: any) {
                const stream = createAssistantMessageEventStream();
                queueMicrotask(() => {
                  const message: any = { role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id, usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 }, stopReason: "pending", timestamp: Date.now() };
                  const text = [context.systemPrompt === getCurrentSystemPrompt(context.messages), context.tools.length === getCurrentTools(context.messages).length, options.apiKey, context.messages.some((m: any) => m.role === "system")].join();
                  message.content.push({ type: "text", text: "" });
                  stream.push({ type: "text_start", contentIndex: 0, partial: message });
                  for (const part of [text.slice(0, 3), text.slice(3)]) { message.content[0].text += part; stream.push({ type: "text_delta", contentIndex: 0, delta: part, partial: message }); }
                  stream.push({ type: "done", reason: "stop", message });
                });
                return stream;
              } });
            pi.registerProvider("bad", { models: [{ id: "b" }] });
            pi.registerCommand("nested", { handler: async (_: string, ctx: any) => { const answer = await complete(ctx.model, { messages: [{ role: "user", content: "x", timestamp: 0 }] }); ctx.ui.notify(answer.content[0].text); pi.unregisterProvider("mine"); ctx.ui.notify(String(ctx.modelRegistry.find("mine", "m1"))); } });
          };`,
      },
    });
    const frames = await rpc.prompt("hi");
    expect(answers(frames)).toEqual(["true,true,k,false"]);
    const final = frames.find(({ type, message }) => type === "message_end" && message.role === "assistant");
    expect(final?.message).toMatchObject({ stopReason: "stop", usage: { cost: { total: 1 } } });
    expect(errors(rpc)).toMatchObject([{ event: "register_provider" }]);
    expect(await command(rpc, "/nested")).toEqual(["true,true,k,false", "undefined"]);
  });

  test("each update of an extension's stream shows the message after that increment, though its own is ahead already", async () => {
    const rpc = startRpc({
      args: ["--model", "ahead/m"],
      agentFiles: {
        "extensions/ahead.ts": `import { createAssistantMessageEventStream } from "@mariozechner/pi-ai";
          let calls = 0;
          export default (pi: any) => {
            pi.registerProvider("ahead", { baseUrl: "http://x", apiKey: "k", api: "ahead-api", models: [{ id: "m", name: "M", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 10 }],
              streamSimple(model: any) {
                const stream = createAssistantMessageEventStream();
                const message: any = { role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id, usage: { input: 5, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 5 }, stopReason: "stop", timestamp: Date.now() };
                const send = (event: any) => stream.push({ contentIndex: message.content.length - 1, ...event, partial: message });
                if (++calls > 1) { stream.push({ type: "done", reason: "stop", message }); return stream; }
                send({ type: "start" });
                message.content.push({ type: "thinking", thinking: "" });
                send({ type: "thinking_start" });
                message.content[0].thinking = "hm";
                send({ type: "thinking_delta", delta: "hm" });
                message.content[0].thinkingSignature = "sig";
                send({ type: "thinking_end", content: "hm" });
                message.content.push({ type: "text", text: "" });
                send({ type: "text_start" });
                for (const word of ["a", "b"]) { message.content[1].text += word; send({ type: "text_delta", delta: word }); }
                send({ type: "text_end", content: "ab" });
                const call = { type: "toolCall", id: "c1", name: "none", arguments: {} as any };
                message.content.push(call);
                send({ type: "toolcall_start" });
                call.arguments = { x: 1 };
                send({ type: "toolcall_delta", delta: '{"x":1' });
                send({ type: "toolcall_delta", delta: "}" });
                send({ type: "toolcall_end", toolCall: call });
                stream.push({ type: "done", reason: "toolUse", message });
                return stream;
              } });
          };`,
      },
    });
    const frames = await rpc.prompt("hi");
    const start = frames.find(({ type, message }) => type === "message_start" && message.role === "assistant");
    expect(start?.message).toMatchObject({ content: [], stopReason: "stop", usage: { input: 0, totalTokens: 0 } });
    const updates = frames.filter(({ type }) => type === "message_update");
    for (const { message, assistantMessageEvent } of updates) expect(assistantMessageEvent.partial).toEqual(message);
    const thinking = { type: "thinking", thinking: "hm", thinkingSignature: "sig" };
    const call = (args: object) => ({ type: "toolCall", id: "c1", name: "none", arguments: args });
    const text = (words: string) => ({ type: "text", text: words });
    expect(updates.map(({ message }) => message.content)).toEqual([
      [{ type: "thinking", thinking: "" }],
      [{ type: "thinking", thinking: "hm" }],
      [thinking],
      [thinking, text("")],
      [thinking, text("a")],
      [thinking, text("ab")],
      [thinking, text("ab")],
      [thinking, text("ab"), call({})],
      [thinking, text("ab"), call({})],
      [thinking, text("ab"), call({ x: 1 })],
      [thinking, text("ab"), call({ x: 1 })],
    ]);
    expect(updates.map(({ message }) => message.stopReason)).toEqual(updates.map(() => "stop"));
  });

  test("a stream may be promised, and none at all is a clear error", async () => {
    const rpc = startRpc({
      args: ["--model", "odd/later"],
      agentFiles: {
        "extensions/odd.ts": `import { createAssistantMessageEventStream } from "@mariozechner/pi-ai";
          export default (pi: any) => pi.registerProvider("odd", { baseUrl: "http://x", apiKey: "k", api: "odd-api", models: ${JSON.stringify(["later", "never"].map(model))},
            streamSimple: (async ({ id }: any) => {
              if (id === "never") return undefined;
              const stream = createAssistantMessageEventStream();
              stream.push({ type: "done", reason: "stop", message: { role: "assistant", content: [{ type: "text", text: "late" }] } } as any);
              return stream;
            }) as any });`,
      },
    });
    expect(answers(await rpc.prompt("hi"))).toEqual(["late"]);
    await rpc.ask("set_model", { provider: "odd", modelId: "never" });
    const last = (await rpc.prompt("hi")).findLast(({ type }) => type === "message_end");
    expect(last?.message).toMatchObject({ stopReason: "error", errorMessage: "The provider odd answered no stream." });
  });

  test("an API of its own serves every model that speaks it, also of other providers and after a reload", async () => {
    const rpc = startRpc({
      args: ["--model", "two/m2"],
      agentFiles: {
        "extensions/one.ts": `import { createAssistantMessageEventStream } from "@mariozechner/pi-ai";
          export default (pi: any) => {
            pi.registerProvider("one", { baseUrl: "http://x", apiKey: "k1", api: "shared-api", models: [${JSON.stringify(model("m1"))}], streamSimple(model: any, _: any, { apiKey }: any) {
              const stream = createAssistantMessageEventStream();
              stream.push({ type: "done", reason: "stop", message: { role: "assistant", content: [{ type: "text", text: model.provider + " " + apiKey }] } } as any);
              return stream;
            } });
            pi.registerCommand("config", { handler: async (_: string, ctx: any) => {
              const { api, streamSimple } = ctx.modelRegistry.getRegisteredProviderConfig("one");
              ctx.ui.notify([api, typeof streamSimple, ctx.modelRegistry.getRegisteredProviderConfig("three")].join());
              const { id, name, getModels } = ctx.modelRegistry.getProvider("two");
              ctx.ui.notify([id, name, getModels().map(({ id }: any) => id), ctx.modelRegistry.getProvider("three")].join());
            } });
          };`,
        "extensions/two.ts": `export default (pi: any) => pi.registerProvider("two", { name: "Two", baseUrl: "http://x", apiKey: "k2", api: "shared-api", models: [${JSON.stringify(model("m2"))}] });`,
      },
    });
    expect(answers(await rpc.prompt("hi"))).toEqual(["two k2"]);
    expect(await command(rpc, "/config")).toEqual(["shared-api,function,", "two,Two,m2,"]);
    await rpc.ask("reload");
    expect(answers(await rpc.prompt("hi"))).toEqual(["two k2"]);
    expect(errors(rpc)).toEqual([]);
  });

  test("a provider may bring its list of models later", async () => {
    const rpc = startWith({
      "p.ts": `const model = (id: string) => ({ id, name: id, reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1, maxTokens: 1 });
        export default (pi: any) => { pi.registerProvider("late", { baseUrl: "http://x", apiKey: "k", api: "openai-completions", models: [model("one")], refreshModels: async () => [model("one"), model("two")] });
          pi.registerCommand("list", { handler: (_: string, ctx: any) => ctx.ui.notify(ctx.modelRegistry.getAll().filter((m: any) => m.provider === "late").map((m: any) => m.id).join()) }); };`,
    });
    await expect.poll(() => command(rpc, "/list")).toEqual(["one,two"]);
  });

  test("hooks see and change what goes to a provider", async () => {
    const rpc = startWith(
      {
        "ctx.ts": `export default (pi: any) => {
        pi.on("context", (e: any) => ({ messages: e.messages.map((m: any) => m.role === "user" ? { ...m, content: [{ type: "text", text: "changed" }] } : m) }));
        pi.on("before_agent_start", (e: any) => { e.systemPromptOptions.sections.extra = "more"; });
        pi.on("agent_end", (e: any, ctx: any) => ctx.ui.notify(ctx.getSystemPrompt().includes("more") + " " + e.messages[0].content[0].text));
      };`,
      },
      { script: { responses: [{ text: "ok", expect: { lastText: "changed", systemPromptIncludes: "more" } }], repeat: true } },
    );
    expect(answers(await rpc.prompt("original"))).toEqual(["ok"]);
    await notice(rpc, "true original");
  });
});

describe("the end", () => {
  test("ctx.shutdown answers the command, says goodbye and exits with 0", async () => {
    const rpc = startWith({
      "bye.ts": `export default (pi: any) => { pi.registerCommand("quit", { handler: (_: string, ctx: any) => ctx.shutdown() }); pi.on("session_shutdown", (e: any, ctx: any) => ctx.ui.notify("bye " + e.reason)); };`,
    });
    const response = await rpc.call("prompt", { message: "/quit" });
    expect(response.success).toBe(true);
    expect(await rpc.exited).toMatchObject({ status: 0 });
    expect(notices(rpc)).toEqual(["bye quit"]);
  });

  test("an extension may cancel or write a compaction, and answer a shell command", async () => {
    const rpc = startWith({
      "c.ts": `export default (pi: any) => {
        pi.on("session_before_compact", (e: any) => ({ compaction: { summary: "short", firstKeptEntryId: e.preparation.firstKeptEntryId, tokensBefore: e.preparation.tokensBefore } }));
        pi.on("session_compact", (e: any, ctx: any) => ctx.ui.notify("compacted " + e.fromExtension));
        pi.on("user_bash", (e: any) => { if (e.command === "boom") throw new Error("no shell"); return { result: { output: "fake " + e.command, exitCode: 0, cancelled: false, truncated: false } }; });
      };`,
    });
    await rpc.prompt("one");
    await rpc.prompt("two");
    expect((await rpc.ask("bash", { command: "echo" })).output).toBe("fake echo");
    expect(await rpc.call("bash", { command: "boom" })).toMatchObject({ success: false, error: expect.stringContaining("no shell") });
    await error(rpc, "user_bash");
    const compacted = await rpc.call("compact");
    if (compacted.success) {
      expect(compacted.data.summary).toBe("short");
      await notice(rpc, "compacted true");
    }
  });
});

describe("rarer events", () => {
  test("a compaction or branch summary that could not be stored is reported, and ours is made instead", async () => {
    const rpc = startWith(
      {
        "bad.ts": `let mode = "";
          export default (pi: any) => {
            pi.on("session_before_compact", () => ({ compaction: mode === "bare" ? { summary: "bare" } : { summary: 5 } }));
            pi.on("session_before_tree", () => ({ summary: { text: "no" } }));
            pi.registerCommand("bare", { handler: () => { mode = "bare"; } });
          };`,
      },
      {
        script: { responses: ["a long enough answer"], repeat: true },
        agentFiles: { "settings.json": JSON.stringify({ compaction: { keepRecentTokens: 1 } }) },
      },
    );
    for (const text of ["one", "two", "three"]) await rpc.prompt(text);
    expect((await rpc.ask("compact")).summary).toContain("a long enough answer");
    await rpc.prompt("four");
    await command(rpc, "/bare");
    expect(await rpc.ask("compact")).toMatchObject({ summary: "bare", firstKeptEntryId: expect.any(String), tokensBefore: expect.any(Number) });
    const { messages } = await rpc.ask("get_fork_messages");
    await rpc.ask("navigate_tree", { targetId: messages[0].entryId, summarize: true });
    expect(errors(rpc).map(({ event }) => event)).toEqual(["session_before_compact", "session_before_tree"]);
  });

  test("answers that would spoil the conversation are reported and not taken", async () => {
    const events = ["input", "before_agent_start", "context", "tool_result", "message_end"];
    const rpc = startWith(
      {
        "bad.ts": `const answers: Record<string, unknown> = {
            input: { action: "transform", text: "other", images: "none" },
            before_agent_start: { message: { customType: "x", content: { a: 1 }, display: true } },
            context: { messages: [null] },
            tool_result: { content: [5, null] },
          };
          export default (pi: any) => {
            pi.registerTool({ name: "odd", label: 5, description: "Odd.", promptSnippet: 5, promptGuidelines: "none", parameters: { type: "object" }, execute: async () => ({ content: [{ type: "text", text: "ran" }] }) });
            for (const [event, answer] of Object.entries(answers)) { let calls = 0; pi.on(event, () => (calls++ === 0 ? answer : undefined)); }
            pi.on("before_agent_start", ({ systemPromptOptions }: any) => { systemPromptOptions.selectedTools = null; systemPromptOptions.sections = undefined; });
            let ends = 0; pi.on("message_end", ({ message }: any) => (message.role === "assistant" && ends++ === 0 ? { message: { ...message, content: "text" } } : undefined));
            pi.registerCommand("send", { handler: () => pi.sendMessage({ customType: "x", content: 42, display: true }) });
          };`,
      },
      { script: { responses: [{ toolCalls: [{ name: "odd", arguments: {} }] }, "done"] } },
    );
    const frames = await rpc.prompt("hi");
    expect(toolResults(frames)).toMatchObject([{ text: "ran", isError: false }]);
    expect(answers(frames).at(-1)).toBe("done");
    expect(
      errors(rpc)
        .map(({ event }) => event)
        .sort(),
    ).toEqual([...events].sort());
    await command(rpc, "/send");
    expect(errors(rpc).at(-1)).toMatchObject({ event: "command", error: "The content of a message must be a text or a list of text and image blocks." });
    expect((await rpc.ask("get_messages")).messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "toolResult", "assistant"]);
    await rpc.ask("get_session_stats");
  });

  test("sends of agent_settled handlers all arrive: what cannot start a run joins the one that did", async () => {
    const rpc = startWith({
      "s.ts": `let settled = 0; export default (pi: any) => pi.on("agent_settled", () => {
        if (settled++ > 0) return;
        for (const content of ["one", "two"]) pi.sendMessage({ customType: "more", content, display: true }, { triggerTurn: true });
      });`,
    });
    await rpc.prompt("hi");
    const sent = () => rpc.frames.filter(({ type, message }) => type === "message_end" && message.role === "custom").map(({ message }) => message.content);
    await expect.poll(sent).toEqual(["one", "two"]);
    expect(errors(rpc)).toEqual([]);
  });

  test("boundaries: entries and one more model call", async () => {
    const rpc = startWith(
      {
        "b.ts": `export default (pi: any) => { let turns = 0, settles = 0;
          pi.on("turn_end", (e: any) => { if (turns++ === 0) return { entries: [{ type: "custom", customType: "note", data: 1 }, { type: "custom_message", customType: "go", content: "go on", display: true }], continue: true }; });
          pi.on("agent_before_settle", (e: any, ctx: any) => { ctx.ui.notify(e.outcome + " " + (ctx.signal === undefined)); if (settles++ === 0) return { entries: [{ type: "custom_message", customType: "more", content: "and more", display: true }], continue: true }; if (settles === 2) return { entries: [{ type: "nonsense" }] }; });
          pi.on("agent_settled", (_: any, ctx: any) => ctx.ui.notify("idle " + ctx.isIdle())); };`,
      },
      { script: { responses: ["one", "two", "three", "four"] } },
    );
    const frames = await rpc.prompt("go");
    expect(answers(frames)).toEqual(["one", "two", "three"]);
    expect(frames.filter(({ type }) => type === "entry_appended").map(({ entry }) => entry.customType)).toEqual(["note", "go", "more"]);
    expect(errors(rpc)).toMatchObject([{ event: "agent_before_settle", error: expect.stringContaining("Invalid boundary entries") }]);
    await notice(rpc, "completed true");
    await notice(rpc, "idle true");
  });

  test("the whole context with its system message, headers and payload of a request", async () => {
    const rpc = startWith(
      {
        "c.ts": `export default (pi: any) => { pi.on("context_with_system", (e: any) => ({ messages: e.messages.map((m: any) => m.role === "system" ? { ...m, content: "REPLACED" } : m) }));
          pi.on("before_provider_request", (e: any, ctx: any) => ctx.ui.notify("payload " + typeof e.payload)); };`,
      },
      { script: { responses: [{ text: "ok", expect: { systemPromptIncludes: "REPLACED" } }] } },
    );
    expect(answers(await rpc.prompt("hi"))).toEqual(["ok"]);
  });

  test("models, trees and dialogs are announced", async () => {
    const rpc = startWith({
      "e.ts": `export default (pi: any) => { for (const event of ["model_select", "session_before_tree", "session_tree", "ui_prompt_start", "ui_prompt_end"])
          pi.on(event, (e: any, ctx: any) => ctx.ui.notify([event, e.source ?? e.kind ?? e.preparation?.userWantsSummary ?? (e.newLeafId !== undefined)].join(" ")));
        pi.registerCommand("model", { handler: async (_: string, ctx: any) => { const model = ctx.modelRegistry.find("offline", "demo"); ctx.ui.notify("set " + await pi.setModel(model) + " " + await pi.setModel({ ...model, provider: "anthropic", id: "x" })); } });
        pi.registerCommand("tree", { handler: async (_: string, ctx: any) => { const first = ctx.sessionManager.getBranch().find((entry: any) => entry.type === "message"); ctx.ui.notify("moved " + JSON.stringify(await ctx.navigateTree(first.id))); } });
        pi.registerCommand("ask", { handler: async (_: string, ctx: any) => { await ctx.ui.confirm("a", "b", { timeout: 20 }); } }); };`,
    });
    expect(await command(rpc, "/model")).toEqual(["model_select set", "set true false"]);
    await rpc.prompt("one");
    const moved = await command(rpc, "/tree");
    expect(moved).toEqual(["session_before_tree false", "session_tree true", 'moved {"cancelled":false}']);
    await command(rpc, "/ask");
    await notice(rpc, "ui_prompt_start confirm");
    await notice(rpc, "ui_prompt_end confirm");
  });

  test("after a reload the calling command holds a stale context", async () => {
    const rpc = startWith({
      "r.ts": `export default (pi: any) => { pi.registerCommand("r", { handler: async (_: string, ctx: any) => { const { ui } = ctx; await ctx.reload(); for (const call of [() => ctx.cwd, () => pi.getSessionName(), () => ui.notify("x"), () => pi.on("x", () => {})]) try { call(); console.error("fresh"); } catch (error: any) { console.error("caught", error.message.includes("stale")); } } }); };`,
    });
    await command(rpc, "/r");
    expect(rpc.stderr.match(/caught true/g)).toHaveLength(4);
    expect(rpc.stderr).not.toContain("fresh");
  });
});

test("discovery follows packages and skips what does not count", async () => {
  const cwd = tempDir();
  mkdirSync(join(cwd, "ext"));
  writeFileSync(join(cwd, "ext/index.ts"), `export default (pi: any) => pi.registerCommand("indexed", { handler: () => {} });`);
  const rpc = startWith({ "x.mts": "export default 1", ".hidden.ts": "throw 1", "sub/other.ts": "throw 1" }, { cwd, args: ["-e", "ext", "-e", "gone.ts"] });
  expect((await extensionList(rpc)).map(({ name, state }) => [name, state])).toEqual([
    ["ext", "active"],
    ["gone", "failed"],
  ]);
});
