/**
 * The smallest useful client: asks one thing and prints the answer as it comes.
 *   node basic.mjs "List the files here" [options of pi]
 */
import { RpcClient } from "pi-kernel/client";

const [question = "List the files here", ...args] = process.argv.slice(2);
// PI names the program; without it, `pi` is looked up in the PATH.
const client = new RpcClient({ ...(process.env.PI && { command: [process.execPath, process.env.PI] }), args: ["--no-session", ...args] });
await client.start();

client.onEvent((event) => {
  if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") process.stdout.write(event.assistantMessageEvent.delta);
  if (event.type === "tool_execution_start") process.stdout.write(`\n[${event.toolName} ${JSON.stringify(event.args)}]\n`);
});

const { error } = await client.promptAndWait(question);
process.stdout.write("\n");
if (error) process.stderr.write(`${error}\n`);
await client.stop();
process.exitCode = error ? 1 : 0;
