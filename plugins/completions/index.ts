/** `pi completions bash|zsh|fish`: a script for the shell, made from the flags and commands of this distribution. */
import { definePlugin, type PluginKernel, type PluginList } from "../../core/index.ts";
import type {} from "../rpc/contract.ts";
import type {} from "../settings/contract.ts";
import { bash, type Completable, type Completions, fish, zsh } from "./shells.ts";

const shells: Record<string, (completions: Completions) => string> = { bash, zsh, fish };

const completions = definePlugin({
  name: "completions",
  requires: ["settings"],
  apply(kernel) {
    kernel.registry("cliCommands").add({
      name: "completions",
      usage: "completions <bash|zsh|fish>",
      description: "Print a completion script for a shell",
      async run([shell = "", ...more], io) {
        const write = more.length === 0 && Object.hasOwn(shells, shell) ? shells[shell] : undefined;
        if (!write) {
          io.stderr.write(`Error: Expected one of ${Object.keys(shells).join(", ")}, for example: completions bash\n`);
          return 1;
        }
        io.stdout.write(write(collect(kernel)));
        return 0;
      },
    });
  },
});

export default [completions] satisfies PluginList;

function collect(kernel: PluginKernel): Completions {
  const names = (kind: "transports" | "dialects") =>
    kernel
      .registry(kind)
      .all()
      .map(({ name }) => name);
  const values: Record<string, readonly string[]> = {
    mode: names("transports"),
    thinking: ["off", "minimal", "low", "medium", "high", "xhigh", "max"],
    "rpc-dialect": names("dialects"),
    "rpc-updates": ["full", "delta"],
  };
  const flags = kernel
    .registry("flags")
    .all()
    .filter(({ hidden }) => !hidden)
    .map(({ name, alias, type, description, placeholder = "" }): Completable => {
      const takes = type === "boolean" ? "nothing" : values[name] ? "word" : /path|file|dir|source/.test(placeholder) ? "file" : "text";
      return { name, alias, description, takes, values: values[name] ?? [] };
    });
  const commands = kernel
    .registry("cliCommands")
    .all()
    .map(({ name, description }) => ({ name, description }));
  return { program: kernel.service("settings").branding.name, flags, commands };
}
