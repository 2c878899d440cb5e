/** `create extension NAME`: a working start for an extension, as one file or as a package. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Io, KernelError, type PluginKernel } from "../../core/index.ts";
import type {} from "../settings/contract.ts";
import { extensionSource, packageFiles } from "./templates.ts";

/** undefined: that is not how it is called. */
export async function runCreate(kernel: PluginKernel, args: string[], io: Io): Promise<number | undefined> {
  const settings = kernel.service("settings");
  const { name: program, version } = settings.branding;
  const isPackage = args.includes("--package");
  const [kind, name, ...more] = args.filter((arg) => arg !== "--package");
  if (kind !== "extension" || name === undefined || more.length > 0) return undefined;
  if (!/^[a-z][a-z0-9-]*$/.test(name)) {
    throw new KernelError("E_USAGE", `"${name}" is no name for an extension: use lower-case letters, digits and hyphens, a letter first.`);
  }
  const files = isPackage ? prefixed(name, packageFiles(name, program, version)) : { [`${name}.ts`]: extensionSource(name) };
  if (isPackage) await claim(join(settings.cwd(), name), name);
  for (const [path, content] of Object.entries(files)) await writeNew(join(settings.cwd(), path), path, content);
  const next = isPackage
    ? [`cd ${name} && npm install`, "npm test", `${program} dev .`]
    : [`${program} ext check ${name}.ts`, `${program} dev ${name}.ts`, `${program} --extension ./${name}.ts`];
  io.stdout.write(`Created ${Object.keys(files).join(", ")}\n\nNext:\n${next.map((line) => `  ${line}\n`).join("")}`);
  return 0;
}

const prefixed = (directory: string, files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([path, content]) => [`${directory}/${path}`, content]));

/** Makes the directory, which must not be there. */
async function claim(directory: string, shown: string): Promise<void> {
  await mkdir(directory).catch((error) => refuse(error, shown));
}

async function writeNew(file: string, shown: string, content: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content, { flag: "wx" }).catch((error) => refuse(error, shown));
}

function refuse(error: NodeJS.ErrnoException, shown: string): never {
  if (error.code === "EEXIST") throw new KernelError("E_REFUSED", `${shown} exists already and is left as it is.`);
  throw error;
}
