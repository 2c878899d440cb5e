/** The text of --help, made from what the loaded plugins contribute. */
import type { CliCommand, Flag } from "../core/index.ts";

export interface HelpInput {
  name: string;
  flags: readonly Flag[];
  commands: readonly CliCommand[];
  modes: readonly string[];
}

export function renderHelp({ name, flags, commands, modes }: HelpInput): string {
  const lines = [
    `Usage: ${name} [options] [prompt…] [@file…]`,
    commands.length > 0 ? `       ${name} <command> [arguments]` : "",
    "",
    `  ${name} "List the files here"     answer and exit`,
    ...(modes.includes("chat") ? [`  ${name}                           chat on a terminal`] : []),
    ...(modes.includes("rpc") ? [`  ${name} --mode rpc                JSON lines over stdin and stdout`] : []),
    "",
  ];
  if (commands.length > 0) {
    lines.push("Commands");
    lines.push(...table(commands.map((command) => [command.usage ?? command.name, command.description])), "");
  }
  for (const [group, members] of grouped(flags.filter(({ hidden }) => !hidden))) {
    lines.push(group, ...table(members.map((flag) => [signature(flag), flag.description])), "");
  }
  return `${lines
    .filter((line, index) => line !== "" || lines[index - 1] !== "")
    .join("\n")
    .trimEnd()}\n`;
}

function signature({ name, alias, type, placeholder }: Flag): string {
  const value = type === "boolean" ? "" : ` ${placeholder ?? (type === "optional" ? "[value]" : "<value>")}`;
  return `${alias ? `-${alias}, ` : ""}--${name}${value}`;
}

function grouped(flags: readonly Flag[]): Map<string, Flag[]> {
  const groups = new Map<string, Flag[]>();
  for (const flag of flags) {
    const group = flag.group ?? "Other";
    groups.set(group, [...(groups.get(group) ?? []), flag]);
  }
  return groups;
}

function table(rows: [string, string][]): string[] {
  const width = Math.min(Math.max(...rows.map(([left]) => left.length)), 34);
  return rows.map(([left, right]) => (left.length > width ? `  ${left}\n  ${" ".repeat(width)}  ${right}` : `  ${left.padEnd(width)}  ${right}`));
}
