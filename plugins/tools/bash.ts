/** The plugin of the tool `bash`. */
import { definePlugin, type PluginKernel, Stage } from "../../core/index.ts";
import type {} from "../session/contract.ts";
import { ProcessGroups } from "../shared/shell.ts";
import { environmentOptions, shellPath } from "../shared/shell-settings.ts";
import { createBashTool } from "./definitions/bash.ts";
import { builtinTool } from "./shared/definition.ts";

/** One tool for each kernel, so that its commands end with it. */
export const bash = definePlugin({
  name: "tool:bash",
  async apply(kernel) {
    const groups = new ProcessGroups();
    const tool = builtinTool(
      (own, cwd) =>
        createBashTool(cwd, {
          commandPrefix: own.tryService("settings")?.get<string>("shellCommandPrefix"),
          shellPath: shellPath(own),
          sessionEnvironment: () => sessionEnvironment(own),
          environment: environmentOptions(own),
          ready: () => own.ready(),
          groups,
        }),
      createBashTool("/"),
    );
    await tool.apply(kernel);
    kernel.hooks.stop.tap({ name: "tool:bash", stage: Stage.open }, () => groups.killAll());
    return () => groups.killAll();
  },
});

/** The variables of one command, read when it starts. */
function sessionEnvironment(kernel: PluginKernel): Record<string, string | undefined> {
  const session = kernel.tryService("session");
  const model = kernel.tryService("model");
  const current = model?.current();
  return {
    SESSION_ID: session?.id() ?? kernel.tryService("transcript")?.sessionId(),
    SESSION_FILE: session?.file(),
    PROVIDER: current?.provider,
    MODEL: current?.id,
    REASONING_LEVEL: model?.thinkingLevel(),
  };
}
