/** `pi.exec`: a child process without a shell. Never rejects. */
import { type ChildProcess, spawn } from "node:child_process";
import { signalTree } from "../shared/process-tree.ts";
import type { ExecOptions, ExecResult } from "./types.ts";

const KILL_AFTER_MS = 5000;
/** A process that ended may have left children that hold its pipes; they are not waited for longer than this. */
const QUIET_MS = 100;

export function exec(
  command: string,
  args: readonly string[],
  { cwd, signal, timeout }: ExecOptions,
  onChild?: (child: ChildProcess) => void,
): Promise<ExecResult> {
  return new Promise((resolve) => {
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    const timers: NodeJS.Timeout[] = [];
    let quiet: NodeJS.Timeout | undefined;
    let killed = false;
    let settled = false;
    let hasExited = false;
    let code: number | null = null;

    const finish = (status: number) => {
      if (settled) return;
      settled = true;
      for (const timer of timers) clearTimeout(timer);
      clearTimeout(quiet);
      signal?.removeEventListener("abort", kill);
      resolve({ stdout: Buffer.concat(out).toString("utf8"), stderr: Buffer.concat(err).toString("utf8"), code: status, killed });
    };
    const kill = () => {
      if (killed || settled) return;
      killed = true;
      if (!child) return;
      signalTree(child, "SIGTERM");
      timers.push(setTimeout(() => signalTree(child, "SIGKILL"), KILL_AFTER_MS));
    };
    const child = start(command, args, cwd);
    if (!child) return finish(1);
    onChild?.(child);

    const done = () => {
      child.stdout?.destroy();
      child.stderr?.destroy();
      // A killed process without a status counts as 0; callers look at `killed`.
      finish(code ?? (killed ? 0 : 1));
    };
    const wait = () => {
      clearTimeout(quiet);
      quiet = setTimeout(done, QUIET_MS);
    };
    const hear = (into: Buffer[]) => (data: Buffer) => {
      into.push(data);
      if (hasExited) wait();
    };
    child.stdout?.on("data", hear(out));
    child.stderr?.on("data", hear(err));
    child.on("error", (error) => {
      err.push(Buffer.from(error.message));
      finish(1);
    });
    child.on("exit", (status) => {
      code = status;
      hasExited = true;
      wait();
    });
    child.on("close", done);
    if (timeout !== undefined && timeout > 0) timers.push(setTimeout(kill, timeout));
    if (signal?.aborted) kill();
    else signal?.addEventListener("abort", kill, { once: true });
    return undefined;
  });
}

function start(command: string, args: readonly string[], cwd: string | undefined): ChildProcess | undefined {
  try {
    return spawn(command, args, { ...(cwd !== undefined && { cwd }), stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
  } catch {
    return undefined;
  }
}
