/** The program: flags to a distribution and its options, a transport, an exit status. The only process.exit. */
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { defineCommand, runCommand } from "citty";
import { type CliCommand, Kernel, KernelError, messageOf, type Options } from "../core/index.ts";
import type {} from "../plugins/print/contract.ts";
import { guardProcess, type ProcessGuard } from "../plugins/process/index.ts";
import type { Branding } from "../plugins/settings/contract.ts";
import { refuseUnknownOptions } from "../plugins/shared/unknown-options.ts";
import { parseArguments } from "./arguments.ts";
import { branding as ours } from "./branding.ts";
import type { Program } from "./distribution.ts";
import { renderHelp } from "./help.ts";
import { programPlugin } from "./program.ts";

/** Closing takes at most this long; then the process ends regardless. */
const CLOSING_MS = 5000;
/** A reader that took nothing for this long has stopped reading. */
const STALLED_MS = 2000;

/** Finds out what to run; it may take words out of the command line. */
export type ChooseProgram = (argv: string[], cwd: string, guard: ProcessGuard) => Program | Promise<Program>;

/** Runs the program and ends the process. */
export async function main(choose: ChooseProgram, argv = process.argv.slice(2)): Promise<void> {
  const guard = guardProcess((status) => process.exit(status));
  const kernel = new Kernel();
  let { envPrefix } = ours;
  const complain = (error: unknown) => {
    const debug = process.env[`${envPrefix}_DEBUG`] === "1";
    const text = debug && error instanceof Error ? error.stack : `Error: ${messageOf(error)}`;
    guard.io.stderr.write(`${text}\n`);
  };
  // The first status counts: closing makes the transport end too, with one of its own. But what fails then is no success.
  let ending: Promise<never> | undefined;
  let hasFailed = false;
  const finish = (status: number) => {
    ending ??= end(kernel, guard, () => status || Number(hasFailed));
    return ending;
  };
  guard.onFatal((error) => {
    complain(error);
    hasFailed = true;
    void finish(1);
  });
  let status: number;
  try {
    const program = await choose(argv, workingDirectory(), guard);
    envPrefix = program.branding.envPrefix;
    status = await Promise.race([run(kernel, guard, program, argv), guard.ended]);
  } catch (error) {
    complain(error);
    status = 1;
  }
  await finish(status);
}

async function run(kernel: Kernel, guard: ProcessGuard, program: Program, argv: string[]): Promise<number> {
  const { branding } = program;
  process.env.AI_AGENT ??= branding.name;
  process.env[`${branding.envPrefix}_CODING_AGENT`] ??= "true";
  await kernel.useAll([guard.plugin, programPlugin(branding), program.plugins]);

  const [word = "", ...rest] = argv;
  const command = kernel.registry("cliCommands").get(word);
  const expanded = asksForHelp(rest) ? undefined : await command?.expand?.(rest);
  if (command && !expanded) return runCliCommand(kernel, guard, branding, command, rest);

  const flags = kernel.registry("flags").all();
  const { options, given } = parseArguments(expanded ?? argv, flags);
  if (options.help) return print(guard, help(kernel, branding));
  if (options.version) return print(guard, `${branding.version}\n`);

  const mode = modeOf(options, guard);
  const transports = kernel.registry("transports");
  const transport = transports.get(mode);
  if (!transport) {
    const names = transports.all().map(({ name }) => name);
    throw new KernelError("E_USAGE", `Unknown mode "${mode}" (expected ${names.join(", ")}).`);
  }
  const contestants = transports.contestants(mode);
  if (contestants.length > 0) throw new KernelError("E_USAGE", `${contestants.join(" and ")} both want to serve the mode "${mode}"; leave one of them out.`);
  if (!kernel.plugins().includes("extensions")) refuseUnknownOptions(options.unknownFlags?.keys() ?? [], kernel.registry("flags").all());

  const files = program.extensions.filter((extension) => typeof extension === "string");
  const extensionFactories = program.extensions.filter((extension) => typeof extension !== "string");
  const extension = [...((options.extension as string[] | undefined) ?? []), ...files];
  await kernel.start({ cwd: process.cwd(), ...options, mode, branding, extension, extensionFactories });
  const acting = given.map((name) => kernel.registry("flags").get(name)).find((flag) => flag?.action);
  if (acting?.action) return acting.action(options[acting.name], guard.io);
  return transport.serve(guard.io);
}

async function runCliCommand(kernel: Kernel, guard: ProcessGuard, branding: Branding, command: CliCommand, rawArgs: string[]): Promise<number> {
  if (asksForHelp(rawArgs)) {
    return print(guard, `Usage: ${branding.name} ${command.usage ?? command.name}\n\n${command.description}\n`);
  }
  kernel.options = { cwd: process.cwd(), mode: "text", branding };
  const { result } = await runCommand(
    defineCommand({ meta: { name: command.name, description: command.description }, run: (context) => command.run(context.rawArgs, guard.io) }),
    { rawArgs },
  );
  return typeof result === "number" ? result : 0;
}

function workingDirectory(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new KernelError("E_USAGE", "The working directory does not exist any more.", { cause: error });
  }
}

const asksForHelp = (args: readonly string[]) => args.includes("--help") || args.includes("-h");

/** A mode that was asked for, else a chat on a terminal, else one answer. */
function modeOf(options: Options, { io }: ProcessGuard): string {
  if (options.mode !== undefined) return options.mode;
  const hasPrompt = (options.prompts?.length ?? 0) + (options.files?.length ?? 0) > 0;
  return options.print || hasPrompt || !io.stdin.isTTY || !io.stdout.isTTY ? "text" : "chat";
}

function help(kernel: Kernel, { name }: Branding): string {
  return renderHelp({
    name,
    flags: kernel.registry("flags").all(),
    commands: kernel.registry("cliCommands").all(),
    modes: kernel
      .registry("transports")
      .all()
      .map((transport) => transport.name),
  });
}

function print({ io }: ProcessGuard, text: string): number {
  io.stdout.write(text);
  return 0;
}

/** Ends in order and within its time; then writes what is left, as long as somebody reads it. Nothing keeps the process: it has no one left to serve. */
async function end(kernel: Kernel, { io }: ProcessGuard, status: () => number): Promise<never> {
  try {
    const closed = close(kernel).catch((error) => io.stderr.write(`Error while closing: ${messageOf(error)}\n`));
    await Promise.race([closed, sleep(CLOSING_MS)]);
    await drained(io.stdout as Writable);
  } finally {
    process.exit(status());
  }
}

async function close(kernel: Kernel): Promise<void> {
  await kernel.stop("quit");
  await kernel.removeAll();
}

/** Resolves when the stream is empty, or has not moved for a while: its reader has stopped. */
async function drained(stream: Writable): Promise<void> {
  const empty = new Promise<void>((resolve) => stream.write("", () => resolve()));
  const isEmpty = empty.then(() => true);
  for (let left = -1; left !== stream.writableLength; ) {
    left = stream.writableLength;
    if (await Promise.race([isEmpty, sleep(STALLED_MS, false)])) return;
  }
}
