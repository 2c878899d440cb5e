/** What `import … from "pi-kernel/testing"` gives: agents in memory for your own tests, each in a home of its own. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type AgentEvent, definePlugin, type Fault, type Model, messageOf, type Options, type PluginList, Stage, textOf } from "../../core/index.ts";
import type { ExtensionInfo } from "../../plugins/extensions/contract.ts";
import type { ExtensionFactory } from "../../plugins/extensions/types.ts";
import type {} from "../../plugins/resources/contract.ts";
import { childEnvironment } from "../../plugins/shared/shell.ts";
import { type Agent, createAgent } from "../agent.ts";
import pi from "../distributions/pi.ts";
import { type Responses, TestModel } from "./model.ts";
import { RecordingUi, type UiAnswers } from "./ui.ts";

export type { Agent } from "../agent.ts";
export { type Responses, type ScriptResponse, type ScriptStep, TestModel } from "./model.ts";
export { RecordingUi, type UiAnswer, type UiAnswers, type UiCall, type UiQuestion } from "./ui.ts";

export interface TestAgentOptions {
  /** files (relative to the process's directory), URLs, or factories */
  extensions?: readonly (string | URL | ExtensionFactory | { name: string; factory: ExtensionFactory })[];
  /** kernel plugins, after those of the list */
  plugins?: PluginList;
  /** the list that the agent is made of; default: the program's */
  list?: PluginList;
  /** what the model answers, in order; default: "ok", always */
  responses?: Responses;
  /** fields of the model, e.g. a small contextWindow */
  model?: Partial<Model>;
  /** what dialogs are answered */
  answers?: UiAnswers;
  /** contents of the user's settings.json */
  settings?: Record<string, unknown>;
  /** files to write into the working directory first */
  files?: Record<string, string>;
  /** instead of a new, empty directory */
  cwd?: string;
  /** variables that the agent sees besides HOME and PATH */
  env?: Record<string, string>;
  /** reload extension files when they change; default: false */
  hotReload?: boolean;
  /** further values of command-line flags, by name */
  options?: Options;
}

/** What one prompt brought. */
export interface TestRun {
  events: AgentEvent[];
  /** the assistant's words, one answer after the other */
  text: string;
  /** tool calls in the order they ended */
  tools: { name: string; args: Record<string, unknown>; text: string; isError: boolean }[];
}

export interface TestAgent extends Omit<Agent, "prompt" | "events"> {
  readonly cwd: string;
  readonly home: string;
  readonly model: TestModel;
  readonly ui: RecordingUi;
  /** every event so far */
  readonly events: AgentEvent[];
  /** what went wrong where nobody waited, e.g. in a handler */
  readonly faults: Fault[];
  /** Submits a prompt or a slash command and resolves when the agent has settled. */
  prompt(text: string, options?: Parameters<Agent["prompt"]>[1]): Promise<TestRun>;
  /** Resolves with the first event that matches, past or coming; rejects after 10 seconds. */
  event(matches: (event: AgentEvent) => boolean): Promise<AgentEvent>;
  extensions(): ExtensionInfo[];
}

/** Starts an agent. It touches nothing global: as many as you like may run side by side. `stop` removes its directories. */
export async function startAgent(options: TestAgentOptions = {}): Promise<TestAgent> {
  const places = await makePlaces(options);
  const model = new TestModel(options.responses ?? (() => "ok"), options.model);
  const ui = new RecordingUi(options.answers);
  const events: AgentEvent[] = [];
  const faults: Fault[] = [];
  const arrivals = new Set<() => void>();
  const kit = definePlugin({
    name: "testing",
    apply(kernel) {
      kernel.provide("ui", ui);
      // Extensions see what they see in RPC mode: somebody can be asked.
      kernel.registry("transports").add({ name: "test", mode: "rpc", serve: async () => 0 });
      kernel.hooks.fault.tap("testing", (fault) => void faults.push(fault));
      kernel.hooks.event.tap({ name: "testing", stage: Stage.wire }, (event) => {
        events.push(event);
        for (const arrived of arrivals) arrived();
      });
    },
  });
  const agent = await createAgent({
    plugins: [options.list ?? pi, model.plugin, kit, options.plugins],
    cwd: places.cwd,
    options: {
      mode: "test",
      model: model.name,
      "no-session": true,
      "no-hot-reload": options.hotReload !== true,
      extension: options.extensions?.flatMap(pathOf) ?? [],
      extensionFactories: (options.extensions ?? []).filter((given) => typeof given !== "string" && !(given instanceof URL)) as ExtensionFactory[],
      env: { HOME: places.home, PATH: childEnvironment().PATH, ...options.env },
      ...options.options,
    },
  }).catch(async (error) => {
    await places.remove();
    throw error;
  });
  const stop = async () => {
    await agent.stop();
    await places.remove();
  };
  const failed = faults.find(({ during }) => during === "load");
  if (failed) {
    await stop();
    throw new Error(`${failed.from} could not be loaded: ${messageOf(failed.error)}`, { cause: failed.error });
  }

  return {
    ...agent,
    ...places,
    model,
    ui,
    events,
    faults,
    stop,
    extensions: () => agent.kernel.tryService("extensions")?.list() ?? [],
    async prompt(text, given) {
      const from = events.length;
      await agent.prompt(text, given);
      return runOf(events.slice(from));
    },
    event: (matches) =>
      new Promise((found, reject) => {
        let next = 0;
        const look = () => {
          for (; next < events.length; next++) if (matches(events[next] as AgentEvent)) return end(() => found(events[next] as AgentEvent));
        };
        const end = (settle: () => void) => {
          clearTimeout(timer);
          arrivals.delete(look);
          settle();
        };
        const timer = setTimeout(() => end(() => reject(new Error("The event did not come within 10 seconds."))), 10_000);
        arrivals.add(look);
        look();
      }),
  };
}

interface Places {
  cwd: string;
  home: string;
  remove(): Promise<void>;
}

async function makePlaces({ cwd, files = {}, settings }: TestAgentOptions): Promise<Places> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "pi-testing-")));
  const home = join(root, "home");
  const work = cwd ? resolve(cwd) : join(root, "work");
  const all = new Map(Object.entries(files).map(([name, content]) => [join(work, name), content]));
  if (settings) all.set(join(home, ".pi/agent/settings.json"), JSON.stringify(settings));
  for (const directory of [home, work]) await mkdir(directory, { recursive: true });
  for (const [file, content] of all) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  return { cwd: work, home, remove: () => rm(root, { recursive: true, force: true, maxRetries: 5 }) };
}

function pathOf(given: NonNullable<TestAgentOptions["extensions"]>[number]): string[] {
  if (given instanceof URL) return [fileURLToPath(given)];
  return typeof given === "string" ? [given.startsWith("builtin:") ? given : resolve(given)] : [];
}

function runOf(events: AgentEvent[]): TestRun {
  const run: TestRun = { events, text: "", tools: [] };
  const args = new Map<string, Record<string, unknown>>();
  const texts: string[] = [];
  for (const event of events) {
    if (event.type === "message_end" && event.message.role === "assistant") texts.push(textOf(event.message.content));
    if (event.type === "tool_execution_start") args.set(event.toolCallId, event.args);
    if (event.type !== "tool_execution_end") continue;
    const { toolName: name, toolCallId, result, isError } = event;
    run.tools.push({ name, args: args.get(toolCallId) ?? {}, text: textOf(result.content), isError });
  }
  run.text = texts.filter((text) => text !== "").join("\n");
  return run;
}
