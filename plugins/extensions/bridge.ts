/** Ties the extensions' life to the agent's: loaded when the agent starts, so that listing plugins costs nothing. */
import { definePlugin, type PluginKernel, Stage } from "../../core/index.ts";
import type {} from "../process/contract.ts";
import type {} from "../resources/contract.ts";
import type { SessionChanged } from "../session/contract.ts";
import { atLeisure } from "../shared/leisure.ts";
import type { Extensions } from "./contract.ts";
import { ExtensionHost } from "./host.ts";
import { Instance } from "./instance.ts";
import { append } from "./messages.ts";
import { Reloader } from "./reload.ts";
import { describe } from "./slots.ts";
import { pruneCache } from "./transform.ts";
import { watch } from "./watch.ts";

/** Taps of extensions come after those of built-in plugins. */
const AFTER_BUILTINS = 1_000_000;

/** Extensions once they are loaded, with the later moments of the start: a tap of `start` that is added during it is not called. */
export interface Bridge extends Extensions {
  /** The session is open. */
  opened(): unknown;
  /** Opened in the middle of a change of sessions, whose news came too early. */
  entered(changed: SessionChanged): Promise<void>;
  /** The transport is about to serve. */
  serving(): void;
}

/** Loads all extensions; what they do goes through a plugin of its own, which comes after all others. */
export async function openBridge(kernel: PluginKernel, hooks: Extensions["hooks"], isLate: boolean): Promise<Bridge> {
  let host!: ExtensionHost;
  const bridge = definePlugin({
    name: "extensions:bridge",
    apply(own) {
      host = new ExtensionHost(own);
      host.runtime.called = hooks.called;
    },
  });
  const { scope } = await kernel.use(bridge, { order: AFTER_BUILTINS, precedence: AFTER_BUILTINS * 2, staged: true });
  scope.show();
  kernel.defer(async () => {
    await host.dispose();
    await scope.close((error) => kernel.fault({ during: "unload", error }));
  });
  const reloader = new Reloader(host);
  connect(host, reloader);
  await (isLate ? host.startLate() : host.start());
  return {
    hooks,
    exportsOf: (specifier) => host.exportsOf(specifier),
    list: () => host.slots.map((slot) => describe(slot, kernel)),
    reload: (path) => reloader.reload(path),
    entered: (changed) => host.sessionChanged(changed),
    opened: () => (kernel.tryService("session") ? undefined : host.sessionChanged({ reason: "startup" })),
    serving: () => {
      kernel.defer(watch(host, reloader));
      if (host.runtime.hasUi) pruneLater(host);
    },
  };
}

/** The moments of the agent that extensions take part in. */
function connect(host: ExtensionHost, reloader: Reloader): void {
  const { kernel, runtime } = host;
  const session = kernel.tryService("session");
  if (session) {
    const hooks = kernel.own(session.hooks);
    hooks.leaving.tap("extensions", (change) => host.sessionLeaving(change));
    // Factories run before the session's model is restored, which may be theirs.
    hooks.changed.tap({ name: "extensions", stage: Stage.commands }, () => host.sessionEntered());
    hooks.changed.tap({ name: "extensions", stage: Stage.expand }, (changed) => host.sessionChanged(changed));
  }
  const trust = kernel.tryService("trust");
  if (trust) kernel.own(trust.hooks).deciding.tap("extensions", (cwd) => host.sessionMoving(cwd));
  kernel.hooks.stop.tap({ name: "extensions", stage: Stage.open }, async () => {
    reloader.stop();
    await host.stop();
  });

  runtime.onReload = async () => void (await reloader.reload());
  runtime.onShutdown = () => shutDown(host);
  kernel.hooks.boundary.tap({ name: "extensions", stage: Stage.open }, ({ at, joining }) => {
    if (at === "start") runtime.decided();
    if (at !== "turn") return undefined;
    joining.push(...runtime.afterTurn.splice(0));
    return reloader.betweenTurns() as Promise<undefined>;
  });
  kernel.hooks.beforeRun.tap({ name: "extensions", stage: Stage.open }, () => reloader.settled());
  // What waits for the next prompt follows its message directly; handlers of before_agent_start may have added to it.
  kernel.hooks.beforeRun.tap({ name: "extensions", stage: Stage.wire }, (run) => {
    if (run.prompted) run.messages.splice(1, 0, ...runtime.nextTurn.splice(0));
  });
  // Behind the last turn, and behind the handlers that look at the run's end: no other turn begins with them. A run that is repeated has turns to come.
  kernel.hooks.event.tap({ name: "extensions:after-turn", stage: Stage.expand }, (event) => {
    const isOver = event.type === "agent_end" ? !event.willRetry : event.type === "auto_retry_end" && !event.success;
    if (isOver) for (const message of runtime.afterTurn.splice(0)) void append(runtime, message);
  });
  kernel.hooks.event.tap("extensions:settled", (event) => {
    if (event.type !== "agent_settled") return;
    runtime.runPrompt = undefined;
    // A handler that an abort did not wait for.
    runtime.dispatcher.passOver();
  });

  const process = kernel.tryService("process");
  if (process) {
    kernel.defer(
      process.onUncaught((error, owner) => {
        if (owner instanceof Instance) runtime.report(owner, "uncaught", error);
        else kernel.fault({ from: owner.id, during: "uncaught", error });
        return true;
      }),
    );
    kernel.defer(process.onUnowned((error) => host.authorOf(error)));
  }
}

/** Ends the program in order, once the session is idle and the command under way is answered. */
function shutDown({ kernel, runtime }: ExtensionHost): void {
  if (runtime.mode === "json" || runtime.mode === "print") return;
  const busy = runtime.instances.map((instance) => instance.drained());
  void Promise.all([kernel.run.whenIdle(), ...busy]).then(() => {
    // The answer to the command is queued right after its handler ended.
    setImmediate(() => kernel.enqueue(() => setImmediate(() => kernel.tryService("process")?.end(0))));
  });
}

function pruneLater({ kernel, cacheDir }: ExtensionHost): void {
  if (cacheDir) atLeisure(kernel, () => pruneCache(cacheDir));
}
