/** Running a shell command: its own process group, both outputs in one pipe, and an end that leaves nothing behind. */
import type { ChildProcess } from "node:child_process";
import { accessSync, constants as fsConstants, statSync } from "node:fs";
import { constants as osConstants } from "node:os";
import { delimiter, join } from "node:path";
import type { Writable } from "node:stream";
import { descendantsOf, signalQuietly } from "./process-tree.ts";

export interface ExecOptions {
  /** A promise in answer holds the pipe until it resolves. */
  onData(data: Buffer): unknown;
  signal?: AbortSignal;
  /** seconds */
  timeout?: number;
  env?: NodeJS.ProcessEnv;
}

/** Throws `Error("aborted")` and `Error("timeout:SECONDS")`. */
export interface ShellOperations {
  exec(command: string, cwd: string, options: ExecOptions): Promise<{ exitCode: number | null; signal?: NodeJS.Signals }>;
}

/** How long pipes that a background child holds must be quiet before a command counts as ended. */
const QUIET_MS = 100;
/** Commands that run for less time are not worth a guard. */
const GUARD_AFTER_MS = 500;

// ---------------------------------------------------------------- environment

/** Variables that belong to one command of the bash tool. */
const perCommand = ["SESSION_ID", "SESSION_FILE", "PROVIDER", "MODEL", "REASONING_LEVEL"];

export interface EnvironmentOptions {
  /** instead of the process's own variables */
  base?: NodeJS.ProcessEnv;
  /** first on PATH */
  binDir?: string;
  /** program name and prefix of its variables */
  name?: string;
  prefix?: string;
}

/** What children inherit: the environment without what an outer agent set for one of its commands. */
export function childEnvironment({ base = process.env, binDir, name = "pi", prefix = "PI" }: EnvironmentOptions = {}): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...base };
  for (const variable of perCommand) delete env[`${prefix}_${variable}`];
  env.AI_AGENT ??= name;
  env[`${prefix}_CODING_AGENT`] ??= "true";
  if (binDir) env.PATH = env.PATH ? `${binDir}${delimiter}${env.PATH}` : binDir;
  return env;
}

/** The first of `names` that is on `path` and executable. */
export function findExecutable(names: readonly string[], path: string | undefined): string | undefined {
  for (const dir of (path ?? "").split(delimiter)) {
    for (const name of names) {
      if (dir !== "" && isExecutable(join(dir, name))) return join(dir, name);
    }
  }
  return undefined;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, fsConstants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The shell that runs commands, and its arguments before the command. */
export function getShellConfig(shellPath?: string, path: string | undefined = process.env.PATH): { shell: string; args: string[] } {
  if (shellPath) {
    if (!isExecutable(shellPath)) throw new Error(`Shell not found: ${shellPath} (setting shellPath)`);
    return { shell: shellPath, args: ["-c"] };
  }
  const shell = isExecutable("/bin/bash") ? "/bin/bash" : findExecutable(["bash", "sh"], path);
  if (!shell) throw new Error("No shell found: neither bash nor sh is on PATH");
  return { shell, args: ["-c"] };
}

// ---------------------------------------------------------------- process groups

/** Groups of commands that run, or left something running in the background, so that they end with the agent. */
export class ProcessGroups {
  /** leaders, with the wait until the guard is told of them */
  readonly #leaders = new Map<number, NodeJS.Timeout>();
  readonly #guard = new Guard();

  add(pid: number): void {
    const timer = setTimeout(() => this.#guard.tell("+", pid), GUARD_AFTER_MS);
    timer.unref();
    this.#leaders.set(pid, timer);
  }

  /** The command has ended; its group is kept in mind only if something in it still runs. */
  ended(pid: number): void {
    if (isGroupAlive(pid)) return;
    clearTimeout(this.#leaders.get(pid));
    this.#leaders.delete(pid);
    this.#guard.forget(pid);
  }

  killAll(): void {
    for (const [pid, timer] of this.#leaders) {
      clearTimeout(timer);
      killTree(pid);
    }
    this.#leaders.clear();
    this.#guard.dismiss();
  }
}

/** Reads `+ group` and `- group`; when its input ends, and be it because the agent was killed, it kills the groups that are left. */
const GUARD = `g=
while read -r sign pid; do
  n=
  for other in $g; do [ "$other" = "$pid" ] || n="$n $other"; done
  [ "$sign" = - ] || n="$n $pid"
  g=$n
done
for pid in $g; do kill -9 "-$pid"; done`;

/** A shell beside us that outlives us: nothing inside of a process can act when it is killed. Made when it is first needed. */
class Guard {
  #input: Writable | undefined;
  readonly #told = new Set<number>();

  async tell(sign: "+" | "-", pid: number): Promise<void> {
    if (process.platform === "win32") return;
    if (sign === "+") this.#told.add(pid);
    if (this.#input) {
      this.#input.write(`${sign} ${pid}\n`);
      return;
    }
    const { spawn } = await import("node:child_process");
    try {
      this.#input ??= this.#start(spawn);
    } catch {
      // No process to be had: then there is no guard either.
    }
    for (const told of this.#told) this.#input?.write(`+ ${told}\n`);
  }

  forget(pid: number): void {
    if (this.#told.delete(pid)) void this.tell("-", pid);
  }

  dismiss(): void {
    this.#told.clear();
    this.#input?.end();
    this.#input = undefined;
  }

  /** In a group and directory of its own, and nothing waits for it. Without it a killed agent leaves its commands running, as ever. */
  #start(spawn: Spawn): Writable | undefined {
    const child = spawn("/bin/sh", ["-c", GUARD], { cwd: "/", env: {}, detached: true, stdio: ["pipe", "ignore", "ignore"] });
    child.on("error", () => undefined);
    child.on("exit", () => {
      this.#input = undefined;
    });
    child.unref();
    child.stdin?.on("error", () => undefined);
    (child.stdin as unknown as { unref(): void } | null)?.unref();
    return child.stdin ?? undefined;
  }
}

function isGroupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Kills a group and the descendants that left it (`setsid`). */
export function killTree(pid: number): void {
  const descendants = descendantsOf(pid);
  // Not the leader by its own number: once it is gone, somebody else may have got that.
  for (const target of [-pid, ...descendants]) signalQuietly(target, "SIGKILL");
}

// ---------------------------------------------------------------- running

export interface LocalShellOptions {
  shellPath?: string;
  groups?: ProcessGroups;
  /** Last word before the process is made. */
  spawnHook?(context: SpawnContext): SpawnContext;
}

export interface SpawnContext {
  command: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** Commands on this machine. */
export function createLocalBashOperations(options: LocalShellOptions = {}): ShellOperations {
  return { exec: (command, cwd, exec) => run(options, { command, cwd, env: exec.env ?? childEnvironment() }, exec) };
}

async function run({ shellPath, groups, spawnHook }: LocalShellOptions, given: SpawnContext, exec: ExecOptions) {
  const { command, cwd, env } = spawnHook ? spawnHook(given) : given;
  if (exec.signal?.aborted) throw new Error("aborted");
  const { shell, args } = getShellConfig(shellPath, env.PATH);
  if (!isDirectory(cwd)) throw new Error(`Working directory does not exist: ${cwd}`);
  // Not at the top: loading it takes part of the time until the first answer.
  const { spawn } = await import("node:child_process");
  const child = start(spawn, shell, [...args, command], cwd, env);
  await spawned(child);
  const pid = child.pid as number;
  groups?.add(pid);
  const killed = new AbortController();
  const kill = (reason: string) => {
    killTree(pid);
    killed.abort(reason);
  };
  const onAbort = () => kill("aborted");
  const timer = exec.timeout === undefined ? undefined : setTimeout(() => kill(`timeout:${exec.timeout}`), exec.timeout * 1000);
  exec.signal?.addEventListener("abort", onAbort, { once: true });
  if (exec.signal?.aborted) onAbort();
  try {
    const { code, signal } = await ended(child, exec.onData, killed.signal);
    if (killed.signal.aborted) throw new Error(killed.signal.reason);
    if (signal) return { exitCode: 128 + osConstants.signals[signal], signal };
    return { exitCode: code };
  } finally {
    clearTimeout(timer);
    exec.signal?.removeEventListener("abort", onAbort);
    groups?.ended(pid);
  }
}

type Spawn = typeof import("node:child_process").spawn;

/** stdout and stderr share one pipe, so that lines come in the order in which they were written. */
function start(spawn: Spawn, shell: string, args: string[], cwd: string, env: NodeJS.ProcessEnv): ChildProcess {
  const options = { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] as ("ignore" | "pipe")[] };
  if (process.platform === "win32" || !isExecutable("/bin/sh"))
    return spawn(shell, args, { ...options, detached: process.platform !== "win32", windowsHide: true });
  return spawn("/bin/sh", ["-c", 'exec "$0" "$@" 2>&1', shell, ...args], options);
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function spawned(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
}

interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Resolves when the shell has exited and its pipes are closed, or quiet: background children may hold them. */
function ended(child: ChildProcess, onData: ExecOptions["onData"], killed: AbortSignal): Promise<Exit> {
  return new Promise((resolve, reject) => {
    let exit: Exit | undefined;
    let holding = 0;
    let quiet: NodeJS.Timeout | undefined;
    const pipes = [child.stdout, child.stderr].filter((pipe) => pipe !== null);

    const settle = () => {
      clearTimeout(quiet);
      // Destroyed, so that a background child that goes on printing does not keep the agent reading.
      for (const pipe of pipes) pipe.destroy();
      resolve(exit as Exit);
    };
    const waitForQuiet = () => {
      clearTimeout(quiet);
      // Nobody waits until a killed command's output is taken.
      if (exit && (holding === 0 || killed.aborted)) quiet = setTimeout(settle, QUIET_MS);
    };
    const take = (pipe: NonNullable<typeof child.stdout>, chunk: Buffer) => {
      waitForQuiet();
      const pressure = onData(chunk);
      if (!isThenable(pressure) || killed.aborted) return;
      holding++;
      pipe.pause();
      const release = () => {
        holding--;
        pipe.resume();
        waitForQuiet();
      };
      pressure.then(release, release);
    };

    for (const pipe of pipes) {
      pipe.on("data", (chunk: Buffer) => {
        try {
          take(pipe, chunk);
        } catch (error) {
          killTree(child.pid as number);
          reject(error);
        }
      });
      // A pipe that breaks is closed next.
      pipe.on("error", () => undefined);
    }
    killed.addEventListener("abort", () => {
      for (const pipe of pipes) pipe.resume();
      waitForQuiet();
    });
    child.once("exit", (code, signal) => {
      exit = { code, signal };
      waitForQuiet();
    });
    child.once("close", () => {
      if (holding === 0 || killed.aborted) settle();
    });
  });
}

const isThenable = (value: unknown): value is PromiseLike<unknown> => typeof (value as PromiseLike<unknown> | undefined)?.then === "function";
