/** Which tools are offered, by default, by the command line, by settings, by commands; and the tools inside the real program. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { definePlugin, Kernel, type PluginKernel, type SourceInfo } from "../../core/index.ts";
import tools from "../../plugins/tools/index.ts";
import { type Frame, type PiOptions, runPi, startRpc } from "../helpers/pi.ts";
import { recordingModel } from "../helpers/recording-model.ts";

type Listed = { name: string; active: boolean; source: string };

async function listed(options: PiOptions = {}): Promise<Listed[]> {
  const pi = startRpc({ ...options, args: [...recordingModel().args, ...(options.args ?? [])] });
  return (await pi.ask("get_tools")).tools;
}
const activeOf = (list: Listed[]) => list.filter(({ active }) => active).map(({ name }) => name);
const builtinsOf = (list: Listed[]) => list.filter(({ source }) => source === "builtin");

describe("the program", () => {
  it("offers read, bash, edit and write; grep, find and ls are there", async () => {
    const list = builtinsOf(await listed());
    expect(activeOf(list)).toEqual(["read", "bash", "edit", "write"]);
    expect(list.map(({ name }) => name)).toEqual(["read", "bash", "edit", "write", "grep", "find", "ls"]);
    expect(list[0]).toMatchObject({ label: "read", description: expect.any(String), parameters: { type: "object", required: ["path"] } });
  });

  it("follows the command line: only these, without those, no built-ins, none", async () => {
    expect((await listed({ args: ["--tools", "ls, read"] })).map(({ name, active }) => `${name} ${active}`)).toEqual(["read true", "ls true"]);
    expect(activeOf(builtinsOf(await listed({ args: ["-xt", "bash,write"] })))).toEqual(["read", "edit"]);
    expect(builtinsOf(await listed({ args: ["-nbt"] }))).toEqual([]);
    expect(await listed({ args: ["-nt"] })).toEqual([]);
  });

  it("follows the setting defaultTools", async () => {
    const settings = (defaultTools: string[]) => ({ agentFiles: { "settings.json": JSON.stringify({ defaultTools }) } });
    expect(activeOf(builtinsOf(await listed(settings(["grep", "read"])))).sort()).toEqual(["grep", "read"]);
    expect(activeOf(builtinsOf(await listed(settings([]))))).toEqual([]);
  });

  it("set_active_tools chooses for the next request, and refuses unknown names as a whole", async () => {
    const model = recordingModel();
    const pi = startRpc({ args: model.args });
    expect(await pi.call("set_active_tools", { names: ["ls", "nope"] })).toMatchObject({ success: false, error: "Unknown tool: nope" });
    expect(await pi.ask("set_active_tools", { names: ["ls", "read", "ls"] })).toEqual({ toolNames: ["ls", "read"] });
    await pi.prompt("hi");
    expect(model.requests()[0]?.tools).toEqual(["ls", "read"]);
    expect(await pi.ask("set_active_tools", { names: [] })).toEqual({ toolNames: [] });
  });

  it("runs a model's tool calls: results, errors, updates, variables", async () => {
    const model = recordingModel([
      {
        toolCalls: [
          { name: "write", arguments: { path: "a.txt", content: "one\ntwo\n" } },
          { name: "bash", arguments: { command: 'echo "$PI_PROVIDER $PI_REASONING_LEVEL ${PI_SESSION_ID:+id} ${PI_SESSION_FILE:+file}"; exit 3' } },
        ],
      },
      {
        toolCalls: [
          { name: "edit", arguments: { path: "a.txt", oldText: "two", newText: "2" } },
          { name: "read", arguments: { path: "missing" } },
        ],
      },
      "done",
    ]);
    const pi = startRpc({ args: [...model.args, "--thinking", "off"] });
    const frames = await pi.prompt("go");
    const results = frames.filter(({ type, message }: Frame) => type === "message_end" && message.role === "toolResult").map(({ message }) => message);
    expect(results.map(({ toolName, isError, content }) => `${toolName} ${isError}: ${content[0].text}`)).toEqual([
      "write false: Successfully wrote to a.txt",
      "bash true: scripted off id file\n\n\nCommand exited with code 3",
      "edit false: Successfully replaced 1 block(s) in a.txt.",
      expect.stringMatching(/^read true: ENOENT: /),
    ]);
    expect("details" in results[0]).toBe(false);
    expect(results[1].details).toEqual({});
    expect(results[2].details).toMatchObject({ diff: " 1 one\n-2 two\n+2 2", firstChangedLine: 2 });
    const updates = frames.filter(({ type, toolName }) => type === "tool_execution_update" && toolName === "bash");
    expect(updates[0]?.partialResult).toEqual({ content: [] });
    expect(readFileSync(join(pi.places.cwd, "a.txt"), "utf8")).toBe("one\n2\n");
  });

  it("many calls at once are no leak that Node would warn of", async () => {
    const toolCalls = Array.from({ length: 15 }, () => ({ name: "bash", arguments: { command: "sleep 0.1" } }));
    const pi = startRpc({ args: recordingModel([{ toolCalls }, "done"]).args });
    await pi.prompt("go");
    await pi.stop();
    expect(pi.stderr).toBe("");
  });

  it("abort ends a command and its children; the end of the program too", async () => {
    const model = recordingModel([{ toolCalls: [{ name: "bash", arguments: { command: "echo $$ > pid; echo a; sleep 100 & wait" } }] }, "done"]);
    const isAlive = (file: string) => existsSync(`/proc/${readFileSync(file, "utf8").trim()}`);
    const pi = startRpc({ args: model.args });
    await pi.ask("prompt", { message: "go" });
    await pi.find((frame) => frame.type === "tool_execution_update" && frame.partialResult.content.length > 0);
    await pi.ask("abort");
    const end = await pi.find((frame) => frame.type === "tool_execution_end");
    expect(end).toMatchObject({ isError: true, result: { content: [{ text: "a\n\n\nCommand aborted" }], details: {} } });
    expect(isAlive(join(pi.places.cwd, "pid"))).toBe(false);
  });

  it("makes a large image of a prompt fit and says so in the text", async () => {
    const model = recordingModel();
    const pi = startRpc({ args: model.args });
    // The header of a PNG that says 70000 x 70000: nothing can be done about it.
    const header = Buffer.from("89504e470d0a1a0a0000000d49484452000111700001117008020000000000000000", "hex");
    await pi.prompt("look", { images: [{ type: "image", data: header.toString("base64"), mimeType: "image/png" }] });
    const user = model.requests()[0]?.messages[0];
    expect(user.content).toEqual([{ type: "text", text: expect.stringMatching(/^look\n\[Image omitted: 70000x70000/) }]);
    const tiny = "iVBORw0KGgo=";
    await pi.prompt("look", { images: [{ type: "image", data: tiny, mimeType: "image/png" }] });
    expect(model.requests()[1]?.messages.at(-1).content).toEqual([
      { type: "text", text: "look" },
      { type: "image", data: tiny, mimeType: "image/png" },
    ]);
  });
});

describe("the list", () => {
  const outside = (name: string): SourceInfo => ({ path: `/${name}`, source: "auto", scope: "user", origin: "top-level" });
  const extension = (name: string) =>
    definePlugin({
      name: `extension:${name}`,
      apply: (own) =>
        void own
          .registry("tools")
          .add({ name, label: name, description: name, parameters: { type: "object" }, sourceInfo: outside(name), execute: async () => ({ content: [] }) }),
    });
  async function start(options = {}) {
    const kernel = new Kernel();
    let view: PluginKernel | undefined;
    await kernel.useAll([
      tools,
      definePlugin({
        name: "view",
        apply(own) {
          view = own;
        },
      }),
    ]);
    await kernel.start(options);
    return { kernel, active: kernel.service("activeTools"), view: view as PluginKernel };
  }

  it("tools from outside are active from the moment they appear, also after a choice", async () => {
    const { kernel, active } = await start();
    await kernel.use(extension("mine"));
    expect(active.names()).toEqual(["read", "bash", "edit", "write", "mine"]);
    active.set(["read"]);
    await kernel.use(extension("later"));
    expect(active.names()).toEqual(["read", "later"]);
    active.activate("mine", "unknown");
    expect(active.names()).toEqual(["read", "later", "mine"]);
  });

  it("names keep their state while a tool is reloaded", async () => {
    const { kernel, active } = await start();
    await kernel.useAll([extension("on"), extension("off")]);
    active.set(["read", "on"]);
    await kernel.remove("extension:on");
    await kernel.remove("extension:off");
    expect(active.names()).toEqual(["read"]);
    await kernel.useAll([extension("off"), extension("on")]);
    expect(active.names()).toEqual(["read", "on"]);
  });

  it("an extension's tool takes a built-in's name, and is active then", async () => {
    const { kernel, active, view } = await start();
    await kernel.use(extension("grep"));
    expect(active.names()).toContain("grep");
    expect(view.registry("tools").get("grep")?.description).toBe("grep");
    const restricted = await start({ "no-builtin-tools": true });
    await restricted.kernel.use(extension("grep"));
    expect(restricted.active.names()).toEqual(["grep"]);
  });

  it("a handler's choice for one run goes before the list, for that run only", async () => {
    const { kernel, active } = await start();
    const run = (selectedTools: string[]) =>
      kernel.hooks.beforeRun.promise({ prompted: true, text: "", images: [], messages: [], systemPromptOptions: { selectedTools } } as never);
    const offered = async () => (await kernel.hooks.offer.promise([])).map(({ name }) => name);
    await run(["ls", "nope"]);
    expect(await offered()).toEqual(["ls"]);
    expect(active.names()).toEqual(["read", "bash", "edit", "write"]);
    await run(["read", "bash", "edit", "write"]);
    active.set(["bash"]);
    expect(await offered()).toEqual(["bash"]);
  });
});

describe("names that no tool has", () => {
  const probe = `export default (pi) => pi.registerTool({ name: "probe", label: "p", description: "p", parameters: { type: "object", properties: {} }, execute: async () => ({ content: [] }) });`;

  it("are said on stderr with those there are, and nothing fails", async () => {
    const args = ["-p", "-t", "read,typo,probe", "--exclude-tools", "bsh", "hello"];
    const { status, stdout, stderr } = await runPi({ args, script: ["fine"], agentFiles: { "extensions/probe.ts": probe } });
    expect({ status, stdout: stdout.trim() }).toEqual({ status: 0, stdout: "fine" });
    expect(stderr).toContain('--tools: there is no tool "typo"; there are read, bash');
    expect(stderr).toContain('--exclude-tools: there is no tool "bsh"; there are');
    expect(stderr).not.toMatch(/no tool "(probe|read)"/);
  });

  it("are waited for until the first prompt: the client may bring them", async () => {
    const rpc = startRpc({ args: ["--tools", "mine,typo"], script: { responses: ["fine"], repeat: true } });
    await rpc.ask("set_host_tools", { tools: [{ name: "mine", description: "m", parameters: { type: "object", properties: {} } }] });
    await rpc.prompt("hello");
    await rpc.prompt("hello");
    await rpc.stop();
    expect(rpc.stderr.match(/there is no tool "\w+"/g)).toEqual(['there is no tool "typo"']);
  });
});
