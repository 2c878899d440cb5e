/** What `create extension` writes. */

/** The name as a tool may be called: most models take no hyphens. */
const toolName = (name: string) => name.replaceAll("-", "_");

export function extensionSource(name: string): string {
  return `/** ${name}: say here in one sentence what it does. */
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
  // What people can type: /${name} Ada
  pi.registerCommand("${name}", {
    description: "Say hello",
    handler: async (args, ctx) => {
      ctx.ui.notify(\`Hello, \${args.trim() || "world"}!\`);
    },
  });

  // What the model can do.
  pi.registerTool({
    name: "${toolName(name)}",
    label: "${name}",
    description: "Greets somebody by name",
    parameters: Type.Object({ who: Type.String({ description: "Whom to greet" }) }),
    async execute(_toolCallId, { who }) {
      return { content: [{ type: "text", text: \`Hello, \${who}!\` }] };
    },
  });

  // Where to take part in what happens. What a handler starts (timers, servers), session_shutdown ends.
  pi.on("session_start", (_event, ctx) => {
    ctx.ui.setStatus("${name}", "ready");
  });
}
`;
}

function testSource(name: string): string {
  return `import { startAgent } from "pi-kernel/testing";
import { afterEach, beforeEach, expect, test } from "vitest";

let agent: Awaited<ReturnType<typeof startAgent>>;

beforeEach(async () => {
  agent = await startAgent({ extensions: [new URL("../extensions/${name}.ts", import.meta.url)] });
});
afterEach(() => agent.stop());

test("the command says hello", async () => {
  await agent.prompt("/${name} Ada");
  expect(agent.ui.notices).toEqual(["Hello, Ada!"]);
});

test("the model can greet", async () => {
  agent.model.responses = [{ toolCalls: [{ name: "${toolName(name)}", arguments: { who: "Ada" } }] }, "Done."];
  const run = await agent.prompt("Greet Ada");
  expect(run.tools).toMatchObject([{ name: "${toolName(name)}", text: "Hello, Ada!", isError: false }]);
  expect(run.text).toBe("Done.");
  expect(agent.faults).toEqual([]);
});
`;
}

/** Files of a package by path; \`version\` is that of the program. */
export function packageFiles(name: string, program: string, version: string): Record<string, string> {
  const range = /^\d/.test(version) && !version.startsWith("0.0.0") ? `^${version}` : "*";
  const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  return {
    "package.json": json({
      name,
      version: "0.1.0",
      description: "Say here in one sentence what it does",
      license: "MIT",
      type: "module",
      keywords: ["pi-package"],
      files: ["extensions"],
      pi: { extensions: [`./extensions/${name}.ts`] },
      scripts: { check: `${program} ext check extensions/${name}.ts`, test: "vitest run" },
      devDependencies: { "@types/node": "^20", "pi-kernel": range, typebox: "^1", typescript: "^7", vitest: "^4" },
    }),
    "tsconfig.json": json({
      compilerOptions: {
        target: "ES2023",
        module: "NodeNext",
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        allowImportingTsExtensions: true,
        types: ["node"],
        paths: { "@mariozechner/pi-coding-agent": ["./node_modules/pi-kernel/dist/types/plugins/extensions/public/types.d.ts"] },
      },
      include: ["extensions", "test"],
    }),
    [`extensions/${name}.ts`]: extensionSource(name),
    [`test/${name}.test.ts`]: testSource(name),
    "README.md": `# ${name}\n\nSay here what it does. Install it with \`${program} install npm:${name}\`.\n\n\`npm run check\` looks at the extension, \`npm test\` runs it, \`${program} dev .\` lets you try it.\n`,
    ".gitignore": "node_modules\n",
  };
}
