/** Dialogs and notices over frames. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { memoryRpc } from "../helpers/memory-rpc.ts";

const request = (frame: { type: string }) => frame.type === "extension_ui_request";

test("each dialog waits for its own answer, in any order", async () => {
  const rpc = await memoryRpc();
  const ui = rpc.view.service("ui");
  const answers = Promise.all([ui.select("S", ["a", "b"]), ui.confirm("C", "sure?"), ui.input("I", "hint"), ui.editor("E", "text"), ui.input("I2")]);
  await rpc.find((frame) => frame.id === "ui-5");
  expect(rpc.frames).toEqual([
    { type: "extension_ui_request", id: "ui-1", method: "select", title: "S", options: ["a", "b"] },
    { type: "extension_ui_request", id: "ui-2", method: "confirm", title: "C", message: "sure?" },
    { type: "extension_ui_request", id: "ui-3", method: "input", title: "I", placeholder: "hint" },
    { type: "extension_ui_request", id: "ui-4", method: "editor", title: "E", prefill: "text" },
    { type: "extension_ui_request", id: "ui-5", method: "input", title: "I2" },
  ]);
  rpc.send({ type: "extension_ui_response", id: "ui-5", value: "" });
  rpc.send({ type: "extension_ui_response", id: "ui-4", value: "edited" });
  rpc.send({ type: "extension_ui_response", id: "ui-3", value: "typed" });
  rpc.send({ type: "extension_ui_response", id: "ui-2", confirmed: true });
  rpc.send({ type: "extension_ui_response", id: "ui-1", value: "not an option" });
  expect(await answers).toEqual(["not an option", true, "typed", "edited", ""]);
  rpc.send({ id: 1, type: "get_commands" });
  await rpc.response(1);
  expect(rpc.frames).toHaveLength(6);
});

test("wrong, late, double and cancelled answers give the default, and have no response", async () => {
  const rpc = await memoryRpc();
  const ui = rpc.view.service("ui");
  const answers = Promise.all([ui.select("1", []), ui.select("2", []), ui.confirm("3", ""), ui.confirm("4", ""), ui.input("5"), ui.input("6")]);
  await rpc.find((frame) => frame.id === "ui-6");
  rpc.send({ type: "extension_ui_response", id: "ui-1", confirmed: true });
  rpc.send({ type: "extension_ui_response", id: "ui-1", value: "late" });
  rpc.send({ type: "extension_ui_response", id: "ui-2", value: 5 });
  rpc.send({ type: "extension_ui_response", id: "ui-3", value: "yes" });
  rpc.send({ type: "extension_ui_response", id: "ui-4", confirmed: true, cancelled: true });
  rpc.send({ type: "extension_ui_response", id: "ui-5" });
  rpc.send({ type: "extension_ui_response", id: "ui-99", value: "nobody asked" });
  rpc.send({ type: "extension_ui_response", value: "no id" });
  rpc.send({ type: "extension_ui_response", id: "ui-6", value: "x", cancelled: false });
  expect(await answers).toEqual([undefined, undefined, false, false, undefined, "x"]);
  rpc.send({ id: 1, type: "get_commands" });
  await rpc.response(1);
  expect(rpc.frames.filter((frame) => frame.type === "response")).toHaveLength(1);
});

test("timeouts, abort signals and the end of the owner resolve a dialog silently", async () => {
  const rpc = await memoryRpc();
  const ui = rpc.view.service("ui");
  expect(await ui.confirm("T", "", { timeout: 20.5 })).toBe(false);
  expect(rpc.frames.at(-1)).toMatchObject({ method: "confirm", timeout: 21 });
  const controller = new AbortController();
  const aborted = ui.input("A", undefined, { signal: controller.signal, timeout: 0 });
  controller.abort();
  expect(await aborted).toBeUndefined();
  const sent = rpc.frames.length;
  expect(await ui.input("never sent", undefined, { signal: controller.signal })).toBeUndefined();
  const owner = {};
  const owned = ui.select("O", [], { owner, timeout: 2 ** 40 });
  const other = ui.select("other", [], { owner: {} });
  expect(ui.openDialogs(owner)).toBe(1);
  ui.cancelDialogs(owner);
  expect(await owned).toBeUndefined();
  expect(ui.openDialogs(owner)).toBe(0);
  expect(await Promise.race([other, sleep(20, "open")])).toBe("open");
  await rpc.find((frame) => frame.title === "other");
  expect(rpc.frames.slice(sent).map(({ title }) => title)).not.toContain("never sent");
  expect(rpc.frames.find(({ title }) => title === "A")?.timeout).toBeUndefined();
});

test("the end of input gives open dialogs and later ones their defaults", async () => {
  const rpc = await memoryRpc();
  const ui = rpc.view.service("ui");
  const open = ui.input("open");
  await rpc.find(request);
  rpc.stdin.end();
  expect(await open).toBeUndefined();
  expect(await ui.confirm("later", "")).toBe(false);
  expect(await rpc.served).toBe(0);
});

test("notices", async () => {
  const rpc = await memoryRpc();
  const ui = rpc.view.service("ui");
  ui.notify("n");
  ui.notify("w", "warning");
  ui.setStatus("k", "text");
  ui.setStatus("k", undefined);
  ui.setWidget("w", ["line"], "belowEditor");
  ui.setWidget("w", undefined);
  ui.setTitle("title");
  ui.setEditorText("draft");
  await rpc.find((frame) => frame.method === "set_editor_text");
  expect(rpc.frames.map(({ type: _, id: __, ...rest }) => rest)).toEqual([
    { method: "notify", message: "n", notifyType: "info" },
    { method: "notify", message: "w", notifyType: "warning" },
    { method: "setStatus", statusKey: "k", statusText: "text" },
    { method: "setStatus", statusKey: "k" },
    { method: "setWidget", widgetKey: "w", widgetLines: ["line"], widgetPlacement: "belowEditor" },
    { method: "setWidget", widgetKey: "w" },
    { method: "setTitle", title: "title" },
    { method: "set_editor_text", text: "draft" },
  ]);
  expect(new Set(rpc.frames.map(({ id }) => id)).size).toBe(8);
});

test.each([
  ["xcsh", undefined, 0],
  ["xcsh", "1", 1],
  ["pi", undefined, 1],
  ["pi", "0", 0],
  ["legacy", undefined, 1],
])("titles in %s with PI_RPC_EMIT_TITLE=%s", async (dialect, variable, expected) => {
  const rpc = await memoryRpc([], { "rpc-dialect": dialect, env: variable === undefined ? {} : { PI_RPC_EMIT_TITLE: variable } });
  rpc.view.service("ui").setTitle("t");
  rpc.view.service("ui").notify("end");
  await rpc.find((frame) => frame.method === "notify");
  expect(rpc.frames.filter(({ method }) => method === "setTitle")).toHaveLength(expected);
});

test("a dialog opened while the bus waits for an observer still goes out", async () => {
  const rpc = await memoryRpc();
  rpc.view.hooks.event.tapPromise("observer", async (event) => {
    if (event.type === "queue_update") await rpc.view.service("ui").confirm("From an observer", "");
  });
  rpc.send({ id: 1, type: "steer", message: "x" });
  const dialog = await rpc.find(request);
  expect(rpc.frames).toEqual([dialog]);
  rpc.send({ type: "extension_ui_response", id: dialog.id, confirmed: true });
  await rpc.response(1);
  expect(rpc.frames.map(({ type }) => type)).toEqual(["extension_ui_request", "queue_update", "response"]);
});
