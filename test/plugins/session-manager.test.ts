import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { defineSessionManager } from "../../plugins/session/manager.ts";
import { tempDir } from "../helpers/pi.ts";

const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
const assistant = {
  role: "assistant" as const,
  content: [{ type: "text" as const, text: "hello" }],
  api: "a",
  provider: "p",
  model: "m",
  usage,
  stopReason: "stop" as const,
  timestamp: 2,
};

function manager() {
  const agentDir = tempDir();
  return { agentDir, SessionManager: defineSessionManager({ agentDir: () => agentDir, cwd: () => "/work" }) };
}

it("a session manager creates, lists, reopens and continues files", async () => {
  const { SessionManager, agentDir } = manager();
  const first = SessionManager.create("/work");
  first.appendMessage({ role: "user", content: "hi", timestamp: 1 });
  expect(existsSync(join(agentDir, "sessions"))).toBe(false);
  first.appendMessage(assistant);
  first.appendSessionInfo("name");
  first.close();
  const [info] = await SessionManager.list("/work");
  expect(info).toMatchObject({
    path: first.getSessionFile(),
    name: "name",
    messageCount: 2,
    firstMessage: "hi",
    modified: new Date(2),
    allMessagesText: "hi hello",
  });
  expect(await SessionManager.listAll()).toHaveLength(1);
  const again = SessionManager.continueRecent("/work");
  expect(again.getSessionId()).toBe(first.getSessionId());
  expect(again.buildSessionContext()).toMatchObject({
    model: { provider: "p", modelId: "m" },
    thinkingLevel: "off",
    messages: [{ role: "user" }, { role: "assistant" }],
  });
  again.close();
  const fork = SessionManager.forkFrom(first.getSessionFile() as string, "/elsewhere");
  expect(fork.getHeader()).toMatchObject({ cwd: "/elsewhere", parentSession: first.getSessionFile() });
  fork.close();
});

it("a session manager branches in memory", () => {
  const { SessionManager } = manager();
  const session = SessionManager.inMemory();
  const one = session.appendMessage({ role: "user", content: "one", timestamp: 1 });
  session.appendMessage(assistant);
  const summary = session.branchWithSummary(one, "what happened");
  expect(session.getLeafEntry()).toMatchObject({ id: summary, parentId: one });
  expect(session.getChildren(one)).toHaveLength(2);
  session.appendLabelChange(one, "mark");
  expect(session.createBranchedSession(one)).toBeUndefined();
  expect(session.getEntries().map(({ type }: { type: string }) => type)).toEqual(["message", "label"]);
  session.newSession();
  expect(session.getEntries()).toEqual([]);
});

it("a session manager looks at a session that another one writes", () => {
  const { SessionManager } = manager();
  const writer = SessionManager.create("/work");
  writer.appendMessage(assistant);
  const visitor = SessionManager.open(writer.getSessionFile() as string);
  expect(visitor.getEntries()).toEqual(writer.getEntries());
  writer.close();
  visitor.appendSessionInfo("taken over");
  expect(SessionManager.open(writer.getSessionFile() as string).getSessionName()).toBe("taken over");
  visitor.close();
});
