/** `set_todos`: the client's way to the list. */
import { Type } from "typebox";
import { command } from "../../core/index.ts";
import type {} from "./contract.ts";

const Status = () => Type.Union([Type.Literal("pending"), Type.Literal("in_progress"), Type.Literal("completed"), Type.Literal("abandoned")]);

const TodoPhaseInput = () =>
  Type.Object({
    id: Type.Optional(Type.String()),
    name: Type.Optional(Type.String()),
    tasks: Type.Optional(Type.Array(Type.Object({ id: Type.Optional(Type.String()), content: Type.String(), status: Type.Optional(Status()) }))),
  });

export const TodoTask = () => Type.Object({ id: Type.String(), content: Type.String(), status: Status() });

const TodoPhase = () => Type.Object({ id: Type.String(), name: Type.String(), tasks: Type.Array(TodoTask()) });

export const setTodos = command({
  name: "set_todos",
  requires: ["todos"],
  params: () => Type.Object({ phases: Type.Array(TodoPhaseInput()) }),
  result: () => Type.Object({ todoPhases: Type.Array(TodoPhase()) }),
  run({ phases }, kernel, call) {
    const todos = kernel.service("todos");
    const todoPhases = todos.replace(phases);
    // The response still shows the closed list.
    call.after(() => todos.clearIfDone());
    return { todoPhases };
  },
});
