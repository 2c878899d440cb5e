/** Functions of the API that extensions call by themselves. */
import { expect, test } from "vitest";
import { command, startWith } from "../extensions/helpers.ts";

test("an extension compacts with a model of its choice, or with its own stream", async () => {
  const rpc = startWith(
    {
      "own.ts": `import { compact, generateSummary, generateSummaryWithUsage } from "@earendil-works/pi-coding-agent";
        import { createAssistantMessageEventStream, getCurrentSystemPrompt } from "@earendil-works/pi-ai";
        const user = (text: string) => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 }) as any;
        const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
        const preparation: any = { firstKeptEntryId: "kept", messagesToSummarize: [user("first")], turnPrefixMessages: [], isSplitTurn: false, tokensBefore: 12,
          fileOps: { read: new Set(["/a", "/b"]), written: new Set(["/b"]), edited: new Set() }, settings: { enabled: true, reserveTokens: 1000, keepRecentTokens: 10 } };
        const seen: any[] = [];
        const say = (stopReason: string) => (model: any, context: any, { apiKey, headers, env, maxTokens, cacheRetention }: any) => {
          const text = context.messages[0].content[0].text;
          seen.push([apiKey, headers?.h, env?.E, maxTokens, cacheRetention, text.includes("first"), text.includes("FOCUS"), text.includes("EARLIER"), getCurrentSystemPrompt(context.messages) === context.systemPrompt].join());
          const message: any = { role: "assistant", content: [{ type: "text", text: "SUMMARY" }], usage, stopReason, errorMessage: "busy", model: model.id };
          const stream = createAssistantMessageEventStream();
          stream.push(stopReason === "error" ? { type: "error", reason: "error", error: message } : { type: "done", reason: stopReason as any, message });
          stream.end();
          return stream;
        };
        export default (pi: any) => pi.registerCommand("try", { handler: async (_: string, ctx: any) => {
          const tell = (value: unknown) => ctx.ui.notify(JSON.stringify(value));
          const whole = await compact(preparation, ctx.model, "KEY", { h: "1" }, "FOCUS", undefined, "high", say("stop") as any, { E: "2" });
          tell([whole.summary, whole.firstKeptEntryId, whole.tokensBefore, whole.details, whole.usage?.totalTokens]);
          const split = await compact({ ...preparation, previousSummary: "EARLIER", turnPrefixMessages: [user("prefix")], isSplitTurn: true }, ctx.model, "KEY", undefined, undefined, undefined, undefined, say("stop") as any);
          tell([split.summary.match(/SUMMARY/g)?.length, split.usage?.totalTokens]);
          tell(await generateSummary([user("first")], ctx.model, 100, "KEY", undefined, undefined, "FOCUS", "EARLIER", undefined, say("stop") as any));
          tell(seen);
          await compact(preparation, ctx.model, "KEY", undefined, undefined, undefined, undefined, say("error") as any).catch((error: Error) => tell(error.message));
          tell((await generateSummaryWithUsage([user("first")], ctx.model, 100)).text);
        } });`,
    },
    { script: { responses: ["from the model"], repeat: true } },
  );
  const [whole, split, summary, seen, failure, own] = (await command(rpc, "/try")).map((text) => JSON.parse(text));
  expect(whole).toEqual([
    "SUMMARY\n\n<read-files>\n/a\n</read-files>\n\n<modified-files>\n/b\n</modified-files>",
    "kept",
    12,
    { readFiles: ["/a"], modifiedFiles: ["/b"] },
    3,
  ]);
  expect(split).toEqual([2, 6]);
  expect(summary).toBe("SUMMARY");
  expect(seen).toEqual([
    "KEY,1,2,800,none,true,true,false,true",
    "KEY,,,800,none,true,false,true,true",
    "KEY,,,500,none,false,false,false,true",
    "KEY,,,80,none,true,true,true,true",
  ]);
  expect(failure).toBe("Summarization failed: busy");
  expect(own).toBe("from the model");
});

test("differences are told as the edit tool tells them", async () => {
  const rpc = startWith({
    "diff.ts": `import { generateDiffString, generateUnifiedPatch } from "@earendil-works/pi-coding-agent";
      const long = Array.from({ length: 20 }, (_, index) => "l" + (index + 1) + "\\n").join("");
      const changed = long.replace("l3\\n", "X\\n").replace("l18\\n", "");
      export default (pi: any) => pi.registerCommand("try", { handler: (_: string, ctx: any) => {
        for (const value of [
          generateDiffString(long, changed), generateDiffString("a", "a"), generateDiffString("", "x\\ny\\n"), generateDiffString("a\\nb\\nc\\nd\\ne\\n", "a\\nb\\nC\\nd\\ne\\n", 1),
          generateUnifiedPatch("f.txt", long, changed, 1), generateUnifiedPatch("f.txt", "a\\n", "a\\n"), generateUnifiedPatch("f.txt", "a", "a\\nb"),
        ]) ctx.ui.notify(JSON.stringify(value));
      } });`,
  });
  expect((await command(rpc, "/try")).map((text) => JSON.parse(text))).toEqual([
    {
      diff: "  1 l1\n  2 l2\n- 3 l3\n+ 3 X\n  4 l4\n  5 l5\n  6 l6\n  7 l7\n    ...\n 14 l14\n 15 l15\n 16 l16\n 17 l17\n-18 l18\n 19 l19\n 20 l20",
      firstChangedLine: 3,
    },
    { diff: "" },
    { diff: "+1 x\n+2 y", firstChangedLine: 1 },
    { diff: "   ...\n 2 b\n-3 c\n+3 C\n 4 d\n   ...", firstChangedLine: 3 },
    "--- f.txt\n+++ f.txt\n@@ -2,3 +2,3 @@\n l2\n-l3\n+X\n l4\n@@ -17,3 +17,2 @@\n l17\n-l18\n l19\n",
    "--- f.txt\n+++ f.txt\n",
    "--- f.txt\n+++ f.txt\n@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file\n",
  ]);
});

test("JSON that a model is still writing, or has not written well, is understood as far as it goes", async () => {
  const rpc = startWith({
    "json.ts": `import { parseJsonWithRepair, parseStreamingJson, repairJson, Type, validateToolCall } from "@earendil-works/pi-ai";
      export default (pi: any) => pi.registerCommand("try", { handler: (_: string, ctx: any) => {
        const tell = (value: unknown) => ctx.ui.notify(JSON.stringify(value));
        tell(['{"a":1', '{"a":{"b":[1,{"c":"d', "[1,2", "", undefined, "nope", "5", '{"a":1}x', '{"a":"b\\nc\\\\q\\\\u12"}'].map((text) => parseStreamingJson(text)));
        tell(repairJson('{"a":"\\t\\\\d+ \\\\n \\\\u00e9"}'));
        try { parseJsonWithRepair('{"a":'); } catch (error) { tell((error as Error).name); }
        const tools = [{ name: "add", description: "", parameters: Type.Object({ n: Type.Number() }) }];
        tell(validateToolCall(tools as any, { name: "add", arguments: { n: "2" } } as any));
        try { validateToolCall(tools as any, { name: "sub", arguments: {} } as any); } catch (error) { tell((error as Error).message); }
      } });`,
  });
  expect((await command(rpc, "/try")).map((text) => JSON.parse(text))).toEqual([
    [{ a: 1 }, { a: { b: [1, { c: "d" }] } }, [1, 2], {}, {}, {}, 5, { a: 1 }, { a: "b\nc\\q\\u12" }],
    String.raw`{"a":"\t\\d+ \n \u00e9"}`,
    "SyntaxError",
    { n: 2 },
    'Tool "sub" not found',
  ]);
});

test("what draws in the terminal program can be extended when a file loads", async () => {
  const names = [
    "ExtensionEditorComponent",
    "ExtensionInputComponent",
    "ExtensionSelectorComponent",
    "SessionSelectorComponent",
    "SettingsSelectorComponent",
    "ThinkingSelectorComponent",
    "TreeSelectorComponent",
  ];
  const rpc = startWith({
    "drawn.ts": `import { ${names.join(", ")} } from "@earendil-works/pi-coding-agent";
      const made = [${names.join(", ")}].map((Base: any) => class extends Base {});
      export default (pi: any) => pi.registerCommand("try", { handler: (_: string, ctx: any) => ctx.ui.notify(made.map((Made) => Array.isArray(new Made().render(10))).join()) });`,
  });
  expect(await command(rpc, "/try")).toEqual([names.map(() => "true").join()]);
});
