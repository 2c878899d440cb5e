/** The `pi` object of a package.json: which files of a directory are resources. */
import { join } from "node:path";
import { readTextFile } from "../shared/text-file.ts";
import type { ResourceKind } from "./contract.ts";

export type Manifest = Partial<Record<ResourceKind, string[]>>;

/** undefined: no manifest. Anything malformed counts as absent. */
export function readManifest(dir: string): Manifest | undefined {
  let value: unknown;
  try {
    value = JSON.parse(readTextFile(join(dir, "package.json")));
  } catch {
    return undefined;
  }
  const pi = (value as { pi?: unknown } | null)?.pi;
  if (typeof pi !== "object" || pi === null || Array.isArray(pi)) return undefined;
  const lists = Object.entries(pi).filter(([, list]) => Array.isArray(list) && list.every((item) => typeof item === "string"));
  return Object.fromEntries(lists) as Manifest;
}
