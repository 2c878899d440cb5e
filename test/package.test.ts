/** The published package, installed elsewhere, runs. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { repositoryRoot, tempDir } from "./helpers/pi.ts";
import { isRegistryReachable } from "./helpers/registry.ts";

it("npm pack installed into another directory runs", async ({ skip }) => {
  if (!(await isRegistryReachable())) skip("registry unreachable");
  const elsewhere = tempDir("pi-pack-");
  const run = (command: string, args: string[], cwd: string) =>
    execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, HOME: elsewhere } });
  const [{ filename }] = JSON.parse(run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", elsewhere], repositoryRoot));
  writeFileSync(join(elsewhere, "package.json"), JSON.stringify({ private: true }));
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", join(elsewhere, filename)], elsewhere);
  const answer = run(join(elsewhere, "node_modules/.bin/pi"), ["List the files here"], elsewhere);
  expect(answer).toContain("package.json");
}, 240_000);
