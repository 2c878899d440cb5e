/** A session as one page to share: the command `export_html`, the option `--export` and `pi export`. */
import { basename, resolve } from "node:path";
import { Type } from "typebox";
import { type CliCommand, command, definePlugin, KernelError, messageOf, type PluginKernel } from "../../core/index.ts";
import type {} from "../models/contract.ts";
import type {} from "../print/contract.ts";
import type { SessionReader } from "../session/contract.ts";
import type {} from "../settings/contract.ts";
import type { ExportSource } from "./source.ts";

declare module "../../core/index.ts" {
  interface Options {
    /** session file to export instead of starting */
    export?: string;
  }
}

const exportHtml = command({
  name: "export_html",
  requires: ["session"],
  lane: "background",
  params: () => Type.Object({ outputPath: Type.Optional(Type.String({ minLength: 1 })) }),
  result: () => Type.Object({ path: Type.String() }),
  async run({ outputPath }, kernel) {
    const session = kernel.service("session");
    const { sessionSource } = await import("./source.ts");
    const source = sessionSource(session);
    return { path: await writePage(kernel, source, outputPath ?? pageName(kernel, stemOf(session))) };
  },
});

const exportFile = definePlugin({
  name: "export-html",
  apply(kernel) {
    const run = (file: string | undefined, out: string | undefined, write: (text: string) => unknown) => runExport(kernel, file, out, write);
    kernel.registry("flags").add({
      name: "export",
      type: "string",
      placeholder: "<file> [out]",
      description: "Write a session file as one HTML page and exit",
      group: "Sessions",
      action: (value, io) => run(value as string | undefined, kernel.options.prompts?.[0], (text) => io.stdout.write(text)),
    });
    const cli: CliCommand = {
      name: "export",
      description: "Write a session file as one HTML page",
      usage: "export <session.jsonl> [page.html]",
      run: ([file, out], io) => run(file, out, (text) => io.stdout.write(text)),
    };
    kernel.registry("cliCommands").add(cli);
  },
});

async function runExport(kernel: PluginKernel, file: string | undefined, out: string | undefined, write: (text: string) => unknown): Promise<number> {
  const settings = kernel.service("settings");
  if (!file) throw new KernelError("E_USAGE", `Usage: ${settings.branding.name} --export <session.jsonl> [page.html]`);
  const { fileSource } = await import("./source.ts");
  const stem = basename(file).replace(/\.jsonl$/, "");
  const path = await writePage(kernel, await fileSource(resolve(settings.cwd(), file)), out ?? pageName(kernel, stem));
  write(`Exported to: ${path}\n`);
  return 0;
}

async function writePage(kernel: PluginKernel, source: ExportSource, outputPath: string): Promise<string> {
  const [{ PageFile }, { exportPage }] = await Promise.all([import("./target.ts"), import("./export.ts")]);
  const settings = kernel.service("settings");
  const file = await PageFile.create(outputPath, settings.cwd());
  try {
    await exportPage(source, file, { secrets: secretsOf(kernel), generator: `${settings.branding.name} ${settings.branding.version}` });
    await file.finish();
  } catch (error) {
    await file.discard();
    throw error;
  }
  return file.path;
}

function secretsOf(kernel: PluginKernel): readonly string[] {
  try {
    return kernel.tryService("models")?.secrets() ?? [];
  } catch (error) {
    throw new KernelError("E_REFUSED", `The page is not written, because it is not known what to keep secret: ${messageOf(error)}`);
  }
}

function pageName(kernel: PluginKernel, stem: string): string {
  return `${kernel.service("settings").branding.name}-session-${stem}.html`;
}

function stemOf(session: SessionReader): string {
  const file = session.file();
  return file ? basename(file).replace(/\.jsonl$/, "") : session.id();
}

export default [exportHtml, exportFile];
