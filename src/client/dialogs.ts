/** Answers what extensions ask: by the host's handlers, or by declining. */
import type { ClientEvent, Events } from "./types.ts";

type Request<Method extends string> = Extract<Events["extension_ui_request"], { method: Method }>;
export type SelectRequest = Request<"select">;
export type ConfirmRequest = Request<"confirm">;
export type InputRequest = Request<"input">;
export type EditorRequest = Request<"editor">;

type Answer<Value> = Value | undefined | Promise<Value | undefined>;

/** Handlers of dialogs; `undefined` declines, and so does a missing handler. The signal fires when the answer is no longer wanted. */
export interface DialogHandlers {
  select?(request: SelectRequest, signal: AbortSignal): Answer<string>;
  confirm?(request: ConfirmRequest, signal: AbortSignal): Answer<boolean>;
  input?(request: InputRequest, signal: AbortSignal): Answer<string>;
  editor?(request: EditorRequest, signal: AbortSignal): Answer<string>;
}

const methods = new Set(["select", "confirm", "input", "editor"]);

export class Dialogs {
  readonly #handlers: DialogHandlers;
  readonly #send: (record: object) => Promise<void>;
  readonly #over = new AbortController();

  constructor(handlers: DialogHandlers, send: (record: object) => Promise<void>) {
    this.#handlers = handlers;
    this.#send = send;
  }

  onEvent(event: ClientEvent): void {
    if (event.type === "extension_ui_request" && methods.has(event.method)) void this.#answer(event as SelectRequest);
  }

  close(): void {
    this.#over.abort();
  }

  async #answer(request: SelectRequest | ConfirmRequest | InputRequest | EditorRequest): Promise<void> {
    const { id, method, timeout } = request;
    const signal = timeout ? AbortSignal.any([this.#over.signal, AbortSignal.timeout(timeout)]) : this.#over.signal;
    let value: string | boolean | undefined;
    try {
      value = await this.#handlers[method]?.(request as never, signal);
    } catch {
      // A handler that fails has not answered; an extension must not wait for it.
    }
    const answer = value === undefined ? { cancelled: true } : method === "confirm" ? { confirmed: value } : { value };
    const response = { type: "extension_ui_response", id };
    await this.#send({ ...response, ...answer }).catch(() => this.#send({ ...response, cancelled: true }));
  }
}
