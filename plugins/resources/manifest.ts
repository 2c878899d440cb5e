/** The `pi` object of a package.json: which files of a directory are resources. */
import { join } from "node:path";
import { messageOf } from "../../core/index.ts";
import type { Complain } from "../shared/complaints.ts";
import { parseJson } from "../shared/hand-written-json.ts";
import { readTextFile } from "../shared/text-file.ts";
import type { ResourceKind } from "./contract.ts";

export type Manifest = Partial<Record<ResourceKind, string[]>>;

/** undefined: no manifest. Anything malformed counts as absent. */
export function readManifest(dir: string, complain: Complain = () => {}): Manifest | undefined {
  const path = join(dir, "package.json");
  const value = readJson(path, complain);
  const pi = (value as { pi?: unknown } | null | undefined)?.pi;
  if (pi === undefined) return undefined;
  if (typeof pi !== "object" || pi === null || Array.isArray(pi)) {
    complain(`${path}: "pi" must be an object; it is ignored`);
    return undefined;
  }
  const isList = (list: unknown) => Array.isArray(list) && list.every((item) => typeof item === "string");
  const entries = Object.entries(pi);
  for (const kind of ["extensions", "skills", "prompts"]) {
    if (entries.some(([name, list]) => name === kind && !isList(list))) complain(`${path}: "pi.${kind}" must be a list of strings; it is ignored`);
  }
  return Object.fromEntries(entries.filter(([, list]) => isList(list))) as Manifest;
}

function readJson(path: string, complain: Complain): unknown {
  try {
    return parseJson(readTextFile(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") complain(`${path} is ignored: ${messageOf(error)}`);
    return undefined;
  }
}
