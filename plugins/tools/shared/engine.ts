/** External search programs: where they are, and how their output is read line by line. */
import { childEnvironment, type EnvironmentOptions, findExecutable } from "../../shared/shell.ts";

/** The first of `names` in the agent's own directory of programs, or on PATH. */
export function findEngine(names: readonly string[], environment?: EnvironmentOptions): string | undefined {
  return findExecutable(names, childEnvironment(environment).PATH);
}

/** Whether a program complained about an option that it does not know yet. */
export function isTooOld(error: unknown): boolean {
  return error instanceof Error && /['"`]?--(no-require-git|no-ignore-parent|max-columns-preview|sort)\b/.test(error.message);
}

/** No line of ours is longer: engines are told to cut. */
const MAX_LINE_BYTES = 1024 * 1024;

/** Runs a program and hands over its lines until `take` answers false. Throws its complaint if it found nothing. */
export async function runEngine(
  program: string,
  args: readonly string[],
  cwd: string,
  signal: AbortSignal | undefined,
  take: (line: string) => boolean,
): Promise<void> {
  const { spawn } = await import("node:child_process");
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let rest = Buffer.alloc(0);
    let complaint = "";
    let lines = 0;
    let isDone = false;
    const onAbort = () => child.kill("SIGKILL");
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();

    const takeLine = (line: Buffer) => {
      if (isDone) return;
      lines++;
      if (take(line.toString("utf8"))) return;
      isDone = true;
      child.kill("SIGKILL");
    };
    child.stdout.on("data", (chunk: Buffer) => {
      let from = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
        takeLine(rest.length > 0 ? Buffer.concat([rest, chunk.subarray(from, at)]) : chunk.subarray(from, at));
        rest = Buffer.alloc(0);
        from = at + 1;
      }
      if (from < chunk.length && rest.length < MAX_LINE_BYTES) rest = Buffer.concat([rest, chunk.subarray(from)]);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      if (complaint.length < 4000) complaint += chunk.toString("utf8");
    });
    child.once("error", reject);
    child.once("close", (code) => {
      signal?.removeEventListener("abort", onAbort);
      if (signal?.aborted) return reject(new Error("Operation aborted"));
      if (rest.length > 0) takeLine(rest);
      if (!isDone && code !== 0 && lines === 0 && complaint.trim()) return reject(new Error(complaint.trim()));
      resolve();
    });
  });
}
