/** One settings file: reading it with patience for old spellings and mistakes, and changing one key of it. */
import { messageOf } from "../../core/index.ts";
import { parseJson } from "../shared/hand-written-json.ts";
import { replaceFile, withFileLock } from "../shared/locked-file.ts";
import { readTextFile } from "../shared/text-file.ts";
import { builtinDefaults, shapes } from "./known-keys.ts";
import { isTree, lookup, type Tree, withKey } from "./layers.ts";

export interface SettingsFile {
  /** with today's spellings and without wrong values */
  values: Tree;
  /** sentences for stderr */
  problems: string[];
  /** why it cannot be read at all */
  broken?: string;
}

/** Reads a file; whatever is wrong with it becomes a sentence and never an exception. */
export function readSettingsFile(path: string): SettingsFile {
  try {
    const raw = parse(path);
    return raw ? judged(path, modernized(raw)) : { values: {}, problems: [] };
  } catch (error) {
    const broken = `${path} is ignored: ${messageOf(error)}`;
    return { values: {}, problems: [broken], broken };
  }
}

/** Sets one key (undefined takes it away) and leaves the rest of the file as it is. A file that cannot be parsed is not touched. */
export function writeSettingsKey(path: string, key: string, change: (value: unknown) => unknown): Promise<void> {
  return withFileLock(path, async () => {
    let raw: Tree;
    try {
      raw = parse(path) ?? {};
    } catch (error) {
      throw new Error(`${path} is not changed: ${messageOf(error)}`);
    }
    const changed = withKey(raw, key, change(lookup(modernized(raw), key)));
    await replaceFile(path, `${JSON.stringify(changed, null, 2)}\n`);
  });
}

/** undefined if there is no file */
function parse(path: string): Tree | undefined {
  let text: string;
  try {
    text = readTextFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || (error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw error;
  }
  const value = parseJson(text);
  if (!isTree(value)) throw new Error("it does not hold a JSON object");
  return value;
}

/** Spellings of earlier versions, where the present one is absent. */
function modernized(raw: Tree): Tree {
  let tree = raw;
  const rename = (old: string, current: string, convert = (value: unknown): unknown => value) => {
    const value = lookup(tree, old);
    if (value === undefined) return;
    tree = withKey(tree, old, undefined);
    if (lookup(tree, current) === undefined) tree = withKey(tree, current, convert(value));
  };
  rename("queueMode", "steeringMode");
  rename("websockets", "transport", (wanted) => (wanted ? "websocket" : "sse"));
  rename("retry.maxDelayMs", "retry.provider.maxRetryDelayMs");
  if (isTree(tree.skills)) {
    const { customDirectories = [], enableSkillCommands } = tree.skills;
    tree = { ...tree, skills: customDirectories };
    if (enableSkillCommands !== undefined && tree.enableSkillCommands === undefined) tree = { ...tree, enableSkillCommands };
  }
  return tree;
}

/** Takes out what has the wrong shape, so that the layers below show through. */
function judged(path: string, tree: Tree): SettingsFile {
  const problems: string[] = [];
  let values = tree;
  for (const [key, shape] of shapes) {
    const value = lookup(values, key);
    if (value === undefined || shape.fits(value)) continue;
    values = withKey(values, key, undefined);
    const fallback = builtinDefaults[key];
    const instead = fallback === undefined ? "it is ignored" : `${JSON.stringify(fallback)} is used`;
    problems.push(`${path}: "${key}" must be ${shape.expected}, not ${shown(value)}; ${instead}.`);
  }
  return { values, problems };
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
