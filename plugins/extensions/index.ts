/** Extensions: TypeScript files that take part through pi's ExtensionAPI, each a plugin of its own that can be changed while the agent runs. */
import { SyncHook } from "tapable";
import { Type } from "typebox";
import { definePlugin, type PluginList, Stage } from "../../core/index.ts";
import type { Bridge } from "./bridge.ts";
import { getExtensions, reload } from "./commands.ts";
import type { Extensions } from "./contract.ts";

export const extensions = definePlugin({
  name: "extensions",
  apply(kernel) {
    kernel.registry("events").add({ name: "extension_reload", schema: reloadSchema });
    kernel.registry("events").add({ name: "extension_quarantined", schema: quarantinedSchema });
    let bridge: Bridge | undefined;
    const hooks: Extensions["hooks"] = { called: new SyncHook(["call"]) };
    kernel.provide("extensions", {
      hooks,
      exportsOf: async (specifier) => bridge?.exportsOf(specifier),
      list: () => bridge?.list() ?? [],
      reload: async (path) => (await bridge?.reload(path)) ?? { reloaded: [], failed: [] },
    });
    kernel.hooks.start.tap({ name: "extensions", stage: Stage.commands }, async () => {
      const { openBridge } = await import("./bridge.ts");
      bridge = await openBridge(kernel, hooks);
    });
    kernel.hooks.start.tap({ name: "extensions", stage: Stage.expand }, async () => {
      await bridge?.opened();
    });
    kernel.hooks.start.tap({ name: "extensions", stage: Stage.listen }, () => bridge?.serving());
  },
});

const reloadSchema = () =>
  Type.Object({
    type: Type.Literal("extension_reload"),
    extensionPath: Type.String(),
    success: Type.Boolean(),
    durationMs: Type.Number(),
    generation: Type.Number(),
    error: Type.Optional(Type.String()),
  });

const quarantinedSchema = () =>
  Type.Object({ type: Type.Literal("extension_quarantined"), extensionPath: Type.String(), faults: Type.Number(), lastError: Type.String() });

export default [extensions, getExtensions, reload] satisfies PluginList;
