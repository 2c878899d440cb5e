/** Takes stdin and stdout for frames: whatever else would write there goes to stderr, and children read nothing of what is meant for us. */
import fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import type { Io } from "../../core/index.ts";
import { directOutput, takeInput } from "./pipes.ts";

type AnyFunction = (...args: any[]) => any;

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

/** Functions of `fs` that take a descriptor first. */
const writers = ["write", "writeSync", "writev", "writevSync", "writeFile", "writeFileSync", "appendFile", "appendFileSync"] as const;
/** Other names of descriptor 1. */
const stdoutPaths: ReadonlySet<unknown> = new Set(["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]);
/** Functions of `child_process` whose last object argument may say `stdio`. */
const synchronousSpawners = ["spawnSync", "execFileSync", "execSync"] as const;

/** Diverts stdout and answers the process's real streams; the second answer puts everything back. */
export function takeStdout(): { io: Io; guardChildren: () => void; giveBack: () => void } {
  const input = takeInput();
  // Touched before fs is patched: for a file, the stream keeps the original writeSync.
  const { stdout } = process;
  const writeNow = directOutput(stdout);
  const io: Io = {
    stdout,
    get stdin() {
      return input.stdin;
    },
    get stderr() {
      return process.stderr;
    },
    readBytes: (onBytes) => input.read(onBytes),
    ...(writeNow && { writeNow }),
  };
  const undo = [() => input.giveBack(), forgiveStderr(), divertProcess(), divertDescriptor()];
  let hasChildren = false;
  return {
    io,
    guardChildren: () => {
      if (hasChildren) return;
      hasChildren = true;
      undo.push(divertChildren());
      // What foreign code imports as an ES module is a copy, also of what was diverted before.
      syncBuiltinESMExports();
    },
    giveBack: () => {
      for (const back of undo.reverse()) back();
      if (hasChildren) syncBuiltinESMExports();
    },
  };
}

/** Where stderr takes nothing, as nobody reads it or its disk is full, a message is lost and nothing else: telling of that would fail in the same way, for ever. */
function forgiveStderr(): () => void {
  const original = Object.getOwnPropertyDescriptor(process, "stderr") as PropertyDescriptor;
  const forgive = () => {};
  let opened: NodeJS.WriteStream | undefined;
  const stderr = () => {
    opened ??= (original.get as () => NodeJS.WriteStream).call(process).on("error", forgive);
    return opened;
  };
  Object.defineProperty(process, "stderr", { configurable: true, enumerable: true, get: stderr });
  return () => {
    opened?.off("error", forgive);
    Object.defineProperty(process, "stderr", original);
  };
}

function divertProcess(): () => void {
  const original = Object.getOwnPropertyDescriptor(process, "stdout");
  Object.defineProperty(process, "stdout", { configurable: true, enumerable: true, get: () => process.stderr });
  return () => {
    if (original) Object.defineProperty(process, "stdout", original);
  };
}

/** Direct writes to descriptor 1, or to the file that stands for it. */
function divertDescriptor(): () => void {
  const table = fs as unknown as Record<string, AnyFunction>;
  return patch(
    table,
    writers,
    (original) =>
      (target, ...rest) =>
        original(target === STDOUT || stdoutPaths.has(target) ? STDERR : target, ...rest),
  );
}

/** Children with inherited stdio write to our stdout otherwise, and take commands from our stdin. */
function divertChildren(): () => void {
  // A terminal is for people, and whoever they call.
  const stdin = fs.fstatSync(STDIN).isCharacterDevice() ? "inherit" : "ignore";
  // Through require: ES module namespaces cannot be patched, the module behind them can.
  const children = createRequire(import.meta.url)("node:child_process");
  const asynchronous = patch(
    children.ChildProcess.prototype,
    ["spawn"],
    (original) =>
      function spawn(this: unknown, options: { stdio?: unknown }, ...rest: unknown[]) {
        return original.call(this, { ...options, stdio: diverted(options.stdio, stdin) }, ...rest);
      },
  );
  const synchronous = patch(
    children,
    synchronousSpawners,
    (original) =>
      (...args) =>
        original(...args.map((argument) => divertedOptions(argument, stdin))),
  );
  return () => {
    asynchronous();
    synchronous();
  };
}

type Stdin = "inherit" | "ignore";

function divertedOptions(argument: unknown, stdin: Stdin): unknown {
  if (typeof argument !== "object" || argument === null || Array.isArray(argument) || !("stdio" in argument)) return argument;
  return { ...argument, stdio: diverted(argument.stdio, stdin) };
}

/** The same stdio with descriptor 1 replaced by 2 wherever the child would inherit it, and 0 by what it may have of it. */
function diverted(stdio: unknown, stdin: Stdin): unknown {
  if (stdio === "inherit") return [stdin, STDERR, "inherit"];
  if (!Array.isArray(stdio)) return stdio;
  return stdio.map((item, index) => {
    const inherited = item === "inherit" ? index : descriptorOf(item);
    if (inherited === STDOUT) return STDERR;
    return inherited === STDIN && stdin === "ignore" ? stdin : item;
  });
}

function descriptorOf(item: unknown): unknown {
  if (typeof item !== "object" || item === null) return item;
  return item === process.stdin ? STDIN : (item as { fd?: number }).fd;
}

function patch(target: Record<string, AnyFunction>, names: readonly string[], wrap: (original: AnyFunction) => AnyFunction): () => void {
  const originals = names.map((name) => [name, target[name] as AnyFunction] as const);
  for (const [name, original] of originals) target[name] = Object.assign(wrap(original), original);
  return () => {
    for (const [name, original] of originals) target[name] = original;
  };
}
