/** The code cache that the build brings along, for who has none of his own yet. */
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Script } from "node:vm";
import { expect, test } from "vitest";
import { programPath, tempDir } from "./helpers/pi.ts";

const SEAL = 10;
const sealed = (bytes: Buffer, length = bytes.length) => Buffer.concat([bytes, Buffer.from(String(length).padStart(SEAL, "0"))]);

test("a start without caches of its own uses the one of the build, if that is whole, and makes its own", () => {
  const install = join(tempDir(), "install");
  cpSync(dirname(programPath), install, { recursive: true, filter: (path) => !path.endsWith("/types") });
  const [cache] = readdirSync(join(install, "cache"), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith("core.cjs.bin"));
  const file = join(install, "cache", cache as string);
  const whole = readFileSync(file);
  expect(sealed(whole.subarray(0, -SEAL))).toEqual(whole);

  // V8 knows a script by its length: what such a cache holds is what runs, and so tells that it was used.
  const { length } = readFileSync(join(install, "core.cjs"), "latin1");
  const other = new Script('process.stdout.write("from the cache"), process.exit()'.padEnd(length)).createCachedData();
  const start = (home: string, env: Record<string, string> = {}) =>
    spawnSync(process.execPath, [join(install, "pi.cjs"), "--version"], { env: { PATH: process.env.PATH, HOME: home, ...env }, encoding: "utf8" }).stdout;
  const version = start(tempDir());
  expect(version).toMatch(/^\d+\.\d+\.\d+\n$/);

  writeFileSync(file, sealed(other));
  expect(start(tempDir())).toBe("from the cache");
  expect(start(tempDir(), { PI_NO_CODE_CACHE: "1" })).toBe(version);
  expect(start(tempDir(), { NODE_OPTIONS: "--max-old-space-size=500" })).toBe(version);
  for (const damaged of [sealed(other, other.length + 1), other.subarray(0, 1000), Buffer.alloc(0)]) {
    writeFileSync(file, damaged);
    expect(start(tempDir())).toBe(version);
  }

  const home = tempDir();
  writeFileSync(file, whole);
  expect(start(home)).toBe(version);
  writeFileSync(file, sealed(other));
  expect(start(home)).toBe(version);
});
