/** `ctx`: what handlers, tools and commands see of the agent. Every member reads live and says so when its instance is gone. */
import type { Instance } from "./instance.ts";
import { sendMessage, sendUserMessage } from "./messages.ts";
import { createModelRegistry } from "./model-registry.ts";
import type { Runtime } from "./runtime.ts";
import { readSession, writeSession } from "./session-view.ts";
import type { ContextUsage, ExtensionCommandContext, ExtensionContext, ReplacedSessionContext } from "./types.ts";
import { createUi } from "./ui.ts";

export function createContext(runtime: Runtime, instance: Instance): ExtensionContext {
  const { kernel } = runtime;
  const ui = createUi(runtime, instance);
  const sessionManager = readSession(runtime, instance);
  const modelRegistry = createModelRegistry(runtime, instance);
  const live = <T>(read: () => T): T => {
    instance.assertUsable();
    return read();
  };
  return {
    get ui() {
      return live(() => ui);
    },
    get mode() {
      return live(() => runtime.mode);
    },
    get hasUI() {
      return live(() => runtime.hasUi);
    },
    get cwd() {
      return live(() => runtime.cwd);
    },
    get sessionManager() {
      return live(() => sessionManager);
    },
    get modelRegistry() {
      return live(() => modelRegistry);
    },
    get model() {
      return live(() => kernel.tryService("model")?.current());
    },
    get scopedModels() {
      return live(() => kernel.tryService("models")?.scoped() ?? []);
    },
    get thinkingLevel() {
      return live(() => kernel.tryService("model")?.thinkingLevel() ?? "off");
    },
    get signal() {
      return live(() => (runtime.isSettling || kernel.run.reserved ? undefined : kernel.run.signal));
    },
    isIdle: () => live(() => kernel.run.idle || kernel.run.reserved),
    isProjectTrusted: () => live(() => kernel.tryService("trust")?.isTrusted() ?? true),
    abort: () => live(() => runtime.leave(() => void kernel.run.abort())),
    hasPendingMessages: () => live(() => kernel.queue.length > 0),
    shutdown: () => live(() => runtime.leave(() => runtime.onShutdown())),
    getContextUsage: () => live(() => contextUsage(runtime)),
    compact: (options) =>
      live(() => {
        const compaction = kernel.service("compaction");
        const { customInstructions, onComplete, onError } = options ?? {};
        const done = runtime.leave(() => compaction.compact(customInstructions === undefined ? {} : { customInstructions }));
        done.then(
          (result) => onComplete?.(result),
          (error) => onError?.(error instanceof Error ? error : new Error(String(error))),
        );
      }),
    getSystemPrompt: () => live(() => systemPrompt(runtime)),
  };
}

/** For command handlers, which may wait for the agent and replace its session. */
export function createCommandContext(runtime: Runtime, instance: Instance): ExtensionCommandContext {
  const { kernel } = runtime;
  const session = () => {
    instance.assertUsable();
    return kernel.service("session");
  };
  /** Goes on in the instance that took this one's place. */
  const afterwards = async (
    result: { cancelled: boolean },
    withSession?: (ctx: ReplacedSessionContext) => void | Promise<void>,
  ): Promise<{ cancelled: boolean }> => {
    const { cancelled } = result;
    const successor = cancelled || !withSession ? undefined : runtime.instances.find(({ path }) => path === instance.path);
    if (!successor || !withSession) return { cancelled };
    const leave = successor.enter("command");
    try {
      await runtime.runAs(successor, () => withSession(replacedContext(runtime, successor)));
    } finally {
      leave();
    }
    return { cancelled };
  };
  return extend<ExtensionContext, Omit<ExtensionCommandContext, keyof ExtensionContext>>(runtime.contextOf(instance), {
    getSystemPromptOptions: () => {
      instance.assertUsable();
      return kernel.service("systemPrompt").options();
    },
    waitForIdle: () => {
      instance.assertUsable();
      return runtime.leave(() => kernel.run.whenIdle());
    },
    newSession: async ({ parentSession, setup, withSession } = {}) => {
      let failure: unknown;
      const prepare = async (opened: Parameters<typeof writeSession>[1]) => {
        // The new session is open by now, so a failure must not keep its extensions from starting.
        await Promise.resolve(setup?.(writeSession(runtime, opened))).catch((error) => {
          failure = error;
        });
      };
      const options = { ...(parentSession !== undefined && { parentSession }), ...(setup && { setup: prepare }) };
      const result = await runtime.leave(() => session().startNew(options));
      if (failure !== undefined) throw failure;
      return afterwards(result, withSession);
    },
    fork: async (entryId, { position = "before", withSession } = {}) =>
      afterwards(await runtime.leave(() => session().fork(entryId, { position })), withSession),
    switchSession: async (path, { withSession } = {}) => afterwards(await runtime.leave(() => session().switchTo(path)), withSession),
    navigateTree: async (targetId, options) => {
      const { cancelled } = await runtime.leave(() => session().navigate(targetId, options));
      return { cancelled };
    },
    reload: async () => {
      instance.assertUsable();
      await runtime.leave(() => runtime.onReload());
    },
  });
}

function replacedContext(runtime: Runtime, instance: Instance): ReplacedSessionContext {
  return extend<ExtensionCommandContext, Omit<ReplacedSessionContext, keyof ExtensionCommandContext>>(runtime.commandContextOf(instance), {
    sendMessage: (message, options) => {
      instance.assertUsable();
      return sendMessage(runtime, message, options, { settles: true });
    },
    sendUserMessage: (content, options) => {
      instance.assertUsable();
      return sendUserMessage(runtime, content, options, { settles: true });
    },
  });
}

/** By descriptors: copying values would freeze what must stay live. */
function extend<T extends object, M extends object>(base: T, members: M): T & M {
  return Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(base), ...Object.getOwnPropertyDescriptors(members) }) as T & M;
}

function contextUsage({ kernel }: Runtime): ContextUsage | undefined {
  const model = kernel.tryService("model")?.current();
  if (!model) return undefined;
  const { contextWindow } = model;
  const compaction = kernel.tryService("compaction");
  const tokens = compaction ? compaction.contextTokens() : (kernel.tryService("session")?.stats().contextUsage?.tokens ?? null);
  return { tokens, contextWindow, percent: tokens === null || contextWindow <= 0 ? null : (tokens / contextWindow) * 100 };
}

function systemPrompt(runtime: Runtime): string {
  const service = runtime.kernel.tryService("systemPrompt");
  if (!service) return "";
  const options = runtime.runPrompt ?? service.options();
  return options.forceSystemPrompt ?? service.render(options);
}
