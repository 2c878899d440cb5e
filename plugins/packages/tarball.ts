/** A package in a file, as `npm pack` makes it: `./x.tgz` means `npm:NAME@file:/path/x.tgz`. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { KernelError, messageOf } from "../../core/index.ts";

const BLOCK = 512;

export const isTarball = (path: string): boolean => /\.(tgz|tar\.gz)$/i.test(path);

/** The source by which the package in this file is known from now on. */
export async function tarballSource(path: string): Promise<string> {
  if (!existsSync(path)) throw new KernelError("E_REFUSED", `${path} does not exist.`);
  return `npm:${await nameIn(path)}@file:${path}`;
}

async function nameIn(path: string): Promise<string> {
  const { gunzip } = await import("node:zlib");
  let name: unknown;
  try {
    name = JSON.parse(manifestIn(await promisify(gunzip)(await readFile(path)))).name;
  } catch (error) {
    throw new KernelError("E_REFUSED", `${path} is no package: ${messageOf(error)}`);
  }
  if (typeof name === "string" && name !== "") return name;
  throw new KernelError("E_REFUSED", `${path} is no package: its package.json has no name`);
}

/** The package.json of the one directory in there. */
function manifestIn(archive: Buffer): string {
  const field = (at: number, length: number) => archive.toString("utf8", at, at + length).split("\0", 1)[0] as string;
  for (let at = 0; at + BLOCK <= archive.length; ) {
    const name = field(at, 100);
    // A damaged one may be below nothing, and would lead back here.
    const size = Math.max(0, Number.parseInt(field(at + 124, 12), 8) || 0);
    if (/^(\.\/)?[^/]+\/package\.json$/.test(name)) return field(at + BLOCK, size).replace(/^\uFEFF/, "");
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  throw new Error("there is no package.json in it");
}
