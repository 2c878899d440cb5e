/** Budgets without clocks: what a start reads and loads, and what a delta costs. They fail when somebody adds work to what everybody pays. */
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { Kernel } from "../core/index.ts";
import { tapsOf } from "../core/taps.ts";
import pi from "../src/distributions/pi.ts";
import { preparePlaces, programPath, RpcProcess, startRpc, tempDir } from "./helpers/pi.ts";
import { generator } from "./helpers/random.ts";

/** Runs before the program: counts what it reads from disk and what it writes to stdout. */
const counting = `
const fs = require("node:fs"), vm = require("node:vm");
const counts = { scripts: [], reads: [], probes: [], builtins: [], writes: 0, bytes: 0 };
const before = new Set(process.moduleLoadList);
const report = () => writeFileSync(process.env.COUNTS, JSON.stringify(counts));
const { writeFileSync } = fs;
const wrap = (object, name, note) => {
  const original = object[name];
  object[name] = Object.assign((...args) => { note(args); return original(...args); }, original);
};
for (const name of ["readFileSync", "openSync"]) wrap(fs, name, ([file]) => { if (!counts.writes) counts.reads.push(String(file)); });
for (const name of ["statSync", "existsSync", "readdirSync", "accessSync", "lstatSync"]) wrap(fs, name, ([path]) => { if (!counts.writes) counts.probes.push(String(path)); });
const { Script } = vm;
vm.Script = class extends Script { constructor(source, options) { super(source, options); if (!counts.writes) counts.scripts.push({ file: options?.filename, bytes: source.length }); } };
const note = (chunk) => {
  if (!counts.writes) counts.builtins = process.moduleLoadList.filter((name) => name.startsWith("NativeModule ") && !before.has(name)).map((name) => name.slice(13));
  counts.writes++;
  counts.bytes += Buffer.byteLength(chunk);
  report();
};
const out = process.stdout, write = out.write;
out.write = function (chunk, ...rest) { note(chunk); return write.call(this, chunk, ...rest); };
wrap(fs, "writeSync", ([descriptor, chunk]) => { if (descriptor === 1) note(chunk); });
`;

interface Counts {
  scripts: { file: string; bytes: number }[];
  reads: string[];
  probes: string[];
  builtins: string[];
  writes: number;
  bytes: number;
}

/** A program that counts; \`counts\` reads what it has counted so far. */
function startCounting(script?: unknown, env: Record<string, string> = {}, places: Parameters<typeof startRpc>[0] = {}) {
  const directory = tempDir();
  const preload = join(directory, "counting.cjs");
  const file = join(directory, "counts.json");
  writeFileSync(preload, counting);
  const options = {
    ...places,
    args: ["--no-session"],
    ...(script !== undefined && { script }),
    env: { NODE_OPTIONS: `--require ${preload}`, COUNTS: file, ...env },
  };
  return { rpc: startRpc(options), counts: (): Counts => JSON.parse(readFileSync(file, "utf8")) };
}

test("the first answer needs one script, few files and few of Node's modules", async () => {
  const { rpc, counts } = startCounting();
  await rpc.call("get_state");
  const { scripts, reads, probes, builtins } = counts();
  expect(scripts.map(({ file }) => file.split("/").at(-1))).toEqual(["core.cjs"]);
  expect(scripts[0]?.bytes).toBeLessThan(900_000);
  expect(reads.length, reads.join("\n")).toBeLessThanOrEqual(16);
  expect(probes.length, probes.join("\n")).toBeLessThanOrEqual(60);
  for (const heavy of ["crypto", "http", "https", "readline", "worker_threads", "zlib", "tls", "child_process", "fs/promises", "async_hooks"])
    expect(builtins).not.toContain(heavy);
  expect(builtins.length, builtins.join("\n")).toBeLessThanOrEqual(32);
});

test("a warm extension that uses the API's types needs what runs extensions and nothing else", async () => {
  const extension = `import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
    export default (pi: ExtensionAPI) => pi.registerCommand("hello", { description: "Says hello", handler: async () => {} });`;
  const home = tempDir();
  const start = async () => {
    const { rpc, counts } = startCounting(undefined, {}, { home, agentFiles: { "extensions/hello.ts": extension } });
    const { data } = await rpc.call("get_commands");
    expect(data.commands).toMatchObject([{ name: "hello" }]);
    await rpc.stop();
    return counts().scripts.map(({ file }) => file.split("/").at(-1));
  };
  await start();
  const warm = await start();
  expect(warm.length, warm.join("\n")).toBeLessThanOrEqual(6);
  expect(warm.join("\n")).not.toMatch(/pi-coding-agent|jiti|babel/);
});

const words = (count: number) => ({ responses: [{ text: Array.from({ length: count }, () => "lorem ") }] });

test("a delta costs at most one write and a few bytes in delta mode", async () => {
  const cost = async (deltas: number) => {
    const { rpc, counts } = startCounting(words(deltas), { PI_RPC_UPDATES: "delta" });
    await rpc.prompt("go");
    return counts();
  };
  const [small, large] = await Promise.all([cost(100), cost(1100)]);
  expect(large.writes - small.writes).toBeLessThanOrEqual(1000);
  expect((large.bytes - small.bytes) / 1000).toBeLessThan(330);
});

test("full mode writes the message twice per update and nothing more", async () => {
  const deltas = 600;
  const { rpc, counts } = startCounting(words(deltas));
  const frames = await rpc.prompt("go");
  const updates = frames.filter(({ type }) => type === "message_update").length;
  const { writes, bytes } = counts();
  expect(writes).toBeLessThanOrEqual(deltas + 60);
  // Twice the text at its final length would be the square's double; the head of each update is about a kilobyte.
  expect(bytes).toBeLessThan(updates * (deltas * "lorem ".length + 1800) + 50_000);
});

test("few taps are called for each delta", async () => {
  const kernel = new Kernel();
  await kernel.useAll(pi);
  try {
    expect(tapsOf(kernel.hooks.event).count).toBeLessThanOrEqual(14);
    expect(tapsOf(kernel.hooks.increment).count).toBeLessThanOrEqual(1);
  } finally {
    await kernel.removeAll();
  }
});

/** Also those of chunks that are read late, when V8 has been told what suits an agent. */
async function expectCachesToStay(home: string) {
  const use = async () => {
    const rpc = new RpcProcess(preparePlaces({ home, args: ["--no-session"] }));
    await rpc.call("get_state");
    await sleep(300);
    expect((await rpc.call("reload")).success).toBe(true);
    await rpc.stop();
    const root = join(home, ".cache/pi-kernel");
    return readdirSync(root, { recursive: true, encoding: "utf8" }).flatMap((name) =>
      name.endsWith(".bin") ? [`${name} ${statSync(join(root, name)).ino}`] : [],
    );
  };
  const before = await use();
  expect(before.length).toBeGreaterThan(2);
  // More may be read the next time; what is there is not written again.
  expect(await use()).toEqual(expect.arrayContaining(before));
}

test("nothing is written where the program is installed; caches are private", async () => {
  const install = join(tempDir(), "install");
  cpSync(dirname(programPath), install, { recursive: true, preserveTimestamps: true, filter: (path) => !path.endsWith("/types") });
  const everything = (root: string) => readdirSync(root, { recursive: true, encoding: "utf8" }).map((name) => ({ name, ...statSync(join(root, name)) }));
  const found = () => everything(install).map(({ name, ino, mtimeMs, size }) => ({ name, ino, mtimeMs, size }));
  for (const { name, mode } of everything(install)) chmodSync(join(install, name), mode & 0o555);
  chmodSync(install, 0o555);
  const before = found();
  const home = tempDir();
  for (let start = 0; start < 2; start++) {
    const { status, stdout } = spawnSync(process.execPath, [join(install, "pi.cjs"), "--mode", "rpc", "--no-session"], {
      cwd: tempDir(),
      env: { PATH: process.env.PATH, HOME: home },
      input: '{"id":1,"type":"get_state"}\n',
      encoding: "utf8",
    });
    expect(status).toBe(0);
    expect(JSON.parse(stdout.split("\n")[0] as string)).toMatchObject({ id: 1, success: true });
  }
  expect(found()).toEqual(before);
  const caches = everything(join(home, ".cache/pi-kernel"));
  expect(caches.length).toBeGreaterThan(1);
  expect(caches.filter(({ mode }) => (mode & 0o077) !== 0)).toEqual([]);
  // So that it can be removed.
  for (const path of ["", "chunks", "lib", "lib/chunks", "lib/distributions"]) chmodSync(join(install, path), 0o755);
});

test("caches that nobody has written for long go when new ones are written; where nothing can be made, a start ends all the same", () => {
  const start = (home: string) =>
    spawnSync(process.execPath, [programPath, "--version"], { env: { PATH: process.env.PATH, HOME: home }, timeout: 20_000, killSignal: "SIGKILL" }).status;
  const home = tempDir();
  const names = ["0.0.1-0123456789abcdef-v18.0.0-x64", "0.0.1-fedcba9876543210-v18.0.0-x64", "somebody-else's"];
  const [old, recent, foreign] = names.map((name) => join(home, ".cache/pi-kernel", name)) as [string, string, string];
  for (const directory of [old, recent, foreign]) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "core.cjs.bin"), "");
  }
  const longAgo = new Date(Date.now() - 90 * 24 * 3600 * 1000);
  for (const directory of [old, foreign]) utimesSync(directory, longAgo, longAgo);
  expect(start(home)).toBe(0);
  expect([old, recent, foreign].map((directory) => existsSync(directory))).toEqual([false, true, true]);
  expect(start("/proc/nowhere")).toBe(0);
});

test("a damaged cache, of scripts or of extensions, is made again and does no harm", () => {
  const home = tempDir();
  const cwd = tempDir();
  mkdirSync(join(home, ".pi/agent/extensions"), { recursive: true });
  writeFileSync(join(home, ".pi/agent/extensions/hello.ts"), 'export default (pi: any) => pi.registerCommand("hello", { handler() {} });');
  const start = () => {
    const input = '{"id":1,"type":"get_commands"}\n';
    const { status, stdout } = spawnSync(process.execPath, [programPath, "--mode", "rpc", "--no-session"], {
      cwd,
      env: { PATH: process.env.PATH, HOME: home },
      input,
      encoding: "utf8",
    });
    return { status, commands: status === 0 && JSON.parse(stdout.split("\n")[0] as string).data.commands.map(({ name }: { name: string }) => name) };
  };
  const files = () =>
    [".cache/pi-kernel", ".pi/agent/cache/extensions"].flatMap((directory) =>
      readdirSync(join(home, directory), { recursive: true, encoding: "utf8" })
        .map((name) => join(home, directory, name))
        .filter((path) => statSync(path).isFile()),
    );
  expect(start()).toEqual({ status: 0, commands: ["hello"] });
  const whole = new Map(files().map((path) => [path, readFileSync(path)]));
  expect([...whole.keys()].some((path) => path.endsWith("core.cjs.bin"))).toBe(true);
  const random = generator(20261119);
  const damages: ((bytes: Buffer) => Uint8Array)[] = [
    (bytes) => bytes.map((byte) => (random() < 0.0001 ? byte ^ 1 : byte)),
    (bytes) => bytes.fill(0, Math.floor(bytes.length / 2)),
    (bytes) => bytes.subarray(0, Math.floor(bytes.length * random())),
    () => Buffer.alloc(0),
    () => Buffer.from("something else"),
  ];
  for (const damage of damages) {
    for (const [path, bytes] of whole) writeFileSync(path, damage(Buffer.from(bytes)));
    expect(start()).toEqual({ status: 0, commands: ["hello"] });
    // They are as good as before.
    for (const [path, bytes] of whole) expect(statSync(path).size, path).toBeGreaterThan(bytes.length / 2);
  }
});

test("two programs may start at once with no cache, and a cache that cannot be used does no harm", async () => {
  const home = tempDir();
  const start = () => new RpcProcess(preparePlaces({ home, args: ["--no-session"] }));
  for (const pair of [
    [start(), start()],
    [start(), start()],
  ]) {
    const answers = await Promise.all(pair.map((rpc) => rpc.call("get_state")));
    expect(answers.every(({ success }) => success)).toBe(true);
    await Promise.all(pair.map((rpc) => rpc.stop()));
  }
  await expectCachesToStay(home);
  // The directory belongs to a file now.
  const broken = tempDir();
  writeFileSync(join(broken, ".cache"), "not a directory");
  const rpc = startRpc({ home: broken, args: ["--no-session"] });
  expect((await rpc.call("get_state")).success).toBe(true);
  // Nothing can be made below /proc, and the system says so in a way that Node takes for a missing parent.
  const homeless = startRpc({ home: "/proc/nobody", args: ["--no-session"] });
  expect((await homeless.call("get_state")).success).toBe(true);
  expect(await homeless.stop()).toEqual({ status: 0, signal: null });
});
