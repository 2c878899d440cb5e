/** The todo list of a session: in memory, set by the client or the model, emptied when everything on it is closed. */
import { Type } from "typebox";
import { definePlugin, Stage } from "../../core/index.ts";
import type {} from "../session/contract.ts";
import { setTodos, TodoTask } from "./commands.ts";
import type { TodoPhase } from "./contract.ts";
import { isClosed, normalize } from "./normalize.ts";
import { todoReminders } from "./reminders.ts";
import { clearsAutomatically } from "./settings.ts";
import { todoTool } from "./tool.ts";

export const todos = definePlugin({
  name: "todos",
  apply(kernel) {
    let phases: readonly TodoPhase[] = [];
    let isDoneThisTurn = false;

    const isDone = () => {
      const tasks = phases.flatMap((phase) => phase.tasks);
      return tasks.length > 0 && tasks.every(isClosed);
    };
    const clearIfDone = () => {
      if (!isDone() || !clearsAutomatically(kernel)) return;
      phases = [];
      kernel.emit({ type: "todo_auto_clear" });
    };
    kernel.provide("todos", {
      phases: () => phases,
      replace(given) {
        phases = normalize(given);
        return phases;
      },
      clearIfDone,
    });
    kernel.hooks.describe.tap(kernel.name, (state) => {
      state.todoPhases = phases;
    });

    // A turn is waited for before it is announced as ended, so the bus is quiet then, and what the first observer of
    // turn_end emits stands directly behind it.
    kernel.hooks.turn.tap({ name: kernel.name, stage: Stage.wire }, () => {
      isDoneThisTurn = isDone();
    });
    kernel.hooks.event.tap({ name: kernel.name, stage: Stage.open }, (event) => {
      if (event.type !== "turn_end" || !isDoneThisTurn) return;
      isDoneThisTurn = false;
      clearIfDone();
    });

    // Looked up at start: the session may come later in the list, or not at all.
    kernel.hooks.start.tap({ name: kernel.name, stage: Stage.open }, () => {
      const session = kernel.tryService("session");
      if (!session) return;
      kernel.own(session.hooks).changed.tap({ name: kernel.name, stage: Stage.open }, () => {
        phases = [];
      });
    });

    const events = kernel.registry("events");
    events.add({ name: "todo_auto_clear", schema: () => Type.Object({ type: Type.Literal("todo_auto_clear") }) });
    events.add({
      name: "todo_reminder",
      schema: () =>
        Type.Object({
          type: Type.Literal("todo_reminder"),
          todos: Type.Array(TodoTask()),
          attempt: Type.Integer({ minimum: 1 }),
          maxAttempts: Type.Integer({ minimum: 1 }),
        }),
    });
  },
});

export default [todos, setTodos, todoTool, todoReminders];
