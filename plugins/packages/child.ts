/** Runs npm and git: their output never reaches stdout, and nothing they started outlives them. */
import { spawn } from "node:child_process";

export interface ChildOptions {
  cwd: string;
  signal: AbortSignal;
  /** gets the output as it comes */
  onOutput?(text: string): void;
}

/** Resolves with stdout; rejects with the command and its last words. */
export function runChild(command: string, args: readonly string[], { cwd, signal, onOutput }: ChildOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const shown = [command, ...args].join(" ");
    if (signal.aborted) return reject(interrupted(shown, signal));
    const windows = process.platform === "win32";
    // Its own session: the programs it starts end with it, and none can ask for a password on our terminal. npm is a script on Windows, which only a shell can start.
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"], detached: !windows, shell: windows });
    let out = "";
    let tail = "";
    const listen = (text: string) => {
      tail = (tail + text).slice(-4000);
      onOutput?.(text);
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      listen(text);
    });
    child.stderr.setEncoding("utf8").on("data", listen);
    const stop = () => {
      try {
        if (child.pid !== undefined) process.kill(windows ? child.pid : -child.pid, "SIGKILL");
      } catch {
        // It has ended already.
      }
    };
    signal.addEventListener("abort", stop, { once: true });
    child.on("error", (error: NodeJS.ErrnoException) => {
      signal.removeEventListener("abort", stop);
      reject(error.code === "ENOENT" ? new Error(`${command} was not found; it is needed to install packages`) : error);
    });
    child.on("close", (code, killedBy) => {
      signal.removeEventListener("abort", stop);
      if (code === 0) resolve(out);
      else if (signal.aborted) reject(interrupted(shown, signal));
      else reject(new Error(`"${shown}" failed (${killedBy ?? `exit ${code}`})${lastLines(tail)}`));
    });
  });
}

function interrupted(shown: string, { reason }: AbortSignal): Error {
  return new Error(`"${shown}" ${(reason as Error | undefined)?.name === "TimeoutError" ? "took too long" : "was interrupted"}`);
}

function lastLines(text: string): string {
  const lines = text
    .trim()
    .split("\n")
    .filter((line) => line.trim() && !/complete log of this run|_logs/.test(line))
    .slice(-8);
  return lines.length > 0 ? `:\n${lines.join("\n")}` : "";
}
