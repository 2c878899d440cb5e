/** The types that the client's files share. */
export type { ClientEvent, MessageUpdate } from "./messages.ts";
export type * from "./protocol.ts";
