/**
 * A conversation in the terminal, with the dialogs of extensions. Ctrl+C aborts a run, and ends when there is none; so does an empty Ctrl+D.
 *   node terminal.mjs [options of pi]
 */
import { createInterface } from "node:readline/promises";
import { RpcClient } from "pi-kernel/client";

const { stdin, stdout } = process;
const style = (code) => (text) => (stdout.isTTY ? `\u001b[${code}m${text}\u001b[0m` : text);
const dim = style("2");
const bold = style("1");
const red = style("31");
// What a model or a tool prints could steer the terminal.
const plain = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
const print = (text) => stdout.write(text);

const terminal = createInterface({ input: stdin, output: stdout, terminal: stdout.isTTY === true });
const lines = terminal[Symbol.asyncIterator]();
let isRunning = false;

/** One line of the user; undefined at the end of input. */
async function ask(question) {
  print(question);
  const { value, done } = await lines.next();
  return done ? undefined : value;
}

const client = new RpcClient({
  ...(process.env.PI && { command: [process.execPath, process.env.PI] }),
  args: process.argv.slice(2),
  dialogs: {
    async select({ title, options }) {
      print(`\n${bold(plain(title))}\n${options.map((option, index) => `  ${index + 1}. ${plain(option)}`).join("\n")}\n`);
      const answer = await ask("number: ");
      return options[Number(answer) - 1];
    },
    async confirm({ title, message }) {
      const answer = await ask(`\n${bold(plain(title))} ${plain(message)} [y/n] `);
      return answer === undefined ? undefined : /^y/i.test(answer);
    },
    input: ({ title, placeholder = "" }) => ask(`\n${bold(plain(title))} ${dim(plain(placeholder))} `),
    async editor({ title, prefill = "" }) {
      const answer = await ask(`\n${bold(plain(title))}\n${dim(plain(prefill))}\n(one line, empty keeps it) `);
      return answer === undefined ? undefined : answer || prefill;
    },
  },
  onStderr: (text) => process.stderr.write(dim(text)),
});

client.onEvent((event) => {
  switch (event.type) {
    case "message_update": {
      const { type, delta } = event.assistantMessageEvent;
      if (type === "thinking_delta") print(dim(plain(delta)));
      if (type === "text_start") print("\n");
      if (type === "text_delta") print(plain(delta));
      return;
    }
    case "message_end":
      if (event.message.role === "assistant" && event.message.errorMessage) print(`\n${red(plain(event.message.errorMessage))}`);
      return;
    case "tool_execution_start":
      print(`\n${bold(event.toolName)} ${dim(plain(JSON.stringify(event.args)))}\n`);
      return;
    case "tool_execution_end":
      print(`${(event.isError ? red : dim)(plain(event.result.content.map(({ text = "[image]" }) => text).join("\n")).slice(0, 2000))}\n`);
      return;
    case "auto_retry_start":
      print(dim(`\n${plain(event.errorMessage)}; trying again in ${Math.round(event.delayMs / 1000)} s\n`));
      return;
    case "extension_ui_request":
      if (event.method === "notify") print(`\n${dim("•")} ${plain(event.message)}\n`);
  }
});

terminal.on("SIGINT", () => {
  if (isRunning) void client.abort();
  else terminal.close();
});

try {
  await client.start();
  const { model } = await client.getState();
  print(dim(`${model ? `${model.provider}/${model.id}` : "no model"}\n`));
  for (let line = await ask("\n> "); line !== undefined; line = await ask("\n> ")) {
    if (line.trim() === "") continue;
    isRunning = true;
    await client.promptAndWait(line).catch((error) => print(`${red(error.message)}\n`));
    isRunning = false;
  }
  await client.stop();
} catch (error) {
  print(`${red(error.message)}\n`);
  process.exitCode = 1;
}
terminal.close();
print("\n");
