/** Takes stdout for frames: whatever else would write there goes to stderr. Where stdin is no terminal, children do not read it either. */
import fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { isatty } from "node:tty";
import type { Io } from "../../core/index.ts";
import { directOutput, takeInput } from "./pipes.ts";

type AnyFunction = (...args: any[]) => any;

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

/** Functions of `fs` that take a descriptor first. */
const writers = ["write", "writeSync", "writev", "writevSync", "writeFile", "writeFileSync", "appendFile", "appendFileSync"] as const;
/** Functions of `child_process` whose last object argument may say `stdio`. */
const synchronousSpawners = ["spawnSync", "execFileSync", "execSync"] as const;

/** Diverts stdout and answers the process's real streams; the second answer puts everything back. */
export function takeStdout(): { io: Io; guardChildren: () => void; giveBack: () => void } {
  const input = takeInput();
  // Touched before fs is patched: for a file, the stream keeps the original writeSync.
  const { stdout } = process;
  const writeBytes = directOutput(stdout);
  const io: Io = {
    stdout,
    get stdin() {
      return input.stdin;
    },
    get stderr() {
      return process.stderr;
    },
    readBytes: (onBytes) => input.read(onBytes),
    ...(writeBytes && { writeBytes }),
  };
  const undo = [() => input.giveBack(), divertProcess(), divertDescriptor()];
  syncBuiltinESMExports();
  let hasChildren = false;
  return {
    io,
    guardChildren: () => {
      if (hasChildren) return;
      hasChildren = true;
      undo.push(divertChildren());
      syncBuiltinESMExports();
    },
    giveBack: () => {
      for (const back of undo.reverse()) back();
      syncBuiltinESMExports();
    },
  };
}

function divertProcess(): () => void {
  const original = Object.getOwnPropertyDescriptor(process, "stdout");
  Object.defineProperty(process, "stdout", { configurable: true, enumerable: true, get: () => process.stderr });
  return () => {
    if (original) Object.defineProperty(process, "stdout", original);
  };
}

/** Direct writes to descriptor 1. */
function divertDescriptor(): () => void {
  const table = fs as unknown as Record<string, AnyFunction>;
  return patch(
    table,
    writers,
    (original) =>
      (target, ...rest) =>
        original(target === STDOUT ? STDERR : target, ...rest),
  );
}

/** Children with inherited stdio write to our stdout otherwise, and take what the client sends. */
function divertChildren(): () => void {
  // Through require: ES module namespaces cannot be patched, the module behind them can.
  const children = createRequire(import.meta.url)("node:child_process");
  const asynchronous = patch(
    children.ChildProcess.prototype,
    ["spawn"],
    (original) =>
      function spawn(this: unknown, options: { stdio?: unknown }, ...rest: unknown[]) {
        return original.call(this, { ...options, stdio: withoutOurs(options.stdio) }, ...rest);
      },
  );
  const synchronous = patch(
    children,
    synchronousSpawners,
    (original) =>
      (...args) =>
        original(...args.map(divertedOptions)),
  );
  return () => {
    asynchronous();
    synchronous();
  };
}

function divertedOptions(argument: unknown): unknown {
  if (typeof argument !== "object" || argument === null || Array.isArray(argument) || !("stdio" in argument)) return argument;
  return { ...argument, stdio: withoutOurs(argument.stdio) };
}

/** The same stdio where the child inherits neither our stdout, for which it gets stderr, nor a stdin that is the client's. */
function withoutOurs(stdio: unknown): unknown {
  const input = isatty(STDIN) ? "inherit" : "ignore";
  if (stdio === "inherit") return [input, STDERR, "inherit"];
  if (!Array.isArray(stdio)) return stdio;
  const inherits = (item: unknown, index: number, descriptor: number) =>
    item === descriptor || (item === "inherit" && index === descriptor) || (item as { fd?: number } | null)?.fd === descriptor;
  return stdio.map((item, index) => {
    if (inherits(item, index, STDOUT)) return STDERR;
    return inherits(item, index, STDIN) ? input : item;
  });
}

function patch(target: Record<string, AnyFunction>, names: readonly string[], wrap: (original: AnyFunction) => AnyFunction): () => void {
  const originals = names.map((name) => [name, target[name] as AnyFunction] as const);
  for (const [name, original] of originals) target[name] = Object.assign(wrap(original), original);
  return () => {
    for (const [name, original] of originals) target[name] = original;
  };
}
