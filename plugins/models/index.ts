/** Models: which ones there are, the one in use, its thinking level, and credentials. */
import { join } from "node:path";
import { definePlugin, Stage } from "../../core/index.ts";
import type {} from "../settings/contract.ts";
import { thinkingLevels } from "../shared/thinking.ts";
import type {} from "../watching/contract.ts";
import { commands, events } from "./commands.ts";
import { checkAuth, listModels } from "./list.ts";
import { ModelService } from "./service.ts";

const models = definePlugin({
  name: "models",
  apply(kernel) {
    const service = new ModelService(kernel);
    kernel.provide("models", service);
    kernel.provide("model", service);

    kernel.hooks.start.tap("models", async () => {
      await service.start();
      const settings = kernel.tryService("settings");
      const watching =
        settings &&
        kernel.tryService("watching")?.watch({ places: () => [{ path: join(settings.agentDir(), "models.json") }], changed: () => service.refresh() });
      if (watching) kernel.defer(() => watching.stop());
      const session = kernel.tryService("session");
      if (session) kernel.own(session.hooks).changed.tap({ name: "models", stage: Stage.open }, (changed) => service.sessionChanged(changed));
    });
    // First of all: nothing else should happen to a prompt that cannot be answered.
    kernel.hooks.beforeRun.tap({ name: "models", stage: Stage.open }, () => service.admit());
    kernel.hooks.describe.tap("models", (state) => {
      state.model = service.current() ?? null;
      state.thinkingLevel = service.thinkingLevel();
    });

    const flags = kernel.registry("flags");
    const group = "Model";
    flags.add({ name: "provider", type: "string", placeholder: "<id>", group, description: "Provider of the model, e.g. anthropic" });
    flags.add({
      name: "model",
      type: "string",
      placeholder: "<pattern>",
      group,
      description: "Model: provider/id, an id or a part of it; :<level> may follow",
    });
    flags.add({
      name: "models",
      type: "string",
      placeholder: "<patterns>",
      group,
      description: "Models to cycle through, separated by commas; * and ? allowed",
    });
    flags.add({ name: "thinking", type: "string", placeholder: "<level>", group, description: `Thinking level: ${thinkingLevels.join(", ")}` });
    flags.add({ name: "api-key", type: "string", placeholder: "<key>", group, description: "Key for the model's provider, for this process only" });
    flags.add({
      name: "list-models",
      type: "optional",
      placeholder: "[search]",
      group,
      description: "List available models, or all that match the search, and exit",
      action: (search, io) => listModels(service, search as string | true, io),
    });
    kernel.registry("cliCommands").add({
      name: "auth",
      description: "Say which providers have a usable credential, and where it comes from",
      usage: "auth check [provider…]",
      run: (args, io) => checkAuth(service, args, io),
    });
    for (const event of events) kernel.registry("events").add(event);
  },
});

export default [models, ...commands];
