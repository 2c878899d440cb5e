/** Errors that are sentences for whoever reads the wire or stderr. */

/** Why something failed, for code that must tell cases apart; people read the message. */
export type ErrorCode =
  | "E_NAME_TAKEN"
  | "E_SERVICE_MISSING"
  | "E_SERVICE_IN_USE"
  | "E_UNLOADED"
  | "E_APPLY"
  | "E_UNKNOWN_COMMAND"
  | "E_PARAMETER"
  | "E_BUSY"
  | "E_REFUSED"
  | "E_ABORTED"
  | "E_USAGE";

/** An expected failure with a code; its message is complete as it stands. */
export class KernelError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KernelError";
    this.code = code;
  }
}

/** The sentence to show for anything that was thrown, also by code that throws what is no error. */
export function messageOf(error: unknown): string {
  try {
    const { message, name } = Object(error) as { message?: unknown; name?: unknown };
    const words = error instanceof Error ? [message, name] : [message];
    return (words.find((word) => typeof word === "string" && word !== "") as string | undefined) ?? String(error);
  } catch {
    return "unknown error";
  }
}
