import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { tarballSource } from "../../plugins/packages/tarball.ts";
import { tempDir } from "../helpers/pi.ts";

test("a damaged archive is refused, and not read for ever", async () => {
  const archive = Buffer.alloc(2048);
  archive.write("package/index.js", 0);
  archive.write("-1000", 124);
  const path = join(tempDir(), "damaged.tgz");
  writeFileSync(path, gzipSync(archive));
  await expect(tarballSource(path)).rejects.toThrow("damaged.tgz is no package: there is no package.json in it");
});
