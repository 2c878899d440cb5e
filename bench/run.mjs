/**
 * Measures the built program, and others that speak its protocol, in one run: `npm run bench -- --peer NAME="COMMAND"`.
 * Numbers of a machine mean little; ratios of one run mean something. `--help` lists the options.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { measures, median } from "./measures.mjs";
import { plot } from "./plot.mjs";
import { startServer } from "./server.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const { values } = parseArgs({
  options: {
    peer: { type: "string", multiple: true, default: [] },
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    limit: { type: "string", default: "60" },
    plots: { type: "string" },
    help: { type: "boolean", short: "h", default: false },
  },
});
const all = measures(values.quick);
if (values.help) {
  console.log(`npm run bench -- [options]

  --only A,B              only these: ${Object.keys(all).join(", ")}
  --quick                 a tenth of everything
  --peer NAME="COMMAND"   the same for another program that speaks the protocol; may be given several times
  --limit SECONDS         the longest that one measure may take (60)
  --plots DIRECTORY       draw growth curves as SVG files`);
  process.exit(0);
}

const agents = { pi: [process.execPath, join(resolve(root, process.env.PI_DIST || "dist"), "pi.cjs")] };
for (const peer of values.peer) {
  const at = peer.indexOf("=");
  agents[peer.slice(0, at)] = peer.slice(at + 1).split(" ");
}
const only = values.only?.split(",");
const wanted = Object.entries(all).filter(([name]) => !only || only.some((one) => name === one || name.startsWith(`${one}-`)));
if (wanted.length === 0) throw new Error(`Nothing to measure; there are: ${Object.keys(all).join(", ")}`);

const server = await startServer();
const results = Object.fromEntries(Object.keys(agents).map((name) => [name, {}]));
const failures = [];
for (const [measure, { run, rounds }] of wanted) {
  const seen = Object.fromEntries(Object.keys(agents).map((name) => [name, []]));
  // Round by round and not agent by agent: the machine may be busier now than it was.
  for (let round = 0; round < rounds; round++) {
    for (const [name, command] of Object.entries(agents)) {
      const context = { command, isOurs: name === "pi", server, timeout: Number(values.limit) * 1000, scale: values.quick ? 0.1 : 1, runs: 3 };
      try {
        seen[name].push(await run(context));
      } catch (error) {
        if (round === 0) failures.push({ measure, name, error: error.message.slice(0, 200) });
      }
      process.stderr.write(".");
    }
  }
  for (const [name, all] of Object.entries(seen)) Object.assign(results[name], medians(all));
}
server.close();
addExponents(results);
print(results, failures);
save({ date: new Date().toISOString(), node: process.version, quick: values.quick, agents, results, failures });
if (values.plots) for (const [file, svg] of plot(results)) writeFileSync(join(values.plots, file), svg);
// Connections of agents that were killed may linger.
process.exit(0);

/** The middle of several rounds, number by number. */
function medians(rounds) {
  return Object.fromEntries(Object.keys(rounds[0] ?? {}).map((label) => [label, median(rounds.map((numbers) => numbers[label]))]));
}

/** How cost grows with size: 1 is linear, 2 quadratic. */
function addExponents(all) {
  for (const numbers of Object.values(all)) {
    for (const [kind, mode] of [
      ["deltas", "delta"],
      ["deltas", "full"],
      ["argument deltas", "delta"],
    ]) {
      const points = Object.entries(numbers).flatMap(([label, value]) => {
        const size = new RegExp(`^(\\d+) ${kind}, ${mode}: CPU`).exec(label)?.[1];
        return size ? [[Math.log(Number(size)), Math.log(Math.max(value, 1))]] : [];
      });
      if (points.length > 1) numbers[`${kind}, ${mode}: growth exponent of CPU`] = slope(points);
    }
  }
}

function slope(points) {
  const mean = (at) => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  return points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0) / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
}

function print(all, failed) {
  const names = Object.keys(all);
  const labels = [...new Set(names.flatMap((name) => Object.keys(all[name])))];
  const number = (value) => (value === undefined ? "-" : value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(2));
  const rows = labels.map((label) => [
    label,
    ...names.map((name) => number(all[name][label])),
    ...names.slice(1).map((name) => (all[name][label] && all.pi[label] ? number(all.pi[label] / all[name][label]) : "-")),
  ]);
  const head = ["", ...names, ...names.slice(1).map((name) => `pi / ${name}`)];
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column].length)));
  for (const row of [head, ...rows]) console.log(row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join("  "));
  for (const { measure, name, error } of failed) console.log(`${name} failed at ${measure}: ${error}`);
}

function save(report) {
  const directory = join(root, "bench/results");
  mkdirSync(directory, { recursive: true });
  const file = join(directory, `${report.date.replaceAll(":", "-").slice(0, 19)}.json`);
  writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
  console.log(`\n${file}`);
}
