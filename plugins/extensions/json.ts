/** Values that must survive JSON: on the wire and in the session file. */
import { messageOf } from "../../core/index.ts";

/** Throws a sentence if `value` cannot be written. */
export function assertJson(value: unknown, what: string): void {
  if (value === undefined || value === null || typeof value === "string" || typeof value === "boolean") return;
  try {
    JSON.stringify(value);
  } catch (error) {
    throw new TypeError(`The ${what} cannot be written as JSON: ${messageOf(error).split("\n")[0]}`);
  }
}
