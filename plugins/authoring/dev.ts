/** `dev EXT.ts`: an agent with this extension, a line to try things on, and a view of all that the extension does. */
import { basename } from "node:path";
import { type AgentEvent, type Fault, messageOf, type PluginKernel, Stage } from "../../core/index.ts";
import type { ExtensionInfo, HandlerCall } from "../extensions/contract.ts";
import type { Ui } from "../rpc/contract.ts";
import type {} from "../settings/contract.ts";
import { Lines } from "./lines.ts";
import { describe, describeOwned } from "./report.ts";

const MODE = "dev";
/** How often what is owned is looked at: timers and children come without an event. */
const LOOK_MS = 500;

/** Prepares the view before the agent starts; answers the command line to start it with. */
export async function prepareDev(kernel: PluginKernel, extension: string, rest: readonly string[]): Promise<string[]> {
  const { io } = kernel.service("process");
  const lines = new Lines(io);
  const view = new View(kernel, lines);
  kernel.provide("ui", dialogs(lines));
  kernel.hooks.event.tap({ name: "dev", stage: Stage.wire }, (event) => view.event(event));
  // Faults are part of the view; nobody needs them twice.
  await kernel.remove("faults");
  kernel.hooks.fault.tap("dev", (fault) => view.fault(fault));
  const { hooks } = kernel.service("extensions");
  kernel.own(hooks).called.tap("dev", (call) => view.called(call));
  kernel.registry("transports").add({
    name: MODE,
    mode: "rpc",
    async serve() {
      view.loaded();
      const looking = setInterval(() => view.owned(), LOOK_MS);
      try {
        await converse(kernel, lines, view);
      } finally {
        clearInterval(looking);
        lines.close();
      }
      return 0;
    },
  });
  const hasModel = rest.some((word) => /^--(model|provider)(=|$)/.test(word));
  return ["--mode", MODE, "--extension", extension, "--no-extensions", "--no-session", ...(hasModel ? [] : ["--model", "offline/demo"]), ...rest];
}

async function converse(kernel: PluginKernel, lines: Lines, view: View): Promise<void> {
  const model = kernel.service("model").current();
  lines.say(`The model is ${model ? `${model.provider}/${model.id}` : "none"}. Type a prompt or a /command; :help shows the rest.`);
  lines.onInterrupt(() => {
    if (kernel.run.idle) return false;
    void kernel.run.abort();
    return true;
  });
  for (;;) {
    const text = (await lines.ask("> "))?.trim();
    if (text === undefined || text === ":quit") return;
    try {
      if (text === ":reload") await kernel.service("extensions").reload();
      else if (text === ":owns") view.owned(true);
      else if (text === ":list") view.loaded();
      else if (text.startsWith(":")) lines.say(":list what is registered  :owns timers and children  :reload  :quit");
      else if (text !== "") await submit(kernel, text);
    } catch (error) {
      lines.say(messageOf(error));
    }
    view.owned();
  }
}

async function submit(kernel: PluginKernel, text: string): Promise<void> {
  const accepted = await kernel.prompt({ text, source: "interactive" });
  accepted.begin();
  await kernel.run.whenIdle();
  await kernel.flush();
}

/** Handlers of these run with every piece of a stream; they are told together. */
const frequent = new Set(["message_update", "tool_execution_update"]);

class View {
  readonly #kernel: PluginKernel;
  readonly #lines: Lines;
  readonly #often = new Map<string, { count: number; ms: number }>();
  #lastOwned = "";
  /** the error that a call was shown with */
  #told: unknown;

  constructor(kernel: PluginKernel, lines: Lines) {
    this.#kernel = kernel;
    this.#lines = lines;
  }

  /** What is registered now. */
  loaded(): void {
    const all = this.#extensions();
    for (const info of all) {
      if (info.state === "failed") this.#note(`${info.name} is not loaded: ${info.error}`);
      else this.#note(`${info.name} (version ${info.generation}, loaded in ${info.loadMs} ms): ${describe(info.owns)}`);
    }
    if (all.length === 0) this.#note("no extension was found");
    this.owned();
  }

  called({ path, event, ms, error }: HandlerCall): void {
    if (frequent.has(event) && error === undefined) {
      const sum = this.#often.get(event) ?? { count: 0, ms: 0 };
      this.#often.set(event, { count: sum.count + 1, ms: sum.ms + ms });
      return;
    }
    this.#flushOften();
    this.#told = error;
    this.#note(`${basename(path)} ${event} ${ms.toFixed(1)} ms${error === undefined ? "" : ` failed: ${messageOf(error)}`}`);
  }

  /** Failures of loading are shown with what is loaded. */
  fault({ from, during, error }: Fault): void {
    if (error !== this.#told && during !== "load" && during !== "reload") this.#note(`${basename(from)} ${during} failed: ${messageOf(error)}`);
  }

  event(event: AgentEvent): void {
    if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") this.#lines.stream(event.assistantMessageEvent.delta);
    if (event.type === "tool_execution_start") this.#note(`tool ${event.toolName} ${JSON.stringify(event.args).slice(0, 200)}`);
    if (event.type === "tool_execution_end") this.#note(`tool ${event.toolName} ${event.isError ? "failed" : "done"}`);
    if (event.type === "message_end") {
      this.#flushOften();
      if (event.message.role === "assistant" && event.message.errorMessage) this.#note(event.message.errorMessage);
    }
    if (event.type === "extension_quarantined") this.#note(`in quarantine after ${event.faults} faults: ${event.lastError}`);
    if (event.type === "extension_reload") this.#reloaded(event);
  }

  /** Timers and children, when they changed or somebody asks. */
  owned(isAsked = false): void {
    const text = this.#extensions()
      .map(({ name, owns }) => `${name} owns ${describeOwned(owns) || "no timers and no children"}`)
      .join("; ");
    const isNothing = this.#lastOwned === "" && this.#extensions().every(({ owns }) => owns.timers + owns.children === 0);
    if (isAsked || (text !== this.#lastOwned && !isNothing)) this.#note(text);
    this.#lastOwned = isNothing ? "" : text;
  }

  #reloaded({ extensionPath, success, durationMs, generation, error }: Extract<AgentEvent, { type: "extension_reload" }>): void {
    if (!success) {
      this.#note(`${basename(extensionPath)} was not reloaded, version ${generation} goes on: ${error}`);
      return;
    }
    this.#note(`reloaded ${basename(extensionPath)} in ${Math.round(durationMs)} ms`);
    this.loaded();
  }

  #flushOften(): void {
    for (const [event, { count, ms }] of this.#often) this.#note(`${event} called ${count} times, ${ms.toFixed(1)} ms together`);
    this.#often.clear();
  }

  #extensions(): ExtensionInfo[] {
    return this.#kernel.service("extensions").list();
  }

  #note(text: string): void {
    this.#lines.say(`· ${text}`, "dim");
  }
}

/** Dialogs as questions on the line, everything else as a note. */
function dialogs(lines: Lines): Ui {
  const note = (text: string) => lines.say(`· ${text}`, "dim");
  return {
    async select(title, options) {
      const answer = await lines.ask(`${title} (${options.map((option, index) => `${index + 1} ${option}`).join(", ")}): `);
      return options[Number(answer) - 1] ?? options.find((option) => option === answer);
    },
    confirm: async (title, message) => /^y(es)?$/i.test((await lines.ask(`${title} ${message} [y/N] `))?.trim() ?? ""),
    input: async (title, placeholder) => (await lines.ask(`${title}${placeholder ? ` (${placeholder})` : ""}: `)) || undefined,
    editor: async (title, prefill) => (await lines.ask(`${title}${prefill ? ` [${prefill}]` : ""}: `)) || prefill,
    notify: (message, type = "info") => note(`notify ${type}: ${message}`),
    setStatus: (key, text) => note(text === undefined ? `status ${key} cleared` : `status ${key}: ${text}`),
    setWidget: (key, content) => note(content ? `widget ${key}: ${content.join(" | ")}` : `widget ${key} cleared`),
    setTitle: (title) => note(`title: ${title}`),
    setEditorText: (text) => note(`editor text: ${text}`),
    cancelDialogs: () => {},
    openDialogs: () => 0,
  };
}
