/** Extensions of an agent that started without any: what would run them is read when it is needed, once. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Kernel, type PluginKernel } from "../../core/index.ts";
import type {} from "../../plugins/extensions/contract.ts";
import extensions from "../../plugins/extensions/index.ts";
import resources from "../../plugins/resources/index.ts";
import type {} from "../../plugins/session/contract.ts";
import session from "../../plugins/session/index.ts";
import settings from "../../plugins/settings/index.ts";
import slashCommands from "../../plugins/slash-commands/index.ts";
import trust from "../../plugins/trust/index.ts";
import { tempDir } from "../helpers/pi.ts";

const counting = `export default (pi) => {
  globalThis.loads = (globalThis.loads ?? 0) + 1;
  pi.on("session_start", ({ reason }) => { globalThis.reasons = [...(globalThis.reasons ?? []), reason]; });
};`;

/** A session in a directory with an extension. */
function sessionElsewhere(id: string): string {
  const cwd = tempDir();
  mkdirSync(join(cwd, ".pi", "extensions"), { recursive: true });
  writeFileSync(join(cwd, ".pi", "extensions", "there.ts"), counting);
  writeFileSync(join(cwd, "s.jsonl"), `${JSON.stringify({ type: "session", version: 3, id, timestamp: "2026-01-01T00:00:00.000Z", cwd })}\n`);
  return join(cwd, "s.jsonl");
}

test.each(["opened before", "opened after"])("a session that changes while extensions are opened (%s) loads those of its directory once", async (order) => {
  const globals = globalThis as { loads?: number; reasons?: string[] };
  const home = tempDir();
  const [first, second] = [sessionElsewhere("01"), sessionElsewhere("02")];
  const kernel = new Kernel();
  let view!: PluginKernel;
  const probe = {
    name: "probe",
    apply(own: PluginKernel) {
      view = own;
    },
  };
  await kernel.useAll([probe, settings, trust, resources, session, slashCommands, extensions]);
  await kernel.start({ cwd: home, env: { HOME: home }, approve: true });
  onTestFinished(async () => {
    await kernel.stop();
    await kernel.removeAll();
    expect(kernel.leftovers()).toEqual([]);
    delete globals.loads;
    delete globals.reasons;
  });
  const open = () => view.service("extensions").exportsOf("typebox");
  const change = () => view.service("session").switchTo(first);
  await Promise.all(order === "opened before" ? [open(), change()] : [change(), open()]);
  expect(view.service("extensions").list()).toHaveLength(1);
  expect(globals).toMatchObject({ loads: 1, reasons: ["resume"] });
  // Whoever was opened twice would now load twice.
  await view.service("session").switchTo(second);
  expect(globals).toMatchObject({ loads: 2, reasons: ["resume", "resume"] });
});
