/** Remembers which records of the protocol the tests have seen from the real process, and checks each against its schema. */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import type { Frame } from "./pi.ts";

export interface Protocol {
  commands: Record<string, { params: TSchema; result: TSchema | null }>;
  inbound: Record<string, TSchema>;
  events: Record<string, TSchema>;
}

/** One file for all workers of a run; `test/helpers/build.ts` empties it. */
export const seenFile = process.env.PI_SEEN_FILE ?? join(tmpdir(), `pi-seen-${process.ppid}.txt`);

type Check = (value: unknown) => boolean;

let known: { protocol: Protocol; checks: Map<string, Check> } | undefined;
const noted = new Set<string>();

/** What the built program says of itself; asked once per build. */
export function protocolOf(programPath: string): Protocol {
  const cache = join(tmpdir(), "pi-kernel-test-protocol");
  const file = join(cache, `${statSync(programPath).mtimeMs}-${programPath.replace(/\W/g, "_")}.json`);
  if (!existsSync(file)) {
    mkdirSync(cache, { recursive: true });
    writeFileSync(file, execFileSync(process.execPath, [programPath, "--print-schema"], { maxBuffer: 64 * 1024 * 1024 }));
  }
  return JSON.parse(readFileSync(file, "utf8"));
}

/** Notes a frame; answers what is wrong with it, or undefined. */
export function see(programPath: string, frame: Frame): string | undefined {
  known ??= { protocol: protocolOf(programPath), checks: new Map() };
  const { protocol } = known;
  const event = protocol.events[frame.type];
  if (!event) return `unknown record: ${frame.type}`;
  note(`event ${frame.type}`);
  if (!check(`event ${frame.type}`, event)(frame)) return `not of its schema: ${JSON.stringify(frame).slice(0, 2000)}`;
  if (frame.type !== "response") return undefined;
  const command = protocol.commands[frame.command];
  if (command) note(`command ${frame.command} ${frame.success ? "succeeded" : "failed"}`);
  if (!command || !frame.success) return undefined;
  if (command.result === null) return frame.data === undefined ? undefined : `data without a schema: ${frame.command}`;
  return check(`command ${frame.command}`, command.result)(frame.data) ? undefined : `data not of its schema: ${JSON.stringify(frame).slice(0, 2000)}`;
}

function note(what: string): void {
  if (noted.has(what)) return;
  noted.add(what);
  appendFileSync(seenFile, `${what}\n`);
}

function check(name: string, schema: TSchema): Check {
  const checks = (known as NonNullable<typeof known>).checks;
  let compiled = checks.get(name);
  if (!compiled) {
    const validator = Compile(schema);
    compiled = (value) => validator.Check(value);
    checks.set(name, compiled);
  }
  return compiled;
}

/** What no test has seen: events, and commands that never succeeded. */
export function unseen(protocol: Protocol): string[] {
  const seen = new Set(existsSync(seenFile) ? readFileSync(seenFile, "utf8").split("\n") : []);
  const events = Object.keys(protocol.events).map((name) => `event ${name}`);
  const commands = Object.keys(protocol.commands).map((name) => `command ${name} succeeded`);
  return [...events, ...commands].filter((name) => !seen.has(name));
}
