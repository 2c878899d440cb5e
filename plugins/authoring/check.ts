/** `ext check FILE…`: looks at extensions, each alone in a child process of this program, and says what is wrong with them. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Io, KernelError, type PluginKernel } from "../../core/index.ts";
import type { Branding } from "../settings/contract.ts";
import { expandPath } from "../shared/paths.ts";
import { childEnvironment } from "../shared/shell.ts";
import type { Line } from "./inspect.ts";
import { countOf, describeOwned, type Problem, type Report, renderReports } from "./report.ts";
import { checkTypes } from "./type-check.ts";

/** A factory has ten seconds, session_start handlers five, goodbyes three. */
const PATIENCE_MS = 60_000;

/** undefined: that is not how it is called. */
export async function runCheck(kernel: PluginKernel, args: string[], io: Io): Promise<number | undefined> {
  const settings = kernel.service("settings");
  const [verb, ...rest] = args;
  const flags = rest.filter((arg) => arg.startsWith("--"));
  const files = rest.filter((arg) => !arg.startsWith("--"));
  const unknown = flags.find((flag) => !["--json", "--strict", "--no-types"].includes(flag));
  if (unknown) throw new KernelError("E_USAGE", `Unknown option: ${unknown}`);
  if (verb !== "check" || files.length === 0) return undefined;

  const cwd = settings.cwd();
  const reports: Report[] = [];
  for (const file of files) reports.push(...(await inspectFile(expandPath(file, cwd, settings.home()), cwd, settings.branding)));
  if (!flags.includes("--no-types")) {
    for (const report of reports) {
      const { how, problems } = await checkTypes(report.path, cwd);
      if (how) report.types = how;
      report.problems.push(...problems);
    }
  }
  const errors = countOf(reports, "error");
  const isFine = errors === 0 && !(flags.includes("--strict") && countOf(reports, "warning") > 0);
  io.stdout.write(flags.includes("--json") ? `${JSON.stringify({ ok: isFine, extensions: reports }, null, 2)}\n` : renderReports(reports, cwd));
  return isFine ? 0 : 1;
}

/** The reports on a file, or on the extensions of a directory. */
async function inspectFile(path: string, cwd: string, branding: Branding): Promise<Report[]> {
  const agentDir = await mkdtemp(join(tmpdir(), "pi-check-"));
  try {
    const { lines, ending } = await runInspection(path, cwd, agentDir, branding);
    const reports = lines.flatMap((line) => ("report" in line ? [line.report] : []));
    for (const line of lines) {
      const report = "leftover" in line ? reports.find((other) => other.path === line.path) : undefined;
      if (!report || !("leftover" in line)) continue;
      report.leftover = line.leftover;
      report.problems.push(...line.problems, ...leftoverProblems(report));
    }
    if (reports.length === 0) reports.push(blank(path));
    const last = reports.at(-1) as Report;
    if (ending) last.problems.push({ level: "error", kind: "load", message: ending });
    return reports;
  } finally {
    await rm(agentDir, { recursive: true, force: true, maxRetries: 5 });
  }
}

function leftoverProblems({ leftover }: Report): Problem[] {
  if (leftover.timers + leftover.children === 0) return [];
  const message = `After session_shutdown it still has ${describeOwned(leftover)}; end them in a handler of session_shutdown.`;
  return [{ level: "warning", kind: "leftover", message }];
}

function blank(path: string): Report {
  const registers = { tools: [], commands: [], events: [], providers: [], flags: [] };
  return { path, registers, owns: { timers: 0, children: 0 }, leftover: { timers: 0, children: 0 }, problems: [] };
}

/** `ending` says what went wrong with the process itself. */
function runInspection(path: string, cwd: string, agentDir: string, branding: Branding): Promise<{ lines: Line[]; ending?: string }> {
  const program = process.argv[1] === process.execPath ? [] : process.argv.slice(1, 2);
  const env = { ...childEnvironment({ name: branding.name, prefix: branding.envPrefix }), [`${branding.envPrefix}_CODING_AGENT_DIR`]: agentDir };
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...program, "ext", "inspect", path], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    let out = "";
    let complaints = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      complaints = (complaints + text).slice(-2000);
    });
    child.on("error", reject);
    child.on("close", (status, signal) => {
      clearTimeout(timer);
      const lines = out.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Line]));
      const isWhole = status === 0 && lines.some((line) => "report" in line);
      const how = signal ? "did not end and was killed" : status === 0 ? "loaded no extension" : `ended with status ${status}`;
      resolve({ lines, ...(!isWhole && { ending: `The process that loaded it ${how}. ${complaints.trim()}`.trim() }) });
    });
  });
}
