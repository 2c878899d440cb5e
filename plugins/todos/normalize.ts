/** The one form of a todo list: trimmed, numbered, with one task under way. Normalizing twice changes nothing more. */
import type { TodoPhase, TodoPhaseInput, TodoTask } from "./contract.ts";

export function normalize(given: readonly TodoPhaseInput[]): TodoPhase[] {
  const phases = given.map(({ id = "", name = "", tasks = [] }, index) => ({
    id,
    name: name.trim() || (given.length === 1 ? "Todos" : `Phase ${index + 1}`),
    tasks: tasks
      .map((task): TodoTask => ({ id: task.id ?? "", content: task.content.trim(), status: task.status ?? "pending" }))
      .filter(({ content }) => content !== ""),
  }));
  number(phases, "phase");
  const tasks = phases.flatMap((phase) => phase.tasks);
  number(tasks, "task");
  keepOneUnderWay(tasks);
  return phases;
}

export function isClosed({ status }: TodoTask): boolean {
  return status === "completed" || status === "abandoned";
}

/** Gives a number to what has no id of its own. The first holder of a repeated id keeps it. */
function number(items: { id: string }[], kind: string): void {
  const used = new Set(items.map(({ id }) => id));
  const held = new Set<string>();
  let next = 1;
  for (const item of items) {
    if (item.id === "" || held.has(item.id)) {
      while (used.has(`${kind}-${next}`)) next++;
      item.id = `${kind}-${next}`;
      used.add(item.id);
    }
    held.add(item.id);
  }
}

function keepOneUnderWay(tasks: TodoTask[]): void {
  const first = tasks.find(({ status }) => status === "in_progress") ?? tasks.find(({ status }) => status === "pending");
  for (const task of tasks) {
    if (task === first) task.status = "in_progress";
    else if (task.status === "in_progress") task.status = "pending";
  }
}
