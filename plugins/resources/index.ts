/** Finds extensions, skills and prompt templates: in settings, directories, packages and on the command line. */
import { definePlugin, type PluginList, Stage } from "../../core/index.ts";
import type {} from "../session/contract.ts";
import type {} from "../settings/contract.ts";
import type {} from "../watching/contract.ts";
import { ResourcesService } from "./service.ts";

const group = "Resources";

const resources = definePlugin({
  name: "resources",
  requires: ["settings"],
  apply(kernel) {
    const service = new ResourcesService(kernel);
    kernel.provide("resources", service);
    const flags = kernel.registry("flags");
    const path = { type: "strings", placeholder: "<path>", group } as const;
    const off = { type: "boolean", group } as const;
    const source = { ...path, placeholder: "<source>" };
    flags.add({ ...source, name: "extension", alias: "e", description: "Load an extension, directory or package (path, npm:, git:, builtin:); repeatable" });
    flags.add({ ...off, name: "no-extensions", alias: "ne", description: "Load no extensions but those given with -e" });
    flags.add({ ...path, name: "skill", description: "Load a skill file or directory; repeatable" });
    flags.add({ ...off, name: "no-skills", alias: "ns", description: "Load no skills but those named on the command line" });
    flags.add({ ...path, name: "prompt-template", description: "Load a prompt template file or directory; repeatable" });
    flags.add({ ...off, name: "no-prompt-templates", alias: "np", description: "Load no prompt templates but those named on the command line" });
    flags.add({ ...path, name: "theme", description: "Accepted and not used: themes are for terminals" });
    flags.add({ ...off, name: "no-themes", description: "Accepted and not used" });

    kernel.hooks.stop.tap({ name: "resources", stage: Stage.open }, () => service.stop());
    kernel.hooks.start.tap({ name: "resources", stage: Stage.open }, () => {
      kernel.own(kernel.service("settings").hooks).changed.tap("resources", () => service.reload());
      const watching = kernel.tryService("watching")?.watch({
        // Extensions are more than text, and watched by those who run them.
        places: () => [...service.places("skills"), ...service.places("prompts")],
        changed: () => service.reload(),
      });
      if (watching) {
        service.onReloaded = () => watching.moved();
        kernel.defer(() => watching.stop());
      }
      const session = kernel.tryService("session");
      if (!session) return;
      // Before extensions see the new session: files may have changed since the last one.
      kernel.own(session.hooks).changed.tap({ name: "resources", stage: Stage.open }, async ({ reason }) => {
        if (reason !== "startup") await service.reload();
      });
    });
  },
});

export default [resources] satisfies PluginList;
