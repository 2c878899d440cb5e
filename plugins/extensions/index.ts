/** Extensions: TypeScript files that take part through pi's ExtensionAPI, each a plugin of its own that can be changed while the agent runs. */
import { SyncHook } from "tapable";
import { Type } from "typebox";
import { definePlugin, type PluginKernel, type PluginList, Stage } from "../../core/index.ts";
import type {} from "../resources/contract.ts";
import type {} from "../session/contract.ts";
import type {} from "../settings/contract.ts";
import { atLeisure } from "../shared/leisure.ts";
import type {} from "../watching/contract.ts";
import type { Bridge } from "./bridge.ts";
import { getExtensions, reload } from "./commands.ts";
import type { Extensions } from "./contract.ts";

export const extensions = definePlugin({
  name: "extensions",
  apply(kernel) {
    kernel.registry("events").add({ name: "extension_reload", schema: reloadSchema });
    kernel.registry("events").add({ name: "extension_quarantined", schema: quarantinedSchema });
    let bridge: Bridge | undefined;
    let opening: Promise<Bridge> | undefined;
    const hooks: Extensions["hooks"] = { called: new SyncHook(["call"]) };
    /** Once: `first` is done by whoever asked first, and the others only wait. */
    const open = async (isLate: boolean, first?: (opened: Bridge) => unknown) => {
      const isFirst = !opening;
      opening ??= import("./bridge.ts").then(({ openBridge }) => openBridge(kernel, hooks, isLate));
      bridge = await opening;
      if (isFirst) await first?.(bridge);
      return bridge;
    };
    /** Whoever starts without extensions does not wait for what would run them. */
    const openLate = () => open(true, (late) => late.serving());
    kernel.provide("extensions", {
      hooks,
      exportsOf: async (specifier) => (await openLate()).exportsOf(specifier),
      list: () => bridge?.list() ?? [],
      reload: async (path) => (await openLate()).reload(path),
    });
    kernel.hooks.start.tap({ name: "extensions", stage: Stage.commands }, async () => {
      if (await mayHaveExtensions(kernel)) await open(false);
      const session = kernel.tryService("session");
      if (!session || bridge) return;
      const sessions = kernel.own(session.hooks);
      // Whoever is just being opened takes part in the change.
      sessions.leaving.tap("extensions", async () => void (await opening?.catch(() => undefined)));
      // Another session may lie in another directory, which has some. They are there before its model is restored, which may be theirs.
      let entering: Bridge | undefined;
      sessions.changed.tap({ name: "extensions", stage: Stage.commands }, async ({ reason }) => {
        if (bridge || reason === "startup" || !(await mayHaveExtensions(kernel))) return;
        await open(false, (late) => {
          entering = late;
        });
      });
      sessions.changed.tap({ name: "extensions", stage: Stage.expand }, async (changed) => {
        const late = entering;
        entering = undefined;
        await late?.entered(changed);
        late?.serving();
      });
    });
    kernel.hooks.start.tap({ name: "extensions", stage: Stage.expand }, async () => {
      await bridge?.opened();
    });
    kernel.hooks.start.tap({ name: "extensions", stage: Stage.listen }, () => {
      if (bridge) bridge.serving();
      else if (kernel.tryService("watching")?.isOn) atLeisure(kernel, () => void openLate().catch((error) => kernel.fault({ during: "reload", error })));
    });
  },
});

async function mayHaveExtensions(kernel: PluginKernel): Promise<boolean> {
  const { extension = [], extensionFactories = [], unknownFlags } = kernel.options;
  // Only those who know all extensions can say that nobody knows an option.
  if (unknownFlags && unknownFlags.size > 0) return true;
  const resources = kernel.tryService("resources");
  if (extensionFactories.length > 0 || !resources) return extension.length + extensionFactories.length > 0;
  const trust = kernel.tryService("trust");
  const cwd = kernel.tryService("settings")?.cwd();
  if (trust && cwd !== undefined) {
    // The user's extensions have a say in whether a project is trusted.
    if (trust.isUndecided(cwd)) return true;
    await trust.decide(cwd);
  }
  return (await resources.files("extensions")).length > 0;
}

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
