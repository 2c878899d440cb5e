/** One-shot transports: the answer as text, or the events as JSON lines. */
import { jsonTransport } from "./json.ts";
import { printTransport } from "./text.ts";

export default [printTransport, jsonTransport];
