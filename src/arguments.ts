/** The command line in words the kernel understands: flags of the loaded plugins, prompts, files. */
import { type Flag, KernelError, type Options } from "../core/index.ts";

export interface ParsedArguments {
  options: Options;
  /** flags in the order they were given, for those that act */
  given: string[];
}

/** Parses `argv` against the flags that plugins contributed. Unknown long options are kept for extensions. */
export function parseArguments(argv: readonly string[], flags: readonly Flag[]): ParsedArguments {
  const byName = new Map(flags.map((flag) => [flag.name, flag]));
  const byAlias = new Map(flags.flatMap((flag) => (flag.alias ? [[flag.alias, flag] as const] : [])));
  const prompts: string[] = [];
  const files: string[] = [];
  const unknownFlags = new Map<string, string | true>();
  const options: Options = { prompts, files, unknownFlags };
  const given: string[] = [];
  const rest = [...argv];

  const take = (flag: Flag, inline: string | undefined, shown: string) => {
    if (flag.type === "boolean" && !isOn(inline, shown)) {
      options[flag.name] = false;
      return;
    }
    given.push(flag.name);
    if (flag.type === "boolean") options[flag.name] = true;
    else if (flag.type === "optional") options[flag.name] = inline ?? (isValue(rest[0]) ? rest.shift() : true);
    else {
      const value = inline ?? rest.shift();
      if (value === undefined) throw new KernelError("E_USAGE", `Option ${shown} needs a value${flag.placeholder ? `: ${shown} ${flag.placeholder}` : ""}.`);
      options[flag.name] = flag.type === "strings" ? [...((options[flag.name] as string[] | undefined) ?? []), value] : value;
    }
  };

  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "--") {
      prompts.push(...rest.splice(0));
    } else if (word.startsWith("--")) {
      const [name = "", inline] = splitOnce(word.slice(2));
      const flag = byName.get(name);
      if (flag) take(flag, inline, `--${name}`);
      else unknownFlags.set(name, inline ?? (isValue(rest[0]) ? (rest.shift() as string) : true));
    } else if (word.startsWith("-") && word !== "-") {
      const [alias = "", inline] = splitOnce(word.slice(1));
      const flag = byAlias.get(alias);
      if (!flag) throw new KernelError("E_USAGE", `Unknown option: -${alias}. Try --help.`);
      take(flag, inline, `-${alias}`);
    } else if (word.startsWith("@") && word.length > 1) files.push(word.slice(1));
    else prompts.push(word);
  }
  return { options, given };
}

function isOn(inline: string | undefined, shown: string): boolean {
  if (inline === undefined || inline === "true") return true;
  if (inline === "false") return false;
  throw new KernelError("E_USAGE", `Option ${shown} takes no value.`);
}

const isValue = (word: string | undefined): word is string => word !== undefined && !word.startsWith("-") && !word.startsWith("@");

function splitOnce(word: string): [string, string | undefined] {
  const at = word.indexOf("=");
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}
