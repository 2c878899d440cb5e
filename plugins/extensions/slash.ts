/** Runs an extension's slash command. */
import { type Instance, StaleError } from "./instance.ts";
import type { Runtime } from "./runtime.ts";

/** Never rejects: a failed command counts as handled, and is reported. */
export async function runCommand(runtime: Runtime, instance: Instance, name: string, invoked: string, args: string): Promise<void> {
  const command = instance.commands.get(name);
  if (!command) return;
  const leave = instance.enter("command");
  try {
    await runtime.runAs(instance, () => command.handler(args, runtime.commandContextOf(instance)));
  } catch (error) {
    if (error instanceof StaleError) runtime.report(error.instance, "stale", error);
    else runtime.kernel.fault({ from: `command:${invoked}`, during: "command", error });
  } finally {
    leave();
  }
}
