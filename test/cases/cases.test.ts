/**
 * Whole conversations against the real process; one folder is one test.
 *
 * `in.jsonl` holds what the client sends, in order; a line `{"await": {…}}` waits for the next frame that has these fields, `{"touch": "x"}` makes a file.
 * `out.jsonl` holds every frame of the answer, with ids, times and places made equal. `model.json` is the script of the model.
 * `options.json` (optional) holds further options: `args`, `files`, `agentFiles`, and `endsInAnyOrder` for tools that end at the same time.
 * `PI_CASES_WRITE=1` writes `out.jsonl` anew.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { normalized, type Places } from "../helpers/normalize.ts";
import { type Frame, startRpc } from "../helpers/pi.ts";

const folder = dirname(fileURLToPath(import.meta.url));
const cases = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

const lines = (file: string) =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

function has(frame: unknown, fields: unknown): boolean {
  if (typeof fields !== "object" || fields === null) return frame === fields;
  return typeof frame === "object" && frame !== null && Object.entries(fields).every(([key, value]) => has((frame as Frame)[key], value));
}

/** Puts neighbouring ends of tools into the order of their calls. */
function sortEnds(frames: Frame[]): void {
  const isEnd = ({ type }: Frame) => type === "tool_execution_end";
  const first = frames.findIndex(isEnd);
  const ends = frames.filter(isEnd);
  frames.splice(first, ends.length, ...ends.sort((one, other) => String(one.toolCallId).localeCompare(other.toolCallId)));
}

test.each(cases)("%s", async (name) => {
  const at = (file: string) => join(folder, name, file);
  const { endsInAnyOrder, ...options } = existsSync(at("options.json")) ? JSON.parse(readFileSync(at("options.json"), "utf8")) : {};
  const rpc = startRpc({ ...options, script: JSON.parse(readFileSync(at("model.json"), "utf8")) });
  let seen = 0;
  for (const line of lines(at("in.jsonl"))) {
    if (line.await) {
      const frame = await rpc.find((candidate) => has(candidate, line.await), seen);
      seen = rpc.frames.indexOf(frame, seen) + 1;
    } else if (line.touch) writeFileSync(join(rpc.places.cwd, line.touch), "");
    else rpc.send(line);
  }
  expect(await rpc.stop()).toEqual({ status: 0, signal: null });

  const places: Places = { HOME: rpc.places.home, CWD: rpc.places.cwd, SCRIPT: rpc.places.args.at(-1)?.replace(/^scripted\//, "") ?? "" };
  const received = normalized(rpc.frames, places);
  if (endsInAnyOrder) sortEnds(received);
  if (process.env.PI_CASES_WRITE === "1") writeFileSync(at("out.jsonl"), `${received.map((frame) => JSON.stringify(frame)).join("\n")}\n`);
  expect(received).toEqual(lines(at("out.jsonl")));
});
