/** Extensions that misbehave: nothing they do ends the program, and every failure is told once, to the right address. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { answers, command, error, errors, extensionList, notice, notices, pathOf, rewrite, startWith, toolResults } from "../extensions/helpers.ts";

const impatient = { agentFiles: { "settings.json": JSON.stringify({ extensionsDeadlineMs: 300 }) } };
const callsTool = (name: string, args: object = {}) => ({ responses: [{ toolCalls: [{ name, arguments: args }] }, "done"], repeat: true });

describe("handlers", () => {
  test("a handler that throws is reported and the agent goes on", async () => {
    const rpc = startWith({
      "bad.ts": `export default (pi: any) => { pi.on("agent_start", () => { throw new Error("sync"); }); pi.on("turn_end", async () => { throw "text"; }); pi.on("message_end", () => ({ message: { role: "custom" } })); pi.on("context", () => ({ messages: 5 })); };`,
      "good.ts": `export default (pi: any) => pi.on("agent_start", (_: any, ctx: any) => ctx.ui.notify("still"));`,
    });
    expect(answers(await rpc.prompt("hi"))).toEqual(["fine"]);
    await notice(rpc, "still");
    const reported = errors(rpc).map(({ event, error: text }) => [event, text]);
    expect(reported).toContainEqual(["agent_start", "sync"]);
    expect(reported).toContainEqual(["turn_end", "text"]);
    expect(reported.find(([event]) => event === "context")?.[1]).toContain("not an array");
    expect(reported.find(([event]) => event === "message_end")?.[1]).toContain("role");
  });

  test("what is thrown may be anything, and is told as a text", async () => {
    const rpc = startWith({
      "odd.ts": `export default (pi: any) => {
        pi.on("agent_start", () => { throw Object.assign(new Error(), { message: { code: 7 } }); });
        pi.on("turn_start", () => { throw { message: "an object", code: 7 }; });
        pi.on("turn_end", () => { throw Object.defineProperty(new Error(), "message", { get() { throw new Error("inner"); } }); });
      };`,
    });
    expect(answers(await rpc.prompt("hi"))).toEqual(["fine"]);
    expect(errors(rpc).map(({ event, error: text }) => [event, text])).toEqual([
      ["agent_start", "Error"],
      ["turn_start", "an object"],
      ["turn_end", "unknown error"],
    ]);
  });

  test("what handlers do to events that they only watch, or in place of an answer, spoils nothing", async () => {
    const watched = ["agent_start", "turn_start", "message_start", "message_update", "tool_execution_start", "tool_execution_end", "turn_end", "agent_end"];
    const rpc = startWith(
      {
        "m.ts": `export default (pi: any) => {
          for (const name of ${JSON.stringify([...watched, "message_end", "tool_call", "tool_result", "context"])}) pi.on(name, (event: any) => {
            const { message, messages, toolResults, args, result, content } = event;
            for (const held of [message, messages, ...(toolResults ?? []), args, result, content?.[0]]) for (const key of Object.keys(held ?? {})) delete held[key];
            for (const key of Object.keys(event)) if (name !== "tool_call") Reflect.set(event, key, null);
          }); };`,
      },
      { script: { responses: [{ toolCalls: [{ name: "ls", arguments: { path: "." } }] }, "done"] }, files: { "seen.txt": "" } },
    );
    const frames = await rpc.prompt("go");
    expect(answers(frames)).toEqual(["", "done"]);
    expect(frames.find(({ type }) => type === "tool_execution_start")?.args).toEqual({ path: "." });
    const wanted = ["user", "assistant", "toolResult", "assistant"];
    expect((await rpc.ask("get_messages")).messages.map(({ role }: { role: string }) => role)).toEqual(wanted);
    expect(frames.find(({ type }) => type === "agent_end")?.messages.map(({ role }: { role: string }) => role)).toEqual(wanted);
    for (const { message } of frames.filter(({ type }) => type === "message_update" || type === "turn_end")) expect(message.content.length).toBe(1);
    expect(rpc.stderr).toBe("");
  });

  test("a guard that throws or hangs blocks the tool", async () => {
    const throwing = startWith(
      { "g.ts": `export default (pi: any) => pi.on("tool_call", () => { throw new Error("guard broke"); });` },
      { script: callsTool("ls"), args: ["--tools", "ls"] },
    );
    expect(toolResults(await throwing.prompt("go"))[0]).toMatchObject({ isError: true, text: "guard broke" });
    expect(errors(throwing)).toMatchObject([{ event: "tool_call", error: "guard broke" }]);
    const hanging = startWith(
      { "g.ts": `export default (pi: any) => pi.on("tool_call", () => new Promise(() => {}));` },
      { ...impatient, script: callsTool("ls"), args: ["--tools", "ls"] },
    );
    const [result] = toolResults(await hanging.prompt("go"));
    expect(result?.isError).toBe(true);
    expect(result?.text).toContain("did not finish");
  });

  test("a handler that never ends is passed over, unless a dialog of its is open", async () => {
    const rpc = startWith(
      {
        "slow.ts": `export default (pi: any) => { pi.on("agent_start", () => new Promise(() => {})); pi.on("turn_start", async (_: any, ctx: any) => ctx.ui.notify("answer " + await ctx.ui.confirm("wait", "?"))); };`,
      },
      impatient,
    );
    const run = rpc.prompt("hi");
    const { id } = await rpc.find(({ method }) => method === "confirm");
    // Longer than the deadline: the clock stands still meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 700));
    rpc.send({ type: "extension_ui_response", id, confirmed: true });
    await run;
    await notice(rpc, "answer true");
    expect(errors(rpc)).toMatchObject([{ event: "agent_start", error: expect.stringContaining("did not finish") }]);
  });

  test("abort does not wait for a handler", async () => {
    const rpc = startWith({ "s.ts": `export default (pi: any) => pi.on("message_start", () => new Promise(() => {}));` });
    void rpc.ask("prompt", { message: "hi" });
    await rpc.find(({ type }) => type === "turn_start");
    await rpc.ask("abort");
    await rpc.find(({ type }) => type === "agent_settled");
  });

  test("what a handler is passed over with stands on the wire in its place all the same", async () => {
    const events = ["agent_start", "turn_start", "message_start", "message_end", "turn_end", "agent_end"];
    for (const event of events) {
      const rpc = startWith({
        "s.ts": `export default (pi: any) => pi.on("${event}", (e: any, ctx: any) => {
          if (e.message?.role === "user") return;
          ctx.ui.notify("asleep");
          return new Promise(() => {});
        });`,
      });
      void rpc.ask("prompt", { message: "hi" });
      await notice(rpc, "asleep");
      await rpc.ask("abort");
      const told = rpc.frames
        .map(({ type, message }) => (message?.role ? `${type}:${message.role}` : type))
        .filter((type) => !/^(response|message_update|ext)/.test(type));
      // An abort behind the answer adds a turn of its own.
      const turn = "(turn_start( message_start:user message_end:user)? message_start:assistant message_end:assistant turn_end:assistant )";
      expect(told.join(" ")).toMatch(new RegExp(`^agent_start ${turn}{1,2}agent_end agent_settled$`));
      expect(rpc.frames.at(-1)).toMatchObject({ command: "abort" });
    }
  });

  test("abort does not wait for a handler of agent_settled either", async () => {
    const rpc = startWith({
      "s.ts": `let isFirst = true;
        export default (pi: any) => pi.on("agent_settled", (e: any, ctx: any) => {
          if (!isFirst) return;
          isFirst = false;
          ctx.ui.notify("asleep");
          return new Promise(() => {});
        });`,
    });
    await rpc.ask("prompt", { message: "hi" });
    await notice(rpc, "asleep");
    await rpc.ask("abort");
    expect(answers(await rpc.prompt("again"))).toEqual(["fine"]);
    expect(rpc.frames.filter(({ type }) => type === "agent_settled")).toHaveLength(2);
  });

  test("a handler that never ends does not keep its repair from taking over", async () => {
    const repaired = `export default (pi: any) => pi.registerCommand("here", { handler: (_: string, ctx: any) => ctx.ui.notify("repaired") });`;
    const atStart = startWith({ "s.ts": `export default (pi: any) => pi.on("session_start", () => new Promise(() => {}));` });
    const inRun = startWith({ "s.ts": `export default (pi: any) => pi.on("turn_end", () => new Promise(() => {}));` });
    void inRun.ask("prompt", { message: "hi" });
    await inRun.find(({ type, message }) => type === "message_end" && message.role === "assistant");
    await inRun.ask("abort");
    await inRun.find(({ type }) => type === "agent_settled");
    for (const rpc of [atStart, inRun]) {
      rewrite(rpc, "s.ts", repaired);
      await rpc.ask("reload");
      expect(await command(rpc, "/here")).toEqual(["repaired"]);
    }
  });

  test("a session_start that never ends does not keep the agent from answering", async () => {
    const rpc = startWith({
      "s.ts": `export default (pi: any) => { pi.on("session_start", () => new Promise(() => {})); pi.registerCommand("here", { handler: (_: string, ctx: any) => ctx.ui.notify("here") }); };`,
    });
    expect(await command(rpc, "/here")).toEqual(["here"]);
  });
});

describe("tools", () => {
  test("whatever a tool returns becomes a result or a clear error", async () => {
    const values: Record<string, string> = {
      nothing: "undefined",
      text: `"just text"`,
      circular: `(() => { const d: any = {}; d.d = d; return { content: [], details: d }; })()`,
      bigint: `({ content: [], details: { n: 1n } })`,
      huge: `({ content: [{ type: "text", text: "x".repeat(50 * 1024 * 1024) }] })`,
      odd: `({ content: [{ type: "video" }] })`,
      number: `({ content: [{ type: "text", text: 5 }, "six"] })`,
      knot: `(() => { const b: any = { type: "text", text: "t" }; b.b = b; return { content: [b] }; })()`,
      scream: `{ throw new Error("x".repeat(50 * 1024 * 1024)); }`,
    };
    const source = `export default (pi: any) => { ${Object.entries(values)
      .map(
        ([name, value]) =>
          `pi.registerTool({ name: "${name}", label: "x", description: "x", parameters: { type: "object", properties: {} }, execute: async () => ${value} });`,
      )
      .join("\n")} };`;
    const rpc = startWith({ "t.ts": source }, { script: { responses: [{ toolCalls: Object.keys(values).map((name) => ({ name })) }, "ok"] } });
    const results = toolResults(await rpc.prompt("go"));
    const found = Object.fromEntries(Object.keys(values).map((name, index) => [name, results[index]]));
    expect(found.nothing).toMatchObject({ isError: true, text: expect.stringContaining("returned nothing") });
    expect(found.text).toMatchObject({ isError: true, text: expect.stringContaining("a string") });
    expect(found.circular).toMatchObject({ isError: true, text: expect.stringContaining("JSON") });
    expect(found.bigint).toMatchObject({ isError: true, text: expect.stringContaining("JSON") });
    expect(found.huge?.isError).toBe(false);
    expect(found.huge?.text.length).toBeLessThan(2 * 1024 * 1024);
    expect(found.huge?.text).toContain("Output cut");
    expect(found.knot).toMatchObject({ isError: true, text: expect.stringContaining("JSON") });
    expect(found.scream?.isError).toBe(true);
    expect(found.scream?.text.length).toBeLessThan(2 * 1024 * 1024);
    expect(found.odd).toMatchObject({ isError: true, text: expect.stringContaining("neither text nor image") });
    expect(found.number).toMatchObject({ isError: false, text: "5six" });
  });
});

describe("the process", () => {
  test("process.exit, uncaught errors and rejections are the extension's and not the end", async () => {
    const rpc = startWith({
      "p.ts": `export default (pi: any) => {
        pi.registerCommand("exit", { handler: () => process.exit(3) });
        pi.registerCommand("abort", { handler: () => process.abort() });
        pi.registerCommand("timer", { handler: () => { setTimeout(() => { throw new Error("from a timer"); }, 1); } });
        pi.registerCommand("reject", { handler: () => { void Promise.reject(new Error("nobody caught")); } });
        pi.registerCommand("later", { handler: () => { setTimeout(() => process.exit(4), 1); } });
        pi.registerCommand("emitter", { handler: () => { new (require("node:events").EventEmitter)().emit("error", new Error("emitted")); } });
      };`,
      "q.ts": `export default (pi: any) => {
        pi.registerCommand("tick", { handler: () => { process.nextTick(() => { throw "text"; }); } });
        pi.registerCommand("micro", { handler: () => { queueMicrotask(() => { throw new Error("micro"); }); } });
        pi.registerCommand("socket", { handler: () => { require("node:net").connect(1, "127.0.0.1"); } });
        pi.registerCommand("stream", { handler: () => { require("node:fs").createReadStream("/no/such/file"); } });
      };`,
    });
    await command(rpc, "/exit");
    expect(errors(rpc)[0]).toMatchObject({ extensionPath: "command:exit", event: "command", error: expect.stringContaining("process.exit") });
    await command(rpc, "/abort");
    expect(errors(rpc)[1]).toMatchObject({ extensionPath: "command:abort", event: "command", error: expect.stringContaining("process.abort") });
    for (const name of ["timer", "reject", "later", "tick", "micro", "socket", "stream"]) {
      const from = rpc.frames.length;
      await command(rpc, `/${name}`);
      await error(rpc, "uncaught", from);
    }
    await command(rpc, "/emitter");
    expect(errors(rpc).at(-1)).toMatchObject({ event: "command", error: "emitted" });
    expect(answers(await rpc.prompt("alive?"))).toEqual(["fine"]);
  });

  test("a JSON that was made to write neatly spoils neither records nor the session", async () => {
    const rpc = startWith({
      "neat.ts": `export default (pi: any) => {
        const { parse, stringify } = JSON;
        JSON.stringify = (value: any) => stringify(value, null, 2);
        JSON.parse = (text: string) => Object.freeze(parse(text));
      };`,
    });
    expect(answers(await rpc.prompt("go"))).toEqual(["fine"]);
    await rpc.ask("set_session_name", { name: "neat" });
    const { sessionFile } = await rpc.ask("get_state");
    expect(await rpc.stop()).toEqual({ status: 0, signal: null });
    for (const line of readFileSync(sessionFile, "utf8").trimEnd().split("\n")) expect(JSON.parse(line)).toHaveProperty("type");
  });

  test("whatever an extension has done to the globals, the process ends once its client has gone", async () => {
    const rpc = startWith({
      "p.ts": `export default (pi: any) => pi.registerCommand("break", { handler: () => { Promise.race = Promise.all = () => { throw new Error("none of that"); }; } });`,
    });
    await command(rpc, "/break");
    await rpc.stop();
    expect((await rpc.exited).status).not.toBe(null);
  });

  test("listeners of the process that throw, or exit, do not end it and do not keep it", async () => {
    const rpc = startWith({
      "p.ts": `export default (pi: any) => {
        process.on("uncaughtException", () => process.exit(1));
        process.on("exit", () => { throw new Error("at the end"); });
        pi.registerCommand("timer", { handler: () => { setTimeout(() => { throw new Error("first"); }, 1); } });
        pi.registerCommand("child", { handler: () => { require("node:child_process").spawn("/no/such/program"); } });
      };`,
    });
    await command(rpc, "/timer");
    expect(await error(rpc, "uncaught")).toMatchObject({ error: "first" });
    const from = rpc.frames.length;
    await command(rpc, "/child");
    await rpc.find(({ type, error }) => type === "extension_error" && String(error).includes("ENOENT"), from);
    expect(answers(await rpc.prompt("alive?"))).toEqual(["fine"]);
    expect(await rpc.stop()).toEqual({ status: 0, signal: null });
    expect(rpc.stderr).toContain("at the end");
  });

  test("callbacks that run in nobody's name are known by their stack", async () => {
    const rpc = startWith(
      {
        "p.ts": `export default (pi: any) => {
          pi.registerTool({ name: "wait", label: "Wait", description: "Waits.", parameters: { type: "object" }, execute: (_id: string, _args: any, signal: AbortSignal) =>
            new Promise((resolve) => signal.addEventListener("abort", () => { resolve({ content: [] }); throw new Error("while aborting"); })) });
          process.on("SIGTERM", () => process.exit(7));
          pi.on("session_shutdown", (event: any, ctx: any) => ctx.ui.notify("bye " + event.reason));
        };`,
      },
      { script: { responses: [{ toolCalls: [{ name: "wait", arguments: {} }] }, "fine"], repeat: true } },
    );
    await rpc.ask("prompt", { message: "go" });
    await rpc.find(({ type }) => type === "tool_execution_start");
    await rpc.ask("abort");
    expect(await error(rpc, "uncaught")).toMatchObject({ extensionPath: pathOf(rpc, "p.ts"), error: "while aborting" });
    expect(answers(await rpc.prompt("alive?"))).toEqual(["fine"]);
    rpc.child.kill("SIGTERM");
    expect(await rpc.exited).toMatchObject({ status: 143 });
    expect(notices(rpc)).toContain("bye quit");
  });

  test("what an extension prints does not reach the wire", async () => {
    const rpc = startWith({
      "p.ts": `console.log("at load"); export default (pi: any) => pi.registerCommand("print", { handler: async () => { console.log("log"); process.stdout.write("raw\\n"); require("node:fs").writeSync(1, "fs\\n");
        require("node:child_process").spawnSync("node", ["-e", "console.log('child')"], { stdio: "inherit" }); } });`,
    });
    await command(rpc, "/print");
    for (const text of ["at load", "log", "raw", "fs", "child"]) expect(rpc.stderr).toContain(text);
  });

  test("a child that inherits stdin does not read the client's commands", async () => {
    const rpc = startWith({
      "p.ts": `import { spawn, spawnSync } from "node:child_process";
        export default (pi: any) => pi.registerCommand("read", { handler: (_: string, ctx: any) => {
          spawnSync("cat", { stdio: "inherit" });
          spawnSync("cat", { stdio: [0, "pipe", "pipe"] });
          spawn("cat", { stdio: [process.stdin, "ignore", "ignore"] }).on("exit", (code) => ctx.ui.notify("ended " + code));
        } });`,
    });
    await command(rpc, "/read");
    await notice(rpc, "ended 0");
    expect(await rpc.ask("get_state")).toMatchObject({ isStreaming: false });
  });

  test("stdin is empty for an extension, and whatever it does with it the client is still heard", async () => {
    const rpc = startWith({
      "p.ts": `import { createInterface } from "node:readline";
        export default (pi: any) => pi.registerCommand("ask", { handler: async (_: string, ctx: any) => {
          const lines = createInterface({ input: process.stdin });
          const answer = new Promise((resolve) => lines.on("line", resolve).on("close", () => resolve("nobody there")));
          ctx.ui.notify(String(await answer));
          lines.close();
          process.stdin.on("data", (bytes) => ctx.ui.notify("read " + bytes)).pause().unref();
          process.stdin.destroy();
        } });`,
    });
    expect(await command(rpc, "/ask")).toEqual(["nobody there"]);
    expect(answers(await rpc.prompt("still there?"))).toEqual(["fine"]);
    expect(await rpc.stop()).toEqual({ status: 0, signal: null });
  });

  test("an extension that removes all listeners of the process takes none of ours", async () => {
    const rpc = startWith({
      "p.ts": `export default (pi: any) => {
        pi.registerCommand("tidy", { handler: () => { process.removeAllListeners("SIGTERM"); process.removeAllListeners(); } });
        pi.registerCommand("timer", { handler: () => { setTimeout(() => { throw new Error("from a timer"); }, 1); } });
      };`,
    });
    await command(rpc, "/tidy");
    await command(rpc, "/timer");
    expect(await error(rpc, "uncaught")).toMatchObject({ error: "from a timer" });
    expect(answers(await rpc.prompt("alive?"))).toEqual(["fine"]);
    rpc.child.kill("SIGTERM");
    expect(await rpc.exited).toEqual({ status: 143, signal: null });
  });

  test("five faults in a row put an extension into quarantine, and its guard keeps blocking until it is reloaded", async () => {
    const source = `export default (pi: any) => { pi.on("agent_start", () => { throw new Error("again"); }); pi.on("tool_call", () => {}); pi.registerCommand("mine", { handler: () => {} }); };`;
    const rpc = startWith(
      { "q.ts": source },
      {
        script: { responses: ["1", "2", "3", "4", "5", { toolCalls: [{ name: "ls" }] }, "end", { toolCalls: [{ name: "ls" }] }, "end"] },
        args: ["--no-hot-reload", "--tools", "ls"],
      },
    );
    for (let count = 0; count < 5; count++) await rpc.prompt("go");
    const quarantined = await rpc.find(({ type }) => type === "extension_quarantined");
    expect(quarantined).toMatchObject({ faults: 5, lastError: "again" });
    expect((await extensionList(rpc))[0].state).toBe("quarantined");
    expect((await rpc.ask("get_commands")).commands).toEqual([]);
    const [blocked] = toolResults(await rpc.prompt("use it"));
    expect(blocked).toMatchObject({ isError: true, text: expect.stringContaining("quarantine") });
    expect(errors(rpc)).toHaveLength(5);
    await rpc.ask("reload");
    expect((await extensionList(rpc))[0].state).toBe("active");
    expect(toolResults(await rpc.prompt("use it"))[0]?.isError).toBe(false);
  });

  test("a stale context that a forgotten timer uses is told once", async () => {
    const rpc = startWith({
      "s.ts": `export default (pi: any) => pi.on("session_start", (_: any, ctx: any) => { const native = setInterval; (globalThis as any).kept ??= []; (globalThis as any).kept.push(ctx);
        for (const old of (globalThis as any).kept.slice(0, -1)) for (let i = 0; i < 3; i++) setTimeout(() => old.ui.setStatus("x", "y"), 1); });`,
    });
    await rpc.ask("new_session");
    const stale = await error(rpc, "stale");
    expect(stale.error).toContain("stale");
    expect(answers(await rpc.prompt("alive?"))).toEqual(["fine"]);
    expect(errors(rpc).filter(({ event }) => event === "stale")).toHaveLength(1);
  });

  test("a factory that does not end is set aside", { timeout: 90_000 }, async () => {
    const rpc = startWith({
      "slow.ts": `export default () => new Promise(() => {});`,
      "good.ts": `export default (pi: any) => pi.registerCommand("good", { handler: () => {} });`,
    });
    expect((await rpc.ask("get_commands")).commands.map(({ name }: { name: string }) => name)).toEqual(["good"]);
    expect(errors(rpc)).toMatchObject([{ event: "load", error: expect.stringContaining("has not finished") }]);
  });
});
