/** The `todo` tool: the model plans its work and ticks it off. */
import { definePlugin, type PluginKernel, Stage, type Tool, textBlock } from "../../core/index.ts";
import type {} from "../session/contract.ts";
import type { TodoPhase, TodoPhaseInput, TodoStatus } from "./contract.ts";
import { maxReminders } from "./settings.ts";

const statuses = ["pending", "in_progress", "completed", "abandoned"] as const;

interface Input {
  phases?: TodoPhaseInput[];
  add?: { content: string; phase?: string }[];
  update?: { id: string; status?: TodoStatus; content?: string }[];
}

export const todoTool = definePlugin({
  name: "tool:todo",
  requires: ["todos"],
  apply(kernel) {
    const tool = definition(kernel);
    let retract: (() => void) | undefined;
    // A model without a list is not offered one unless somebody wants lists kept: it would cost tokens in every request.
    // Once offered it stays for the session, so that the model may start a new list when the old one is done.
    const offerIfWanted = () => {
      if (!retract && isWanted(kernel)) retract = kernel.registry("tools").add(tool);
    };
    // Before others look at what there is.
    kernel.hooks.beforeRun.tap({ name: kernel.name, stage: Stage.open - 1 }, offerIfWanted);
    kernel.hooks.offer.tap({ name: kernel.name, stage: Stage.open - 1 }, () => offerIfWanted());
    kernel.hooks.start.tap({ name: kernel.name, stage: Stage.commands }, () => {
      offerIfWanted();
      const session = kernel.tryService("session");
      if (!session) return;
      kernel.own(session.hooks).changed.tap({ name: kernel.name, stage: Stage.commands }, () => {
        if (isWanted(kernel)) return;
        retract?.();
        retract = undefined;
      });
    });
  },
});

function isWanted(kernel: PluginKernel): boolean {
  if (kernel.service("todos").phases().length > 0 || maxReminders(kernel) > 0) return true;
  const named = [kernel.options.tools, kernel.tryService("settings")?.get("defaultTools")];
  return named.some((list) => (typeof list === "string" ? list.split(",") : Array.isArray(list) ? list : []).some((name) => String(name).trim() === "todo"));
}

// Plain JSON Schema: nothing is built at start.
const text = { type: "string" };
const status = { type: "string", enum: statuses };
const listOf = (properties: object, required: string[] = []) => ({ type: "array", items: { type: "object", properties, required } });
const parameters = {
  type: "object",
  properties: {
    phases: listOf({ id: text, name: text, tasks: listOf({ id: text, content: text, status }, ["content"]) }),
    add: listOf({ content: text, phase: { type: "string", description: "id or name; default: the last phase" } }, ["content"]),
    update: listOf({ id: text, status, content: text }, ["id"]),
  },
};

function definition(kernel: PluginKernel): Tool<Input> {
  return {
    name: "todo",
    label: "Todo",
    description:
      "Keep the todo list of this session. `phases` replaces the whole list; `add` appends tasks; `update` changes tasks by id. " +
      "Without arguments it shows the list. One task is in_progress at a time; when it is closed, the next one starts.",
    promptSnippet: "Keep a todo list for work with several steps",
    parameters,
    // Not "builtin": those are inactive unless they are named, and this one is active whenever it is there.
    sourceInfo: { path: "<todos:todo>", source: "todos", scope: "temporary", origin: "top-level" },
    execute: async ({ params }) => {
      const todos = kernel.service("todos");
      const hasChanges = params.phases || params.add || params.update;
      const phases = hasChanges ? todos.replace(changed(todos.phases(), params)) : todos.phases();
      return { content: [textBlock(render(phases))], details: { todoPhases: phases } };
    },
  };
}

/** The list after the wanted changes; throws for a task that is not there, and nothing has changed then. */
function changed(current: readonly TodoPhase[], { phases, add = [], update = [] }: Input): TodoPhaseInput[] {
  const next: TodoPhaseInput[] = structuredClone(phases ?? [...current]);
  for (const { content, phase } of add) phaseFor(next, phase).tasks?.push({ content });
  for (const { id, status, content } of update) {
    const tasks = next.flatMap((phase) => phase.tasks ?? []);
    const task = tasks.find((candidate) => candidate.id === id);
    if (!task) throw new Error(`No task has the id "${id}". Tasks: ${tasks.map((known) => known.id ?? "(new)").join(", ") || "none"}`);
    // The task that is started replaces the one under way.
    if (status === "in_progress") for (const other of tasks) if (other.status === "in_progress") other.status = "pending";
    if (status) task.status = status;
    if (content !== undefined) task.content = content;
  }
  return next;
}

function phaseFor(phases: TodoPhaseInput[], wanted: string | undefined): TodoPhaseInput {
  let phase = wanted === undefined ? phases.at(-1) : phases.find(({ id, name }) => id === wanted || name === wanted);
  if (!phase) {
    phase = { name: wanted, tasks: [] };
    phases.push(phase);
  }
  phase.tasks ??= [];
  return phase;
}

const marks: Record<TodoStatus, string> = { pending: "[ ]", in_progress: "[>]", completed: "[x]", abandoned: "[-]" };

function render(phases: readonly TodoPhase[]): string {
  if (phases.length === 0) return "The todo list is empty.";
  return phases.map(({ name, tasks }) => [`${name}:`, ...tasks.map(({ id, content, status }) => `${marks[status]} ${id}: ${content}`)].join("\n")).join("\n\n");
}
