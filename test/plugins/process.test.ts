import { spawn, spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { preparePlaces, programPath, startRpc, tempDir } from "../helpers/pi.ts";

/** A model script is foreign code in our process: whatever it writes to stdout must not reach the client. */
const noisy = `
import { execSync, spawn, spawnSync } from "node:child_process";
import fs, { writeSync } from "node:fs";
import { Socket } from "node:net";
import { WriteStream } from "node:tty";
import { Worker } from "node:worker_threads";
const ended = (stream) => new Promise((resolve) => stream.on("close", resolve));
export default async () => {
  console.log("noise: console.log");
  console.info("noise: console.info");
  process.stdout.write("noise: process.stdout\\n");
  fs.writeSync(1, "noise: fs.writeSync\\n");
  writeSync(1, "noise: named writeSync\\n");
  fs.write(1, "noise: fs.write\\n", () => {});
  fs.writeFileSync(1, "noise: writeFileSync\\n");
  spawnSync("echo", ["noise: spawnSync inherit"], { stdio: "inherit" });
  spawnSync("echo", ["noise: spawnSync fd"], { stdio: ["ignore", 1, 2] });
  execSync("echo noise: execSync", { stdio: "inherit" });
  await new Promise((resolve) => spawn("echo", ["noise: spawn inherit"], { stdio: "inherit" }).on("close", resolve));
  await new Promise((resolve) => spawn("echo", ["noise: spawn list"], { stdio: ["ignore", "inherit", "inherit"] }).on("close", resolve));
  const thread = 'require("node:fs").writeSync(1, "noise: thread\\\\n"); require("node:child_process").execSync("echo noise: child of a thread", { stdio: "inherit" });';
  await new Promise((resolve) => new Worker(thread, { eval: true }).on("exit", resolve));
  new Socket({ fd: 1, readable: false }).write("noise: socket\\n");
  new WriteStream(1).write("noise: terminal\\n");
  await ended(fs.createWriteStream("", { fd: 1 }).end("noise: file stream\\n"));
  fs.closeSync(1);
  return "done";
};`;

describe("stdout", () => {
  it("carries frames and nothing else, whatever foreign code prints", async () => {
    const rpc = startRpc({ files: { "noisy.ts": noisy }, args: ["--model", "scripted/noisy.ts"] });
    await rpc.prompt("go");
    expect(await rpc.stop()).toEqual({ status: 0, signal: null });
    // Every line was parsed as JSON already; the noise is on stderr.
    const direct = ["console.log", "console.info", "process.stdout", "fs.writeSync", "named writeSync", "fs.write", "writeFileSync"];
    const children = ["spawnSync inherit", "spawnSync fd", "execSync", "spawn inherit", "spawn list"];
    const others = ["thread", "child of a thread", "socket", "terminal", "file stream"];
    for (const kind of [...direct, ...children, ...others]) expect(rpc.stderr).toContain(`noise: ${kind}\n`);
  });

  it("does not keep threads from starting where the process has flags that no thread may be given", () => {
    const model = `import { Worker } from "node:worker_threads";
      export default () => new Promise((resolve) => new Worker('require("fs").writeSync(1, "noise")', { eval: true }).on("exit", (code) => resolve("exit " + code)));`;
    const { cwd, env, args } = preparePlaces({ files: { "threads.ts": model }, args: ["--model", "scripted/threads.ts"] });
    const { stdout, stderr } = spawnSync(process.execPath, ["--max-old-space-size=600", programPath, "-p", "go", ...args], { cwd, env, encoding: "utf8" });
    expect([stdout, stderr]).toEqual(["exit 0\n", "noise"]);
  });
});

describe("stderr", () => {
  const failing = `export default (pi) => pi.registerCommand("fail", { handler: () => { process.stderr.write("noise\\n"); throw new Error("told"); } });`;
  const outlives = async (rpc: ReturnType<typeof startRpc>) => {
    for (let round = 0; round < 3; round++) await rpc.ask("prompt", { message: "/fail" });
    await rpc.prompt("go");
    expect(await rpc.stop()).toEqual({ status: 0, signal: null });
    expect(rpc.frames.filter(({ type }) => type === "extension_error").map(({ error }) => error)).toEqual(["told", "told", "told"]);
  };

  it("may be closed by its reader: messages are lost, and nothing else", async () => {
    const rpc = startRpc({ agentFiles: { "extensions/failing.ts": failing }, script: { responses: ["fine"] } });
    rpc.child.stderr.destroy();
    await outlives(rpc);
  });

  it("may be ended by foreign code", async () => {
    const ending = `export default (pi) => { process.stdout.end("bye\\n"); (${failing.slice("export default ".length, -1)})(pi); };`;
    await outlives(startRpc({ agentFiles: { "extensions/ending.ts": ending }, script: { responses: ["fine"] } }));
  });
});

describe("stdin", () => {
  it("is the client's, also while a child that inherits it reads", async () => {
    const greedy = `import { spawn, spawnSync } from "node:child_process";
      export default () => {
        spawnSync("cat", { stdio: "inherit" });
        spawnSync("cat", { stdio: [0, "pipe", "pipe"] });
        spawn("cat", { stdio: ["inherit", "ignore", "ignore"] });
        return "done";
      };`;
    const rpc = startRpc({ files: { "greedy.ts": greedy }, args: ["--model", "scripted/greedy.ts"] });
    rpc.send({ type: "prompt", message: "go" });
    for (let index = 0; index < 20; index++) expect(await rpc.ask("get_state")).toBeTruthy();
    expect(await rpc.stop()).toEqual({ status: 0, signal: null });
  });
});

describe("uncaught errors", () => {
  it("of code that nobody owns end the process with one line and status 1", async () => {
    const broken = 'export default () => { setTimeout(() => { throw new Error("kernel bug"); }, 1); return new Promise(() => {}); };';
    const rpc = startRpc({ files: { "broken.ts": broken }, args: ["--model", "scripted/broken.ts"] });
    rpc.send({ type: "prompt", message: "go" });
    expect(await rpc.exited).toMatchObject({ status: 1 });
    expect(rpc.stderr).toContain("Error: kernel bug\n");
    expect(rpc.stderr).not.toMatch(/^\s+at /m);
  });
});

describe("signals", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("a second one ends the process at once with the same status: %s", async (second) => {
    const stuck = "export default () => new Promise(() => {});";
    const { cwd, env } = preparePlaces({ files: { "stuck.ts": stuck } });
    const child = spawn(process.execPath, [programPath, "--mode", "rpc", "--model", "scripted/stuck.ts"], { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
    child.stdin.write('{"type":"prompt","message":"go"}\n');
    await new Promise((resolve) => child.stdout.on("data", (data) => String(data).includes("message_end") && resolve(undefined)));
    child.kill("SIGTERM");
    // Two that come at once may be delivered in any order.
    await new Promise((resolve) => setTimeout(resolve, 100));
    child.kill(second);
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(143);
  });
});

describe("a user whom the system does not know", () => {
  it.skipIf(process.platform !== "linux" || process.getuid?.() !== 0)("has no home and can use the agent all the same", async () => {
    const cwd = tempDir();
    chmodSync(cwd, 0o755);
    const child = spawn(process.execPath, [programPath, "--mode", "rpc"], { cwd, uid: 54_321, gid: 54_321, env: { PATH: process.env.PATH } });
    child.stdin.end('{"id":1,"type":"get_state"}\n');
    const [out] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(JSON.parse(out.split("\n")[0] as string)).toMatchObject({ id: 1, success: true });
  });
});
