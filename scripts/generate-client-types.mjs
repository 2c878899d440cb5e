/**
 * Writes src/client/protocol.ts: types and methods for every command and event, from the schemas that the built program prints.
 * With --check it writes nothing and fails if the file is out of date.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const target = "src/client/protocol.ts";

/** Types that occur in several places and deserve a name; inner ones first, because outer ones are written with them. */
const named = [
  ["ThinkingLevel", "commands.set_thinking_level.params.level"],
  ["UpdateMode", "commands.set_update_mode.params.mode"],
  ["QueueMode", "commands.set_steering_mode.params.mode"],
  ["InterruptMode", "commands.set_interrupt_mode.params.mode"],
  ["StopReason", "events.turn_end.message.stopReason"],
  ["Usage", "events.turn_end.message.usage"],
  ["TextContent", "events.turn_end.message.content.[].type=text"],
  ["ThinkingContent", "events.turn_end.message.content.[].type=thinking"],
  ["ToolCall", "events.turn_end.message.content.[].type=toolCall"],
  ["ImageContent", "commands.prompt.params.images.[]"],
  ["Attachment", "commands.prompt.params.attachments.[]"],
  ["Model", "commands.set_model.result"],
  ["Block", "events.turn_end.toolResults.[].content.[]"],
  ["AgentToolResult", "events.tool_execution_update.partialResult"],
  ["AssistantMessageEvent", "events.message_update.1.assistantMessageEvent"],
  ["UserMessage", "events.message_end.message.role=user"],
  ["AssistantMessage", "events.turn_end.message"],
  ["ToolResultMessage", "events.turn_end.toolResults.[]"],
  ["CustomMessage", "events.message_end.message.role=custom"],
  ["BashExecutionMessage", "events.message_end.message.role=bashExecution"],
  ["BranchSummaryMessage", "events.message_end.message.role=branchSummary"],
  ["CompactionSummaryMessage", "events.message_end.message.role=compactionSummary"],
  ["AgentMessage", "events.message_end.message"],
  ["SessionEntry", "events.entry_appended.entry"],
  ["TreeNode", "commands.get_tree.result.tree.[]", (text) => text.replace("children: unknown[]", "children: TreeNode[]")],
  ["CompactionReason", "events.compaction_start.reason"],
  ["CompactionResult", "commands.compact.result"],
  ["BashResult", "commands.bash.result"],
  ["TodoTask", "events.todo_reminder.todos.[]"],
  ["TodoPhase", "commands.set_todos.result.todoPhases.[]"],
  ["SessionInfo", "commands.list_sessions.result.sessions.[]"],
  ["ToolInfo", "commands.get_tools.result.tools.[]"],
  ["ExtensionInfo", "commands.get_extensions.result.extensions.[]"],
  ["SlashCommand", "commands.get_commands.result.commands.[]"],
  ["ForkMessage", "commands.get_fork_messages.result.messages.[]"],
  ["SessionState", "commands.get_state.result"],
  ["SessionStats", "commands.get_session_stats.result"],
];

const protocol = readProtocol();
const names = new Map();
const text = format(generate());
const file = join(root, target);
if (process.argv.includes("--check")) {
  if (readFileSync(file, "utf8") !== text) {
    process.stderr.write(`${target} is out of date: run node scripts/generate-client-types.mjs\n`);
    process.exitCode = 1;
  }
} else {
  writeFileSync(file, text);
}

/** Asks the program, in an empty home so that nobody's extensions get in; with numbers, for `resume_events`. */
function readProtocol() {
  const home = mkdtempSync(join(tmpdir(), "pi-schema-"));
  try {
    const program = join(resolve(root, process.env.PI_DIST || "dist"), "pi.cjs");
    const env = { PATH: process.env.PATH, HOME: home };
    return JSON.parse(execFileSync(process.execPath, [program, "--mode", "rpc", "--rpc-seq", "--print-schema"], { cwd: home, env, encoding: "utf8" }));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function generate() {
  const types = named.map(([name, path, change = (text) => text]) => {
    const text = render(find(path));
    if (names.has(text)) throw new Error(`${name} and ${names.get(text)} are the same type`);
    names.set(text, name);
    return `export type ${name} = ${change(text)};`;
  });
  const commands = Object.entries(protocol.commands).sort(byName);
  const events = Object.entries(protocol.events)
    .filter(([name]) => name !== "response" && name !== "session")
    .sort(byName);
  return [
    "/** Generated from the program's schemas by scripts/generate-client-types.mjs: types of the protocol and one method per command. */",
    ...types,
    "/** Parameters and results by command. `undefined`: the command answers no data. */",
    `export interface Commands {\n${commands.map(([name, { params, result }]) => `${name}: { params: ${Object.keys(params.properties ?? {}).length > 0 ? render(params) : "Record<string, never>"}; result: ${result ? render(result) : "undefined"} };`).join("\n")}\n}`,
    "export type CommandName = keyof Commands;",
    "/** What the agent says unasked, by `type`. */",
    `export interface Events {\n${events.map(([name, schema]) => `${name}: ${render(schema)};`).join("\n")}\n}`,
    "export type EventName = keyof Events;",
    "export type AgentEvent = Events[EventName];",
    "/** Makes one method of each command. */",
    "export abstract class CommandMethods {",
    "abstract call<Name extends CommandName>(command: Name, params?: Commands[Name]['params']): Promise<Commands[Name]['result']>;",
    ...commands.map(([name, { params }]) => method(name, params)),
    "}",
  ].join("\n");
}

function method(name, { properties = {}, required = [] }) {
  const type = `Commands["${name}"]`;
  if (Object.keys(properties).length === 0) return `${camel(name)}(): Promise<${type}["result"]> { return this.call("${name}"); }`;
  const parameter = required.length > 0 ? "params" : "params?";
  return `${camel(name)}(${parameter}: ${type}["params"]): Promise<${type}["result"]> { return this.call("${name}", params); }`;
}

/** The type of a schema, by its name if it has one. */
function render(schema) {
  const text = write(schema);
  return names.get(text) ?? text;
}

function write(schema) {
  if (schema.anyOf) return [...new Set(members(schema).map(render))].join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array": {
      const item = render(schema.items);
      return /[ |]/.test(item) ? `(${item})[]` : `${item}[]`;
    }
    case "object":
      return writeObject(schema);
    default:
      if (Object.keys(schema).some((key) => key !== "description")) throw new Error(`A schema that is not understood: ${JSON.stringify(schema)}`);
      return "unknown";
  }
}

function writeObject({ properties = {}, required = [], patternProperties }) {
  const fields = Object.entries(properties);
  if (fields.length === 0) return patternProperties ? `Record<string, ${render(Object.values(patternProperties)[0])}>` : "Record<string, unknown>";
  return `{ ${fields.map(([name, schema]) => `${name}${required.includes(name) ? "" : "?"}: ${render(schema)};`).join(" ")} }`;
}

/** Members of a union; a union inside of a union stays whole if it has a name. */
function members(schema) {
  return schema.anyOf.flatMap((member) => (member.anyOf && !names.has(write(member)) ? members(member) : [member]));
}

/** Follows a path: property names, `[]` for items, a number or `key=value` (a constant in it) for the member of a union. */
function find(path) {
  const [kind, name, ...steps] = path.split(".");
  return steps.reduce((schema, step) => {
    const [key, value] = step.split("=");
    const found =
      step === "[]"
        ? schema.items
        : /^\d+$/.test(step)
          ? members(schema)[Number(step)]
          : value !== undefined
            ? members(schema).find(({ properties }) => properties?.[key]?.const === value)
            : step === "params" || step === "result"
              ? schema[step]
              : schema.properties?.[step];
    if (!found) throw new Error(`${path}: nothing at ${step}`);
    return found;
  }, protocol[kind][name]);
}

function camel(name) {
  return name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
}

function byName([a], [b]) {
  return a < b ? -1 : 1;
}

function format(text) {
  return execFileSync(join(root, "node_modules/.bin/biome"), ["format", `--stdin-file-path=${target}`], { cwd: root, input: text, encoding: "utf8" });
}
