import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { preparePlaces, runPi, tempDir } from "../helpers/pi.ts";

/** What a broken invocation must look like: one sentence on stderr, nothing on stdout, status 1. */
function expectOneSentence({ stdout, stderr, status }: Awaited<ReturnType<typeof runPi>>, text: string | RegExp): void {
  expect(stderr).toMatch(text);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect(stderr).not.toMatch(/^\s+at /m);
  expect(stdout).toBe("");
  expect(status).toBe(1);
}

const head = 'import { defineDistribution, only, without } from "pi-kernel/distribution";\nimport pi from "pi-kernel/distributions/pi";\n';
const distribution = (body: string) => ({ "acme.ts": `${head}${body}` });
const acme = (...args: string[]) => ["--distribution", "acme.ts", ...args];

describe("the command line", () => {
  it("--help shows flags by group and --version the version", async () => {
    const help = await runPi({ args: ["--help"] });
    expect(help.status).toBe(0);
    expect(help.stdout).toMatch(/^Usage: pi /);
    for (const heading of ["Mode", "Model", "Session", "Resources"]) expect(help.stdout).toMatch(new RegExp(`^${heading}$`, "m"));
    expect((await runPi({ args: ["--version"] })).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("an unknown short option is refused", async () => {
    expectOneSentence(await runPi({ args: ["-Z", "hi"] }), "Unknown option: -Z");
  });

  it("an unknown long option that no extension knows is refused", async () => {
    expectOneSentence(await runPi({ args: ["--frobnicate", "--model", "offline/demo", "-p", "hi"] }), /Unknown option\(s\): --frobnicate/);
    expectOneSentence(await runPi({ args: ["--modle", "offline/demo", "-p", "hi"] }), "Unknown option(s): --modle (did you mean --model?)");
  });

  it("an unknown mode is refused with those there are", async () => {
    expectOneSentence(await runPi({ args: ["--mode", "telepathy", "hi"] }), /Unknown mode "telepathy" \(expected .*rpc/);
  });

  it("an option without its value says so", async () => {
    expectOneSentence(await runPi({ args: ["--model"] }), "Option --model needs a value");
    expectOneSentence(await runPi({ args: ["--distribution"] }), "Option --distribution needs a value");
    expectOneSentence(await runPi({ args: ["--no-session=yes", "hi"] }), "Option --no-session takes no value");
  });

  it("a switch may say true or false", async () => {
    const kept = async (option: string) => {
      const { agentDir, ...places } = preparePlaces();
      const { status } = await runPi({ home: places.home, cwd: places.cwd, args: ["--model", "offline/demo", option, "hi"] });
      return { status, isKept: existsSync(join(agentDir, "sessions")) };
    };
    expect(await kept("--no-session=true")).toEqual({ status: 0, isKept: false });
    expect(await kept("--no-session=false")).toEqual({ status: 0, isKept: true });
    expect((await runPi({ args: ["--version=false", "--model", "offline/demo", "hi"] })).stdout).toContain("offline demo model");
  });

  it("an unreadable script file fails the run with its name", async () => {
    const { status, stderr, stdout } = await runPi({ args: ["--model", "scripted/nowhere.json", "-p", "hi"] });
    expect(stderr).toContain("nowhere.json");
    expect(stdout).toBe("");
    expect(status).toBe(1);
  });

  it("PI_DEBUG=1 shows the stack", async () => {
    const { stderr } = await runPi({ args: ["-Z"], env: { PI_DEBUG: "1" } });
    expect(stderr).toMatch(/^\s+at /m);
  });
});

describe("a distribution file", () => {
  it("runs with its own name and places", async () => {
    const files = distribution('export default defineDistribution({ name: "acme", version: "3.2.1", plugins: pi });');
    expect((await runPi({ files, args: acme("--version") })).stdout).toBe("3.2.1\n");
    expect((await runPi({ files, args: acme("--help") })).stdout).toMatch(/^Usage: acme /);
    expect((await runPi({ files, args: acme("--model", "offline/demo", "-p", "List the files") })).stdout).toContain("acme.ts");
  });

  it("a plugin that throws in apply is named", async () => {
    const bad = '{ name: "bad", apply() { throw new Error("no luck"); } }';
    const files = distribution(`export default defineDistribution({ name: "acme", plugins: [pi, ${bad}] });`);
    expectOneSentence(await runPi({ files, args: acme("hi") }), 'Plugin "bad" could not be loaded: no luck');
  });

  it("two plugins of one name are refused", async () => {
    const files = distribution(
      'const twin = { name: "twin", apply() {} };\nexport default defineDistribution({ name: "acme", plugins: [pi, twin, { ...twin }] });',
    );
    expectOneSentence(await runPi({ files, args: acme("hi") }), 'Two plugins are called "twin"');
  });

  it("two transports for one mode are refused by name", async () => {
    const other = '{ name: "other", apply: (kernel) => void kernel.registry("transports").add({ name: "text", mode: "print", serve: async () => 0 }) }';
    const files = distribution(`export default defineDistribution({ name: "acme", plugins: [pi, ${other}] });`);
    expectOneSentence(await runPi({ files, args: acme("hi") }), 'transport:text and other both want to serve the mode "text"');
  });

  it("a missing service is named with who needs it", async () => {
    const files = distribution('export default defineDistribution({ name: "acme", plugins: [pi, { name: "needy", requires: ["telepathy"], apply() {} }] });');
    expectOneSentence(await runPi({ files, args: acme("hi") }), 'Plugin "needy" needs the service "telepathy"');
  });

  it("an unknown name in without suggests the nearest", async () => {
    const files = distribution('export default defineDistribution({ name: "acme", plugins: without(pi, "tool:bsh") });');
    expectOneSentence(await runPi({ files, args: acme("hi") }), 'There is no plugin "tool:bsh" in the list; did you mean "tool:bash"?');
  });

  it.each([
    ['plugins: [pi, { name: "x" }]', '"plugins" holds something that is no plugin'],
    ["plugins: pi, mangaed: {}", 'a distribution has no field "mangaed"; did you mean "managed"?'],
    ['plugins: pi, extensions: ["permission-gat"]', 'extension "permission-gat" is neither a file'],
    ['plugins: pi, extensions: ["./gate.ts"]', 'extension "./gate.ts" is neither a file'],
  ])("%s is refused, not passed over", async (said, message) => {
    expectOneSentence(await runPi({ files: distribution(`export default defineDistribution({ name: "acme", ${said} });`), args: acme("hi") }), message);
  });

  it("a file that is missing, broken or no distribution is refused", async () => {
    expectOneSentence(await runPi({ args: acme() }), "The distribution file acme.ts does not exist");
    expectOneSentence(await runPi({ files: { "acme.ts": "export default {{" }, args: acme() }), "acme.ts cannot be used");
    const places = { "acme.ts:2:16": "\nexport default {{", "part.ts:3:1": 'import "./part.ts";' };
    for (const [place, text] of Object.entries(places)) {
      const cwd = tempDir("pi acme é ");
      const { stderr } = await runPi({ cwd, files: { "acme.ts": text, "part.ts": "const one: number = 1;\nvoid one;\nnobody();" }, args: acme() });
      expect(stderr).toContain("acme.ts cannot be used: ");
      expect(stderr.endsWith(` (${join(cwd, place)})\n`)).toBe(true);
    }
    expectOneSentence(await runPi({ files: { "acme.ts": "export default 5" }, args: acme() }), "acme.ts is not a distribution");
  });
});
