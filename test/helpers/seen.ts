/** Checks what the real process sent against its own schemas, and remembers which parts of the protocol the tests have seen. */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { type Frame, programPath } from "./pi.ts";

interface Protocol {
  commands: Record<string, { params: TSchema; result: TSchema | null }>;
  events: Record<string, TSchema>;
}

type Check = (value: unknown) => boolean;

const checks = new Map<string, Check>();
const noted = new Set<string>();
let protocol: Protocol | undefined;

/** What the built program says of itself; asked once per build. */
function protocolOfBuild(): Protocol {
  const cache = join(tmpdir(), "pi-kernel-test-protocol");
  const file = join(cache, `${statSync(programPath).mtimeMs}-${programPath.replace(/\W/g, "_")}.json`);
  if (!existsSync(file)) {
    mkdirSync(cache, { recursive: true });
    const own = `${file}.${process.pid}`;
    writeFileSync(own, execFileSync(process.execPath, [programPath, "--print-schema"], { cwd: cache, maxBuffer: 64 * 1024 * 1024 }));
    renameSync(own, file);
  }
  return JSON.parse(readFileSync(file, "utf8"));
}

/** Throws for a frame that is not of its schema; notes the others. */
export function checkFrames(frames: readonly Frame[]): void {
  protocol ??= protocolOfBuild();
  for (const frame of frames) {
    const problem = problemOf(frame, protocol);
    if (problem) throw new Error(`${problem}: ${JSON.stringify(frame).slice(0, 3000)}`);
  }
}

function problemOf(frame: Frame, { events, commands }: Protocol): string | undefined {
  const event = events[frame.type];
  if (!event) return "A record that the protocol does not know";
  note(`event ${frame.type}`);
  if (!checkOf(`event ${frame.type}`, event)(frame)) return "A record that is not of its schema";
  const command = frame.type === "response" ? commands[frame.command] : undefined;
  if (!command) return undefined;
  note(`command ${frame.command} ${frame.success ? "succeeded" : "failed"}`);
  if (!frame.success) return undefined;
  // With early acknowledgement there is no data either way.
  if (command.result === null) return frame.data === undefined ? undefined : "Data of a command that has none";
  return checkOf(`command ${frame.command}`, command.result)(frame.data) ? undefined : "Data that is not of its schema";
}

function checkOf(name: string, schema: TSchema): Check {
  let check = checks.get(name);
  if (!check) {
    const compiled = Compile(schema);
    check = (value) => compiled.Check(value);
    checks.set(name, check);
  }
  return check;
}

function note(what: string): void {
  if (noted.has(what)) return;
  noted.add(what);
  if (process.env.PI_SEEN_FILE) appendFileSync(process.env.PI_SEEN_FILE, `${what}\n`);
}

/** Inbound records that get no response. */
const unanswered = new Set(["extension_ui_response", "host_tool_update", "host_tool_result"]);

/** Set-up of a run: workers append to one file; at the end, what nobody saw is listed. */
export default function setup(): () => void {
  process.env.PI_SEEN_FILE = join(tmpdir(), `pi-seen-${process.pid}.txt`);
  const file = process.env.PI_SEEN_FILE;
  writeFileSync(file, "");
  return () => {
    const seen = new Set(readFileSync(file, "utf8").split("\n"));
    rmSync(file, { force: true });
    if (seen.size < 2) return;
    const { events, commands } = protocolOfBuild();
    const answered = Object.keys(commands).filter((name) => !unanswered.has(name));
    const expected = [...Object.keys(events).map((name) => `event ${name}`), ...answered.map((name) => `command ${name} succeeded`)];
    const unseen = expected.filter((name) => !seen.has(name));
    console.log(`protocol: ${expected.length - unseen.length} of ${expected.length} kinds of records seen`);
    for (const name of unseen) console.log(`  never seen: ${name}`);
    // Only a run of everything can say that something is not tested.
    if (unseen.length > 0 && process.env.npm_lifecycle_event?.startsWith("test")) throw new Error("No test received these from the real process.");
  };
}
