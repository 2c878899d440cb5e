/** Counts skipped tests and says why, so that a green run does not hide them. */
import type { Reporter, TestModule } from "vitest/node";

export default class SkipReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped: string[] = [];
    for (const module of modules) {
      for (const test of module.children.allTests("skipped")) {
        const result = test.result();
        skipped.push(`${module.relativeModuleId}: ${test.fullName}${"note" in result && result.note ? ` (${result.note})` : ""}`);
      }
    }
    console.log(`skipped tests: ${skipped.length}`);
    for (const line of skipped) console.log(`  ${line}`);
  }
}
