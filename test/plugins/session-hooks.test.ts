import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type AgentEvent,
  type AssistantMessage,
  definePlugin,
  emptyMessage,
  Kernel,
  type Model,
  type PluginKernel,
  Stage,
  textBlock,
} from "../../core/index.ts";
import compaction from "../../plugins/compaction/index.ts";
import session from "../../plugins/session/index.ts";
import settings from "../../plugins/settings/index.ts";
import { tempDir } from "../helpers/pi.ts";

const model: Model = {
  id: "m",
  name: "M",
  api: "test",
  provider: "test",
  baseUrl: "",
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 10_000,
  maxTokens: 1000,
};

/** A kernel with sessions, compaction and a model that answers with `answer`. */
async function start(tap: (kernel: PluginKernel) => void, answer = "x".repeat(400)) {
  const home = tempDir();
  const kernel = new Kernel();
  const events: AgentEvent[] = [];
  const stage = definePlugin({
    name: "stage",
    apply(view) {
      view.provide("model", { current: () => model, thinkingLevel: () => "off" });
      view.registry("providers").add({
        name: "test",
        async *stream() {
          const message: AssistantMessage = { ...emptyMessage(model, "stop"), content: [textBlock(answer)] };
          yield { type: "done", reason: "stop", message };
        },
      });
      view.service("settings").override("compaction.keepRecentTokens", 101);
      view.hooks.event.tap({ name: "stage", stage: Stage.wire }, (event) => void events.push(event));
      tap(view);
    },
  });
  await kernel.useAll([settings, session, compaction, stage]);
  await kernel.start({ cwd: home, env: { HOME: home } });
  onTestFinished(async () => {
    await kernel.stop();
    await kernel.removeAll();
    expect(kernel.leftovers()).toEqual([]);
  });
  const service = kernel.service("session");
  const say = async (text: string) => {
    await kernel.service("transcript").append({ role: "user", content: [textBlock(text)], timestamp: 1 });
    await kernel.service("transcript").append({ ...emptyMessage(model, "stop"), content: [textBlock(answer)] });
  };
  return { kernel, service, events, say, home };
}

describe("hooks of the session", () => {
  it("are called in order around a replacement", async () => {
    const seen: unknown[] = [];
    const { service, say } = await start((kernel) => {
      const hooks = kernel.own(kernel.service("session").hooks);
      hooks.beforeChange.tap("t", (change) => void seen.push(["before", change.kind, change.via]));
      hooks.leaving.tap("t", (change) => void seen.push(["leaving", change.kind]));
      hooks.changed.tap("t", (changed) => void seen.push(["changed", changed]));
    });
    const first = service.file();
    expect(seen).toEqual([["changed", { reason: "startup", file: first }]]);
    await say("one");
    const [entry] = service.entries();
    await service.startNew({ setup: (fresh) => void seen.push(["setup", fresh.entries().length]) });
    expect(seen.slice(1)).toEqual([
      ["before", "new", "new_session"],
      ["leaving", "new"],
      ["setup", 0],
      ["changed", { reason: "new", previousFile: first, file: service.file() }],
    ]);
    await service.switchTo(first as string);
    seen.length = 0;
    await service.fork(entry?.id as string, { via: "branch" });
    expect(seen.map((line) => (line as string[])[0])).toEqual(["before", "leaving", "changed"]);
    expect(seen[0]).toEqual(["before", "fork", "branch"]);
  });

  it("can veto, and then nothing has changed", async () => {
    const { service, say, kernel } = await start((view) => {
      view.own(view.service("session").hooks).beforeChange.tap("t", () => "cancel" as const);
    });
    await say("one");
    const before = { file: service.file(), entries: service.entries().length };
    kernel.queue.add("steer", { message: { role: "user", content: "later", timestamp: 1 }, text: "later" });
    expect(await service.startNew()).toEqual({ cancelled: true });
    expect(await service.clone()).toEqual({ cancelled: true });
    const empty = join(tempDir(), "empty.jsonl");
    writeFileSync(empty, "");
    expect(await service.switchTo(empty)).toEqual({ cancelled: true });
    expect(readFileSync(empty, "utf8")).toBe("");
    expect(existsSync(`${empty}.lock`)).toBe(false);
    expect(await service.fork(service.entries()[0]?.id as string)).toEqual({ cancelled: true, text: "one" });
    expect({ file: service.file(), entries: service.entries().length }).toEqual(before);
    expect(kernel.queue.length).toBe(1);
  });

  it("let only one change at a time happen, and no prompt meanwhile", async () => {
    let release = () => {};
    const { service, kernel } = await start((view) => {
      const waiting = new Promise<void>((resolve) => {
        release = resolve;
      });
      view.own(view.service("session").hooks).leaving.tap("t", () => waiting);
    });
    const first = service.startNew();
    await new Promise((resolve) => setImmediate(resolve));
    await expect(service.startNew()).rejects.toThrow(/being replaced/);
    expect(() => kernel.hooks.admit.call({ text: "", images: [], source: "rpc", expand: true, queueOnly: false })).toThrow(/being replaced/);
    release();
    expect(await first).toEqual({ cancelled: false });
  });

  it("change or bring the summary of a branch", async () => {
    const { service, say } = await start((kernel) => {
      kernel
        .own(kernel.service("session").hooks)
        .beforeTree.tap("t", (change) => ({ summary: { summary: `left ${change.entriesToSummarize.length}` }, label: "mine" }));
    });
    for (const text of ["one", "two"]) await say(text);
    const [one] = service.entries();
    const { editorText, summaryEntry } = await service.navigate(one?.id as string, { summarize: true });
    expect(editorText).toBe("one");
    expect(summaryEntry).toMatchObject({ type: "branch_summary", parentId: null, summary: "left 3", fromHook: true });
    expect(service.label(summaryEntry?.id as string)).toBe("mine");
  });
});

describe("hooks of compaction", () => {
  it("see what is prepared, and may bring the summary", async () => {
    const seen: unknown[] = [];
    const { kernel, say, service, events } = await start((view) => {
      const hooks = view.own(view.service("compaction").hooks);
      hooks.before.tap("t", ({ preparation, branchEntries, reason }) => {
        seen.push([reason, preparation.messagesToSummarize.length, preparation.isSplitTurn, branchEntries.length]);
        return {
          compaction: { summary: "MINE", firstKeptEntryId: preparation.firstKeptEntryId, tokensBefore: preparation.tokensBefore, details: { own: true } },
        };
      });
      hooks.after.tap("t", ({ fromExtension, compactionEntry }) => void seen.push([fromExtension, compactionEntry.type]));
    });
    for (const text of ["one", "two"]) await say(text);
    const result = await kernel.service("compaction").compact();
    expect(result).toMatchObject({ summary: "MINE", details: { own: true } });
    expect(result.usage).toBeUndefined();
    expect(seen).toEqual([
      ["manual", 2, false, 4],
      [true, "compaction"],
    ]);
    expect(service.entries().at(-1)).toMatchObject({ type: "compaction", fromHook: true });
    expect(events.map(({ type }) => type)).toEqual(["compaction_start", "compaction_end"]);
    expect(kernel.service("compaction").contextTokens()).toBeNull();
  });

  it("may cancel", async () => {
    const failures: unknown[] = [];
    const { kernel, say, events } = await start((view) => {
      const hooks = view.own(view.service("compaction").hooks);
      hooks.before.tap("t", () => ({ cancel: true }));
      hooks.failed.tap("t", (failure) => void failures.push(failure));
    });
    for (const text of ["one", "two"]) await say(text);
    await expect(kernel.service("compaction").compact()).rejects.toThrow("Compaction cancelled");
    expect(events.at(-1)).toEqual({ type: "compaction_end", reason: "manual", result: null, aborted: true, willRetry: false });
    expect(failures).toEqual([{ reason: "manual", aborted: true, willRetry: false, fromExtension: true }]);
  });
});

it("an in-memory agent writes where its own environment says", async () => {
  const { service, say, home } = await start(() => {});
  await say("one");
  expect(service.file()?.startsWith(join(home, ".pi/agent/sessions/"))).toBe(true);
  expect(
    readFileSync(service.file() as string, "utf8")
      .trim()
      .split("\n"),
  ).toHaveLength(3);
});
