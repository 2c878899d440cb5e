/** `pi install`, `remove`, `list` and `update`; what they do is read when one of them is called. */
import { definePlugin, type Io, messageOf } from "../../core/index.ts";
import type {} from "../settings/contract.ts";
import { workshop } from "./workshop.ts";

export default definePlugin({
  name: "package-commands",
  requires: ["settings"],
  apply(kernel) {
    const stopped = new AbortController();
    let running: Promise<unknown> | undefined;
    // What is interrupted is also taken back before the program ends.
    kernel.hooks.stop.tap("package-commands", async () => {
      stopped.abort();
      await running;
    });
    const run = (io: Io, work: () => Promise<number>): Promise<number> => {
      const done = failing(io, work);
      running = done;
      return done;
    };
    const commands = kernel.registry("cliCommands");
    const shop = (io: Io, scripts = false) => workshop(kernel, { signal: stopped.signal, scripts, onOutput: (text) => void io.stderr.write(text) });
    const load = () => import("./run.ts");

    commands.add({
      name: "install",
      usage: "install <source> [-l] [--allow-scripts]",
      description:
        "Install a package (npm:NAME[@VERSION], git:HOST/OWNER/REPO[@REF], URL, directory or .tgz file) and load it from now on; -l for this project only",
      run: (args, io) => run(io, async () => (await load()).runInstall(kernel, args, io, shop)),
    });
    for (const name of ["remove", "uninstall"]) {
      commands.add({
        name,
        usage: `${name} <source> [-l]`,
        description: name === "remove" ? "Remove a package" : "The same as remove",
        run: (args, io) => run(io, async () => (await load()).runRemove(kernel, args, io, shop)),
      });
    }
    commands.add({
      name: "list",
      usage: "list",
      description: "List packages",
      run: (args, io) => run(io, async () => (await load()).runList(kernel, args, io, shop(io))),
    });
    commands.add({
      name: "update",
      usage: "update [<source> | --extensions | --all]",
      description: "Bring packages up to date; pinned versions stay",
      run: (args, io) => run(io, async () => (await load()).runUpdate(kernel, args, io, shop)),
    });
  },
});

/** A failure is a sentence on stderr and exit status 1. */
export async function failing(io: Io, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    io.stderr.write(`Error: ${messageOf(error)}\n`);
    return 1;
  }
}
