/** trust.json: remembered answers by real path of a directory. */
import { readFileSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "../../core/index.ts";
import { parseJson } from "../shared/hand-written-json.ts";
import { replaceFile, withFileLock } from "../shared/locked-file.ts";

type Decisions = Record<string, boolean | null>;

/** The nearest remembered answer for a directory or one above it. Throws if the file is malformed. */
export function rememberedTrust(file: string, cwd: string): boolean | undefined {
  const decisions = read(file);
  for (let dir = realPath(cwd); ; dir = dirname(dir)) {
    const answer = Object.hasOwn(decisions, dir) ? decisions[dir] : undefined;
    if (typeof answer === "boolean") return answer;
    if (dir === dirname(dir)) return undefined;
  }
}

export function rememberTrust(file: string, cwd: string, trusted: boolean): Promise<void> {
  return withFileLock(file, async () => {
    const decisions = { ...read(file), [realPath(cwd)]: trusted };
    const sorted = Object.fromEntries(Object.entries(decisions).sort(([a], [b]) => (a < b ? -1 : 1)));
    await replaceFile(file, `${JSON.stringify(sorted, null, 2)}\n`);
  });
}

function read(file: string): Decisions {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  let value: unknown;
  try {
    value = parseJson(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`);
  }
  if (!areDecisions(value)) throw new Error(`${file} must hold one object of paths with true or false`);
  return value;
}

function areDecisions(value: unknown): value is Decisions {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((answer) => answer === null || typeof answer === "boolean");
}

export function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
