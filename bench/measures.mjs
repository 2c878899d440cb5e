/** What is measured. Each measure answers numbers by name; all of them are better when they are smaller, except for those "per second". */
import { execFileSync, spawn } from "node:child_process";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, environment, extension, makePlaces } from "./agent.mjs";

export const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
const delta = { env: { PI_RPC_UPDATES: "delta" } };
const full = { env: { PI_RPC_UPDATES: "full" } };

/** Runs `work` with an agent that has answered once; the agent and its home go away afterwards. */
async function withAgent({ command, server }, options, work) {
  const places = options.places ?? makePlaces(server.baseUrl, options);
  const agent = new Agent(command, places, options);
  try {
    await agent.call("get_state", {}, { timeout: options.timeout });
    return await work(agent, places);
  } finally {
    await agent.stop();
    if (!options.places) places.remove();
  }
}

/** CPU and wall milliseconds of a process from its start to its end, by its own account. */
function runBare(command, home) {
  return new Promise((resolve) => {
    const started = performance.now();
    const child = spawn(command[0], ["-e", "const u=process.cpuUsage();process.stdout.write(String((u.user+u.system)/1000))"], { env: environment(home) });
    let cpu = "";
    child.stdout.on("data", (data) => {
      cpu += data;
    });
    child.on("close", () => resolve({ wall: performance.now() - started, cpu: Number(cpu) }));
  });
}

async function startOnce(context, places, options) {
  const agent = new Agent(context.command, places, options);
  try {
    await agent.call("get_state", {}, { timeout: context.timeout });
    return { wall: performance.now() - agent.started, cpu: agent.cpu() };
  } finally {
    await agent.stop();
  }
}

async function coldStart(context) {
  const places = makePlaces(context.server.baseUrl);
  const over = { wall: [], cpu: [], first: [] };
  try {
    await startOnce(context, places);
    for (let run = 0; run < context.runs; run++) {
      const bare = await runBare(context.command, places.home);
      const agent = await startOnce(context, places);
      over.wall.push(agent.wall - bare.wall);
      over.cpu.push(agent.cpu - bare.cpu);
      over.first.push((await firstStart(context)).cpu - bare.cpu);
    }
  } finally {
    places.remove();
  }
  return {
    "start: CPU over bare node, ms": median(over.cpu),
    "start: wall over bare node, ms": median(over.wall),
    "first start in a new home: CPU over bare node, ms": median(over.first),
  };
}

/** Nothing of an earlier one is there. */
async function firstStart(context) {
  const places = makePlaces(context.server.baseUrl);
  try {
    return await startOnce(context, places);
  } finally {
    places.remove();
  }
}

const idle = (context) =>
  withAgent(context, {}, async (agent) => {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    return { "idle: memory, MiB": agent.memory() };
  });

/** In a process that is new, and in one that has answered often: code that has run a few thousand times is another program. */
const roundTrips = (kind, options) => (context) =>
  withAgent(context, options, async (agent) => {
    const oneByOne = async (count) => {
      const began = performance.now();
      for (let index = 0; index < count; index++) await agent.call("get_state", {}, context);
      return (count * 1000) / (performance.now() - began);
    };
    const pipelined = async (count, last, types = ["get_state"]) => {
      const began = performance.now();
      const seen = agent.seen(`"id":"${last}","type":"response"`, context);
      for (let index = 0; index < count; index++) agent.send({ id: index === count - 1 ? last : `p${index}`, type: types[index % types.length] });
      await seen;
      return (count * 1000) / (performance.now() - began);
    };
    // An agent may see that it is asked the same again.
    const byTurns = ["get_state", "get_last_assistant_text"];
    const [few, many] = [1000, 5000].map((count) => Math.round(count * context.scale));
    await oneByOne(200);
    const name = `${kind}: round trips per second`;
    const results = { [`${name}, one by one`]: await oneByOne(few), [`${name}, pipelined`]: await pipelined(many, "last") };
    await oneByOne(many * 2);
    await pipelined(many * 4, "warm");
    return {
      ...results,
      [`${name}, one by one, warm`]: await oneByOne(many),
      [`${name}, pipelined, warm`]: await pipelined(many * 2, "end"),
      [`${name}, pipelined, warm, two commands by turns`]: await pipelined(many * 2, "turns", byTurns),
    };
  });

const pacedStream = (context) =>
  withAgent(context, delta, async (agent) => {
    await agent.prompt("text 50", context);
    await agent.settled();
    const { sent } = context.server;
    sent.length = 0;
    const latencies = [];
    const onData = (data) => {
      const now = performance.now();
      const text = data.toString("latin1");
      while (sent.length > latencies.length && text.includes(`#${latencies.length} `)) latencies.push(now - sent[latencies.length]);
    };
    await agent.prompt(`paced ${Math.round(200 * context.scale)} 5`, { ...context, onData });
    return { "paced stream: added latency per delta, ms": median(latencies) };
  });

function stream(kind, mode, options, count) {
  return (context) =>
    withAgent(context, options, async (agent) => {
      await agent.prompt(`${kind} 20`, context);
      await agent.settled();
      const before = { cpu: agent.cpu(), bytes: agent.bytes, wall: performance.now() };
      await agent.prompt(`${kind} ${count}`, context);
      const name = `${count} ${kind === "text" ? "deltas" : "argument deltas"}, ${mode}`;
      return {
        [`${name}: CPU, ms`]: agent.cpu() - before.cpu,
        [`${name}: wall, ms`]: performance.now() - before.wall,
        [`${name}: MB written`]: (agent.bytes - before.bytes) / 1e6,
        [`${name}: peak memory, MiB`]: agent.memory("VmHWM"),
      };
    });
}

const slowReader = (context) =>
  withAgent(context, full, async (agent) => {
    await agent.prompt("text 20", context);
    await agent.settled();
    const resting = agent.memory();
    const over = agent.prompt(`text ${Math.round(10_000 * context.scale)}`, context);
    agent.stdout.pause();
    await new Promise((resolve) => setTimeout(resolve, 4000));
    agent.stdout.resume();
    await over;
    return { "slow reader: peak memory over idle, MiB": agent.memory("VmHWM") - resting };
  });

const toolLoop = (context) =>
  withAgent(context, delta, async (agent) => {
    await agent.prompt("loop 2", context);
    await agent.settled();
    const turns = [50, 200].map((count) => Math.round(count * context.scale));
    const costs = [];
    for (const count of turns) {
      const before = agent.cpu();
      // The first loops' results stay in the conversation.
      await agent.prompt(`loop ${count + 2 + (costs.length > 0 ? turns[0] : 0)}`, context);
      costs.push((agent.cpu() - before) / count);
      await agent.settled();
    }
    const growth = costs[1] / costs[0];
    return {
      [`tool loop of ${turns[1]} turns: CPU per turn, ms`]: costs[1],
      "tool loop: later turns against earlier": growth,
      "tool loop: growth exponent of CPU": 1 + Math.log(growth) / Math.log(turns[1] / turns[0]),
    };
  });

/** Many prompts, and a new conversation after every twenty: what stays is what leaks. */
const manyPrompts = (context) =>
  withAgent(context, delta, async (agent) => {
    const total = Math.round(1000 * context.scale);
    const early = Math.round(total / 5);
    let before = 0;
    for (let count = 1; count <= total; count++) {
      await agent.prompt("text 20", context);
      await agent.call("get_state");
      if (count % 20 === 0) await agent.call("new_session");
      if (count === early) before = agent.memory();
    }
    return { [`${total} prompts: memory after all over memory after a fifth, MiB`]: agent.memory() - before };
  });

async function bigSession(context) {
  const places = makePlaces(context.server.baseUrl);
  const file = join(places.root, "session.jsonl");
  writeFileSync(file, sessionText(Math.round(20_000 * context.scale), places.cwd));
  try {
    return await withAgent(context, { places, args: ["--session", file] }, async (agent) => {
      const opened = { cpu: agent.cpu(), wall: performance.now() - agent.started };
      const began = performance.now();
      // Its beginning may come long before its end; what is asked behind it is answered after that.
      agent.send({ id: "all", type: "get_messages" });
      await agent.call("get_state", {}, context);
      return {
        "20,000 entries: CPU to the first answer, ms": opened.cpu,
        "20,000 entries: wall to the first answer, ms": opened.wall,
        "20,000 entries: get_messages, ms": performance.now() - began,
        "20,000 entries: peak memory, MiB": agent.memory("VmHWM"),
      };
    });
  } finally {
    places.remove();
  }
}

function sessionText(entries, cwd) {
  const timestamp = new Date(1_770_000_000_000).toISOString();
  const lines = [JSON.stringify({ type: "session", version: 3, id: "01a1ecf7-2ec6-75d5-9588-24b733b56a4b", timestamp, cwd })];
  const usage = { input: 10, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 20, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  for (let index = 0; index < entries; index++) {
    const content = [{ type: "text", text: `Entry ${index}: ${"some words of a conversation ".repeat(20)}` }];
    const message =
      index % 2 === 0
        ? { role: "user", content, timestamp: index }
        : { role: "assistant", content, api: "openai-completions", provider: "bench", model: "bench", usage, stopReason: "stop", timestamp: index };
    const id = (index + 1).toString(16).padStart(8, "0");
    lines.push(JSON.stringify({ type: "message", id, parentId: index === 0 ? null : index.toString(16).padStart(8, "0"), timestamp, message }));
  }
  return `${lines.join("\n")}\n`;
}

async function extensions(context) {
  const results = {};
  for (const count of [0, 1, 20]) {
    const places = makePlaces(context.server.baseUrl, { extensions: count });
    try {
      if (count > 0) {
        rmSync(join(places.agentDir, "cache"), { recursive: true, force: true });
        results[`${count} extensions, cold: wall to the first answer, ms`] = (await startOnce(context, places)).wall;
      } else await startOnce(context, places);
      const warm = [];
      for (let run = 0; run < context.runs; run++) warm.push(await startOnce(context, places));
      results[`${count} extensions, warm: wall to the first answer, ms`] = median(warm.map(({ wall }) => wall));
      results[`${count} extensions, warm: CPU to the first answer, ms`] = median(warm.map(({ cpu }) => cpu));
    } finally {
      places.remove();
    }
  }
  return results;
}

/** Twenty edits, one of each of twenty extensions, beside a fresh import of the same file here. */
const reload = (context) =>
  withAgent(context, { extensions: 20 }, async (agent, places) => {
    await new Promise((resolve) => setTimeout(resolve, 2500));
    const { createJiti } = await import("jiti");
    const reloads = [];
    const imports = [];
    for (let index = 0; index < 20; index++) {
      const file = join(places.agentDir, `extensions/bench${index}.ts`);
      const seen = agent.seen('"type":"extension_reload"', { timeout: 10_000 });
      writeFileSync(file, extension(index, 2));
      const saved = performance.now();
      await seen;
      reloads.push(performance.now() - saved);
      const began = performance.now();
      await createJiti(import.meta.url, { fsCache: false, moduleCache: false }).import(file);
      imports.push(performance.now() - began);
    }
    return { "reload of one of 20 extensions, save to live, ms": median(reloads), "fresh import of the same file, ms": median(imports) };
  });

const bash = (context) =>
  withAgent(context, {}, async (agent) => {
    const resting = agent.memory();
    const began = performance.now();
    const megabytes = Math.round(100 * context.scale);
    await agent.call(
      "bash",
      { command: `yes 'a line of output that is a hundred bytes long or so, to be printed again and again, until it is a lot' | head -c ${megabytes}000000` },
      context,
    );
    return {
      [`bash, ${megabytes} MB: wall, ms`]: performance.now() - began,
      [`bash, ${megabytes} MB: peak memory over idle, MiB`]: agent.memory("VmHWM") - resting,
    };
  });

/** What a team ships: the shipped lists built into one file each. Other agents have nothing like it. */
async function builtFile(context) {
  if (!context.isOurs) return {};
  const places = makePlaces(context.server.baseUrl);
  const results = {};
  try {
    for (const list of ["pi", "minimal"]) {
      const source = `import { defineDistribution } from "pi-kernel/distribution";
import plugins from "pi-kernel/distributions/${list}";
export default defineDistribution({ name: "built-${list}", configDir: ".pi", plugins });
`;
      writeFileSync(join(places.cwd, `${list}.ts`), source);
      const [program, ...first] = context.command;
      execFileSync(program, [...first, "build", `${list}.ts`, "--out", "out"], { cwd: places.cwd, env: environment(places.home), stdio: "ignore" });
      const file = join(places.cwd, `out/built-${list}.mjs`);
      const built = { ...context, command: [program, file] };
      // Not every list has the API that our server speaks.
      const options = { args: ["--no-session", "--model", "offline/demo"] };
      const over = [];
      await startOnce(built, places, options);
      for (let run = 0; run < context.runs; run++) {
        const bare = await runBare(context.command, places.home);
        over.push((await startOnce(built, places, options)).cpu - bare.cpu);
      }
      results[`built ${list}: MB`] = statSync(file).size / 1e6;
      results[`built ${list}: start, CPU over bare node, ms`] = median(over);
    }
  } finally {
    places.remove();
  }
  return results;
}

/** The measures by name, with how often each is taken; streams come in sizes. */
export function measures(quick) {
  const sizes = quick ? [500, 1000] : [2000, 5000, 10_000, 20_000];
  const streams = sizes.flatMap((count) => [
    [`delta-${count}`, stream("text", "delta", delta, count)],
    [`full-${count}`, stream("text", "full", full, count)],
  ]);
  const argumentStreams = (quick ? [500, 1000] : [2000, 10_000]).map((count) => [`arguments-${count}`, stream("arguments", "delta", delta, count)]);
  const once = {
    paced: pacedStream,
    ...Object.fromEntries([...streams, ...argumentStreams]),
    slow: slowReader,
    prompts: manyPrompts,
    reload,
  };
  const several = {
    start: coldStart,
    built: builtFile,
    idle,
    trips: roundTrips("sockets", {}),
    "trips-pipes": roundTrips("pipes", { hasPipes: true }),
    loop: toolLoop,
    session: bigSession,
    extensions,
    bash,
  };
  const taken = (all, rounds) => Object.entries(all).map(([name, run]) => [name, { run, rounds }]);
  return Object.fromEntries([...taken(several, quick ? 1 : 5), ...taken(once, 1)]);
}
