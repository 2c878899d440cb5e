/**
 * `ext inspect FILE`: loads one extension in this process alone, opens and closes a session, and writes what it saw as JSON lines:
 * a report for each extension, then what is left of it after session_shutdown. `ext check` runs it as a child and reads them.
 */
import { type Fault, type Io, messageOf, type PluginKernel, Stage } from "../../core/index.ts";
import type { ExtensionInfo } from "../extensions/contract.ts";
import type { Ui } from "../rpc/contract.ts";
import { unknownEvents } from "./events.ts";
import { unknownImports } from "./imports.ts";
import type { Owned, Problem, Registered, Report } from "./report.ts";
import { toolMistakes } from "./schemas.ts";

const MODE = "ext-inspect";
const none: Owned = { timers: 0, children: 0 };
const nothing: Registered = { tools: [], commands: [], events: [], providers: [], flags: [] };

/** A line of the inspection. */
export type Line = { report: Report } | { path: string; leftover: Owned; problems: Problem[] };

/** Prepares the inspection before the agent starts; answers the command line to start it with. */
export function prepareInspection(kernel: PluginKernel, file: string): string[] {
  const faults: Fault[] = [];
  kernel.hooks.fault.tap("inspect", (fault) => void faults.push(fault));
  kernel.provide("ui", nobody);
  kernel.registry("transports").add({ name: MODE, mode: "rpc", serve: (io) => inspect(kernel, file, faults.splice(0), io) });
  // After the extensions' own goodbye, before what they forgot is cleared.
  kernel.hooks.stop.tap({ name: "inspect", stage: Stage.listen }, () => {
    const io = kernel.tryService("process")?.io;
    for (const info of kernel.tryService("extensions")?.list() ?? []) {
      if (info.state !== "failed" && io) write(io, { path: info.path, leftover: ownedBy(info), problems: problemsOf(info.path, faults) });
    }
  });
  const alone = ["--no-extensions", "--no-skills", "--no-prompt-templates", "--no-context-files", "--no-approve", "--no-session", "--no-hot-reload"];
  return ["--mode", MODE, "--extension", file, "--model", "offline/demo", ...alone];
}

async function inspect(kernel: PluginKernel, file: string, faults: readonly Fault[], io: Io): Promise<number> {
  const extensions = kernel.service("extensions");
  const listed = extensions.list();
  // What is wrong with a manifest is told with the first of those it names, or alone if there is none.
  const ofManifest = faults
    .filter(({ during }) => during === "resources")
    .map(({ error }): Problem => ({ level: "error", kind: "load", message: messageOf(error) }));
  if (listed.length === 0) {
    const problems: Problem[] = [...ofManifest, { level: "error", kind: "load", message: `There is no extension in ${file}` }];
    write(io, { report: { path: file, registers: nothing, owns: none, leftover: none, problems } });
  }
  for (const [index, info] of listed.entries()) {
    const { path } = info;
    const { tools, commands, events, providers, flags } = info.owns;
    const isLoaded = info.state !== "failed";
    const own = tools.flatMap((name) => kernel.registry("tools").get(name) ?? []).filter(({ sourceInfo }) => !sourceInfo || sourceInfo.path === path);
    const problems = [
      ...(index === 0 ? ofManifest : []),
      ...problemsOf(path, faults),
      ...(isLoaded ? await unknownImports(path, (specifier) => extensions.exportsOf(specifier)) : []),
      ...unknownEvents(events),
      ...own.flatMap(toolMistakes),
    ];
    const registers = { tools, commands, events, providers, flags };
    write(io, { report: { path, registers, owns: ownedBy(info), leftover: none, problems } });
  }
  return 0;
}

function write(io: Io, line: Line): void {
  io.stdout.write(`${JSON.stringify(line)}\n`);
}

const ownedBy = ({ owns: { timers, children } }: ExtensionInfo): Owned => ({ timers, children });

function problemsOf(path: string, faults: readonly Fault[]): Problem[] {
  return faults
    .filter(({ from }) => from === path)
    .map(({ during, error }) => {
      const isImport = during === "load" && /cannot find (module|package)/i.test(messageOf(error));
      const kind = isImport ? "import" : during === "load" ? "load" : during === "conflict" ? "conflict" : "handler";
      return { level: "error", kind, message: during === "load" ? messageOf(error) : `${during}: ${messageOf(error)}` };
    });
}

/** Nobody is there to answer: every dialog is cancelled at once. */
const nobody: Ui = {
  select: async () => undefined,
  confirm: async () => false,
  input: async () => undefined,
  editor: async () => undefined,
  notify: () => {},
  setStatus: () => {},
  setWidget: () => {},
  setTitle: () => {},
  setEditorText: () => {},
  cancelDialogs: () => {},
  openDialogs: () => 0,
};
