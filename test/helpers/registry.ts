/** Whether packages can be installed; asked once per test run. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

let answer: Promise<boolean> | undefined;

export function isRegistryReachable(): Promise<boolean> {
  answer ??= promisify(execFile)("npm", ["view", "tapable", "version"], { timeout: 60_000 }).then(
    () => true,
    () => false,
  );
  return answer;
}
