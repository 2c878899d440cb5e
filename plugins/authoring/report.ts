/** What `ext check` finds out about one extension, and how it tells it. */
import { relative } from "node:path";

export interface Problem {
  /** warnings fail a check only with --strict */
  level: "error" | "warning";
  kind: "load" | "import" | "event" | "schema" | "conflict" | "handler" | "leftover" | "type";
  message: string;
}

export interface Registered {
  tools: string[];
  commands: string[];
  events: string[];
  providers: string[];
  flags: string[];
}

/** Timers and child processes that an extension has not ended itself. */
export interface Owned {
  timers: number;
  children: number;
}

export interface Report {
  path: string;
  registers: Registered;
  /** while the session is open */
  owns: Owned;
  /** after session_shutdown */
  leftover: Owned;
  /** how types were checked; absent: they were not */
  types?: string;
  problems: Problem[];
}

export const countOf = (reports: readonly Report[], level: Problem["level"]) =>
  reports.reduce((count, { problems }) => count + problems.filter((problem) => problem.level === level).length, 0);

export function renderReports(reports: readonly Report[], cwd: string): string {
  const blocks = reports.map((report) => {
    const path = relative(cwd, report.path);
    return [
      path.startsWith("..") ? report.path : path,
      `  registers  ${describe(report.registers)}`,
      ...(report.owns.timers + report.owns.children > 0 ? [`  owns       ${describeOwned(report.owns)} while a session is open`] : []),
      `  types      ${report.types ?? "not checked: TypeScript, or the types of the API, are not installed here"}`,
      ...report.problems.map(({ level, message }) => `  ${level === "error" ? "error" : "warn "}      ${message.replace(/\n/g, "\n             ")}`),
    ].join("\n");
  });
  const errors = countOf(reports, "error");
  const warnings = countOf(reports, "warning");
  const verdict = errors + warnings === 0 ? "Nothing to complain about." : `${counted(errors, "error")}, ${counted(warnings, "warning")}.`;
  return `${blocks.join("\n\n")}\n\n${verdict}\n`;
}

/** e.g. "command /hello, tool greet, handlers of tool_call" */
export function describe({ tools, commands, events, providers, flags }: Registered): string {
  const parts = [
    ...listed("command", commands, "/"),
    ...listed("tool", tools),
    ...listed("flag", flags, "--"),
    ...listed("provider", providers),
    ...(events.length > 0 ? [`handlers of ${events.join(", ")}`] : []),
  ];
  return parts.length > 0 ? parts.join("; ") : "nothing";
}

export function describeOwned({ timers, children }: Owned): string {
  return [...(timers > 0 ? [counted(timers, "timer")] : []), ...(children > 0 ? [counted(children, "child process", "child processes")] : [])].join(" and ");
}

const listed = (kind: string, names: readonly string[], sign = "") =>
  names.length === 0 ? [] : [`${kind}${names.length > 1 ? "s" : ""} ${names.map((name) => sign + name).join(", ")}`];

const counted = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;
