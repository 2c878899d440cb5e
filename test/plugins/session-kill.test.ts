import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { SessionDocument } from "../../plugins/session/document.ts";
import { type Frame, preparePlaces, RpcProcess, tempDir } from "../helpers/pi.ts";
import { generator } from "../helpers/random.ts";

const KILLS = process.env.PI_TEST_LONG ? 500 : 50;
/** Processes at a time. */
const LANES = 2;
/** How long a busy session runs before it would be over; moments of death are spread over it. */
const RESPONSES = 12;

/** A conversation with tools, several messages per second and entries of many sizes. */
const script = {
  responses: Array.from({ length: RESPONSES }, (_, index) => ({
    text: Array.from({ length: 10 }, (_, piece) => `${"word ".repeat(50 + piece * 40)}`),
    ...(index % 3 !== 2 && { toolCalls: [{ name: "read", arguments: { path: "notes.txt" } }] }),
  })),
  repeat: true,
};

async function runUntilKilled(dir: string, after: number, delayMs: number): Promise<{ frames: Frame[]; file: string | undefined }> {
  const places = preparePlaces({ home: dir, cwd: dir, script, files: { "notes.txt": "note\n".repeat(200) }, args: ["--rpc-updates", "delta"] });
  const pi = new RpcProcess(places);
  try {
    const { sessionFile } = await pi.ask("get_state");
    for (const message of ["one", "two", "three"]) pi.send({ type: "prompt", message, streamingBehavior: "followUp" });
    // The moment is counted in records, not in time: it hits the same kind of place on a slow machine.
    await Promise.race([pi.find(() => pi.frames.length >= after), pi.find(({ type }) => type === "agent_settled")]);
    if (delayMs > 0) await sleep(delayMs);
    pi.child.kill("SIGKILL");
    await pi.exited;
    return { frames: pi.frames, file: sessionFile };
  } finally {
    pi.child.kill("SIGKILL");
    await pi.exited;
  }
}

it(`after a kill -9 at ${KILLS} random moments every file opens and nothing that was announced is missing`, { timeout: 600_000 }, async () => {
  const seed = Date.now() >>> 0;
  const chance = generator(seed);
  const rounds = Array.from({ length: KILLS }, () => ({ after: 2 + Math.floor(chance() * 140), delayMs: Math.floor(chance() * 8) }));
  const dirs = rounds.map(() => tempDir());
  const lane = async (first: number) => {
    for (let round = first; round < KILLS; round += LANES) await check(round);
  };
  const check = async (round: number) => {
    const { after, delayMs } = rounds[round] as (typeof rounds)[number];
    const dir = dirs[round] as string;
    const { frames, file } = await runUntilKilled(dir, after, delayMs);
    const where = `seed ${seed}, round ${round}, after ${after} records and ${delayMs} ms, ${file}`;
    const announced = frames.filter(({ type }) => type === "message_end").map(({ message }) => JSON.stringify(message));
    const hasAnswer = frames.some(({ type, message }) => type === "message_end" && message.role === "assistant");
    if (!file || !existsSync(file)) {
      expect(hasAnswer, where).toBe(false);
      return;
    }
    const { document } = SessionDocument.open(file, { cwd: dir });
    const stored = new Set(document.tree.messages().map((message) => JSON.stringify(message)));
    expect(
      announced.filter((message) => !stored.has(message)),
      where,
    ).toEqual([]);
    document.close();
    expect(existsSync(`${file}.lock`), where).toBe(false);
  };
  await Promise.all(Array.from({ length: LANES }, (_, first) => lane(first)));
});
