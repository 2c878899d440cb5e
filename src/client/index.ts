/** `pi-kernel/client`: a client for `pi --mode rpc`. It needs nothing else of this package. */

export type { PromptResult, RpcClientOptions, Started } from "./client.ts";
export { RpcClient } from "./client.ts";
export type { ConfirmRequest, DialogHandlers, EditorRequest, InputRequest, SelectRequest } from "./dialogs.ts";
export { AgentGoneError, type Exit, RpcError } from "./errors.ts";
export type { HostTool, HostToolContext } from "./host-tools.ts";
export type { ClientEvent, MessageUpdate } from "./messages.ts";
export type * from "./protocol.ts";
