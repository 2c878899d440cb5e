/** Warnings about files: each is said once, however often the file is read again. */
import type { PluginKernel } from "../../core/index.ts";

export type Complain = (problem: string) => void;

export function complainer(kernel: PluginKernel, during: string): Complain {
  const said = new Set<string>();
  return (problem) => {
    if (said.has(problem)) return;
    said.add(problem);
    kernel.fault({ during, error: new Error(problem) });
  };
}
