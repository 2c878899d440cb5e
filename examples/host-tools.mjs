/**
 * Lends functions of this program to the model: a little shop whose stock only this process knows.
 *   node host-tools.mjs "Sell two cups of tea" [options of pi]
 */
import { RpcClient } from "pi-kernel/client";

const [task = "Sell two cups of tea", ...args] = process.argv.slice(2);
const stock = new Map([
  ["tea", 5],
  ["coffee", 0],
]);

const hostTools = [
  {
    name: "stock",
    label: "Stock",
    description: "How many of each thing the shop has",
    parameters: { type: "object", properties: {} },
    run: () => JSON.stringify(Object.fromEntries(stock)),
  },
  {
    name: "sell",
    label: "Sell",
    description: "Sell some of one thing",
    parameters: {
      type: "object",
      properties: { thing: { type: "string" }, count: { type: "integer", minimum: 1 } },
      required: ["thing", "count"],
    },
    async run({ thing, count }, { update, signal }) {
      const left = (stock.get(thing) ?? 0) - count;
      // What is thrown here the model sees as a tool error, and can react to.
      if (left < 0) throw new Error(`There is not enough ${thing}.`);
      for (let sold = 1; sold <= count && !signal.aborted; sold++) await update(`${sold} of ${count}`);
      stock.set(thing, left);
      return `Sold ${count} ${thing}, ${left} left.`;
    },
  },
];

// The shop needs no files and no shell: only its own tools are active.
const client = new RpcClient({
  ...(process.env.PI && { command: [process.execPath, process.env.PI] }),
  args: ["--no-session", "--tools", "stock,sell", ...args],
  hostTools,
});
await client.start();
client.onEvent((event) => {
  if (event.type === "tool_execution_end") console.log(`${event.toolName}: ${event.result.content[0]?.text}`);
});
const { text, error } = await client.promptAndWait(task);
console.log(error ?? text);
console.log(`tea left: ${stock.get("tea")}`);
await client.stop();
