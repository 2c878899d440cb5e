/** Todos: the list's one form, and what clients see of it. */
import { describe, expect, test } from "vitest";
import type { TodoPhaseInput } from "../../plugins/todos/contract.ts";
import { normalize } from "../../plugins/todos/normalize.ts";
import { type Frame, startRpc } from "../helpers/pi.ts";

describe("normalization", () => {
  const task = (content: string, more: object = {}) => ({ content, ...more });

  test("trims, names, drops empty tasks and foreign properties", () => {
    const given = [
      { name: "  Plan ", color: "red", tasks: [task("  one "), task("   "), task("two", { priority: 1 })] },
      { tasks: [] },
      {},
    ] as TodoPhaseInput[];
    expect(normalize(given)).toEqual([
      {
        id: "phase-1",
        name: "Plan",
        tasks: [
          { id: "task-1", content: "one", status: "in_progress" },
          { id: "task-2", content: "two", status: "pending" },
        ],
      },
      { id: "phase-2", name: "Phase 2", tasks: [] },
      { id: "phase-3", name: "Phase 3", tasks: [] },
    ]);
    expect(normalize([{}])).toEqual([{ id: "phase-1", name: "Todos", tasks: [] }]);
  });

  test("numbers what has no id of its own, across phases, around given ids", () => {
    const phases = normalize([
      { id: "phase-2", tasks: [task("a", { id: "task-1" }), task("b"), task("c", { id: "task-1" })] },
      { id: "phase-2", tasks: [task("d", { id: "task-3" }), task("e", { id: "" })] },
    ]);
    expect(phases.map(({ id }) => id)).toEqual(["phase-2", "phase-1"]);
    expect(phases.flatMap(({ tasks }) => tasks.map(({ id }) => id))).toEqual(["task-1", "task-2", "task-4", "task-3", "task-5"]);
  });

  test("keeps one task under way", () => {
    const statuses = (...given: ("pending" | "in_progress" | "completed" | "abandoned")[]) =>
      normalize([{ tasks: given.map((status, index) => task(`t${index}`, { status })) }])[0]?.tasks.map(({ status }) => status);
    expect(statuses("pending", "in_progress", "in_progress")).toEqual(["pending", "in_progress", "pending"]);
    expect(statuses("completed", "pending", "pending")).toEqual(["completed", "in_progress", "pending"]);
    expect(statuses("completed", "abandoned")).toEqual(["completed", "abandoned"]);
  });

  test("changes nothing when applied twice", () => {
    const pick = <T>(list: readonly T[], at: number) => list[at % list.length] as T;
    for (let seed = 0; seed < 500; seed++) {
      const given = Array.from({ length: seed % 4 }, (_, phase) => ({
        id: pick([undefined, "", "phase-1", "x", `p${phase}`], seed + phase),
        name: pick([undefined, " ", "Plan", "Todos"], seed * 3 + phase),
        tasks: Array.from({ length: (seed * 7 + phase) % 5 }, (_, index) => ({
          id: pick([undefined, "", "task-1", "task-2", `t${index}`], seed * 5 + index),
          content: pick([" a ", "", "b"], seed + index),
          status: pick([undefined, "pending", "in_progress", "completed", "abandoned"] as const, seed * 11 + index),
        })),
      }));
      const once = normalize(given);
      expect(normalize(once)).toEqual(once);
    }
  });
});

const types = (frames: Frame[]) => frames.map(({ type }) => type);
const open = { phases: [{ tasks: [{ content: "one" }, { content: "two" }] }] };

test("set_todos answers the normalized list, which get_state shows until the session changes", async () => {
  const rpc = startRpc({ args: ["--no-session"], script: { responses: ["ok"] } });
  const todoPhases = [
    {
      id: "phase-1",
      name: "Evaluation",
      tasks: [
        { id: "task-1", content: "Map", status: "in_progress" },
        { id: "task-2", content: "Exercise", status: "pending" },
      ],
    },
  ];
  const phases = [{ id: "phase-1", name: "Evaluation", tasks: [{ id: "task-1", content: "Map", status: "in_progress" }, { content: "Exercise" }] }];
  expect((await rpc.ask("get_state")).todoPhases).toEqual([]);
  expect(await rpc.ask("set_todos", { phases })).toEqual({ todoPhases });
  expect((await rpc.ask("get_state")).todoPhases).toEqual(todoPhases);
  const refused = async (given: unknown) => (await rpc.call("set_todos", { phases: given })).error;
  expect(await refused(undefined)).toBe('Missing required parameter "phases"');
  expect(await refused({})).toBe('Invalid parameter "phases": expected an array');
  expect(await refused([1])).toBe('Invalid parameter "phases[0]": expected an object');
  expect(await refused([{ tasks: {} }])).toBe('Invalid parameter "phases[0].tasks": expected an array');
  expect(await refused([{}, { tasks: ["x"] }])).toBe('Invalid parameter "phases[1].tasks[0]": expected an object');
  expect(await refused([{ tasks: [{ content: 1 }] }])).toBe('Invalid parameter "phases[0].tasks[0].content": expected a string');
  expect(await refused([{ tasks: [{}] }])).toBe('Missing required parameter "phases[0].tasks[0].content"');
  expect(await refused([{ tasks: [{ content: "a", status: "done" }] }])).toBe(
    'Invalid parameter "phases[0].tasks[0].status": expected one of pending, in_progress, completed, abandoned',
  );
  expect((await rpc.ask("get_state")).todoPhases).toEqual(todoPhases);
  await rpc.ask("new_session");
  expect((await rpc.ask("get_state")).todoPhases).toEqual([]);
});

test("a list that is closed when it is set is cleared directly after the response", async () => {
  const rpc = startRpc({ args: ["--no-session"], script: { responses: ["ok"] } });
  const phases = [
    {
      tasks: [
        { content: "a", status: "completed" },
        { content: "b", status: "abandoned" },
      ],
    },
  ];
  const response = await rpc.call("set_todos", { phases });
  expect(response.data.todoPhases[0].tasks).toHaveLength(2);
  expect((await rpc.ask("get_state")).todoPhases).toEqual([]);
  const at = rpc.frames.indexOf(response);
  expect(rpc.frames[at + 1]).toEqual({ type: "todo_auto_clear" });
  await rpc.ask("set_todos", { phases: [{ tasks: [] }] });
  expect((await rpc.ask("get_state")).todoPhases).toHaveLength(1);
  expect(types(rpc.frames).filter((type) => type === "todo_auto_clear")).toHaveLength(1);
});

test("the setting todo.autoClear keeps a closed list", async () => {
  const rpc = startRpc({ args: ["--no-session"], script: { responses: ["ok"] }, agentFiles: { "settings.json": '{"todo":{"autoClear":false}}' } });
  await rpc.ask("set_todos", { phases: [{ tasks: [{ content: "a", status: "completed" }] }] });
  expect((await rpc.ask("get_state")).todoPhases).toHaveLength(1);
});

test("the model closes tasks with the todo tool, and the list is cleared after that turn", async () => {
  const update = (id: string) => ({ toolCalls: [{ name: "todo", arguments: { update: [{ id, status: "completed" }] } }] });
  const rpc = startRpc({ args: ["--no-session"], script: { responses: [update("task-1"), update("task-9"), update("task-2"), "All done."] } });
  await rpc.ask("set_todos", open);
  const frames = await rpc.prompt("Work");
  const ends = frames.filter(({ type }) => type === "tool_execution_end");
  expect(ends.map(({ isError }) => isError)).toEqual([false, true, false]);
  expect(ends[0]?.result.content[0].text).toBe("Todos:\n[x] task-1: one\n[>] task-2: two");
  expect(ends[1]?.result.content[0].text).toBe('No task has the id "task-9". Tasks: task-1, task-2');
  const at = types(frames).indexOf("todo_auto_clear");
  expect(types(frames).slice(at - 1, at + 2)).toEqual(["turn_end", "todo_auto_clear", "turn_start"]);
  expect((await rpc.ask("get_state")).todoPhases).toEqual([]);
});

test("the model plans with the todo tool; without a list it is not offered one", async () => {
  const plan = {
    toolCalls: [
      { name: "todo", arguments: { phases: [{ name: "Plan", tasks: [{ content: "a" }] }], add: [{ content: "b" }, { content: "c", phase: "Later" }] } },
    ],
  };
  const rpc = startRpc({
    args: ["--no-session", "--tools", "read,todo"],
    script: { responses: [{ ...plan, expect: { tools: ["read", "todo"] } }, "planned"] },
  });
  await rpc.prompt("Plan");
  const { todoPhases } = await rpc.ask("get_state");
  expect(todoPhases.map(({ name, tasks }: Frame) => [name, tasks.map(({ content }: Frame) => content)])).toEqual([
    ["Plan", ["a", "b"]],
    ["Later", ["c"]],
  ]);
  const plain = startRpc({ args: ["--no-session"], script: { responses: [{ text: "ok", expect: { tools: ["read", "bash", "edit", "write"] } }] } });
  const frames = await plain.prompt("Hello");
  expect(frames.findLast(({ type }) => type === "turn_end")?.message.stopReason).toBe("stop");
});

test("a model that stops with open tasks is reminded, three times per user message in the dialects that expect it", async () => {
  const rpc = startRpc({ args: ["--no-session", "--rpc-dialect", "omp"], script: { responses: ["I stop."], repeat: true } });
  await rpc.ask("set_todos", open);
  const frames = await rpc.prompt("Work");
  const reminders = frames.filter(({ type }) => type === "todo_reminder");
  expect(reminders.map(({ attempt, maxAttempts }) => [attempt, maxAttempts])).toEqual([
    [1, 3],
    [2, 3],
    [3, 3],
  ]);
  expect(reminders[0]?.todos.map(({ content }: Frame) => content)).toEqual(["one", "two"]);
  const at = types(frames).indexOf("todo_reminder");
  expect(types(frames).slice(at - 2, at + 5)).toEqual(["turn_end", "agent_end", "todo_reminder", "agent_start", "turn_start", "message_start", "message_end"]);
  const { message } = frames[at + 4] as Frame;
  expect(message).toMatchObject({ role: "custom", customType: "todo-reminder", display: false });
  expect(types(frames).filter((type) => type === "agent_settled")).toHaveLength(1);
  const again = await rpc.prompt("Go on");
  expect(again.filter(({ type }) => type === "todo_reminder")).toHaveLength(3);
});

test("reminders are off by default, follow the settings, and wait for queued messages", async () => {
  const quiet = startRpc({ args: ["--no-session"], script: { responses: ["I stop."], repeat: true } });
  await quiet.ask("set_todos", open);
  expect(types(await quiet.prompt("Work"))).not.toContain("todo_reminder");

  const settings = { "settings.json": '{"todo":{"reminders":true,"reminders.max":1}}' };
  const rpc = startRpc({ args: ["--no-session"], agentFiles: settings, script: { responses: ["I stop."], repeat: true } });
  await rpc.ask("set_todos", open);
  await rpc.ask("follow_up", { message: "later" });
  const frames = await rpc.prompt("Work");
  expect(frames.filter(({ type }) => type === "todo_reminder")).toHaveLength(1);
  const delivered = frames.findIndex(({ type, message }) => type === "message_start" && message.role === "user" && message.content[0].text === "later");
  expect(types(frames).indexOf("todo_reminder")).toBeGreaterThan(delivered);
});

test("an error is not followed by a reminder", async () => {
  const settings = { "settings.json": '{"todo":{"reminders":true},"retry":{"enabled":false}}' };
  const rpc = startRpc({ args: ["--no-session"], agentFiles: settings, script: { responses: [{ error: "it broke" }] } });
  await rpc.ask("set_todos", open);
  expect(types(await rpc.prompt("Work"))).not.toContain("todo_reminder");
});
