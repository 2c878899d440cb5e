/** Reminders: a model that stops although tasks are open is told so and goes on, a few times per user message. */
import { definePlugin, Stage } from "../../core/index.ts";
import type { TodoTask } from "./contract.ts";
import { isClosed } from "./normalize.ts";
import { maxReminders } from "./settings.ts";

export const todoReminders = definePlugin({
  name: "todos:reminders",
  requires: ["todos"],
  apply(kernel) {
    let attempt = 0;
    kernel.hooks.event.tap({ name: kernel.name, stage: Stage.open }, (event) => {
      if (event.type === "message_start" && event.message.role === "user") attempt = 0;
    });

    // After retry and recovery: only a run that would really end is continued.
    kernel.hooks.afterRun.tap({ name: kernel.name, stage: Stage.expand }, ({ status }) => {
      if (status !== "completed" || !kernel.queue.isEmpty()) return;
      const maxAttempts = maxReminders(kernel);
      if (attempt >= maxAttempts) return;
      const open = kernel
        .service("todos")
        .phases()
        .flatMap(({ tasks }) => tasks)
        .filter((task) => !isClosed(task));
      if (open.length === 0) return;
      attempt++;
      kernel.emit({ type: "todo_reminder", todos: open, attempt, maxAttempts });
      kernel.queue.add("steer", { message: reminder(open, attempt, maxAttempts) });
      return "continue";
    });
  },
});

function reminder(open: TodoTask[], attempt: number, maxAttempts: number) {
  const lines = open.map(({ id, content, status }) => `- [${status}] ${id}: ${content}`);
  return {
    role: "custom" as const,
    customType: "todo-reminder",
    display: false,
    content: `You stopped, but the todo list still has open tasks:\n${lines.join("\n")}\n\nContinue with them, or mark what is done or no longer wanted.`,
    details: { attempt, maxAttempts },
    timestamp: Date.now(),
  };
}
