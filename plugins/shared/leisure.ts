/** Work that nobody waits for, such as watchers: done when the start is over and the process has little else to do. */
import type { PluginKernel } from "../../core/index.ts";

/** The first answers are out after two of these. */
const LOOK_MS = 100;
/** CPU of the process in that time, past which it is busy: somebody waits for what it does. */
const BUSY_MICROS = 50_000;
/** Then it is done all the same. */
const LONGEST_MS = 2000;

export function atLeisure(kernel: PluginKernel, work: () => unknown): void {
  let used: number | undefined;
  let left = LONGEST_MS / LOOK_MS;
  const look = () => {
    const before = used;
    used = cpuOf(process.cpuUsage());
    const isBusy = before === undefined || used - before > BUSY_MICROS;
    if (isBusy && --left > 0) timer.refresh();
    else work();
  };
  const timer = setTimeout(look, LOOK_MS);
  timer.unref();
  kernel.defer(() => clearTimeout(timer));
}

const cpuOf = ({ user, system }: NodeJS.CpuUsage) => user + system;
