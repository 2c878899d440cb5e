/** Dialects and the user interface over frames. */
import type { AgentEvent, Fault } from "../../core/index.ts";

export type UpdateMode = "full" | "delta";

/** One inbound record, in the kernel's words. */
export interface RpcCall {
  id?: string | number;
  command: string;
  params: Record<string, unknown>;
}

export type Reply = { success: true; data?: unknown } | { success: false; error: string; kind: "parse" | "unknown" | "parameter" | "state" | "exception" };

/** How one family of clients spells the protocol. Translation only: a dialect holds no state. Arrays let it drop or split. */
export interface Dialect {
  name: string;
  /** settings below the user's */
  defaults: Record<string, unknown>;
  /** settings above the user's, for what this family always starts with */
  overrides?: Record<string, unknown>;
  /** "early": prompts are answered once their parameters are valid */
  acknowledges: "accepted" | "early";
  call(frame: Record<string, unknown>): RpcCall;
  /** `call` is undefined for what could not be read */
  reply(reply: Reply, call: RpcCall | undefined): object[];
  /** the records of an event; `message_update` is spelled by the update mode and not seen here */
  event(event: AgentEvent): object[];
  fault(fault: Fault): object[];
  /** false: `partial` is left out of full updates */
  sendsPartial: boolean;
  /** commands that this family does not know */
  hides?: ReadonlySet<string>;
  /** `setTitle` requests are not sent unless the environment asks for them */
  hidesTitles?: boolean;
}

/** Records that exist on the RPC wire only: outside of the event model. */
export interface Wire {
  /** Queues a record behind everything emitted before. A promise in answer: whoever has much to send waits for it. */
  send(record: { type: string; [field: string]: unknown }): Promise<void> | undefined;
  dialect(): Dialect;
  updateMode(): UpdateMode;
  setUpdateMode(mode: UpdateMode): UpdateMode;
}

export interface DialogOptions {
  signal?: AbortSignal;
  /** ms */
  timeout?: number;
  /** who asks; its dialogs are cancelled when it goes */
  owner?: object;
}

/** `ctx.ui` without what needs a terminal. Absent service: dialogs resolve to their defaults. */
export interface Ui {
  select(title: string, options: string[], settings?: DialogOptions): Promise<string | undefined>;
  confirm(title: string, message: string, settings?: DialogOptions): Promise<boolean>;
  input(title: string, placeholder?: string, settings?: DialogOptions): Promise<string | undefined>;
  editor(title: string, prefill?: string, settings?: DialogOptions): Promise<string | undefined>;
  notify(message: string, type?: "info" | "warning" | "error"): void;
  setStatus(key: string, text: string | undefined): void;
  setWidget(key: string, lines: string[] | undefined, placement?: "aboveEditor" | "belowEditor"): void;
  setTitle(title: string): void;
  setEditorText(text: string): void;
  /** Resolves the owner's open dialogs to their defaults. */
  cancelDialogs(owner: object): void;
  openDialogs(owner: object): number;
}

declare module "../../core/index.ts" {
  interface Services {
    ui: Ui;
    wire: Wire;
  }
  interface Kinds {
    dialects: Dialect;
  }
  interface Options {
    "rpc-dialect"?: string;
    "rpc-updates"?: string;
    "rpc-seq"?: boolean;
  }
}
