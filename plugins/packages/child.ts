/** Runs npm and git: their output never reaches stdout, and nothing they started outlives them. */
import { spawn } from "node:child_process";

export interface ChildOptions {
  cwd: string;
  signal: AbortSignal;
  /** what errors call it: the whole line would be long, and may hold a password */
  label: string;
  /** gets the output as it comes */
  onOutput?(text: string): void;
}

/** Resolves with stdout; rejects with the command and its last words. */
export function runChild(command: string, args: readonly string[], { cwd, signal, label, onOutput }: ChildOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(interrupted(label, signal));
    const windows = process.platform === "win32";
    // Its own session: the programs it starts end with it, and none can ask for a password on our terminal. npm is a script on Windows, which only a shell can start.
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"], detached: !windows, shell: windows });
    let out = "";
    let tail = "";
    const listen = (text: string) => {
      tail = (tail + text).slice(-20_000);
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
      else if (signal.aborted) reject(interrupted(label, signal));
      else reject(new Error(`"${label}" failed (${killedBy ?? `exit ${code}`})${onOutput ? "" : summary(tail)}`));
    });
  });
}

function interrupted(label: string, { reason }: AbortSignal): Error {
  return new Error(`"${label}" ${(reason as Error | undefined)?.name === "TimeoutError" ? "took too long" : "was interrupted"}`);
}

/** npm says first what is wrong, git last. */
function summary(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() && !/^(npm error)? +at |_logs/.test(line));
  const npm = lines.filter((line) => line.startsWith("npm error"));
  const said = npm.length > 0 ? npm.slice(0, 6) : lines.slice(-6);
  return said.length > 0 ? `:\n${said.join("\n")}` : "";
}
