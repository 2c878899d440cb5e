/** Extensions that others published, pinned, unmodified, against the real program. */
import { beforeAll, describe, expect, test } from "vitest";
import { answers, errors, extensionList } from "../extensions/helpers.ts";
import { fetchPackage } from "../extensions/packages.ts";
import { startRpc } from "../helpers/pi.ts";
import { isRegistryReachable } from "../helpers/registry.ts";

const packages: [name: string, version: string, owns: { tools?: number; commands?: number }][] = [
  ["pi-subagents", "0.67.0", { tools: 3, commands: 19 }],
  ["pi-mcp-adapter", "2.36.0", { tools: 2, commands: 3 }],
  ["pi-web-access", "0.28.0", { tools: 4, commands: 4 }],
  ["@tintinweb/pi-subagents", "0.14.1", { tools: 3, commands: 1 }],
  ["pi-prompt-template-model", "0.12.2", { commands: 2 }],
  ["pi-btw", "0.4.1", { commands: 8 }],
  ["@aliou/pi-processes", "0.12.0", { tools: 1, commands: 7 }],
  ["pi-markdown-preview", "0.16.0", { tools: 1, commands: 4 }],
  ["pi-simplify", "0.2.2", { commands: 1 }],
  ["pi-plan-mode", "0.2.4", { commands: 5 }],
  ["pi-sandbox", "0.4.3", { tools: 1, commands: 3 }],
  ["pi-caffeinate", "2.0.0", {}],
  ["@benvargas/pi-antigravity-image-gen", "1.1.3", {}],
  ["@juicesharp/rpiv-todo", "2.11.0", { tools: 1, commands: 1 }],
  ["@juicesharp/rpiv-ask-user-question", "2.11.0", { tools: 1 }],
  ["@juicesharp/rpiv-pi", "2.11.0", { commands: 4 }],
  ["@juicesharp/rpiv-btw", "2.11.0", { commands: 1 }],
  ["@juicesharp/rpiv-advisor", "2.11.0", { tools: 1, commands: 1 }],
  ["pi-autoresearch", "1.6.0", { tools: 3, commands: 1 }],
  ["@gotgenes/pi-permission-system", "20.7.3", { commands: 1 }],
  ["@ollama/pi-web-search", "0.0.5", { tools: 2 }],
  ["@tmustier/pi-ralph-wiggum", "0.2.3", { tools: 2, commands: 2 }],
  ["pi-chrome", "0.15.38", { commands: 1 }],
  ["@walterra/pi-charts", "0.0.6", { tools: 1 }],
  ["pi-ghostty", "1.0.0", {}],
  ["pi-schedule-prompt", "0.4.1", { tools: 1, commands: 1 }],
];

const reachable = await isRegistryReachable();
/** Compiling all of them takes a while: every day a few small ones, the rest in long runs. */
const small = new Set(["pi-btw", "pi-simplify", "pi-plan-mode", "pi-caffeinate", "@juicesharp/rpiv-todo", "@walterra/pi-charts", "pi-ghostty"]);
const chosen = packages.filter(([name]) => process.env.PI_TEST_LONG === "1" || small.has(name));

describe.skipIf(!reachable)("published packages (needs the package registry)", () => {
  const directories = new Map<string, string>();

  beforeAll(async () => {
    for (const [name, version] of chosen) directories.set(name, await fetchPackage(name, version, { install: true }));
  }, 900_000);

  test.each(chosen)("%s@%s loads, registers what it always did, and survives a prompt", { timeout: 120_000 }, async (name, _, owns) => {
    const rpc = startRpc({ script: { responses: ["fine"], repeat: true }, args: ["-ne", "--no-session", "-e", directories.get(name) as string] });
    const own = await extensionList(rpc);
    expect(own.length).toBeGreaterThan(0);
    for (const extension of own) expect(extension).toMatchObject({ state: "active" });
    const count = (kind: "tools" | "commands") => own.reduce((sum, extension) => sum + extension.owns[kind].length, 0);
    expect({ tools: count("tools"), commands: count("commands") }).toEqual({ tools: 0, commands: 0, ...owns });
    expect(answers(await rpc.prompt("hello")).at(-1)).toBe("fine");
    expect(errors(rpc)).toEqual([]);
    expect((await rpc.stop()).status).toBe(0);
  });
});
