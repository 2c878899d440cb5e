/** Values in configuration: a literal with `$VAR` and `${VAR}` inside (`$$` and `$!` escape), or `!command`. */
import { spawn } from "node:child_process";

export type Env = (name: string) => string | undefined;

const COMMAND_MS = 10_000;
const reference = /\$(?:([$!])|\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g;

export const isCommand = (value: string): boolean => value.startsWith("!");

/** The variables that a value refers to. */
export function variablesOf(value: string): string[] {
  if (isCommand(value)) return [];
  return [...value.matchAll(reference)].flatMap(([, , braced, bare]) => braced ?? bare ?? []);
}

/** Fills variables in; undefined if one is missing or nothing is left. */
export function interpolate(value: string, env: Env): string | undefined {
  let isComplete = true;
  const filled = value.replace(reference, (_, escaped: string | undefined, braced: string | undefined, bare: string | undefined) => {
    if (escaped) return escaped;
    const found = env((braced ?? bare) as string);
    if (!found) isComplete = false;
    return found ?? "";
  });
  return isComplete && filled !== "" ? filled : undefined;
}

export async function resolveValue(value: string, env: Env, run: (command: string) => Promise<string | undefined> = runCommand): Promise<string | undefined> {
  return isCommand(value) ? run(value.slice(1)) : interpolate(value, env);
}

/** What a shell command prints, trimmed; undefined if it fails, prints nothing or takes longer than ten seconds. */
export function runCommand(command: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const isWindows = process.platform === "win32";
    // Its own process group: a time-out must also end what the shell has started.
    const child = spawn(command, { shell: true, detached: !isWindows, stdio: ["ignore", "pipe", "ignore"], windowsHide: true });
    const chunks: Buffer[] = [];
    const finish = (answer: string | undefined) => {
      clearTimeout(timer);
      child.stdout?.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => {
      kill(child.pid, isWindows);
      finish(undefined);
    }, COMMAND_MS);
    child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.on("error", () => finish(undefined));
    child.on("close", (status) => finish(status === 0 ? Buffer.concat(chunks).toString("utf8").trim() || undefined : undefined));
  });
}

function kill(pid: number | undefined, isWindows: boolean): void {
  if (pid === undefined) return;
  try {
    process.kill(isWindows ? pid : -pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
