/** Takes stdin and stdout for frames: whatever else would write there goes to stderr, and children read nothing of what is meant for us. */
import fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import type { Io } from "../../core/index.ts";
import { divertChildren, divertDescriptors, divertStreams, divertThreads, patch } from "./diversions.ts";
import { directOutput, takeInput } from "./pipes.ts";

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
  const undo = [() => input.giveBack(), forgiveStderr(), divertProcess(), divertDescriptors(fs, patch)];
  let hasChildren = false;
  return {
    io,
    guardChildren: () => {
      if (hasChildren) return;
      hasChildren = true;
      undo.push(...divertOthers());
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

/** What else leads to stdout: children, threads, and streams that are opened on its descriptor. */
function divertOthers(): (() => void)[] {
  // A terminal is for people, and whoever they call.
  const stdin = fs.fstatSync(0).isCharacterDevice() ? "inherit" : "ignore";
  // Through require: ES module namespaces cannot be patched, the modules behind them can.
  const require = createRequire(import.meta.url);
  return [
    divertChildren(require("node:child_process"), patch, stdin),
    divertThreads(require("node:worker_threads"), stdin),
    divertStreams(require("node:net"), require("node:tty")),
  ];
}
