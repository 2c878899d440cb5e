/** The todo list of a session, as other features see it. */

export type TodoStatus = "pending" | "in_progress" | "completed" | "abandoned";

export interface TodoTask {
  id: string;
  content: string;
  status: TodoStatus;
}

export interface TodoPhase {
  id: string;
  name: string;
  tasks: TodoTask[];
}

/** What a client or the model gives; everything but a task's content may be missing. */
export interface TodoPhaseInput {
  id?: string;
  name?: string;
  tasks?: { id?: string; content: string; status?: TodoStatus }[];
}

export interface Todos {
  phases(): readonly TodoPhase[];
  /** Replaces the list by its normalized form, which it answers. */
  replace(phases: readonly TodoPhaseInput[]): readonly TodoPhase[];
  /** Empties a list whose tasks are all closed, if the setting allows, and announces it. */
  clearIfDone(): void;
}

declare module "../../core/index.ts" {
  interface Services {
    todos: Todos;
  }
  interface AgentEvents {
    todo_reminder: { todos: TodoTask[]; attempt: number; maxAttempts: number };
    todo_auto_clear: object;
  }
}
