/** Tools that the host executes, as its commands and other features see them. */

/** What the host declares with `set_host_tools`. */
export interface HostToolDefinition {
  name: string;
  label?: string;
  description: string;
  /** JSON Schema of type object */
  parameters: Record<string, unknown>;
}

export interface HostTools {
  /** Replaces the whole set, or throws and changes nothing. Answers the names. */
  declare(definitions: readonly HostToolDefinition[]): string[];
  /** What the host has so far for a call; unknown and finished calls are ignored. */
  update(callId: string, partialResult: unknown): void;
  /** The host's answer to a call; unknown and finished calls are ignored. */
  settle(callId: string, result: unknown, isError: boolean): void;
}

declare module "../../core/index.ts" {
  interface Services {
    hostTools: HostTools;
  }
}
