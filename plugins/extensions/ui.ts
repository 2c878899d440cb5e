/** `ctx.ui` of one instance: dialogs and notices over the `ui` service, and polite nothing where a terminal would be needed. */
import type { Ui } from "../rpc/contract.ts";
import type { Instance } from "./instance.ts";
import { plainTheme } from "./public/theme.ts";
import type { Runtime } from "./runtime.ts";
import type { DialogOptions, ExtensionUIContext } from "./types.ts";

type Answer = string | undefined;
const nothing = () => {};

export function createUi(runtime: Runtime, instance: Instance): ExtensionUIContext {
  /** The service, if this mode has somebody to show things to. */
  const service = (): Ui | undefined => {
    instance.assertUsable();
    return runtime.hasUi ? runtime.kernel.tryService("ui") : undefined;
  };

  /** A dialog: the instance's clocks stand still until it is answered. */
  const ask = async <T>(
    kind: string,
    title: string,
    options: DialogOptions | undefined,
    fallback: T,
    open: (ui: Ui, settings: object) => Promise<T>,
  ): Promise<T> => {
    const ui = service();
    if (!ui || options?.signal?.aborted) return fallback;
    const settings = { ...(options?.signal && { signal: options.signal }), ...(options?.timeout && { timeout: options.timeout }), owner: instance };
    instance.dialogOpened();
    const closed = runtime.promptOpened(kind, title);
    try {
      return await runtime.leave(() => open(ui, settings));
    } finally {
      closed();
      instance.dialogClosed();
    }
  };

  /** A notice. */
  const show = (send: (ui: Ui) => void): void => {
    const ui = service();
    if (ui) runtime.leave(() => send(ui));
  };

  /** A member that does nothing without a terminal. */
  const inert =
    <T>(answer: T) =>
    (): T => {
      instance.assertUsable();
      return answer;
    };

  const setEditorText = (text: string) => show((ui) => ui.setEditorText(String(text)));
  return {
    select: (title, options, settings) =>
      ask<Answer>("select", title, settings, undefined, (ui, given) => ui.select(String(title), (options ?? []).map(String), given)),
    confirm: (title, message, settings) => ask("confirm", title, settings, false, (ui, given) => ui.confirm(String(title), String(message ?? ""), given)),
    input: (title, placeholder, settings) =>
      ask<Answer>("input", title, settings, undefined, (ui, given) => ui.input(String(title), textOrNone(placeholder), given)),
    editor: (title, prefill) => ask<Answer>("editor", title, undefined, undefined, (ui, given) => ui.editor(String(title), textOrNone(prefill), given)),
    notify: (message, type) => show((ui) => ui.notify(String(message), knownWord(["info", "warning", "error"], type))),
    setStatus: (key, text) =>
      show((ui) => {
        const shown = textOrNone(text);
        if (shown === undefined) instance.statusKeys.delete(key);
        else instance.statusKeys.add(key);
        ui.setStatus(String(key), shown);
      }),
    setWidget: (key, content, options) =>
      show((ui) => {
        if (typeof content === "function") return;
        if (content) instance.widgetKeys.add(key);
        else instance.widgetKeys.delete(key);
        const placement = knownWord(["aboveEditor", "belowEditor"], options?.placement);
        ui.setWidget(String(key), Array.isArray(content) ? content.map(String) : undefined, placement);
      }),
    setTitle: (title) => show((ui) => ui.setTitle(String(title))),
    setEditorText,
    pasteToEditor: setEditorText,
    getEditorText: inert(""),
    custom: async () => inert(undefined)() as never,
    onTerminalInput: inert(nothing),
    setWorkingMessage: inert(undefined),
    setWorkingVisible: inert(undefined),
    setWorkingIndicator: inert(undefined),
    setHiddenThinkingLabel: inert(undefined),
    setFooter: inert(undefined),
    setHeader: inert(undefined),
    setEditorComponent: inert(undefined),
    getEditorComponent: inert(undefined),
    addAutocompleteProvider: inert(undefined),
    setToolsExpanded: inert(undefined),
    getToolsExpanded: inert(false),
    get theme() {
      instance.assertUsable();
      return plainTheme;
    },
    getAllThemes: () => inert([])(),
    getTheme: inert(undefined),
    setTheme: () => {
      instance.assertUsable();
      const mode = runtime.mode === "rpc" ? "RPC" : runtime.mode;
      return { success: false, error: `Theme switching not supported in ${mode} mode` };
    },
  };
}

function textOrNone(text: unknown): string | undefined {
  return text === undefined || text === null ? undefined : String(text);
}

/** Extensions are not always type-checked, and clients know these words only. */
function knownWord<const W extends string>(words: readonly W[], word: unknown): W | undefined {
  return words.find((known) => known === word);
}

/** Takes statuses and widgets of an instance off the screen. */
export function clearScreen(runtime: Runtime, instance: Instance): void {
  const ui = runtime.hasUi ? runtime.kernel.tryService("ui") : undefined;
  for (const key of instance.statusKeys) ui?.setStatus(key, undefined);
  for (const key of instance.widgetKeys) ui?.setWidget(key, undefined);
  instance.statusKeys.clear();
  instance.widgetKeys.clear();
}
