/** The session that docs/rpc.md shows is one that really happens. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { normalized } from "../helpers/normalize.ts";
import { repositoryRoot, startRpc } from "../helpers/pi.ts";

/** Whether a value is what the page shows of it; a field named … stands for others. */
function expectation(shown: unknown): unknown {
  if (Array.isArray(shown)) return shown.map(expectation);
  if (typeof shown !== "object" || shown === null) return shown;
  const { "…": others, ...fields } = shown as Record<string, unknown>;
  const expected = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, expectation(value)]));
  return others === undefined ? expected : expect.objectContaining(expected);
}

test("the session in docs/rpc.md", async () => {
  const page = readFileSync(join(repositoryRoot, "docs/rpc.md"), "utf8");
  const session = /```jsonl session\n([\s\S]*?)```/.exec(page)?.[1]?.trim().split("\n") ?? [];
  expect(session.length).toBeGreaterThan(30);
  const rpc = startRpc({
    args: ["--tools", "ls"],
    files: { "a.txt": "", "b.txt": "" },
    script: [{ text: ["Let me ", "look."], toolCalls: [{ id: "call_1", name: "ls", arguments: { path: "." } }] }, "Two."],
  });
  const shown: unknown[] = [];
  for (const line of session) {
    if (line.startsWith("< ")) {
      shown.push(expectation(JSON.parse(line.slice(2))));
      continue;
    }
    // The agent has answered all that stands above before the client goes on.
    if (shown.length > 0) await rpc.find(() => normalized(rpc.frames).length >= shown.length, Math.max(0, shown.length - 1));
    rpc.child.stdin.write(`${line.slice(2)}\n`);
  }
  await rpc.stop();
  expect(normalized(rpc.frames)).toEqual(shown);
});
