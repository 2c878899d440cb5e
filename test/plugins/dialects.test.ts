/** What each dialect makes of replies, events and faults: the table of differences, row by row. */
import { describe, expect, test } from "vitest";
import type { AgentEvent } from "../../core/index.ts";
import { legacy } from "../../plugins/dialects/legacy.ts";
import { omp } from "../../plugins/dialects/omp.ts";
import { pi } from "../../plugins/dialects/pi.ts";
import { xcsh } from "../../plugins/dialects/xcsh.ts";
import type { Reply, RpcCall } from "../../plugins/rpc/contract.ts";

const call = (command: string, id?: string | number, params: object = {}): RpcCall => ({ command, params: { ...params }, ...(id !== undefined && { id }) });
const ok: Reply = { success: true };
const failed = (kind: (Reply & { success: false })["kind"], error = "why"): Reply => ({ success: false, kind, error });
const response = (command: string, fields: object) => ({ type: "response", command, ...fields });
const error = { type: "error", error: "why" };
const failure = (command: string, id?: string) => response(command, { success: false, error: "why", ...(id !== undefined && { id }) });

describe("calls", () => {
  test("a string or a finite number is an id; anything else counts as absent", () => {
    const idOf = (id: unknown) => pi.call({ type: "x", id }).id;
    expect([idOf("a"), idOf(""), idOf(0), idOf(1.5)]).toEqual(["a", "", 0, 1.5]);
    expect([idOf(null), idOf(true), idOf({}), idOf(Number.POSITIVE_INFINITY), idOf([1])]).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });
});

describe("replies", () => {
  test("success and data", () => {
    for (const dialect of [pi, omp, xcsh]) {
      expect(dialect.reply(ok, call("abort", "1"))).toEqual([response("abort", { id: "1", success: true })]);
      expect(dialect.reply({ success: true, data: null }, call("cycle_model"))).toEqual([response("cycle_model", { success: true, data: null })]);
    }
  });

  test("rows 1 and 2: prompts are acknowledged early in omp and xcsh", () => {
    expect([pi, omp, xcsh, legacy].map(({ acknowledges }) => acknowledges)).toEqual(["accepted", "early", "early", "accepted"]);
    expect(omp.reply(failed("state"), call("prompt", "1"))).toEqual([failure("prompt", "1")]);
    expect(xcsh.reply(failed("state"), call("prompt", "1"))).toEqual([failure("prompt", "1")]);
    expect(legacy.reply(ok, call("prompt"))).toEqual([]);
    expect(legacy.reply(ok, call("prompt", "1"))).toEqual([response("prompt", { id: "1", success: true })]);
    expect(legacy.reply(ok, call("abort_and_prompt"))).toEqual([]);
  });

  test("row 3: unknown commands", () => {
    const unknown = (dialect: typeof pi, id?: string) => dialect.reply(failed("unknown"), call("x", id));
    expect(unknown(pi, "1")).toEqual([failure("x", "1")]);
    expect(unknown(omp, "1")).toEqual([failure("x", "1")]);
    expect(unknown(xcsh, "1")).toEqual([failure("x")]);
    expect(unknown(legacy)).toEqual([error]);
    expect(unknown(legacy, "1")).toEqual([error, failure("x", "1")]);
  });

  test("row 4: records that are no command", () => {
    const parse = (dialect: typeof pi) => dialect.reply(failed("parse"), call("parse", "1"));
    expect(parse(pi)).toEqual([failure("parse", "1")]);
    expect(parse(omp)).toEqual([failure("parse", "1")]);
    expect(parse(xcsh)).toEqual([failure("parse")]);
    expect(parse(legacy)).toEqual([error]);
    expect(pi.reply(failed("parse"), undefined)).toEqual([failure("parse")]);
  });

  test("row 5: exceptions", () => {
    const exception = (dialect: typeof pi, id?: string) => dialect.reply(failed("exception"), call("get_state", id));
    expect(exception(pi, "1")).toEqual([failure("get_state", "1")]);
    expect(exception(omp, "1")).toEqual([failure("get_state", "1")]);
    expect(exception(xcsh, "1")).toEqual([failure("parse")]);
    expect(exception(legacy)).toEqual([error, failure("get_state")]);
  });

  test("rows 8 and 10: bash, abort, compact and prompt in legacy", () => {
    const data = { output: "o", exitCode: 0, cancelled: false, truncated: true, fullOutputPath: "/f", artifactId: "a", totalLines: 1, totalBytes: 1 };
    const done: Reply = { success: true, data };
    const message = { role: "bashExecution", command: "ls", output: "o", exitCode: 0, cancelled: false, truncated: true, fullOutputPath: "/f" };
    const end = { type: "bash_end", message: { ...message, timestamp: expect.any(Number) } };
    expect(legacy.reply(done, call("bash", undefined, { command: "ls" }))).toEqual([end]);
    expect(legacy.reply(done, call("bash", 7, { command: "ls" }))).toEqual([end, response("bash", { id: 7, success: true, data })]);
    for (const command of ["prompt", "abort", "compact", "bash"]) {
      expect(legacy.reply(failed("state"), call(command))).toEqual([error]);
      expect(legacy.reply(failed("parameter"), call(command, "1"))).toEqual([error, failure(command, "1")]);
    }
    expect(legacy.reply(failed("state"), call("set_model"))).toEqual([failure("set_model")]);
    expect(legacy.reply(ok, call("set_model"))).toEqual([response("set_model", { success: true })]);
  });

  test("commands of later times are unknown in legacy only", () => {
    expect([pi, omp, xcsh].map(({ hides }) => hides)).toEqual([undefined, undefined, undefined]);
    expect(legacy.hides?.has("get_protocol")).toBe(true);
    expect(legacy.hides?.has("set_update_mode")).toBe(false);
  });
});

describe("events", () => {
  const start = (reason: "manual" | "threshold" | "overflow"): AgentEvent => ({ type: "compaction_start", reason });
  const result = { summary: "S", firstKeptEntryId: "e", tokensBefore: 9 };
  const end = (reason: "manual" | "threshold" | "overflow"): AgentEvent => ({ type: "compaction_end", reason, result, aborted: false, willRetry: false });
  const failedEnd = (reason: "manual" | "threshold"): AgentEvent => ({
    type: "compaction_end",
    reason,
    result: null,
    aborted: false,
    willRetry: false,
    errorMessage: "why",
  });

  test("rows 6 and 7: compactions", () => {
    expect(pi.event(start("threshold"))).toEqual([start("threshold")]);
    expect(pi.event(end("manual"))).toEqual([end("manual")]);
    for (const dialect of [omp, xcsh]) {
      expect(dialect.event(start("overflow"))).toEqual([{ type: "auto_compaction_start", reason: "overflow" }]);
      expect(dialect.event(end("threshold"))).toEqual([{ ...end("threshold"), type: "auto_compaction_end" }]);
      expect(dialect.event(start("manual"))).toEqual([]);
      expect(dialect.event(end("manual"))).toEqual([]);
    }
    expect(legacy.event(start("threshold"))).toEqual([]);
    expect(legacy.event(end("threshold"))).toEqual([{ type: "compaction", summary: "S", tokensBefore: 9, auto: true }]);
    expect(legacy.event(end("manual"))).toEqual([{ type: "compaction", summary: "S", tokensBefore: 9 }]);
    expect(legacy.event(failedEnd("threshold"))).toEqual([error]);
    expect(legacy.event(failedEnd("manual"))).toEqual([]);
  });

  const image = { type: "image" as const, data: "AA==", mimeType: "image/png" };
  const source = { type: "image", source: { type: "base64", mediaType: "image/png", data: "AA==" } };

  test("row 15: images are nested in omp, wherever messages are, and nowhere else", () => {
    const message = { role: "user" as const, content: [{ type: "text" as const, text: "t" }, image], timestamp: 1 };
    const event: AgentEvent = { type: "message_end", message };
    expect(omp.event(event)).toEqual([{ type: "message_end", message: { ...message, content: [message.content[0], source] } }]);
    expect(message.content[1]).toBe(image);
    for (const dialect of [pi, xcsh, legacy]) expect(dialect.event(event)).toEqual([event]);
    const tool: AgentEvent = {
      type: "tool_execution_end",
      toolCallId: "c",
      toolName: "t",
      result: { content: [image], details: { content: [image] } },
      isError: false,
    };
    expect(omp.event(tool)).toEqual([{ ...tool, result: { content: [source], details: { content: [image] } } }]);
    const started: AgentEvent = { type: "tool_execution_start", toolCallId: "c", toolName: "t", args: { message: image } };
    expect(omp.event(started)).toEqual([started]);
    const entries = [
      { type: "custom", data: { content: [image] } },
      { type: "message", message },
    ];
    expect(omp.reply({ success: true, data: { entries } }, call("get_entries"))).toEqual([
      response("get_entries", {
        success: true,
        data: { entries: [entries[0], { type: "message", message: { ...message, content: [message.content[0], source] } }] },
      }),
    ]);
  });

  test("rows 11, 12, 22 and 25: the closed set of legacy", () => {
    const user = { role: "user" as const, content: [{ type: "text" as const, text: "Hi" }], timestamp: 1 };
    expect(legacy.event({ type: "message_start", message: user })).toEqual([{ type: "message_start", message: { ...user, content: "Hi" } }]);
    expect(legacy.event({ type: "agent_end", messages: [user], willRetry: false })).toEqual([
      { type: "agent_end", messages: [{ ...user, content: "Hi" }], willRetry: false },
    ]);
    const withImage = { ...user, content: [...user.content, image] };
    expect(legacy.event({ type: "message_end", message: withImage })).toEqual([{ type: "message_end", message: withImage }]);
    const content = [{ type: "text" as const, text: "broke" }];
    const ended = (isError: boolean): AgentEvent => ({ type: "tool_execution_end", toolCallId: "c", toolName: "t", result: { content, details: {} }, isError });
    expect(legacy.event(ended(true))).toEqual([{ ...ended(true), result: "broke" }]);
    expect(legacy.event(ended(false))).toEqual([ended(false)]);
    for (const dialect of [pi, omp, xcsh]) expect(dialect.event(ended(true))).toEqual([ended(true)]);
    const others: object[] = [
      { type: "agent_settled" },
      { type: "tool_execution_update" },
      { type: "queue_update", steering: [], followUp: [] },
      { type: "auto_retry_start" },
      { type: "entry_appended" },
      { type: "bash_execution_update" },
      { type: "todo_reminder" },
      { type: "extension_reload" },
    ];
    for (const event of others) {
      expect(legacy.event(event as AgentEvent)).toEqual([]);
      expect(pi.event(event as AgentEvent)).toEqual([event]);
    }
    for (const type of ["extension_ui_request", "extension_error", "host_tool_call", "host_tool_cancel"]) {
      expect(legacy.event({ type } as unknown as AgentEvent)).toEqual([{ type }]);
    }
  });

  test("faults of extensions are told, those of our own parts are not", () => {
    const fault = (from: string) => pi.fault({ from, during: "tool_call", error: new Error("boom") });
    const told = (extensionPath: string) => [{ type: "extension_error", extensionPath, event: "tool_call", error: "boom" }];
    expect(fault("/home/x/e.ts")).toEqual(told("/home/x/e.ts"));
    expect(fault("extension:/home/x/e.ts")).toEqual(told("/home/x/e.ts"));
    expect(fault("command:deploy")).toEqual(told("command:deploy"));
    expect(fault("session")).toEqual([]);
  });
});

test("rows 17, 19, 20, 21 and 24: presets", () => {
  expect(pi.defaults).toEqual({});
  expect(omp.defaults).toMatchObject({ interruptMode: "immediate", "todo.reminders": true });
  expect(xcsh.defaults.interruptMode).toBeUndefined();
  expect(xcsh.overrides).toEqual({ "todo.reminders": true, "todo.reminders.max": 3, "todo.autoClear": true });
  expect(legacy.defaults).toEqual({ "compaction.reserveTokens": 20000 });
  expect([pi, omp, xcsh, legacy].map(({ hidesTitles }) => hidesTitles ?? false)).toEqual([false, false, true, false]);
  expect([pi, omp, xcsh, legacy].map(({ sendsPartial }) => sendsPartial)).toEqual([true, true, false, true]);
});
