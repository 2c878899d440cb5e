/** What published extensions rely on beyond the interface as it is written down. */
import { expect, test } from "vitest";
import { command, errors, extensionList, notice, reloaded, rewrite, startWith } from "../extensions/helpers.ts";

test("what an installed extension depends on lies beside it and is run as Node runs it, not read as its own files", async () => {
  const rpc = startWith(
    {},
    {
      agentFiles: {
        "settings.json": JSON.stringify({ extensions: ["npm/node_modules/mine/main.ts"] }),
        "npm/node_modules/mine/package.json": `{ "name": "mine", "type": "module" }`,
        "npm/node_modules/mine/main.ts": `import { made } from "wrapped"; import { counted } from "./own.ts"; import { Text } from "@earendil-works/pi-tui";
          export default (pi: any) => pi.on("session_start", (_: any, ctx: any) => ctx.ui.notify([made, counted, typeof Text].join()));`,
        "npm/node_modules/mine/own.ts": `const seen = globalThis as { seen?: number }; seen.seen = (seen.seen ?? 0) + 1; export const counted = "own " + seen.seen;`,
        // As packages do that were CommonJS once: the default import is all that the older file exports.
        "npm/node_modules/wrapped/package.json": `{ "name": "wrapped", "type": "module", "exports": "./esm.mjs" }`,
        "npm/node_modules/wrapped/esm.mjs": `import all from "./cjs.cjs"; export const made = all.made;`,
        "npm/node_modules/wrapped/cjs.cjs": `Object.defineProperty(exports, "__esModule", { value: true }); globalThis.times = (globalThis.times ?? 0) + 1; exports.made = "made " + globalThis.times;`,
      },
    },
  );
  await notice(rpc, "made 1,own 1,function");
  const from = rpc.frames.length;
  await rpc.ask("reload");
  await notice(rpc, "made 1,own 2,function", from);
  expect(await extensionList(rpc)).toMatchObject([{ state: "active" }]);
  expect(errors(rpc)).toEqual([]);
});

test("tools that an extension chose are its choice for the session, and what the client chose comes back with the next", async () => {
  const rpc = startWith({
    "plan.ts": `export default (pi: any) => {
      pi.registerTool({ name: "mine", label: "Mine", description: "d", parameters: { type: "object", properties: {} }, execute: async () => ({ content: [] }) });
      pi.registerCommand("plan", { handler: () => pi.setActiveTools(["read"]) });
      pi.registerCommand("tools", { handler: (_: string, ctx: any) => ctx.ui.notify(pi.getActiveTools().join()) });
    };`,
  });
  const afterNewSession = async () => {
    await command(rpc, "/plan");
    expect(await command(rpc, "/tools")).toEqual(["read"]);
    await rpc.ask("new_session");
    return command(rpc, "/tools");
  };
  expect(await afterNewSession()).toEqual(["read,bash,edit,write,mine"]);
  await rpc.ask("set_active_tools", { names: ["bash", "mine"] });
  expect(await afterNewSession()).toEqual(["bash,mine"]);
});

test("a command without a handler is reported, and the rest of the extension works", async () => {
  const rpc = startWith({
    "older.ts": `export default (pi: any) => {
      pi.registerCommand({ name: "object", handler: () => {} });
      pi.registerCommand("bare", { description: "d" });
      pi.registerCommand("good", { handler: (_: string, ctx: any) => ctx.ui.notify("here") });
    };`,
  });
  expect(await command(rpc, "/good")).toEqual(["here"]);
  expect(errors(rpc)).toMatchObject([{ event: "register_command" }, { event: "register_command", error: expect.stringContaining('"bare"') }]);
});

test("what stands behind the interface looks as newer versions have it", async () => {
  const rpc = startWith(
    {
      "shapes.ts": `import { AuthStorage, buildSessionProjection, createBashToolDefinition, createReadToolDefinition } from "@earendil-works/pi-coding-agent";
      export default (pi: any) => {
        const bash = createBashToolDefinition("/");
        pi.registerTool({ ...bash, renderCall: (args: any, theme: any, context: any) => bash.renderCall(args, theme, context) });
        pi.on("agent_before_settle", ({ context }: any, ctx: any) => ctx.ui.notify("boundary " + context.contextEntries.map(({ sourceEntry, messages }: any) => sourceEntry.type + messages.length).join()));
        pi.registerCommand("drawn", { handler: (_: string, ctx: any) => {
          ctx.ui.notify(bash.renderCall({ command: "ls -la" }).render(4).join("|"));
          ctx.ui.notify(createReadToolDefinition("/").renderResult({ content: [{ type: "text", text: "a\\nb" }] }).render(80).join("|"));
        } });
        pi.registerCommand("session", { handler: (_: string, ctx: any) => {
          const { entries, messages } = ctx.sessionManager.buildSessionProjection();
          ctx.ui.notify([entries.length, entries.at(-1).messages[0] === messages.at(-1), messages.map((m: any) => m.role).join("+"), buildSessionProjection(ctx.sessionManager.getBranch()).messages.length].join());
        } });
        pi.registerCommand("auth", { handler: async (_: string, ctx: any) => {
          const { authStorage } = ctx.modelRegistry;
          await authStorage.set("mine", { type: "api_key", key: "k" });
          ctx.ui.notify([authStorage.has("mine"), AuthStorage.create().hasAuth("mine"), AuthStorage.create().hasAuth("openai")].join());
          pi.registerProvider("mine", { baseUrl: "http://x", apiKey: "other", api: "openai-completions", models: [{ id: "m", name: "m" }] });
          const { auth, apiKey, source } = await ctx.modelRegistry.getProviderAuth("mine");
          const provider = ctx.modelRegistry.getProvider("mine");
          ctx.ui.notify([auth.apiKey, apiKey, source, provider.baseUrl, typeof provider.auth.apiKey.resolve, provider.getModels().length].join());
          await authStorage.remove("mine");
          ctx.ui.notify(String(authStorage.has("mine")));
        } });
      };`,
    },
    { env: { OPENAI_API_KEY: "from-outside" } },
  );
  const frames = await rpc.prompt("hello");
  expect(frames.find(({ method }) => method === "notify")?.message).toMatch(/^boundary .*message1,message1$/);
  expect(await command(rpc, "/drawn")).toEqual(["bash| ls |-la", "a|b"]);
  expect((await command(rpc, "/session"))[0]).toMatch(/^\d+,true,user\+assistant,2$/);
  expect(await command(rpc, "/auth")).toEqual(["true,true,true", "k,k,stored,http://x,function,1", "false"]);
  expect(errors(rpc)).toEqual([]);
});

test("an extension that lets only one of itself be at work, and notes that on globalThis, is at work after a reload", async () => {
  const source = (version: string) => `const key = Symbol.for("tests.only-one");
    export default (pi: any) => {
      const shared = globalThis as any;
      if (shared[key]) return;
      const mine = (shared[key] = { greet: () => "hello from ${version}" });
      pi.registerCommand("greet", { handler: (_: string, ctx: any) => ctx.ui.notify(shared[key]?.greet() ?? "nobody") });
      pi.on("session_shutdown", () => { if (shared[key] === mine) delete shared[key]; });
    };`;
  const rpc = startWith({
    "only-one.ts": source("v1"),
    "bystander.ts": `export default (pi: any) => { const runs = globalThis as any; runs.ran = (runs.ran ?? 0) + 1; pi.registerCommand("runs", { handler: (_: string, ctx: any) => ctx.ui.notify("runs " + runs.ran) }); };`,
  });
  expect(await command(rpc, "/greet")).toEqual(["hello from v1"]);
  await rpc.ask("reload");
  expect(await command(rpc, "/greet")).toEqual(["hello from v1"]);
  expect(await command(rpc, "/runs")).toEqual(["runs 2"]);
  const from = rpc.frames.length;
  rewrite(rpc, "only-one.ts", source("v2"));
  await reloaded(rpc, from);
  expect(await command(rpc, "/greet")).toEqual(["hello from v2"]);
  expect(errors(rpc)).toEqual([]);
});
