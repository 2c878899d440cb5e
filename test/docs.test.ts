/** Every code block of the docs is compiled, parsed or checked against the command line, if it is not run by another test; the plugins and extensions among them are loaded. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { describe, expect, it } from "vitest";
import { Kernel } from "../core/index.ts";
import { branding } from "../src/branding.ts";
import pi from "../src/distributions/pi.ts";
import { programPlugin } from "../src/program.ts";
import { startAgent } from "../src/testing/index.ts";
import { repositoryRoot, tempDir } from "./helpers/pi.ts";

interface Block {
  /** page and line */
  place: string;
  page: string;
  language: string;
  /** `fragment`: a part of a file; `elsewhere`, `session`, `run`: another test runs it */
  mark: string;
  text: string;
}

const pages = ["README.md", ...readdirSync(join(repositoryRoot, "docs")).flatMap((name) => (name.endsWith(".md") ? [`docs/${name}`] : []))];
const blocks = pages.flatMap(blocksOf);

function blocksOf(page: string): Block[] {
  const lines = readFileSync(join(repositoryRoot, page), "utf8").split("\n");
  const found: Block[] = [];
  let open: { from: number; info: string } | undefined;
  for (const [index, line] of lines.entries()) {
    if (!line.startsWith("```")) continue;
    if (!open) {
      open = { from: index + 1, info: line.slice(3).trim() };
      continue;
    }
    const [language = "", mark = ""] = open.info.split(" ");
    found.push({ place: `${page}:${open.from}`, page, language, mark, text: lines.slice(open.from, index).join("\n") });
    open = undefined;
  }
  return found;
}

const written = (...languages: string[]) => blocks.filter(({ language }) => languages.includes(language));

describe("the docs", () => {
  it("has blocks in known languages only", () => {
    const known = new Set(["ts", "js", "python", "sh", "json", "jsonc", "jsonl", "markdown", "text", ""]);
    expect(blocks.filter(({ language }) => !known.has(language)).map(({ place, language }) => `${place} ${language}`)).toEqual([]);
    expect(blocks.length).toBeGreaterThan(50);
  });

  it.each(written("json", "jsonc"))("$place is JSON", ({ language, text }) => {
    JSON.parse(language === "jsonc" ? text.replace(/(^|\s)\/\/.*$/gm, "") : text);
  });

  it.each(written("jsonl"))("$place has JSON in every line", ({ text }) => {
    for (const line of text.split("\n")) JSON.parse(line.replace(/^[<>] /, ""));
  });

  it.each(written("js"))("$place is JavaScript", async ({ text }) => {
    await transform(text, { format: "esm", target: "es2023", logLevel: "silent" });
  });

  it.each(written("python"))("$place is Python", ({ text, place }) => {
    const checked = spawnSync("python3", ["-c", "import sys; compile(sys.stdin.read(), sys.argv[1], 'exec')", place], { input: text, encoding: "utf8" });
    // Without an interpreter there is nothing to ask.
    if (!checked.error) expect(checked.stderr).toBe("");
  });

  it("links to pages that exist", () => {
    const broken = pages.flatMap((page) => {
      const text = readFileSync(join(repositoryRoot, page), "utf8");
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, target]) => join(dirname(page), target as string));
      return links.filter((target) => !existsSync(join(repositoryRoot, target))).map((target) => `${page} → ${target}`);
    });
    expect(broken).toEqual([]);
  });
});

describe("TypeScript", () => {
  const files: Record<string, string> = {
    "pi-kernel": "src/index.ts",
    "pi-kernel/plugin": "src/plugin.ts",
    "pi-kernel/testing": "src/testing/index.ts",
    "pi-kernel/distribution": "src/distribution.ts",
    "pi-kernel/distributions/*": "src/shipped-list.ts",
    "pi-kernel/client": "src/client/index.ts",
    "@mariozechner/pi-coding-agent": "plugins/extensions/public/types.ts",
    "@earendil-works/pi-coding-agent": "plugins/extensions/public/types.ts",
  };

  /** What a part of a file may use without saying where it comes from. */
  const surroundings = `import type { ExtensionAPI, ExtensionCommandContext } from "@mariozechner/pi-coding-agent";
import type { contracts, PluginKernel } from "pi-kernel/plugin";
declare const kernel: PluginKernel;
declare const pi: ExtensionAPI;
declare const ctx: ExtensionCommandContext;
`;

  /** What the compiler says of these files, each line with its file's name. */
  const compile = async (sources: Map<string, string>) => {
    const project = tempDir();
    symlinkSync(join(repositoryRoot, "node_modules"), join(project, "node_modules"));
    for (const [name, text] of sources) writeFileSync(join(project, name), text);
    const paths = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, [join(repositoryRoot, file)]]));
    writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({
        extends: join(repositoryRoot, "tsconfig.json"),
        compilerOptions: { paths, lib: ["ES2023", "ESNext.Promise", "DOM"], typeRoots: ["node_modules/@types"] },
        include: ["*.ts"],
      }),
    );
    const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
    const { stdout } = await promisify(execFile)(process.execPath, [compiler, "--noEmit", "--pretty", "false", "-p", project], { cwd: project }).catch(
      (error) => error as { stdout: string },
    );
    return stdout.split("\n").filter((line) => /^block-\d+\.ts/.test(line));
  };

  it("every block compiles against the public types", async () => {
    const places = new Map<string, string>();
    const sources = new Map<string, string>();
    for (const [index, { place, mark, text }] of written("ts").entries()) {
      if (mark === "elsewhere") continue;
      const name = `block-${index}.ts`;
      places.set(name, place);
      sources.set(name, mark === "fragment" ? `${surroundings}${text}\nexport {};\n` : `${text}\nexport {};\n`);
    }
    const mistakes = await compile(sources);
    expect(mistakes.map((line) => line.replace(/^block-\d+\.ts/, (name) => `${places.get(name)} `))).toEqual([]);
    expect(places.size).toBeGreaterThan(15);
  }, 180_000);

  it.each(written("ts").filter(({ text }) => text.includes('declare module "pi-kernel"')))(
    "$place compiles without the others",
    async ({ text }) => {
      expect(await compile(new Map([["block-0.ts", text]]))).toEqual([]);
    },
    180_000,
  );

  const loadable = written("ts").filter(
    ({ page, mark, text }) =>
      mark === "" && /^export default/m.test(text) && /^(README|docs\/(plugins|extensions|hot-reload|authoring|sessions))\.?/.test(page),
  );
  it.each(loadable)("$place loads, as an extension", async ({ text }) => {
    const file = join(tempDir(), "example.ts");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    const agent = await startAgent({ extensions: [file] });
    try {
      const run = await agent.prompt("hello");
      expect(run.text).toBe("ok");
      expect(agent.faults).toEqual([]);
    } finally {
      await agent.stop();
    }
  });

  it("the provider of docs/plugins.md answers", async () => {
    const text = written("ts").find(({ page, text }) => page === "docs/plugins.md" && text.includes('"parrot"'))?.text as string;
    const file = join(tempDir(), "parrot.ts");
    writeFileSync(file, text);
    const agent = await startAgent({ extensions: [file], options: { model: "parrot/one" } });
    try {
      expect((await agent.prompt("say it again")).text).toBe("say it again");
    } finally {
      await agent.stop();
    }
  });
});

describe("commands", async () => {
  const kernel = new Kernel();
  await kernel.useAll([programPlugin(branding), pi]);
  const flags = kernel.registry("flags").all();
  const commands = kernel.registry("cliCommands").all();
  const known = new Set(flags.flatMap(({ name, alias }) => [`--${name}`, ...(alias ? [`-${alias}`] : [])]));

  const lines = written("sh").flatMap(({ place, text }) =>
    text.split("\n").flatMap((line) => {
      const words = line.replace(/\s#.*$/, "").match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
      return words.flatMap((word, index) => (word === "pi" ? [{ place, line, words: commandAt(words, index + 1) }] : []));
    }),
  );

  /** Up to whatever ends a command in a shell. */
  function commandAt(words: readonly string[], from: number): string[] {
    const rest = words.slice(from);
    const end = rest.findIndex((word) => /^(\||&&|;|>|2>|<)$/.test(word));
    return end < 0 ? rest : rest.slice(0, end);
  }

  it("there are some", () => expect(lines.length).toBeGreaterThan(15));

  it.each(lines)("$place: $line", ({ words }) => {
    const command = commands.find(({ name }) => name === words[0]);
    if (words[0] && /^[a-z]+$/.test(words[0])) expect(command?.name).toBe(words[0]);
    for (const word of words.filter((other) => /^-/.test(other))) {
      const flag = word.split("=")[0] as string;
      // What comes after the flags of an expanding command are the program's own.
      if (command && !known.has(flag)) expect(command.usage ?? "").toContain(flag);
      else expect(known).toContain(flag);
    }
  });
});

it("pages are reached from somewhere", () => {
  const all = pages.map((page) => readFileSync(join(repositoryRoot, page), "utf8")).join("\n");
  const lonely = pages.filter((page) => !page.endsWith("README.md") && !all.includes(`${relative("docs", page)})`) && !all.includes(`${page})`));
  expect(lonely).toEqual([]);
});
