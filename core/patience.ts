/** Waiting for plugins, but not for ever once the run is aborted. */

/** How long an aborted run still waits for a handler. */
export const GRACE_MS = 200;

/** What `patiently` answers for work that was passed over. */
export const passedOver = Symbol("passed over");

/** The value of `work`, or `passedOver` if `signal` is aborted and the grace is over. Never leaks a listener. */
export function patiently<T>(work: Promise<T>, signal: AbortSignal, graceMs = GRACE_MS): Promise<T | typeof passedOver> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const hurry = () => {
      timer = setTimeout(() => finish(() => resolve(passedOver)), graceMs);
    };
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", hurry);
      settle();
    };
    if (signal.aborted) hurry();
    else signal.addEventListener("abort", hurry, { once: true });
    work.then(
      (value) => finish(() => resolve(value)),
      (error) => finish(() => reject(error)),
    );
  });
}
