/**
 * Runs scenario.json and prints what happened as JSON:
 *   node scenario.mjs scenario.json /path/to/pi.cjs [options of the program]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { RpcClient } from "pi-kernel/client";

const [file, program, ...args] = process.argv.slice(2);
const scenario = JSON.parse(readFileSync(file, "utf8"));
const cwd = mkdtempSync(join(tmpdir(), "pi-scenario-"));
for (const [name, text] of Object.entries(scenario.files)) writeFileSync(join(cwd, name), text);
const script = join(cwd, ".script.json");
writeFileSync(script, JSON.stringify(scenario.script));

const client = new RpcClient({
  command: [process.execPath, resolve(program)],
  args: ["--model", `scripted/${script}`, "-e", resolve(dirname(file), scenario.extension), "--no-session", ...args],
  cwd,
  hostTools: scenario.hostTools.map(({ answers, ...tool }) => ({
    ...tool,
    run({ drink }) {
      if (!(drink in answers)) throw new Error(`Nobody sells ${drink}.`);
      return answers[drink];
    },
  })),
  dialogs: {
    select: () => scenario.dialogs.select,
    confirm: () => scenario.dialogs.confirm,
    input: () => scenario.dialogs.input,
    editor: () => scenario.dialogs.editor,
  },
});
try {
  await client.start();
  const results = [];
  for (const step of scenario.steps) results.push(step.prompt ? await prompt(step.prompt) : await call(step));
  console.log(JSON.stringify(results));
} finally {
  await client.stop();
  rmSync(cwd, { recursive: true, force: true });
}

async function call({ call: command, params, pick }) {
  try {
    const data = await client.call(command, params);
    return { data: pick ? Object.fromEntries(pick.map((name) => [name, data[name] ?? null])) : null };
  } catch (error) {
    return { error: error.message };
  }
}

async function prompt(message) {
  const seen = { events: [], streamed: "", notices: [], tools: [] };
  let partial;
  const off = client.onEvent((event) => {
    if (event.type !== seen.events.at(-1)) seen.events.push(event.type);
    if (event.type === "message_update") {
      partial = event.message;
      if (event.assistantMessageEvent.type === "text_delta") seen.streamed += event.assistantMessageEvent.delta;
    }
    if (event.type === "tool_execution_end") seen.tools.push([event.toolName, event.isError, event.result.content[0]?.text ?? null]);
    if (event.type === "extension_ui_request" && event.method === "notify") seen.notices.push(event.message);
  });
  const { text, error = null, messages } = await client.promptAndWait(message);
  off();
  return { text, error, roles: messages.map(({ role }) => role), partial: partial?.content ?? null, ...seen };
}
