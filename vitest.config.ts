import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/helpers/build.ts", "test/helpers/seen.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Two cores: tests start real processes, so more workers only make all of them slow.
    maxWorkers: 2,
    pool: "forks",
    reporters: ["default", "./test/helpers/skips.ts"],
  },
});
