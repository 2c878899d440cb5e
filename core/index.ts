/** The kernel's public surface: the only file of core/ that others import. */
export type * from "./contracts.ts";
export type { ErrorCode } from "./errors.ts";
export { KernelError, messageOf } from "./errors.ts";
export type { AgentEvent, AgentEvents, Bus, EventOf } from "./events.ts";
export { type KernelHooks, Stage } from "./hooks.ts";
export { ownJson } from "./json.ts";
export { Kernel } from "./kernel.ts";
export * from "./messages.ts";
export * from "./plugin.ts";
export type { InterruptMode, Queue, Queued, QueueMode, QueueTexts } from "./queue.ts";
export { type Contributions, type Draft, FILTER_STAGE } from "./registry.ts";
export type { Occupation, Run } from "./run.ts";
export { checkParams, coerce, validateArguments } from "./schema.ts";
export { type Rank, type Scope, swap } from "./scope.ts";
export { isTapped, mayRefuse, type Owned, type OwnedHook, type TapOptions } from "./taps.ts";
export { ABORTED, emptyMessage, toModel, unseen } from "./turn.ts";
