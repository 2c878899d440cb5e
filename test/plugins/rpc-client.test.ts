/** Published clients drive our program: every method that they have. Installed once from the registry; skipped where it cannot be reached. */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { preparePlaces, programPath } from "../helpers/pi.ts";

const driver = join(dirname(fileURLToPath(import.meta.url)), "../helpers/fixtures/drive-rpc-client.mjs");

/** The directory with these packages, from the cache or from the registry; undefined if it cannot be reached. */
function installed(packages: string[]): string | undefined {
  const cache = join(tmpdir(), "pi-kernel-test-packages");
  const directory = join(cache, packages.join("+").replace(/[^\w.+-]/g, "_"));
  if (existsSync(directory)) return directory;
  const stage = `${directory}.${process.pid}`;
  mkdirSync(stage, { recursive: true });
  writeFileSync(join(stage, "package.json"), "{}");
  try {
    execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", ...packages], {
      cwd: stage,
      stdio: "ignore",
      timeout: 240_000,
    });
    renameSync(stage, directory);
    return directory;
  } catch {
    rmSync(stage, { recursive: true, force: true });
    return undefined;
  }
}

const clients = [
  { name: "@mariozechner/pi-coding-agent", version: "0.73.1", node: undefined },
  { name: "@earendil-works/pi-coding-agent", version: "0.87.1", node: `node-${process.platform}-${process.arch}` },
];

test.for(clients)("RpcClient of $name $version", { timeout: 300_000 }, async ({ name, version, node }, { skip }) => {
  const directory = installed([`${name}@${version}`, ...(node ? [`${node}@24`] : [])]);
  if (!directory) return skip(`the registry does not give ${name}@${version}`);
  // The newer client asks for a newer Node; our program then runs on it too.
  const executable = node ? join(directory, "node_modules", node, "bin/node") : process.execPath;
  const script = (text: string) => ({ text, usage: { input: 10, output: 1, totalTokens: 11 } });
  const { cwd, env, args } = preparePlaces({ script: { responses: [script("first"), script("second"), { hang: true }, script("third")], repeat: true } });
  const modelId = args.at(-1)?.replace(/^scripted\//, "") ?? "";
  const { stdout } = await promisify(execFile)(executable, [driver, name, programPath, "scripted", modelId, cwd], {
    cwd: directory,
    env: { ...env, PATH: `${dirname(executable)}:${env.PATH}` },
    maxBuffer: 64 * 1024 * 1024,
  });
  const { results, events, untested } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "{}");

  expect(untested).toEqual([]);
  const failures = Object.entries(results).filter(([, result]) => (result as { error?: string } | null)?.error);
  // The conversation is too short to compact; everything else succeeds.
  expect(failures).toEqual([["compact", { error: "Nothing to compact (session too small)" }]]);
  expect(results.getState).toMatchObject({ isStreaming: false, messageCount: 0, model: { provider: "scripted" } });
  expect(results.collectEvents).toEqual(expect.arrayContaining(["agent_start", "message_update", "agent_end"]));
  expect(results.getLastAssistantText).toBe("third");
  // A client that cannot clear the queues has their content delivered with the next prompt.
  const queued = results.clearQueue ? 0 : 2;
  expect(results.getSessionStats).toMatchObject({ userMessages: 4 + queued, assistantMessages: 4 + queued / 2 });
  expect(results.bash).toMatchObject({ output: "from bash\n", exitCode: 0, cancelled: false });
  expect(results.fork).toMatchObject({ cancelled: false, text: "one" });
  expect(results.clone).toEqual({ cancelled: false });
  expect(results.newSession).toEqual({ cancelled: false });
  expect(existsSync(join(cwd, "out.html"))).toBe(true);
  expect(events).toEqual(expect.arrayContaining(["agent_start", "turn_end", "queue_update", "agent_end"]));
});
