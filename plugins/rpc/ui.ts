/** The `ui` service over frames: dialogs wait for an answer, notices do not. Its only state is which dialogs are open. */
import type { DialogOptions, Ui } from "./contract.ts";

type Answer = Record<string, unknown>;

interface OpenDialog {
  owner: object | undefined;
  /** Settles the dialog; without an answer, to its default. */
  settle(answer?: Answer): void;
}

export interface FrameUiOptions {
  send(record: { type: string; [field: string]: unknown }): void;
  showsTitles: boolean;
  /** A dialog is about to open: its answer must be read. */
  onAsk(): void;
}

/** The longest delay that timers can hold; past it a timeout means "for ever". */
const LONGEST_MS = 2 ** 31 - 1;

export class FrameUi implements Ui {
  readonly #options: FrameUiOptions;
  readonly #open = new Map<string, OpenDialog>();
  #requests = 0;
  #isClosed = false;

  constructor(options: FrameUiOptions) {
    this.#options = options;
  }

  select(title: string, options: string[], settings?: DialogOptions): Promise<string | undefined> {
    return this.#ask({ method: "select", title, options: [...options] }, settings, textOf);
  }

  async confirm(title: string, message: string, settings?: DialogOptions): Promise<boolean> {
    const isConfirmed = ({ confirmed }: Answer) => (typeof confirmed === "boolean" ? confirmed : undefined);
    return (await this.#ask({ method: "confirm", title, message }, settings, isConfirmed)) ?? false;
  }

  input(title: string, placeholder?: string, settings?: DialogOptions): Promise<string | undefined> {
    return this.#ask({ method: "input", title, ...(placeholder !== undefined && { placeholder }) }, settings, textOf);
  }

  editor(title: string, prefill?: string, settings?: DialogOptions): Promise<string | undefined> {
    return this.#ask({ method: "editor", title, ...(prefill !== undefined && { prefill }) }, settings, textOf);
  }

  notify(message: string, type: "info" | "warning" | "error" = "info"): void {
    this.#request({ method: "notify", message, notifyType: type });
  }

  setStatus(key: string, text: string | undefined): void {
    this.#request({ method: "setStatus", statusKey: key, ...(text !== undefined && { statusText: text }) });
  }

  setWidget(key: string, lines: string[] | undefined, placement?: "aboveEditor" | "belowEditor"): void {
    this.#request({
      method: "setWidget",
      widgetKey: key,
      ...(lines !== undefined && { widgetLines: lines }),
      ...(placement !== undefined && { widgetPlacement: placement }),
    });
  }

  setTitle(title: string): void {
    if (this.#options.showsTitles) this.#request({ method: "setTitle", title });
  }

  setEditorText(text: string): void {
    this.#request({ method: "set_editor_text", text });
  }

  cancelDialogs(owner: object): void {
    for (const dialog of [...this.#open.values()]) if (dialog.owner === owner) dialog.settle();
  }

  openDialogs(owner: object): number {
    return [...this.#open.values()].filter((dialog) => dialog.owner === owner).length;
  }

  /** The client's answer; unknown and settled ids are ignored. */
  answer(id: string, answer: Answer): void {
    this.#open.get(id)?.settle(answer);
  }

  /** No answer will come any more: open dialogs and all later ones have their defaults. */
  close(): void {
    this.#isClosed = true;
    for (const dialog of [...this.#open.values()]) dialog.settle();
  }

  #ask<T>(request: object, { signal, timeout, owner }: DialogOptions = {}, read: (answer: Answer) => T | undefined): Promise<T | undefined> {
    if (signal?.aborted || this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const limit = timeout !== undefined && timeout > 0 && Number.isFinite(Number(timeout)) ? Math.ceil(timeout) : undefined;
      let timer: NodeJS.Timeout | undefined;
      const settle = (answer?: Answer) => {
        this.#open.delete(id);
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
        resolve(answer === undefined || answer.cancelled === true ? undefined : read(answer));
      };
      const cancel = () => settle();
      this.#options.onAsk();
      const id = this.#request({ ...request, ...(limit !== undefined && { timeout: limit }) });
      this.#open.set(id, { owner, settle });
      signal?.addEventListener("abort", cancel, { once: true });
      if (limit !== undefined && limit <= LONGEST_MS) timer = setTimeout(cancel, limit);
    });
  }

  #request(request: object): string {
    const id = `ui-${++this.#requests}`;
    this.#options.send({ type: "extension_ui_request", id, ...request });
    return id;
  }
}

function textOf({ value }: Answer): string | undefined {
  return typeof value === "string" ? value : undefined;
}
