/** The `pi` object of one instance. */
import type {} from "../skills/contract.ts";
import type {} from "../tools/contract.ts";
import { exec } from "./exec.ts";
import type { Handler, Instance } from "./instance.ts";
import { assertJson } from "./json.ts";
import { listCommands, listTools } from "./lists.ts";
import { sendMessage, sendUserMessage } from "./messages.ts";
import { registerProvider, unregisterProvider } from "./providers.ts";
import type { Runtime } from "./runtime.ts";
import { adaptTool, assertTool } from "./tools.ts";
import type { ExtensionAPI, FlagOptions, ToolDefinition } from "./types.ts";

export function createApi(runtime: Runtime, instance: Instance): ExtensionAPI {
  const { kernel } = runtime;
  const undoTools = new Map<string, () => void>();

  /** A registration: allowed from the factory on, for the instance's whole life. */
  const registering = <T>(work: () => T): T => {
    instance.assertUsable();
    return work();
  };
  /** An action: needs a session. What it makes the kernel do is the kernel's. */
  const acting = <T>(member: string, work: () => T): T => {
    instance.assertLoaded(member);
    return runtime.leave(work);
  };
  const refresh = () => {
    if (instance.state === "active") runtime.changed();
  };

  const api = {
    on(event: string, handler: Handler) {
      return registering(() => {
        // A wrapper of its own, so that the same function can be registered twice and removed once.
        const entry: Handler = (payload, ctx) => handler(payload, ctx);
        instance.handlers.set(event, [...(instance.handlers.get(event) ?? []), entry]);
        refresh();
        return () => {
          const rest = (instance.handlers.get(event) ?? []).filter((other) => other !== entry);
          if (rest.length > 0) instance.handlers.set(event, rest);
          else instance.handlers.delete(event);
          refresh();
        };
      });
    },
    registerTool(definition: ToolDefinition) {
      registering(() => {
        assertTool(definition);
        const { name } = definition;
        // Until it counts nobody asks: each look after a change collects all tools anew.
        const isNew = instance.state === "active" && !kernel.registry("tools").has(name);
        undoTools.get(name)?.();
        instance.tools.set(name, definition);
        undoTools.set(name, instance.kernel.registry("tools").add(adaptTool(runtime, instance, definition)));
        if (instance.state !== "active") return;
        runtime.changed();
        if (isNew) kernel.tryService("activeTools")?.activate(name);
      });
    },
    unregisterTool(name: string) {
      registering(() => {
        undoTools.get(name)?.();
        undoTools.delete(name);
        instance.tools.delete(name);
        refresh();
      });
    },
    registerCommand(name, options) {
      registering(() => {
        if (typeof options?.handler !== "function") {
          // The rest of the extension may well work without it.
          const error = typeof name === "string" ? `The command "${name}" needs a handler.` : "A command needs a name, which is a text, and a handler.";
          runtime.kernel.fault({ from: instance.path, during: "register_command", error });
          return;
        }
        instance.commands.set(String(name), options);
        refresh();
      });
    },
    registerShortcut: () => registering(() => {}),
    registerMessageRenderer: () => registering(() => {}),
    registerEntryRenderer: () => registering(() => {}),
    registerMarkdownTransformer: () => registering(() => {}),
    registerFlag(name, options) {
      registering(() => {
        assertFlag(name, options);
        instance.flags.set(name, options);
        const { type, description = "", default: fallback } = options;
        instance.kernel.registry("flags").add({ name, type, description, group: "Extensions", ...(fallback !== undefined && { default: fallback }) });
        refresh();
      });
    },
    getFlag(name) {
      return registering(() => {
        const flag = runtime.flagOf(instance, name);
        const given = flag && runtime.flagValues?.get(name);
        if (given === undefined) return flag?.default;
        return flag?.type === "boolean" ? true : given;
      });
    },

    sendMessage: (message, options) => acting("sendMessage", () => void sendMessage(runtime, message, options)),
    sendUserMessage: (content, options) => acting("sendUserMessage", () => void sendUserMessage(runtime, content, options)),
    appendEntry(customType, data) {
      acting("appendEntry", () => {
        if (typeof customType !== "string") throw new TypeError("A custom entry needs a customType.");
        assertJson(data, "data of appendEntry");
        kernel.service("session").appendAnnounced({ type: "custom", customType, ...(data !== undefined && { data }) });
      });
    },
    setSessionName: (name) =>
      acting("setSessionName", () =>
        kernel.service("session").setName(
          String(name ?? "")
            .replace(/\s*[\r\n]+\s*/g, " ")
            .trim(),
        ),
      ),
    getSessionName: () => acting("getSessionName", () => kernel.service("session").name()),
    setLabel: (entryId, label) => acting("setLabel", () => kernel.service("session").setLabel(entryId, label)),
    exec(command, args, options) {
      instance.assertUsable();
      // Its clocks are ours: the call may outlive the instance.
      return runtime.leave(() =>
        exec(command, args ?? [], { ...options, cwd: options?.cwd ?? runtime.cwd }, (child) => {
          const owners = [instance.children, instance.execs, runtime.execs];
          for (const children of owners) children.add(child);
          child.once("close", () => {
            for (const children of owners) children.delete(child);
          });
        }),
      );
    },
    getActiveTools: () => acting("getActiveTools", () => kernel.service("activeTools").names()),
    getAllTools: () => acting("getAllTools", () => listTools(runtime)),
    setActiveTools: (names) => acting("setActiveTools", () => kernel.service("activeTools").set([...new Set(names)], { forSession: true })),
    getCommands: () => acting("getCommands", () => listCommands(runtime)),
    async setModel(model) {
      return acting("setModel", async () => {
        const models = kernel.service("models");
        if (!models.hasAuth(model)) return false;
        await models.select(model, "extension");
        return true;
      });
    },
    getThinkingLevel: () => acting("getThinkingLevel", () => kernel.service("model").thinkingLevel()),
    setThinkingLevel: (level) => acting("setThinkingLevel", () => kernel.service("models").setThinkingLevel(level)),
    registerProvider: (name, config) => registering(() => runtime.leave(() => registerProvider(runtime, instance, name, config))),
    unregisterProvider: (name) => registering(() => runtime.leave(() => unregisterProvider(instance, name))),
    events: runtime.channels.view(instance),
    hot: {
      get data() {
        instance.hasReadHandover = true;
        return instance.handedOver();
      },
      dispose(handOver) {
        registering(() => void instance.disposers.push(handOver));
      },
    },
  } satisfies Omit<ExtensionAPI, "on" | "registerTool"> & Record<string, unknown>;
  // `on` and `registerTool` are generic in their declarations; what extensions pass is checked when it is used.
  return api as unknown as ExtensionAPI;
}

function assertFlag(name: string, { type, default: fallback }: FlagOptions): void {
  if (type !== "boolean" && type !== "string") throw new TypeError(`The flag "--${name}" needs the type "boolean" or "string".`);
  if (fallback !== undefined && typeof fallback !== type) throw new TypeError(`The default of the flag "--${name}" is a ${typeof fallback}, not a ${type}.`);
}
