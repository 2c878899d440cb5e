/** The example extensions that pi ships, unmodified, against the real program. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { answers, command, errors, extensionList, notice, notices, toolResults } from "../extensions/helpers.ts";
import { fetchPackage, installIn, namesIn } from "../extensions/packages.ts";
import { type PiOptions, type RpcProcess, startRpc, tempDir } from "../helpers/pi.ts";
import { isRegistryReachable } from "../helpers/registry.ts";

const releases = [
  { name: "@mariozechner/pi-coding-agent", version: "0.73.1", atLeast: 70 },
  { name: "@earendil-works/pi-coding-agent", version: "0.87.1", atLeast: 75 },
];
const reachable = await isRegistryReachable();
const directories = new Map<string, string>();

beforeAll(async () => {
  if (!reachable) return;
  for (const { name, version } of releases) {
    const directory = join(await fetchPackage(name, version), "examples/extensions");
    directories.set(version, directory);
    // Those with dependencies of their own that are small.
    await installIn(join(directory, "with-deps"));
    await installIn(join(directory, "custom-provider-anthropic"));
  }
}, 300_000);

/** Examples that need packages with native parts or services of their own; they are expected to fail for that reason only. */
const needsMore = new Set(["sandbox", "gondolin"]);

function examplesIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(".ts") || existsSync(join(directory, name, "index.ts")))
    .map((name) => (name.endsWith(".ts") ? join(directory, name) : join(directory, name, "index.ts")));
}

/** A running agent with one example. */
function withExample(version: string, name: string, options: PiOptions = {}): RpcProcess {
  const path = join(directories.get(version) as string, name);
  return startRpc({ script: { responses: ["fine"], repeat: true }, ...options, args: ["-ne", "-e", path, ...(options.args ?? [])] });
}

describe.skipIf(!reachable).each(releases)("examples of $version (needs the package registry)", ({ version, atLeast }) => {
  test("all load and register what their sources say", { timeout: 180_000 }, async () => {
    const directory = directories.get(version) as string;
    const trigger = join(tmpdir(), "agent-trigger.txt");
    if (!existsSync(trigger)) writeFileSync(trigger, "");
    const paths = examplesIn(directory);
    expect(paths.length).toBeGreaterThanOrEqual(atLeast);
    const rpc = startRpc({
      files: { ".pi/keep.txt": "" },
      script: { responses: ["fine"], repeat: true },
      args: ["-ne", "--no-session", ...paths.flatMap((path) => ["-e", path])],
    });
    const list = await extensionList(rpc);
    for (const path of paths) {
      const found = list.find((extension) => extension.path === path);
      const isDirectory = path.endsWith("/index.ts");
      const root = isDirectory ? path.slice(0, -"/index.ts".length) : path;
      if ([...needsMore].some((name) => root.endsWith(name))) {
        expect(found.error).toContain("Cannot find module");
        continue;
      }
      expect(found, path).toMatchObject({ state: "active" });
      const expected = namesIn(root);
      expect(found.owns.commands, path).toEqual(expect.arrayContaining(expected.commands));
      expect(found.owns.tools, path).toEqual(expect.arrayContaining(expected.tools));
    }
    // One prompt with all of them at work.
    for (const frame of rpc.frames)
      if (["select", "confirm", "input", "editor"].includes(frame.method)) rpc.send({ type: "extension_ui_response", id: frame.id, cancelled: true });
    expect(answers(await rpc.prompt("hello"))).toEqual(["fine"]);
    const unexpected = errors(rpc).filter(({ event, extensionPath }) => event !== "conflict" && ![...needsMore].some((name) => extensionPath.includes(name)));
    expect(unexpected).toEqual([]);
    expect((await rpc.stop()).status).toBe(0);
  });

  test("commands and status: pirate, session-name, bookmark, status-line, widget-placement, system-prompt-header", async () => {
    const pirate = withExample(version, "pirate.ts", { script: { responses: [{ text: "arr", expect: { systemPromptIncludes: "irate" } }] } });
    expect(await command(pirate, "/pirate")).toEqual(["Arrr! Pirate mode enabled!"]);
    expect(answers(await pirate.prompt("hi"))).toEqual(["arr"]);

    const named = withExample(version, "session-name.ts");
    expect(await command(named, "/session-name My work")).toEqual(["Session named: My work"]);
    expect((await named.ask("get_state")).sessionName).toBe("My work");

    const marked = withExample(version, "bookmark.ts");
    expect(await command(marked, "/bookmark here")).toEqual(["No assistant message to bookmark"]);
    await marked.prompt("hi");
    expect(await command(marked, "/bookmark here")).toEqual(["Bookmarked as: here"]);

    const status = withExample(version, "status-line.ts");
    await status.prompt("hi");
    expect(status.frames.filter(({ method }) => method === "setStatus").map(({ statusText }) => statusText)).toEqual([
      "Ready",
      expect.stringContaining("Turn 1"),
      expect.stringContaining("Turn 1"),
    ]);

    const widgets = withExample(version, "widget-placement.ts");
    await widgets.ask("get_state");
    expect(widgets.frames.filter(({ method }) => method === "setWidget").map(({ widgetPlacement }) => widgetPlacement ?? "aboveEditor")).toEqual([
      "aboveEditor",
      "belowEditor",
    ]);
  });

  test("guards: permission-gate, protected-paths, confirm-destructive", async () => {
    const danger = { responses: [{ toolCalls: [{ name: "bash", arguments: { command: "sudo rm -rf /tmp/nothing-here" } }] }, "ok"] };
    const gate = withExample(version, "permission-gate.ts", { script: danger });
    const run = gate.prompt("go");
    const { id, options } = await gate.find(({ method }) => method === "select");
    expect(options).toEqual(["Yes", "No"]);
    gate.send({ type: "extension_ui_response", id, value: "No" });
    expect(toolResults(await run)[0]).toMatchObject({ isError: true, text: "Blocked by user" });

    const paths = withExample(version, "protected-paths.ts", {
      script: { responses: [{ toolCalls: [{ name: "write", arguments: { path: ".env", content: "x" } }] }, "ok"] },
    });
    expect(toolResults(await paths.prompt("go"))[0]).toMatchObject({ isError: true, text: 'Path ".env" is protected' });

    const destructive = withExample(version, "confirm-destructive.ts");
    await destructive.prompt("hi");
    const replaced = destructive.ask("new_session");
    const question = await destructive.find(({ method }) => method === "confirm");
    destructive.send({ type: "extension_ui_response", id: question.id, confirmed: false });
    expect(await replaced).toMatchObject({ cancelled: true });
    await notice(destructive, "Clear cancelled");
  });

  test("tools: hello, todo, dynamic-tools, structured-output, truncated-tool, tool-override, question", async () => {
    const hello = withExample(version, "hello.ts", { script: { responses: [{ toolCalls: [{ name: "hello", arguments: { name: "Ada" } }] }, "ok"] } });
    expect(toolResults(await hello.prompt("go"))[0]).toMatchObject({ isError: false, text: expect.stringContaining("Ada") });

    const todo = withExample(version, "todo.ts", {
      script: {
        responses: [
          { toolCalls: [{ name: "todo", arguments: { action: "add", text: "milk" } }] },
          { toolCalls: [{ name: "todo", arguments: { action: "list" } }] },
          "ok",
        ],
      },
    });
    expect(toolResults(await todo.prompt("go"))[1]?.text).toContain("milk");

    const dynamic = withExample(version, "dynamic-tools.ts", {
      script: { responses: [{ toolCalls: [{ name: "echo_late", arguments: { message: "m" } }] }, "ok"] },
    });
    await command(dynamic, "/add-echo-tool echo_late");
    expect(toolResults(await dynamic.prompt("go"))[0]).toMatchObject({ isError: false, text: expect.stringContaining("m") });

    const structured = withExample(version, "structured-output.ts", {
      script: { responses: [{ toolCalls: [{ name: "structured_output", arguments: { headline: "h", summary: "s", actionItems: ["a"] } }] }, "never"] },
    });
    expect(answers(await structured.prompt("go"))).not.toContain("never");

    const log = tempDir();
    const override = withExample(version, "tool-override.ts", {
      cwd: log,
      files: { "a.txt": "content of a" },
      script: {
        responses: [
          {
            toolCalls: [
              { name: "read", arguments: { path: "a.txt" } },
              { name: "read", arguments: { path: ".env" } },
            ],
          },
          "ok",
        ],
      },
    });
    const results = toolResults(await override.prompt("go"));
    expect(results[0]?.text).toContain("content of a");
    expect(results[1]?.text).not.toContain("content");

    const question = withExample(version, "question.ts", {
      script: { responses: [{ toolCalls: [{ name: "question", arguments: { question: "Which?", options: [{ label: "A" }, { label: "B" }] } }] }, "ok"] },
    });
    expect(toolResults(await question.prompt("go"))).toHaveLength(1);
  });

  test("input, messages and the bus: input-transform, inline-bash, send-user-message, event-bus, message-renderer", async () => {
    const transform = withExample(version, "input-transform.ts", { script: { responses: [{ text: "ok" }], repeat: true } });
    const sent = (await transform.prompt("?quick what is this")).find(({ type, message }) => type === "message_end" && message.role === "user");
    expect(sent?.message.content[0].text).toContain("what is this");
    expect(sent?.message.content[0].text).not.toContain("?quick");
    await transform.ask("prompt", { message: "ping" });
    await notice(transform, "pong");

    const bash = withExample(version, "inline-bash.ts");
    const expanded = (await bash.prompt("now !{echo inlined} then")).find(({ type, message }) => type === "message_end" && message.role === "user");
    expect(expanded?.message.content[0].text).toBe("now inlined then");

    const ask = withExample(version, "send-user-message.ts");
    const from = ask.frames.length;
    await command(ask, "/ask what now");
    await ask.find(({ type }) => type === "agent_settled", from);
    expect(answers(ask.frames)).toEqual(["fine"]);

    const bus = withExample(version, "event-bus.ts");
    await bus.ask("get_state");
    const heard = notices(bus).length;
    await command(bus, "/emit hello there");
    expect(notices(bus).length).toBeGreaterThan(heard);
    expect(notices(bus).at(-1)).toContain("hello there");

    const renderer = withExample(version, "message-renderer.ts");
    await command(renderer, "/status all good");
    await renderer.find(({ type, message }) => type === "message_end" && message.customType === "status-update");
  });

  test("surroundings: claude-rules, dynamic-resources, provider-payload, prompt of plan-mode, shutdown-command, reload-runtime", async () => {
    const rules = withExample(version, "claude-rules.ts", {
      files: { ".claude/rules/style.md": "Be brief." },
      script: { responses: [{ text: "ok", expect: { systemPromptIncludes: "style.md" } }] },
    });
    expect(answers(await rules.prompt("hi"))).toEqual(["ok"]);

    const resources = withExample(version, "dynamic-resources/index.ts");
    expect((await resources.ask("get_commands")).commands.length).toBeGreaterThan(0);

    const plan = withExample(version, "plan-mode/index.ts", { args: ["--plan"] });
    const { commands } = await plan.ask("get_commands");
    expect(commands.map(({ name }: { name: string }) => name)).toContain("plan");
    expect((await plan.ask("get_tools")).tools.filter(({ active }: { active: boolean }) => active).map(({ name }: { name: string }) => name)).not.toContain(
      "write",
    );

    const quit = withExample(version, "shutdown-command.ts");
    await command(quit, "/quit");
    expect((await quit.exited).status).toBe(0);

    const reload = withExample(version, "reload-runtime.ts");
    const from = reload.frames.length;
    await command(reload, "/reload-runtime");
    await reload.find(({ type, success }) => type === "extension_reload" && success, from);
    expect(errors(reload)).toEqual([]);
  });

  test("compaction and git: custom-compaction is asked, trigger-compact compacts, git-checkpoint survives", async () => {
    const compact = withExample(version, "trigger-compact.ts");
    await compact.prompt("one");
    await compact.prompt("two");
    await command(compact, "/trigger-compact");
    await notice(compact, /Compaction (completed|failed)/);

    const checkpoint = withExample(version, "git-checkpoint.ts");
    expect(answers(await checkpoint.prompt("hi"))).toEqual(["fine"]);
    expect(errors(checkpoint)).toEqual([]);
  });
});

test.skipIf(!reachable)("an example with packages of its own finds them (needs the package registry)", async () => {
  const rpc = withExample("0.73.1", "with-deps/index.ts", {
    script: { responses: [{ toolCalls: [{ name: "parse_duration", arguments: { duration: "2 days" } }] }, "ok"] },
  });
  expect(toolResults(await rpc.prompt("go"))[0]).toMatchObject({ isError: false, text: expect.stringContaining("172800000") });
});

test.skipIf(!reachable)("an example provider registers its models (needs the package registry)", async () => {
  const rpc = withExample("0.87.1", "custom-provider-gitlab-duo/index.ts");
  expect((await extensionList(rpc))[0].owns.providers).toEqual(["gitlab-duo"]);
  mkdirSync(join(rpc.places.cwd, "x"), { recursive: true });
  expect(readFileSync(join(directories.get("0.87.1") as string, "hello.ts"), "utf8")).toContain("registerTool");
});
