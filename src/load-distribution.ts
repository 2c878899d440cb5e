/** Reads a distribution file; `pi-kernel/*` in it is the running program. */
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { createJiti } from "jiti";
import * as typebox from "typebox";
import { KernelError, messageOf } from "../core/index.ts";
import { compile } from "../plugins/shared/compiler.ts";
import { locateExtension } from "./distributed-extensions.ts";
import * as distribution from "./distribution.ts";
import ci from "./distributions/ci.ts";
import minimal from "./distributions/minimal.ts";
import pi from "./distributions/pi.ts";
import * as sdk from "./index.ts";
import { packageRoot } from "./package-root.ts";
import * as plugin from "./plugin.ts";

export async function loadDistribution(file: string, cwd: string): Promise<distribution.Program> {
  const path = resolve(cwd, file);
  if (!existsSync(path)) throw new KernelError("E_USAGE", `The distribution file ${file} does not exist.`);
  const jiti = createJiti(pathToFileURL(path).href, {
    fsCache: false,
    moduleCache: false,
    interopDefault: false,
    transform: (input) => compile(input as never),
    virtualModules: {
      "pi-kernel": sdk,
      "pi-kernel/plugin": plugin,
      "pi-kernel/distribution": distribution,
      "pi-kernel/distributions/pi": { default: pi },
      "pi-kernel/distributions/minimal": { default: minimal },
      "pi-kernel/distributions/ci": { default: ci },
      typebox,
    },
  });
  let module: { default?: unknown };
  try {
    module = (await jiti.import(path)) as { default?: unknown };
  } catch (error) {
    if (error instanceof KernelError) throw error;
    const place = placeIn(dirname(path), error);
    throw new KernelError("E_USAGE", `The distribution file ${file} cannot be used: ${messageOf(error).split("\n", 1)[0]?.trim()}${place && ` (${place})`}`, {
      cause: error,
    });
  }
  const program = distribution.programOf(module.default, file);
  const located = (extension: string) => {
    const { own, builtin } = locateExtension(extension, dirname(path), packageRoot());
    return own ?? `builtin:${builtin}`;
  };
  return { ...program, extensions: program.extensions.map((extension) => (typeof extension === "string" ? located(extension) : extension)) };
}

/** The line of the team's own files that an error names first, in its text or its stack. The directory's name may hold spaces. */
function placeIn(directory: string, error: unknown): string {
  const { stack = "" } = error as { stack?: string };
  for (const line of `${messageOf(error)}\n${stack}`.split("\n")) {
    const at = line.indexOf(directory);
    const [place] = /^[^()]*?:\d+:\d+/.exec(line.slice(at + directory.length)) ?? [];
    if (at >= 0 && place) return directory + place;
  }
  return "";
}
