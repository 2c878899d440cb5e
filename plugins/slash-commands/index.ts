/** Runs `/name args` before anything else sees the text. */
import { definePlugin, KernelError, Stage } from "../../core/index.ts";

/** The name, up to the first space, and arguments of a slash command; arguments stay untrimmed. */
export function parseSlash(text: string): { name: string; args: string } | undefined {
  if (!text.startsWith("/")) return undefined;
  const space = text.indexOf(" ");
  if (space < 0) return { name: text.slice(1), args: "" };
  return { name: text.slice(1, space), args: text.slice(space + 1) };
}

export const slashCommands = definePlugin({
  name: "slash-commands",
  apply(kernel) {
    kernel.hooks.intercept.tap({ name: "slash-commands", stage: Stage.commands }, (draft) => {
      if (!draft.expand) return undefined;
      const slash = parseSlash(draft.text);
      const found = slash && kernel.registry("slashCommands").get(slash.name);
      if (!slash || !found) return undefined;
      if (draft.queueOnly) {
        throw new KernelError("E_REFUSED", `Extension command "/${slash.name}" cannot be queued. Use prompt() or execute the command when not streaming.`);
      }
      return (async () => {
        try {
          await found.run(slash.args, kernel);
        } catch (error) {
          kernel.fault({ from: `command:${slash.name}`, during: "command", error });
        }
        return "handled" as const;
      })();
    });
  },
});

export default [slashCommands];
