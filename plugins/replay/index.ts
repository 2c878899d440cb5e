/** `--record FILE` writes every model exchange to a file; `--replay FILE` answers from it, offline. */
import { record } from "./record.ts";
import { replay } from "./replay.ts";

export default [record, replay];
