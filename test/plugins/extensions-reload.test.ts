/** Hot reload against the real program: files change while it runs. */
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { command, error, errors, extensionList, notice, notices, pathOf, reloaded, rewrite, startWith, toolResults } from "../extensions/helpers.ts";
import { tempDir } from "../helpers/pi.ts";

const says = (text: string) => `export default (pi: any) => pi.registerCommand("say", { handler: (_: string, ctx: any) => ctx.ui.notify("${text}") });`;
const long = process.env.PI_TEST_LONG === "1";

describe("noticing", () => {
  test("an edited file, its helpers of every kind, a new file and a deleted one", async () => {
    const rpc = startWith({
      "a.ts": `import { text } from "./lib/helper.ts"; import data from "./lib/data.json"; import esm from "./lib/esm.mjs"; const cjs = require("./lib/common.cjs");
        export default (pi: any) => pi.registerCommand("say", { handler: (_: string, ctx: any) => ctx.ui.notify([text, data.k, esm, cjs].join()) });`,
      "lib/helper.ts": `export const text = "h1";`,
      "lib/data.json": `{"k":"j1"}`,
      "lib/esm.mjs": `export default "m1";`,
      "lib/common.cjs": `module.exports = "c1";`,
    });
    expect(await command(rpc, "/say")).toEqual(["h1,j1,m1,c1"]);
    for (const [name, source, expected] of [
      ["lib/helper.ts", `export const text = "h2";`, "h2,j1,m1,c1"],
      ["lib/data.json", `{"k":"j2"}`, "h2,j2,m1,c1"],
      ["lib/esm.mjs", `export default "m2";`, "h2,j2,m2,c1"],
      ["lib/common.cjs", `module.exports = "c2";`, "h2,j2,m2,c2"],
    ] as const) {
      const from = rpc.frames.length;
      rewrite(rpc, name, source);
      expect(await reloaded(rpc, from)).toMatchObject({ success: true, extensionPath: pathOf(rpc, "a.ts") });
      expect(await command(rpc, "/say")).toEqual([expected]);
    }
    let from = rpc.frames.length;
    rewrite(rpc, "b.ts", `export default (pi: any) => pi.on("session_start", (e: any, ctx: any) => ctx.ui.notify("b " + e.reason));`);
    await notice(rpc, "b reload", from);
    from = rpc.frames.length;
    rmSync(pathOf(rpc, "a.ts"));
    await reloaded(rpc, from);
    expect((await rpc.ask("get_commands")).commands).toEqual([]);
    expect((await extensionList(rpc)).map(({ name }) => name)).toEqual(["b"]);
    expect(errors(rpc)).toEqual([]);
  });

  test("a directory that did not exist, a save by rename, and no reload for a mere touch", async () => {
    const rpc = startWith({});
    await rpc.ask("get_state");
    mkdirSync(join(rpc.places.agentDir, "extensions"), { recursive: true });
    let from = rpc.frames.length;
    rewrite(rpc, "new.ts", says("one"));
    await reloaded(rpc, from);
    expect(await command(rpc, "/say")).toEqual(["one"]);
    from = rpc.frames.length;
    const path = pathOf(rpc, "new.ts");
    utimesSync(path, new Date(), new Date());
    writeFileSync(`${path}.tmp`, says("two"));
    renameSync(`${path}.tmp`, path);
    expect(await reloaded(rpc, from)).toMatchObject({ success: true, generation: 2 });
    expect(await command(rpc, "/say")).toEqual(["two"]);
  });
});

test("links, renamed files, directories that come and go, and lists in the settings", async () => {
  const elsewhere = tempDir();
  const at = (...parts: string[]) => join(elsewhere, ...parts);
  const starts = (text: string) => `export default (pi: any) => pi.on("session_start", (e: any, ctx: any) => ctx.ui.notify("${text} " + e.reason));`;
  mkdirSync(at("pack"));
  writeFileSync(at("one.ts"), starts("one 1"));
  writeFileSync(
    at("pack/index.ts"),
    `import { text } from "./part"; export default (pi: any) => pi.on("session_start", (e: any, ctx: any) => ctx.ui.notify(text + " " + e.reason));`,
  );
  writeFileSync(at("pack/part.ts"), `export const text = "pack 1";`);
  const rpc = startWith({ "renamed.ts": starts("renamed") }, { args: ["-a"] });
  await rpc.ask("get_state");
  symlinkSync(at("one.ts"), pathOf(rpc, "one.ts"));
  symlinkSync(at("pack"), pathOf(rpc, "pack"));
  await notice(rpc, "one 1 reload");
  await notice(rpc, "pack 1 reload");
  writeFileSync(at("one.ts"), starts("one 2"));
  await notice(rpc, "one 2 reload");
  writeFileSync(at("pack/part.ts"), `export const text = "pack 2";`);
  await notice(rpc, "pack 2 reload");
  // The same entry file, behind a link that leads elsewhere now.
  cpSync(at("pack"), at("other"), { recursive: true });
  writeFileSync(at("other/part.ts"), `export const text = "other 1";`);
  rmSync(pathOf(rpc, "pack"));
  symlinkSync(at("other"), pathOf(rpc, "pack"));
  await notice(rpc, "other 1 reload");
  writeFileSync(at("other.ts"), starts("one 3"));
  symlinkSync(at("other.ts"), at("link"));
  renameSync(at("link"), pathOf(rpc, "one.ts"));
  await notice(rpc, "one 3 reload");
  renameSync(pathOf(rpc, "renamed.ts"), pathOf(rpc, "again.ts"));
  await notice(rpc, "renamed reload");
  const project = join(rpc.places.cwd, ".pi/extensions");
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, "p.ts"), starts("project 1"));
  await notice(rpc, "project 1 reload");
  rmSync(project, { recursive: true });
  await expect.poll(async () => (await extensionList(rpc)).map(({ name }) => name)).not.toContain("p");
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, "p.ts"), starts("project 2"));
  await notice(rpc, "project 2 reload");
  writeFileSync(at("listed.ts"), starts("listed"));
  writeFileSync(join(rpc.places.agentDir, "settings.json"), JSON.stringify({ extensions: [at("listed.ts")] }));
  await notice(rpc, "listed reload");
  expect(errors(rpc)).toEqual([]);
});

describe("the transaction", () => {
  test("a version that does not load leaves the old one at work, and the next try may succeed", async () => {
    const rpc = startWith({ "a.ts": says("one") });
    await command(rpc, "/say");
    for (const broken of [
      "export default (pi) => { let = ; }",
      `export default () => { throw new Error("no"); };`,
      "export const nothing = 1;",
      `import "./missing.ts"; export default () => {};`,
    ]) {
      const from = rpc.frames.length;
      rewrite(rpc, "a.ts", broken);
      expect(await reloaded(rpc, from)).toMatchObject({ success: false, error: expect.any(String), generation: 1 });
      const { error: text } = await error(rpc, "reload", from);
      expect(text).toContain("a.ts");
      expect(await command(rpc, "/say")).toEqual(["one"]);
    }
    const from = rpc.frames.length;
    rewrite(rpc, "a.ts", says("two"));
    expect(await reloaded(rpc, from)).toMatchObject({ success: true, generation: 2 });
    expect(await command(rpc, "/say")).toEqual(["two"]);
    expect((await extensionList(rpc))[0]).not.toHaveProperty("error");
  });

  test("only the changed extension is touched, with its farewell, its hand-over and its screen cleared", async () => {
    const counter = (version: number) => `let loads = 0; export default (pi: any) => {
      let count = (pi.hot?.data.count as number) ?? 0; loads++;
      pi.hot?.dispose((data: any) => { data.count = count; });
      pi.registerCommand("count", { handler: (_: string, ctx: any) => { count++; ctx.ui.notify("v${version} " + count + " " + loads); } });
      pi.on("session_start", (e: any, ctx: any) => { ctx.ui.setStatus("c", "v${version} " + e.reason); ctx.ui.setWidget("w", ["x"]); });
      pi.on("session_shutdown", (e: any, ctx: any) => ctx.ui.notify("bye v${version} " + e.reason));
      pi.events.on("ping", () => pi.events.emit("pong", "v${version}"));
    };`;
    const rpc = startWith({
      "a.ts": counter(1),
      "other.ts": `export default (pi: any) => { let n = 0; pi.on("session_start", (_: any, ctx: any) => ctx.ui.notify("other starts")); pi.events.on("pong", (from: any) => { n++; last = from; }); let last: any;
        pi.registerCommand("ping", { handler: (_: string, ctx: any) => { pi.events.emit("ping", 0); ctx.ui.notify(n + " " + last); } }); };`,
    });
    await command(rpc, "/count");
    expect(await command(rpc, "/count")).toEqual(["v1 2 1"]);
    expect(await command(rpc, "/ping")).toEqual(["1 v1"]);
    const from = rpc.frames.length;
    rewrite(rpc, "a.ts", counter(2));
    await reloaded(rpc, from);
    const said = rpc.frames.slice(from).filter(({ type }) => type === "extension_ui_request");
    expect(said.map(({ method, message, statusText, widgetLines }) => [method, message ?? statusText ?? widgetLines])).toEqual([
      ["notify", "bye v1 reload"],
      ["setStatus", undefined],
      ["setWidget", undefined],
      ["setStatus", "v2 reload"],
      ["setWidget", ["x"]],
    ]);
    expect(await command(rpc, "/count")).toEqual(["v2 3 1"]);
    expect(await command(rpc, "/ping")).toEqual(["2 v2"]);
    expect(notices(rpc).filter((text) => text === "other starts")).toHaveLength(1);
  });

  test("commands keep the order of their extensions and the names they get among all", async () => {
    const registers = (...names: string[]) =>
      `export default (pi: any) => { for (const name of ${JSON.stringify(names)}) pi.registerCommand(name, { description: name + " of ${names.length}", handler: () => {} }); };`;
    const rpc = startWith({ "a.ts": registers("one", "twice"), "b.ts": registers("two"), "c.ts": registers("twice", "three") });
    const listed = async () => (await rpc.ask("get_commands")).commands.map(({ name, description }: Record<string, string>) => [name, description].join(": "));
    expect(await listed()).toEqual(["one: one of 2", "twice:1: twice of 2", "twice:2: twice of 2", "two: two of 1", "three: three of 2"]);
    let from = rpc.frames.length;
    rewrite(rpc, "b.ts", registers("new", "two", "three"));
    await reloaded(rpc, from);
    const three = ["three:1: three of 3", "three:2: three of 2"];
    expect(await listed()).toEqual(["one: one of 2", "twice:1: twice of 2", "twice:2: twice of 2", "new: new of 3", "two: two of 3", ...three]);
    from = rpc.frames.length;
    rmSync(pathOf(rpc, "a.ts"));
    await reloaded(rpc, from);
    expect(await listed()).toEqual(["new: new of 3", "two: two of 3", ...three, "twice: twice of 2"]);
  });

  test("work under way ends on the version that began it, dialogs included", async () => {
    const asking = (version: number) =>
      `export default (pi: any) => pi.registerCommand("ask", { handler: async (_: string, ctx: any) => { const ok = await ctx.ui.confirm("q", "?"); ctx.ui.notify("v${version} " + ok); pi.appendEntry("still", {}); } });`;
    const rpc = startWith({ "a.ts": asking(1) });
    const pending = rpc.ask("prompt", { message: "/ask" });
    const { id } = await rpc.find(({ method }) => method === "confirm");
    const from = rpc.frames.length;
    rewrite(rpc, "a.ts", asking(2));
    await reloaded(rpc, from);
    rpc.send({ type: "extension_ui_response", id, confirmed: true });
    await pending;
    await notice(rpc, "v1 true");
    expect(errors(rpc)).toEqual([]);
  });

  test("a swap waits for the end of the turn, and the next turn has the new tool", async () => {
    const tool = (
      version: number,
    ) => `import { setTimeout as sleep } from "node:timers/promises"; export default (pi: any) => pi.registerTool({ name: "work", label: "w", description: "d", parameters: { type: "object", properties: {} },
      async execute(_: any, __: any, ___: any, ____: any, ctx: any) { if (${version} === 1) { ctx.ui.notify("working"); await sleep(1500); } return { content: [{ type: "text", text: "v${version}" }] }; } });`;
    const rpc = startWith({ "t.ts": tool(1) }, { script: { responses: [{ toolCalls: [{ name: "work" }] }, { toolCalls: [{ name: "work" }] }, "end"] } });
    const run = rpc.prompt("go");
    await notice(rpc, "working");
    rewrite(rpc, "t.ts", tool(2));
    const frames = await run;
    expect(toolResults(frames).map(({ text }) => text)).toEqual(["v1", "v2"]);
    const kinds = frames.map(({ type }) => type);
    expect(kinds.indexOf("extension_reload")).toBeGreaterThan(kinds.indexOf("turn_end"));
  });

  test("what changes again while it waits takes the place of what waits", async () => {
    const tool = (version: string) => `import { setTimeout as sleep } from "node:timers/promises"; export default (pi: any) => {
      pi.on("session_start", (_: any, ctx: any) => ctx.ui.notify("start ${version}"));
      pi.registerTool({ name: "work", label: "w", description: "d", parameters: { type: "object", properties: {} },
      async execute(_: any, __: any, ___: any, ____: any, ctx: any) { ctx.ui.notify("working"); while (!(globalThis as any).isEnough) await sleep(20); (globalThis as any).isEnough = false; return { content: [{ type: "text", text: "${version}" }] }; } }); };`;
    const script = { responses: [{ toolCalls: [{ name: "work" }] }, { toolCalls: [{ name: "work" }] }, "end"] };
    const enough = `export default (pi: any) => pi.registerCommand("enough", { handler: async () => { (globalThis as any).isEnough = true; } });`;
    const rpc = startWith({ "a.ts": tool("v1"), "b.ts": says("b"), "enough.ts": enough }, { script });
    const run = rpc.prompt("go");
    await notice(rpc, "working");
    // Each is read while the run goes on, as a new one that stays away shows.
    const isRead = async (name: string) => {
      rewrite(rpc, `${name}.ts`, "export default (pi => {");
      await rpc.find(({ type, extensionPath }) => type === "extension_reload" && extensionPath === pathOf(rpc, `${name}.ts`));
    };
    rewrite(rpc, "a.ts", tool("v2"));
    rmSync(pathOf(rpc, "b.ts"));
    await isRead("one");
    rewrite(rpc, "a.ts", "export default (pi => {");
    expect(await error(rpc, "reload")).toMatchObject({ extensionPath: pathOf(rpc, "a.ts") });
    rewrite(rpc, "b.ts", says("b"));
    await isRead("two");
    const from = rpc.frames.length;
    await command(rpc, "/enough");
    await notice(rpc, "working", from);
    rewrite(rpc, "a.ts", tool("v3"));
    await isRead("three");
    rewrite(rpc, "a.ts", tool("v4"));
    await isRead("four");
    await command(rpc, "/enough");
    const frames = await run;
    expect(toolResults(frames).map(({ text }) => text)).toEqual(["v1", "v1"]);
    expect(notices(rpc).filter((text) => text.startsWith("start"))).toEqual(["start v1", "start v4"]);
    expect(await command(rpc, "/say")).toEqual(["b"]);
    expect((await extensionList(rpc)).find(({ name }) => name === "b")).toMatchObject({ state: "active", generation: 1 });
  });

  test("what is handed over may be anything, such as a server that goes on", async () => {
    const keeps = (version: number) => `import { createServer } from "node:http"; export default (pi: any) => {
      const old = pi.hot?.data.server;
      const server = old ?? createServer((_, answer) => answer.end()).listen(0, "127.0.0.1");
      pi.hot?.dispose((data: any) => { data.server = server; data.itself = data; });
      pi.on("session_start", (e: any, ctx: any) => ctx.ui.notify("v${version} " + (old ? "the same" : "a new") + " server"));
      pi.registerCommand("ask", { handler: async (_: string, ctx: any) => ctx.ui.notify(server.listening ? "it listens" : "it is closed") }); };`;
    const rpc = startWith({ "a.ts": keeps(1) });
    await notice(rpc, "v1 a new server");
    rewrite(rpc, "a.ts", keeps(2));
    await notice(rpc, "v2 the same server");
    await rpc.find(({ type }) => type === "extension_reload");
    expect(await command(rpc, "/ask")).toEqual(["it listens"]);
    expect(errors(rpc)).toEqual([]);
  });

  test("reload by hand: everything, one file, from a command, and with failures told", async () => {
    const rpc = startWith(
      {
        "a.ts": `${says("one")}`,
        "b.ts": `export default (pi: any) => { pi.registerCommand("again", { handler: async (_: string, ctx: any) => { ctx.ui.notify("before"); await ctx.reload(); } }); pi.on("session_start", (e: any, ctx: any) => ctx.ui.notify("b " + e.reason)); };`,
      },
      { args: ["--no-hot-reload"] },
    );
    await rpc.ask("get_state");
    rewrite(rpc, "a.ts", says("two"));
    expect(await command(rpc, "/say")).toEqual(["one"]);
    expect(await rpc.ask("reload", { path: pathOf(rpc, "a.ts") })).toEqual({ reloaded: [pathOf(rpc, "a.ts")], failed: [] });
    expect(await command(rpc, "/say")).toEqual(["two"]);
    rewrite(rpc, "a.ts", "export default 5;");
    rewrite(rpc, "c.ts", says("three").replaceAll("say", "third"));
    const all = await rpc.ask("reload");
    expect(all.reloaded).toEqual([pathOf(rpc, "b.ts"), pathOf(rpc, "c.ts")]);
    expect(all.failed).toMatchObject([{ path: pathOf(rpc, "a.ts"), error: expect.stringContaining("factory") }]);
    expect(await command(rpc, "/say")).toEqual(["two"]);
    expect(await command(rpc, "/third")).toEqual(["three"]);
    expect(await command(rpc, "/again")).toEqual(["before", "b reload"]);
    expect(await rpc.call("reload", { path: "/nowhere.ts" })).toMatchObject({ success: false, error: "Extension not found: /nowhere.ts" });
  });

  test("an extension that writes its own source is slowed down", async () => {
    const rpc = startWith({
      "loop.ts": `// 0\nimport { readFileSync, writeFileSync } from "node:fs"; export default (pi: any) => pi.on("session_start", () => { const text = readFileSync(__filename, "utf8"); const n = Number(/^\\/\\/ (\\d+)/.exec(text)![1]); if (n < 100) writeFileSync(__filename, text.replace(/^\\/\\/ \\d+/, "// " + (n + 1))); });`,
    });
    const { error: text } = await error(rpc, "reload");
    expect(text).toContain("waits");
    expect(rpc.frames.filter(({ type }) => type === "extension_reload").length).toBeLessThanOrEqual(6);
  });

  test("edits of many files, one soon after another, are no loop", async () => {
    const parts = ["a.mjs", "b.cjs", "c.json", "d.js", "e.ts", "f.ts", "g.ts"];
    const imports = parts.map((name, index) => `import p${index} from "./${name}";`).join("\n");
    const part = (name: string, text: string) =>
      name.endsWith(".json") ? JSON.stringify(text) : name.endsWith(".cjs") ? `module.exports = "${text}";` : `export default "${text}";`;
    const rpc = startWith({
      "many/index.ts": `${imports}\nexport default (pi: any) => pi.registerCommand("say", { handler: (_: string, ctx: any) => ctx.ui.notify([${parts.map((_, index) => `p${index}`)}].join("")) });`,
      ...Object.fromEntries(parts.map((name) => [`many/${name}`, part(name, "1")])),
    });
    await command(rpc, "/say");
    for (const name of parts) {
      const from = rpc.frames.length;
      rewrite(rpc, `many/${name}`, part(name, "2"));
      expect(await reloaded(rpc, from)).toMatchObject({ success: true });
    }
    expect(await command(rpc, "/say")).toEqual(["2222222"]);
    expect(errors(rpc)).toEqual([]);
  });

  test("hot reload can be switched off", async () => {
    const rpc = startWith({ "a.ts": says("one") }, { agentFiles: { "settings.json": `{"extensionsHotReload":false}` } });
    await command(rpc, "/say");
    rewrite(rpc, "a.ts", says("two"));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(await command(rpc, "/say")).toEqual(["one"]);
  });
});

describe("endurance", () => {
  test(`${long ? 1000 : 100} reloads leave nothing behind`, { timeout: 600_000 }, async () => {
    const source = (n: number) => `import { text } from "./lib/part.ts"; export default (pi: any) => {
      pi.registerTool({ name: "t", label: "t", description: "d", parameters: { type: "object", properties: {} }, execute: async () => ({ content: [] }) });
      pi.registerCommand("n", { handler: (_: string, ctx: any) => ctx.ui.notify("${n} " + text) });
      pi.registerFlag("f${n % 2}", { type: "boolean" });
      pi.on("session_start", () => { setInterval(() => {}, 1000); setTimeout(() => {}, 1e6); pi.events.on("x", () => {}); });
      for (const event of ["agent_start", "context", "tool_call", "message_update"]) pi.on(event, () => {});
    };`;
    const rpc = startWith(
      {
        "r.ts": source(0),
        "lib/part.ts": `export const text = "part"; const big = new Array(20000).fill(0); export { big };`,
        "probe.ts": `export default (pi: any) => pi.registerCommand("probe", { handler: (_: string, ctx: any) => { (globalThis as any).gc?.(); ctx.ui.notify(JSON.stringify({ heap: process.memoryUsage().heapUsed, active: process.getActiveResourcesInfo().length })); } });`,
      },
      { args: ["--no-hot-reload"], env: { NODE_OPTIONS: "--expose-gc" } },
    );
    const probe = async () => JSON.parse((await command(rpc, "/probe")).at(-1) ?? "{}") as { heap: number; active: number };
    const count = long ? 1000 : 100;
    const reload = async (n: number) => {
      rewrite(rpc, "r.ts", source(n));
      await rpc.ask("reload", { path: pathOf(rpc, "r.ts") });
    };
    for (let n = 1; n <= count / 5; n++) await reload(n);
    const [before, ownedBefore] = [await probe(), (await extensionList(rpc)).find(({ name }) => name === "r").owns];
    for (let n = count / 5 + 1; n <= count; n++) await reload(n);
    const [after, ownedAfter] = [await probe(), (await extensionList(rpc)).find(({ name }) => name === "r")];
    expect(await command(rpc, "/n")).toEqual([`${count} part`]);
    expect(ownedAfter.owns).toEqual(ownedBefore);
    expect(ownedAfter.generation).toBe(count + 1);
    expect(after.active).toBeLessThanOrEqual(before.active + 3);
    expect(after.heap - before.heap).toBeLessThan(count * 40_000);
    expect((await rpc.ask("get_commands")).commands).toHaveLength(2);
    expect(errors(rpc)).toEqual([]);
  });

  test("edits, prompts and new sessions at random do not break it", { timeout: 180_000 }, async () => {
    let seed = 7;
    const random = (n: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed % n;
    };
    const names = ["a", "b", "c"];
    const good = (
      name: string,
      n: number,
    ) => `export default (pi: any) => { pi.registerCommand("${name}", { handler: (_: string, ctx: any) => ctx.ui.notify("${name}${n}") }); pi.registerTool({ name: "t${name}", label: "t", description: "d", parameters: { type: "object", properties: {} }, execute: async () => ({ content: [{ type: "text", text: "${n}" }] }) });
      pi.on("turn_end", async () => { await new Promise((r) => setTimeout(r, 5)); }); pi.on("session_start", () => { setInterval(() => {}, 500); }); };`;
    const rpc = startWith(Object.fromEntries(names.map((name) => [`${name}.ts`, good(name, 0)])), {
      script: { responses: [{ toolCalls: names.map((name) => ({ name: `t${name}` })) }, "end"], repeat: true },
    });
    const until = Date.now() + (long ? 60_000 : 10_000);
    const latest = new Map(names.map((name) => [name, 0]));
    for (let n = 1; Date.now() < until; n++) {
      const name = names[random(3)] as string;
      const kind = random(10);
      if (kind < 4) {
        rewrite(rpc, `${name}.ts`, good(name, n));
        latest.set(name, n);
      } else if (kind < 5) rewrite(rpc, `${name}.ts`, "export default (pi) => { broken(");
      else if (kind < 8) await rpc.call("prompt", { message: "go", streamingBehavior: "steer" });
      else if (kind < 9) await rpc.call("new_session");
      else await rpc.call("prompt", { message: `/${name}` });
      await new Promise((resolve) => setTimeout(resolve, random(120)));
    }
    await rpc.ask("abort");
    for (const name of names) rewrite(rpc, `${name}.ts`, good(name, 999));
    await rpc.ask("reload");
    for (const name of names) expect(await command(rpc, `/${name}`)).toEqual([`${name}999`]);
    expect(errors(rpc).filter(({ event }) => event !== "reload")).toEqual([]);
    expect((await extensionList(rpc)).map(({ state }) => state)).toEqual(["active", "active", "active"]);
    expect((await rpc.stop()).status).toBe(0);
  });
});

test("the ledger shows what an extension owns, and the end takes it all", async () => {
  const rpc = startWith(
    {
      "own.ts": `import { spawn } from "node:child_process"; export default (pi: any) => { pi.registerCommand("own", { handler: (_: string, ctx: any) => { setInterval(() => {}, 1000); const child = spawn("sleep", ["100"]); ctx.ui.notify(String(child.pid)); } }); };`,
    },
    { args: ["--no-hot-reload"] },
  );
  const [pid] = await command(rpc, "/own");
  expect((await extensionList(rpc))[0].owns).toMatchObject({ timers: 1, children: 1, commands: ["own"] });
  await rpc.ask("reload");
  expect((await extensionList(rpc))[0].owns).toMatchObject({ timers: 0, children: 0 });
  await expect
    .poll(() => {
      try {
        return readFileSync(`/proc/${pid}/stat`, "utf8").split(" ")[2] === "Z" ? "gone" : "there";
      } catch {
        return "gone";
      }
    })
    .toBe("gone");
});

test("servers and watchers that a version forgot are closed when it goes", async () => {
  const source = `import { watch, writeFileSync } from "node:fs"; import { createServer } from "node:http";
    export default (pi: any) => pi.registerCommand("begin", { handler: (_: string, ctx: any) => {
      watch(ctx.cwd, (_event, name) => ctx.ui.notify("saw " + name));
      const server = createServer((_request, response) => response.end("here")).listen(0, "127.0.0.1", () => ctx.ui.notify("port " + (server.address() as any).port));
    } });`;
  const rpc = startWith({ "a.ts": source });
  await command(rpc, "/begin");
  const port = (await notice(rpc, /^port/)).slice(5);
  const reach = () =>
    fetch(`http://127.0.0.1:${port}`).then(
      (response) => response.text(),
      () => "nobody",
    );
  expect(await reach()).toBe("here");
  writeFileSync(join(rpc.places.cwd, "one.txt"), "");
  await notice(rpc, "saw one.txt");
  await rpc.ask("reload");
  await expect.poll(reach).toBe("nobody");
  writeFileSync(join(rpc.places.cwd, "two.txt"), "");
  // What watches the extension's own file is the agent's, and goes on.
  const from = rpc.frames.length;
  rewrite(rpc, "a.ts", `${source} // changed`);
  await reloaded(rpc, from);
  expect(notices(rpc)).not.toContain("saw two.txt");
  expect(errors(rpc)).toEqual([]);
});

test("listeners of the process go with the version that added them, but those for its exit", async () => {
  const rpc = startWith({
    "a.ts": `import { writeFileSync } from "node:fs";
      export default (pi: any) => {
        const passed = () => {};
        process.on("SIGUSR2", () => {});
        process.once("SIGUSR2", () => {});
        process.on("SIGUSR2", passed).off("SIGUSR2", passed);
        process.on("exit", () => writeFileSync("exited", ""));
        pi.registerCommand("count", { handler: (_: string, ctx: any) => ctx.ui.notify(String(process.listenerCount("SIGUSR2"))) });
      };`,
  });
  expect(await command(rpc, "/count")).toEqual(["2"]);
  for (let times = 0; times < 12; times++) await rpc.ask("reload");
  expect(await command(rpc, "/count")).toEqual(["2"]);
  await rpc.stop();
  expect(existsSync(join(rpc.places.cwd, "exited"))).toBe(true);
});

test("a file named on the command line goes and comes back like any other", async () => {
  const file = join(tempDir(), "named.ts");
  writeFileSync(
    file,
    `export default (pi: any) => { pi.registerCommand("say", { handler: (_: string, ctx: any) => ctx.ui.notify("one") }); pi.on("session_shutdown", (event: any, ctx: any) => ctx.ui.notify("bye " + event.reason)); };`,
  );
  const rpc = startWith({}, { args: ["-e", file] });
  expect(await command(rpc, "/say")).toEqual(["one"]);
  let from = rpc.frames.length;
  rmSync(file);
  expect(await reloaded(rpc, from)).toMatchObject({ extensionPath: file, success: true });
  expect(notices(rpc).at(-1)).toBe("bye reload");
  expect(await extensionList(rpc)).toEqual([]);
  expect((await rpc.ask("get_commands")).commands.filter(({ source }: { source: string }) => source === "extension")).toEqual([]);
  from = rpc.frames.length;
  writeFileSync(file, says("two"));
  expect(await reloaded(rpc, from)).toMatchObject({ extensionPath: file, success: true });
  expect(await command(rpc, "/say")).toEqual(["two"]);
  expect(errors(rpc)).toEqual([]);
});

test("a command under way keeps its time limit when the version that started it goes", async () => {
  const source = (version: number) => `import { writeFileSync } from "node:fs";
    // version ${version}
    export default (pi: any) => pi.registerCommand("go", { handler: () => { void pi.exec("sleep", ["60"], { timeout: 1000 }).then((result: object) => writeFileSync("result.json", JSON.stringify(result))); } });`;
  const rpc = startWith({ "a.ts": source(1) });
  await command(rpc, "/go");
  expect((await extensionList(rpc))[0].owns).toMatchObject({ children: 1 });
  rewrite(rpc, "a.ts", source(2));
  await reloaded(rpc, 0);
  await expect.poll(() => existsSync(join(rpc.places.cwd, "result.json")), { timeout: 10_000 }).toBe(true);
  expect(JSON.parse(readFileSync(join(rpc.places.cwd, "result.json"), "utf8"))).toEqual({ stdout: "", stderr: "", code: 0, killed: true });
});

test("what children of an extension have started ends with them: at a time limit, at a reload and with the agent", async () => {
  const rpc = startWith({
    "p.ts": `import { spawn } from "node:child_process"; import { existsSync, readFileSync } from "node:fs"; import { setTimeout as sleep } from "node:timers/promises";
      export default (pi: any) => pi.registerCommand("start", { handler: async (how: string, ctx: any) => {
        const file = ctx.cwd + "/" + how;
        const shell = ["-c", "sh -c 'echo $$ > " + file + " && exec sleep 300'; true"];
        const ended = how === "spawn" ? spawn("sh", shell) : pi.exec("sh", shell, { timeout: how === "limit" ? 300 : undefined });
        while (!existsSync(file) || !readFileSync(file, "utf8").trim()) await sleep(10);
        if (how === "limit") await ended;
        ctx.ui.notify(readFileSync(file, "utf8").trim());
      } });`,
  });
  const started = async (how: string) => Number((await command(rpc, `/start ${how}`))[0]);
  const isAlive = (pid: number) => {
    try {
      process.kill(pid, 0);
      return !readFileSync(`/proc/${pid}/stat`, "latin1").includes(") Z ");
    } catch {
      return false;
    }
  };
  const gone = (pid: number) => expect.poll(() => isAlive(pid)).toBe(false);
  await gone(await started("limit"));
  const spawned = await started("spawn");
  expect(isAlive(spawned)).toBe(true);
  await rpc.ask("reload");
  await gone(spawned);
  const last = await started("exec");
  expect(isAlive(last)).toBe(true);
  await rpc.stop();
  await gone(last);
});
