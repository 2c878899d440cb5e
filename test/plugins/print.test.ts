import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type Frame, preparePlaces, programPath, runPi } from "../helpers/pi.ts";

const frames = (stdout: string): Frame[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("print mode", () => {
  it("runs a real task on the offline model without key and network", async () => {
    const { stdout, status } = await runPi({ files: { "package.json": "{}", "b.txt": "" }, args: ["List the files here"] });
    expect(stdout).toContain("package.json");
    expect(stdout).toContain("b.txt");
    expect(status).toBe(0);
  });

  it("prints the text of the last assistant message and nothing else", async () => {
    const { stdout } = await runPi({ args: ["-p", "hi"], script: { responses: [{ thinking: "hm", text: ["Hello ", "you"] }] } });
    expect(stdout).toBe("Hello you\n");
  });

  it.each([
    [{ response: ["hi"] }, 'cannot be used: it must hold a list "responses"'],
    [{ responses: [{ txt: "hi" }] }, "Response 1 of the script: it has none of steps, thinking, text"],
    [{ responses: [5] }, "Response 1 of the script: expected a text or an object, not 5"],
    [{ responses: [{ text: ["a", 5] }] }, '"text" must be a text or a list of texts'],
    [{ responses: [{ toolCalls: { name: "ls" } }] }, '"toolCalls" must be a list'],
    [{ responses: [{ toolCalls: [{ nme: "ls" }] }] }, 'a tool call needs a "name": {"nme":"ls"}'],
    [{ responses: [{ steps: [{ txt: "hi" }] }] }, "a step needs one of text, thinking, toolCall"],
  ])("says what is wrong with a scripted model: %j", async (script, complaint) => {
    expect(await runPi({ args: ["-p", "hi"], script })).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining(complaint) });
  });

  it("puts piped input before the first prompt, and runs each further one", async () => {
    const script = {
      responses: [
        { text: "one", expect: { lastText: "piped\n\nfirst" } },
        { text: "two", expect: { lastText: "second" } },
      ],
    };
    expect(await runPi({ args: ["-p", "first", "second"], input: "piped\n", script })).toMatchObject({ stdout: "two\n", status: 0 });
  });

  it("puts files in with @", async () => {
    const { stdout, status } = await runPi({
      args: ["-p", "--model", "scripted/model.ts", "@note.txt", "Explain"],
      files: { "note.txt": "remember", "model.ts": "export default (request) => JSON.stringify(request.messages.at(-1).content[0].text);" },
    });
    expect(JSON.parse(stdout)).toMatch(/^<file name=".*note\.txt">\nremember\n<\/file>\n\nExplain$/);
    expect(status).toBe(0);
  });

  it("a failed run prints its error and ends with 1", async () => {
    const script = { responses: [{ error: "400 no such luck" }] };
    expect(await runPi({ args: ["-p", "hi"], script })).toMatchObject({ stdout: "", stderr: expect.stringContaining("400 no such luck"), status: 1 });
  });

  it("without a prompt it says what is missing", async () => {
    expect(await runPi({ args: ["-p", "--model", "offline/demo"] })).toMatchObject({ stdout: "", stderr: expect.stringContaining("Nothing to do"), status: 1 });
  });

  it.skipIf(process.platform !== "linux")("says that the answer cannot be written; a reader that went away is no failure", async () => {
    const { cwd, env, args } = preparePlaces({ args: ["-p", "hi"], script: { responses: ["Hello"], repeat: true } });
    const through = (shell: string) =>
      new Promise<{ status: number | null; stderr: string }>((resolve) => {
        const child = spawn("bash", ["-o", "pipefail", "-c", shell, "bash", process.execPath, programPath, ...args], {
          cwd,
          env,
          stdio: ["ignore", "ignore", "pipe"],
        });
        let stderr = "";
        child.stderr.on("data", (data) => {
          stderr += data;
        });
        child.on("close", (status) => resolve({ status, stderr }));
      });
    expect(await through('"$@" > /dev/full')).toEqual({ status: 1, stderr: expect.stringMatching(/^Error: The answer cannot be written: ENOSPC.*\n$/) });
    const json = await through('"$@" --mode json > /dev/full');
    expect(json).toEqual({ status: 1, stderr: expect.stringMatching(/^Error: The events cannot be written: ENOSPC.*\n$/) });
    expect(await through('"$@" | true')).toEqual({ status: 0, stderr: "" });
  });

  it.skipIf(process.platform !== "linux").each([["text"], ["json"]])("%s: ends with its commands when the program that started it was killed", async (mode) => {
    const { cwd, env, args } = preparePlaces({
      args: ["--mode", mode, "hi"],
      script: { responses: [{ toolCalls: [{ name: "bash", arguments: { command: "echo $$ $PPID > pids; exec sleep 600" } }] }] },
    });
    const start = "require('node:child_process').spawn(process.argv[1], process.argv.slice(2), { stdio: ['ignore', 'pipe', 'ignore'] }).stdout.resume();";
    const host = spawn(process.execPath, ["-e", start, process.execPath, programPath, ...args], { cwd, env, stdio: "ignore" });
    const pids = await vi.waitFor(() => {
      const found = readFileSync(join(cwd, "pids"), "utf8").trim().split(" ").map(Number);
      expect(found).toHaveLength(2);
      return found;
    }, 20_000);
    host.kill("SIGKILL");
    await vi.waitFor(() => {
      for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    }, 20_000);
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
    ["SIGINT", 130],
  ] as const)("%s ends it in order with %i", async (signal, status) => {
    const { cwd, env, args } = preparePlaces({ args: ["-p", "hi"], script: { responses: [{ text: "x", hang: true }] } });
    const child = spawn(process.execPath, [programPath, "--mode", "json", ...args], { cwd, env, stdio: ["ignore", "pipe", "ignore"] });
    await new Promise((resolve) => child.stdout.on("data", (data) => String(data).includes("text_delta") && resolve(undefined)));
    child.kill(signal);
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(status);
  });
});

describe("JSON mode", () => {
  it("shows the header, then the events of a tool run", async () => {
    const { stdout, status } = await runPi({ files: { "package.json": "{}" }, args: ["--mode", "json", "--model", "offline/demo", "List the files here"] });
    const all = frames(stdout);
    expect(all[0]).toMatchObject({ type: "session", version: 3 });
    expect(all.some(({ type }) => type === "tool_execution_end")).toBe(true);
    expect(all.at(-1)).toEqual({ type: "agent_settled" });
    expect(status).toBe(0);
  });

  it("speaks delta updates and dialects", async () => {
    const script = { responses: ["Hello"] };
    const deltas = frames((await runPi({ args: ["--mode", "json", "--rpc-updates", "delta", "hi"], script })).stdout);
    expect(deltas.find(({ type }) => type === "message_update")).not.toHaveProperty("message");
    const legacy = frames((await runPi({ args: ["--mode", "json", "--rpc-dialect", "legacy", "hi"], script })).stdout);
    expect(legacy.map(({ type }) => type)).not.toContain("agent_settled");
  });

  it("ends with 0 even if the assistant failed, and without a prompt shows only the header", async () => {
    expect((await runPi({ args: ["--mode", "json", "hi"], script: { responses: [{ error: "400 no" }] } })).status).toBe(0);
    expect(frames((await runPi({ args: ["--mode", "json"], script: { responses: [] } })).stdout).map(({ type }) => type)).toEqual(["session"]);
  });

  it("without a model it is refused with a way to try", async () => {
    const { stderr, status } = await runPi({ args: ["--mode", "json", "hi"] });
    expect(stderr).toContain("offline/demo");
    expect(status).toBe(1);
  });
});
