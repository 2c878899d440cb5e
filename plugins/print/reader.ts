/** Notices that nobody is left to take the answer: the program that started this one was killed, and its end of stdout with it. */
import { closeSync, constants, openSync } from "node:fs";

const LOOK_EVERY_MS = 1000;

/** Calls `onGone` once the parent is dead and stdout has no reader. A file or another reader keeps the work going. Answers how to stop looking. */
export function watchReader(onGone: () => void): () => void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent || hasReader()) return;
    clearInterval(timer);
    onGone();
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Opening a pipe to write into it, without waiting, fails when it has no reader. A socket cannot be opened at all: its other end was the parent's. */
function hasReader(): boolean {
  try {
    closeSync(openSync("/proc/self/fd/1", constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ENXIO";
  }
}
