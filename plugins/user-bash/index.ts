/** Shell commands of the user: run at once, shown to the model with the next prompt. */
import { Type } from "typebox";
import { command, definePlugin, type PluginList, Stage } from "../../core/index.ts";
import type {} from "../rpc/contract.ts";
import { bashExecutionText } from "../shared/conversation.ts";
import { eventSchema, idSchema, nullable } from "../shared/schemas.ts";
import type {} from "./contract.ts";
import { UserBashService } from "./service.ts";

const userBash = definePlugin({
  name: "user-bash",
  apply(kernel) {
    const service = new UserBashService(kernel);
    kernel.provide("userBash", service);
    kernel.registry("roles").add({
      name: "bashExecution",
      toModel(message) {
        if (message.role !== "bashExecution" || message.excludeFromContext) return undefined;
        return { role: "user", content: [{ type: "text", text: bashExecutionText(message) }], timestamp: message.timestamp };
      },
    });
    kernel.registry("events").add({
      name: "bash_execution_update",
      schema: () => eventSchema("bash_execution_update", { id: Type.Optional(idSchema()), delta: Type.String() }),
    });
    // Before the next prompt's own message, and before anybody is told that the run is over.
    kernel.hooks.beforeRun.tap({ name: "user-bash", stage: Stage.open }, () => service.recordHeld());
    kernel.hooks.event.tap({ name: "user-bash", stage: Stage.open }, (event) => {
      if (event.type === "agent_settled" && service.holds) return service.recordHeld();
    });
    kernel.hooks.stopping.tap("user-bash", () => service.abort());
    kernel.hooks.stop.tap({ name: "user-bash", stage: Stage.open }, () => service.stop());
    return () => service.stop();
  },
});

const count = () => Type.Integer({ minimum: 0 });

const bash = command({
  name: "bash",
  lane: "background",
  params: () => Type.Object({ command: Type.String({ minLength: 1 }), excludeFromContext: Type.Optional(Type.Boolean()) }),
  result: () =>
    Type.Object({
      output: Type.String(),
      exitCode: nullable(Type.Integer()),
      cancelled: Type.Boolean(),
      truncated: Type.Boolean(),
      totalLines: count(),
      totalBytes: count(),
      outputLines: count(),
      outputBytes: count(),
      fullOutputPath: Type.Optional(Type.String()),
      artifactId: Type.Optional(Type.String()),
    }),
  run({ command, excludeFromContext }, kernel, { id }) {
    const wire = kernel.tryService("wire");
    const onData = (delta: string) => wire?.send({ type: "bash_execution_update", ...(id !== undefined && { id }), delta });
    return kernel.service("userBash").run(command, { excludeFromContext, onData });
  },
});

const abortBash = command({ name: "abort_bash", lane: "immediate", run: (_, kernel) => kernel.service("userBash").abort() });

export default [userBash, bash, abortBash] satisfies PluginList;
