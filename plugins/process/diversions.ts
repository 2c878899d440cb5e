/**
 * What foreign code writes to descriptor 1 goes to stderr, and its children inherit neither that nor the client's stdin.
 * Threads have an `fs` and a `child_process` of their own and begin with the text of these functions: each needs nothing but its parameters.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker, WorkerOptions } from "node:worker_threads";

type AnyFunction = (...args: any[]) => any;
type Patch = (target: Record<string, AnyFunction>, names: readonly string[], wrap: (original: AnyFunction) => AnyFunction) => () => void;

/** What children get for an inherited stdin. */
export type Stdin = "inherit" | "ignore";

export const patch: Patch = (target, names, wrap) => {
  const originals = names.map((name) => [name, target[name] as AnyFunction] as const);
  for (const [name, original] of originals) target[name] = Object.assign(wrap(original), original);
  return () => {
    for (const [name, original] of originals) target[name] = original;
  };
};

/** Direct writes to descriptor 1, or to the file that stands for it. Nor can the standard descriptors be closed: the next file that is opened would get their number. */
export function divertDescriptors(fs: object, patch: Patch): () => void {
  const table = fs as Record<string, AnyFunction>;
  const names = new Set<unknown>([1, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]);
  const isStandard = (descriptor: unknown) => descriptor === 0 || descriptor === 1 || descriptor === 2;
  const writers = ["write", "writeSync", "writev", "writevSync", "writeFile", "writeFileSync", "appendFile", "appendFileSync"];
  const undo = [
    patch(
      table,
      writers,
      (original) =>
        (target, ...rest) =>
          original(names.has(target) ? 2 : target, ...rest),
    ),
    patch(table, ["closeSync"], (original) => (descriptor) => (isStandard(descriptor) ? undefined : original(descriptor))),
    patch(
      table,
      ["close"],
      (original) =>
        (descriptor, done = () => {}) =>
          isStandard(descriptor) ? setImmediate(done, null) : original(descriptor, done),
    ),
  ];
  return () => {
    for (const back of undo) back();
  };
}

/** Children with inherited stdio write to our stdout otherwise, and take commands from our stdin. */
export function divertChildren(children: { ChildProcess: { prototype: object } }, patch: Patch, stdin: Stdin): () => void {
  const descriptorOf = (item: unknown) => {
    if (typeof item !== "object" || item === null) return item;
    return item === process.stdin ? 0 : (item as { fd?: number }).fd;
  };
  const diverted = (stdio: unknown) => {
    if (stdio === "inherit") return [stdin, 2, "inherit"];
    if (!Array.isArray(stdio)) return stdio;
    return stdio.map((item, index) => {
      const inherited = item === "inherit" ? index : descriptorOf(item);
      if (inherited === 1) return 2;
      return inherited === 0 && stdin === "ignore" ? stdin : item;
    });
  };
  const divertedOptions = (argument: unknown) => {
    if (typeof argument !== "object" || argument === null || Array.isArray(argument) || !("stdio" in argument)) return argument;
    return { ...argument, stdio: diverted(argument.stdio) };
  };
  const asynchronous = patch(
    children.ChildProcess.prototype as Record<string, AnyFunction>,
    ["spawn"],
    (original) =>
      function spawn(this: unknown, options: { stdio?: unknown }, ...rest: unknown[]) {
        return original.call(this, { ...options, stdio: diverted(options.stdio) }, ...rest);
      },
  );
  // Their last object argument may say `stdio`.
  const names = ["spawnSync", "execFileSync", "execSync"];
  const synchronous = patch(
    children as unknown as Record<string, AnyFunction>,
    names,
    (original) =>
      (...args) =>
        original(...args.map(divertedOptions)),
  );
  return () => {
    asynchronous();
    synchronous();
  };
}

/** Streams that are opened on descriptor 1: `new net.Socket({ fd: 1 })`, `new tty.WriteStream(1)`. */
export function divertStreams(net: object, tty: object): () => void {
  const withoutStdout = (given: unknown) => {
    if (given === 1) return 2;
    return (given as { fd?: unknown } | undefined)?.fd === 1 ? { ...(given as object), fd: 2 } : given;
  };
  const careful = (original: AnyFunction) =>
    new Proxy(original, { construct: (target, [first, ...rest], made) => Reflect.construct(target, [withoutStdout(first), ...rest], made) });
  const undo = [replace(net, "Socket", careful), replace(tty, "WriteStream", careful)];
  return () => {
    for (const back of undo) back();
  };
}

/** Threads that foreign code starts begin with the same diversions. */
export function divertThreads(threads: { Worker: typeof Worker }, stdin: Stdin): () => void {
  let directory: string | undefined;
  const clean = () => {
    if (directory) rmSync(directory, { recursive: true, force: true });
    directory = undefined;
  };
  process.once("exit", clean);
  /** A file, because nothing else runs before the code of a thread. Where none can be written the thread runs as it is. */
  const preparation = (): string[] => {
    try {
      directory ??= mkdtempSync(join(tmpdir(), "pi-thread-"));
      const file = join(directory, "stdout.cjs");
      const descriptors = `(${divertDescriptors})(require("node:fs"), patch)`;
      const children = `(${divertChildren})(require("node:child_process"), patch, ${JSON.stringify(stdin)})`;
      writeFileSync(file, `const patch = ${patch};\n${descriptors};\n${children};\nrequire("node:module").syncBuiltinESMExports();\n`, { mode: 0o600 });
      return ["--require", file];
    } catch {
      return [];
    }
  };
  const careful = (original: AnyFunction) =>
    new Proxy(original, {
      construct(target, [file, options, ...rest]: [unknown, WorkerOptions | undefined, ...unknown[]], made) {
        const prepared = preparation();
        const start = (flags: readonly string[]) => Reflect.construct(target, [file, { ...options, execArgv: [...flags, ...prepared] }, ...rest], made);
        if (options?.execArgv) return start(options.execArgv);
        try {
          return start(process.execArgv);
        } catch (error) {
          // Flags of V8 hold for all threads, and none of them may be given them.
          if ((error as NodeJS.ErrnoException).code !== "ERR_WORKER_INVALID_EXEC_ARGV") throw error;
          return start([]);
        }
      },
    });
  const back = replace(threads, "Worker", careful);
  return () => {
    back();
    process.off("exit", clean);
    clean();
  };
}

function replace(target: object, name: string, wrap: (original: AnyFunction) => AnyFunction): () => void {
  const table = target as Record<string, AnyFunction>;
  const original = table[name] as AnyFunction;
  table[name] = wrap(original);
  return () => {
    table[name] = original;
  };
}
