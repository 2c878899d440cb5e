/** What published extensions rely on beyond the interface as it is written down. */
import { expect, test } from "vitest";
import { command, errors, extensionList, notice, startWith } from "../extensions/helpers.ts";

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
