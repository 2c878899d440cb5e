/** Starts `pi` with everything, or with another distribution. */
import { KernelError } from "../core/index.ts";
import { branding } from "./branding.ts";
import { main } from "./cli.ts";
import type { Program } from "./distribution.ts";
import pi from "./distributions/pi.ts";

void main(async (argv, cwd, guard): Promise<Program> => {
  const at = argv.findIndex((word) => word === "--distribution" || word.startsWith("--distribution="));
  if (at < 0) return { branding, plugins: pi, extensions: [] };
  const [word = ""] = argv.splice(at, 1);
  const file = word.includes("=") ? word.slice(word.indexOf("=") + 1) : argv.splice(at, 1)[0];
  if (!file) throw new KernelError("E_USAGE", "Option --distribution needs a value: --distribution <file>.");
  guard.guardChildren();
  const { loadDistribution } = await import("./load-distribution.ts");
  return loadDistribution(file, cwd);
});
