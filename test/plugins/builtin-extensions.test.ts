import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Frame, type RpcProcess, runPi, startRpc, tempDir } from "../helpers/pi.ts";

const using = (name: string) => ["--extension", `builtin:${name}`];
const calling = (name: string, args: object) => ({ toolCalls: [{ name, arguments: args, id: "call_1" }] });
const toolEnd = (frames: Frame[]) => frames.find(({ type }) => type === "tool_execution_end") as Frame;
const notice = (rpc: RpcProcess, from: number) => rpc.find((frame) => frame.type === "extension_ui_request" && frame.method === "notify", from);

async function notified(rpc: RpcProcess, command: string): Promise<string> {
  const from = rpc.frames.length;
  await rpc.ask("prompt", { message: command });
  return (await notice(rpc, from)).message;
}

describe("permission-gate", () => {
  it("asks before a dangerous command and runs it only if allowed", async () => {
    const script = { responses: [calling("bash", { command: "rm -rf ./gone" }), "one", calling("bash", { command: "rm -rf ./gone" }), "two"] };
    const rpc = startRpc({ args: using("permission-gate"), script, files: { "gone/x": "" } });
    const run = async (value: string) => {
      const from = rpc.frames.length;
      const prompt = rpc.prompt("go");
      const dialog = await rpc.find((frame) => frame.type === "extension_ui_request" && frame.method === "select", from);
      expect(dialog.title).toContain("rm -rf ./gone");
      rpc.send({ type: "extension_ui_response", id: dialog.id, value });
      return toolEnd(await prompt);
    };
    expect(await run("No")).toMatchObject({ isError: true });
    expect(existsSync(join(rpc.places.cwd, "gone/x"))).toBe(true);
    expect(await run("Once")).toMatchObject({ isError: false });
    expect(existsSync(join(rpc.places.cwd, "gone"))).toBe(false);
  });

  it("blocks where nobody can be asked, by rules from settings, and lets the rest through", async () => {
    const agentFiles = { "settings.json": JSON.stringify({ permissionGate: { patterns: ["\\bdeploy\\b"] } }) };
    const blocked = await runPi({
      args: [...using("permission-gate"), "--mode", "json", "go"],
      agentFiles,
      script: { responses: [calling("bash", { command: "echo deploy" }), "done"] },
    });
    expect(blocked.stdout).toContain("nobody can be asked");
    const fine = await runPi({
      args: [...using("permission-gate"), "--mode", "json", "go"],
      agentFiles,
      script: { responses: [calling("bash", { command: "echo fine" }), "done"] },
    });
    expect(fine.stdout).not.toContain("nobody can be asked");
  });
});

describe("protected-paths", () => {
  it.each([".env", ".env.local", ".git/config", "link/config"])("keeps write away from %s", async (path) => {
    const rpc = startRpc({
      args: using("protected-paths"),
      script: { responses: [calling("write", { path, content: "x" }), "done"] },
      files: { ".git/HEAD": "" },
    });
    execFileSync("ln", ["-s", ".git", "link"], { cwd: rpc.places.cwd });
    expect(toolEnd(await rpc.prompt("go"))).toMatchObject({ isError: true, result: { content: [{ text: expect.stringContaining("is protected") }] } });
    expect(existsSync(join(rpc.places.cwd, path))).toBe(false);
  });

  it("lets other files through", async () => {
    const rpc = startRpc({ args: using("protected-paths"), script: { responses: [calling("write", { path: "a.txt", content: "x" }), "done"] } });
    expect(toolEnd(await rpc.prompt("go"))).toMatchObject({ isError: false });
  });
});

describe("plan-mode", () => {
  it("takes the tools that change things away and gives them back", async () => {
    const script = {
      responses: [
        { text: "1. look", expect: { systemPromptIncludes: "You are in plan mode" } },
        { text: "done", expect: { tools: ["read", "bash", "edit", "write"] } },
      ],
    };
    const rpc = startRpc({ args: using("plan-mode"), script });
    await notified(rpc, "/plan");
    const active = async () => (await rpc.ask("get_tools")).tools.filter((tool: { active: boolean }) => tool.active).map(({ name }: { name: string }) => name);
    expect(await active()).toEqual(["read", "grep", "find", "ls"]);
    expect((await rpc.prompt("think")).some((frame) => frame.message?.stopReason === "error")).toBe(false);
    await notified(rpc, "/plan");
    expect(await active()).toEqual(["read", "bash", "edit", "write"]);
    expect((await rpc.prompt("do")).some((frame) => frame.message?.stopReason === "error")).toBe(false);
  });

  it("--plan starts in it", async () => {
    const rpc = startRpc({ args: [...using("plan-mode"), "--plan"], script: { responses: [] } });
    await notice(rpc, 0);
    expect((await rpc.ask("get_tools")).tools.find(({ name }: { name: string }) => name === "bash")).toMatchObject({ active: false });
  });
});

describe("session-name", () => {
  it("names, shows and clears", async () => {
    const rpc = startRpc({ args: using("session-name"), script: { responses: [] } });
    await notified(rpc, "/session-name my work");
    expect((await rpc.ask("get_state")).sessionName).toBe("my work");
    expect(await notified(rpc, "/session-name")).toContain('"my work"');
    await notified(rpc, "/session-name -");
    expect(await rpc.ask("get_state")).not.toHaveProperty("sessionName");
  });
});

describe("git-checkpoint", () => {
  it("brings the work tree back to before a prompt", async () => {
    const cwd = tempDir();
    const git = (...args: string[]) => execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], { cwd, stdio: "pipe" });
    writeFileSync(join(cwd, "a.txt"), "committed");
    git("init", "-q");
    git("add", ".");
    git("commit", "-qm", "first");
    writeFileSync(join(cwd, "a.txt"), "edited by hand");
    const env = { GIT_AUTHOR_NAME: "t", GIT_AUTHOR_EMAIL: "t@example.com", GIT_COMMITTER_NAME: "t", GIT_COMMITTER_EMAIL: "t@example.com" };
    const script = { responses: [calling("write", { path: "a.txt", content: "changed by the agent" }), "done"] };
    const rpc = startRpc({ cwd, env, args: using("git-checkpoint"), script });
    await rpc.prompt("Change it");
    expect(readFileSync(join(cwd, "a.txt"), "utf8")).toBe("changed by the agent");
    expect(await notified(rpc, "/checkpoint")).toContain('1. before "Change it"');
    expect(await notified(rpc, "/checkpoint 1")).toContain("as before");
    expect(readFileSync(join(cwd, "a.txt"), "utf8")).toBe("edited by hand");
  });
});
