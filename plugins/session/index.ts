/** Sessions: the conversation as a tree of entries in a file. */
import { Type } from "typebox";
import { definePlugin, KernelError, type PluginKernel, type PluginList, Stage, textBlock, type UserMessage } from "../../core/index.ts";
import type {} from "../process/contract.ts";
import { branchSummaryText, compactionSummaryText } from "../shared/conversation.ts";
import { eventSchema } from "../shared/schemas.ts";
import type { Choice, SettledChoice } from "./choose.ts";
import { sessionCommands } from "./commands.ts";
import type {} from "./contract.ts";
import { choiceOf, openChosen } from "./open.ts";
import { followCwd } from "./replace.ts";
import { entrySchema } from "./schemas.ts";
import { SessionService, transcriptOf } from "./service.ts";

const session = definePlugin({
  name: "session",
  requires: ["settings"],
  apply(kernel) {
    const service = new SessionService(kernel);
    kernel.provide("session", service);
    kernel.provide("transcript", transcriptOf(service));
    addFlags(kernel);
    addEventsAndRoles(kernel);

    let choice: Choice | undefined;
    // Before settings and trust look at the working directory: a session named on the command line may have another one.
    kernel.hooks.start.tap({ name: "session", stage: Stage.open - 1 }, () => {
      if (kernel.options.session === undefined) return;
      choice = choiceOf(kernel);
      if (choice.kind === "open" && choice.cwd) kernel.service("settings").setCwd(choice.cwd);
    });
    kernel.hooks.start.tap("session", async () => {
      choice ??= choiceOf(kernel);
      if (choice.kind === "ask") choice = await chosenByUser(kernel);
      service.adopt(openChosen(service, choice));
      await followCwd(service, service.header().cwd);
      nameFromCommandLine(service);
    });
    kernel.hooks.start.tap({ name: "session", stage: Stage.expand }, () => {
      const file = service.file();
      return service.hooks.changed.promise({ reason: "startup", ...(file !== undefined && { file }) });
    });
    // Late: what extensions write at their farewell still goes into the file.
    kernel.hooks.stop.tap({ name: "session", stage: Stage.wire }, () => service.close());
    kernel.hooks.admit.tap("session", () => service.refuseIfBusy());
    kernel.hooks.describe.tap("session", (state) => {
      if (!service.isOpen) return;
      const { file, tree } = service.document;
      const name = tree.name();
      if (file !== undefined) state.sessionFile = file;
      state.sessionId = tree.header.id;
      if (name !== undefined) state.sessionName = name;
    });
    return () => service.close();
  },
});

/** Somebody has to sit at a terminal that carries nothing else. */
async function chosenByUser(kernel: PluginKernel): Promise<SettledChoice> {
  const io = kernel.tryService("process")?.io;
  const { mode } = kernel.options;
  if (!io?.stdin.isTTY || !io.stderr.isTTY || (mode !== "chat" && mode !== "text")) {
    throw new KernelError("E_USAGE", "--resume needs a terminal to choose on; use --continue, or --session with a path or an id");
  }
  const { askForSession } = await import("./ask.ts");
  const path = await askForSession(kernel, io);
  return path === undefined ? { kind: "new" } : { kind: "open", path };
}

function nameFromCommandLine(service: SessionService): void {
  const { name } = service.kernel.options as { name?: string };
  if (name === undefined) return;
  if (name.trim() === "") throw new KernelError("E_USAGE", "Session name cannot be empty");
  // Nobody has to be told: the session begins with it.
  if (service.name() !== name.trim()) service.append({ type: "session_info", name: name.trim() });
}

function addFlags(kernel: PluginKernel): void {
  const flags = kernel.registry("flags");
  const group = "Session";
  flags.add({ name: "continue", alias: "c", type: "boolean", group, description: "Continue the last session of this directory" });
  flags.add({ name: "resume", alias: "r", type: "boolean", group, description: "Choose a session to continue (needs a terminal)" });
  flags.add({
    name: "session",
    type: "string",
    placeholder: "<path|id>",
    group,
    description: "Open a session file, or a session by its id or the beginning of it",
  });
  flags.add({ name: "session-id", type: "string", placeholder: "<id>", group, description: "Open the session with exactly this id, or begin one with it" });
  flags.add({ name: "fork", type: "string", placeholder: "<path|id>", group, description: "Begin with a copy of another session" });
  flags.add({ name: "session-dir", type: "string", placeholder: "<dir>", group, description: "Keep sessions in this directory" });
  flags.add({ name: "no-session", type: "boolean", group, description: "Keep the session in memory only" });
  flags.add({ name: "name", alias: "n", type: "string", placeholder: "<name>", group, description: "Name the session" });
}

function addEventsAndRoles(kernel: PluginKernel): void {
  const events = kernel.registry("events");
  events.add({ name: "entry_appended", schema: () => eventSchema("entry_appended", { entry: entrySchema() }) });
  events.add({ name: "session_info_changed", schema: () => eventSchema("session_info_changed", { name: Type.Optional(Type.String()) }) });
  const roles = kernel.registry("roles");
  const asUser = (text: string, timestamp: number): UserMessage => ({ role: "user", content: [textBlock(text)], timestamp });
  roles.add({
    name: "compactionSummary",
    toModel: (message) => (message.role === "compactionSummary" ? asUser(compactionSummaryText(message.summary), message.timestamp) : undefined),
  });
  roles.add({
    name: "branchSummary",
    toModel: (message) => (message.role === "branchSummary" ? asUser(branchSummaryText(message.summary), message.timestamp) : undefined),
  });
}

export default [session, ...sessionCommands] satisfies PluginList;
