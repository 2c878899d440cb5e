/** What this protocol has beyond others, seen by the client: sessions in pages, reloads, quarantine, models, labels, the tree. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ClientEvent, RpcClient, TreeNode } from "../../src/client/index.ts";
import { startClient } from "./client-helpers.ts";

/** Collects the events of these types. */
function collect<Type extends ClientEvent["type"]>(client: RpcClient, type: Type): Extract<ClientEvent, { type: Type }>[] {
  const seen: Extract<ClientEvent, { type: Type }>[] = [];
  client.onEvent((event) => {
    if (event.type === type) seen.push(event as (typeof seen)[number]);
  });
  return seen;
}

const until = async (condition: () => boolean) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
};

test("list_sessions goes through the sessions in pages, newest first", async () => {
  const client = await startClient({ script: { responses: ["yes"], repeat: true } });
  for (const text of ["one", "two", "three"]) {
    await client.promptAndWait(text);
    await client.newSession();
  }
  const first = await client.listSessions({ limit: 2 });
  expect(first.sessions.map(({ firstMessage, messageCount }) => [firstMessage, messageCount])).toEqual([
    ["three", 2],
    ["two", 2],
  ]);
  const second = await client.listSessions({ limit: 2, cursor: first.nextCursor ?? "" });
  expect(second.sessions.map(({ firstMessage }) => firstMessage)).toEqual(["one"]);
  expect(second.nextCursor).toBeUndefined();
  expect((await client.listSessions({ cwd: "/nowhere" })).sessions).toEqual([]);
  expect((await client.listSessions({ all: true })).sessions).toHaveLength(3);
  await expect(client.listSessions({ limit: 0 })).rejects.toThrow('Invalid parameter "limit"');
});

test("reload says what changed, and keeps the old version of what is broken", async () => {
  const source = (word: string) => `export default (pi) => pi.registerCommand("${word}", { handler() {} });`;
  const client = await startClient({ script: ["x"], agentFiles: { "extensions/words.ts": source("one") } });
  const reloads = collect(client, "extension_reload");
  const file = join(client.places.agentDir, "extensions/words.ts");
  const names = async () => (await client.getCommands()).commands.filter(({ source }) => source === "extension").map(({ name }) => name);
  expect(await names()).toEqual(["one"]);
  writeFileSync(file, source("two"));
  expect(await client.reload({ path: file })).toEqual({ reloaded: [file], failed: [] });
  expect(await names()).toEqual(["two"]);
  writeFileSync(file, "export default (pi) => { this is no program }");
  expect(await client.reload({ path: file })).toEqual({ reloaded: [], failed: [{ path: file, error: expect.any(String) }] });
  expect(await names()).toEqual(["two"]);
  await until(() => reloads.some(({ success }) => !success));
  expect(reloads.map(({ extensionPath, success }) => [extensionPath, success])).toEqual(
    expect.arrayContaining([
      [file, true],
      [file, false],
    ]),
  );
});

test("an extension that fails again and again is quarantined", async () => {
  const bad = `export default (pi) => pi.on("turn_start", () => { throw new Error("again"); });`;
  const client = await startClient({ script: { responses: ["yes"], repeat: true }, agentFiles: { "extensions/bad.ts": bad } });
  const quarantined = collect(client, "extension_quarantined");
  const errors = collect(client, "extension_error");
  for (let round = 0; round < 30 && quarantined.length === 0; round++) await client.promptAndWait("go");
  expect(quarantined).toMatchObject([{ extensionPath: expect.stringContaining("bad.ts"), faults: errors.length, lastError: expect.stringContaining("again") }]);
  expect((await client.getExtensions()).extensions).toMatchObject([{ state: "quarantined", faults: errors.length }]);
});

test("model_changed says who changed it", async () => {
  const client = await startClient({ script: { responses: ["yes"], repeat: true }, env: { ANTHROPIC_API_KEY: "not-a-key" } });
  const changes = collect(client, "model_changed");
  await client.promptAndWait("remember this model");
  const { model, sessionFile } = await client.getState();
  const { models } = await client.getAvailableModels();
  await client.newSession();
  const other = models.find(({ provider }) => provider === "anthropic");
  await client.setModel({ provider: "anthropic", modelId: other?.id ?? "" });
  await client.cycleModel();
  await client.switchSession({ sessionPath: sessionFile ?? "" });
  await client.getState();
  expect(changes.map(({ source }) => source)).toEqual(["set", "cycle", "restore"]);
  expect(changes.at(-1)?.model.id).toBe(model?.id);
});

test("labels and the tree", async () => {
  const client = await startClient({ script: { responses: ["a", "b", "c", "a summary", "d"], repeat: true } });
  await client.promptAndWait("one");
  await client.promptAndWait("two");
  const { messages } = await client.getForkMessages();
  const [one, two] = messages.map(({ entryId }) => entryId) as [string, string];
  await client.setLabel({ entryId: one, label: "start" });
  const find = (nodes: TreeNode[]): TreeNode | undefined =>
    nodes.find(({ entry }) => entry.id === one) ?? nodes.map(({ children }) => find(children)).find(Boolean);
  const label = async () => find((await client.getTree()).tree)?.label;
  expect(await label()).toBe("start");
  await client.setLabel({ entryId: one });
  expect(await label()).toBeUndefined();
  await expect(client.setLabel({ entryId: "nothing", label: "x" })).rejects.toThrow("nothing");
  await expect(client.navigateTree({ targetId: "nothing" })).rejects.toThrow("nothing");
  expect(await client.navigateTree({ targetId: two, summarize: true })).toEqual({ cancelled: false, editorText: "two" });
  const { messages: context } = await client.getMessages();
  expect(context.map(({ role }) => role)).toContain("branchSummary");
  expect((await client.promptAndWait("three")).error).toBeUndefined();
});
