/**
 * What a page shows, and how each event changes it. The server keeps one of these and sends it to every page that connects;
 * from then on both apply the same events, so a page that was reloaded looks like one that was not.
 */

/** How much of a tool's output is shown. */
const SHOWN_OUTPUT = 20_000;
const SHOWN_NOTICES = 5;

export function emptyView() {
  return { items: [], dialogs: [], notices: [], status: {}, queue: [], tree: [], isRunning: false, model: "", name: "", gone: "" };
}

/** The view of a conversation that already has messages. */
export function viewOf(messages, { model, sessionName, isStreaming }, tree) {
  const view = { ...emptyView(), tree, isRunning: isStreaming, model: model ? `${model.provider}/${model.id}` : "no model", name: sessionName ?? "" };
  for (const message of messages) {
    addMessage(view, message);
    if (message.role !== "assistant") continue;
    for (const call of message.content) if (call.type === "toolCall") addTool(view, call.id, call.name, call.arguments);
  }
  return view;
}

/** Applies an event. Answers the index of the item that changed, or undefined. */
export function applyEvent(view, event) {
  switch (event.type) {
    case "agent_start":
      view.isRunning = true;
      return;
    case "agent_settled":
      view.isRunning = false;
      return;
    case "message_start":
      return addMessage(view, event.message, event.message.role === "assistant");
    case "message_update":
      return grow(view, event.assistantMessageEvent);
    case "message_end":
      return endMessage(view, event.message);
    case "tool_execution_start":
      return addTool(view, event.toolCallId, event.toolName, event.args);
    case "tool_execution_update":
      return setTool(view, event.toolCallId, { output: textOf(event.partialResult.content) });
    case "tool_execution_end":
      return setTool(view, event.toolCallId, { output: textOf(event.result.content), state: event.isError ? "failed" : "done" });
    case "queue_update":
      view.queue = [...event.steering, ...event.followUp];
      return;
    case "auto_retry_start":
      return notice(view, `${event.errorMessage} Trying again in ${Math.ceil(event.delayMs / 1000)} s.`, "warning");
    case "compaction_start":
      return notice(view, "The conversation is being shortened.", "info");
    case "extension_error":
      return notice(view, `${event.extensionPath}: ${event.error}`, "error");
    case "model_changed":
      view.model = `${event.model.provider}/${event.model.id}`;
      return;
    case "session_info_changed":
      view.name = event.name ?? "";
      return;
    case "extension_ui_request":
      return applyRequest(view, event);
    case "dialog_closed":
      view.dialogs = view.dialogs.filter(({ id }) => id !== event.id);
      return;
    case "tree":
      view.tree = event.tree;
      return;
    case "gone":
      view.gone = event.message;
      view.isRunning = false;
      view.dialogs = [];
  }
}

function applyRequest(view, request) {
  switch (request.method) {
    case "notify":
      return notice(view, request.message, request.notifyType ?? "info");
    case "setStatus":
      if (request.statusText === undefined) delete view.status[request.statusKey];
      else view.status[request.statusKey] = request.statusText;
      return;
    case "select":
    case "confirm":
    case "input":
    case "editor":
      view.dialogs.push(request);
  }
}

function notice(view, text, level) {
  view.notices = [...view.notices, { text, level }].slice(-SHOWN_NOTICES);
}

function addMessage(view, message, isLive = false) {
  switch (message.role) {
    case "user":
      return add(view, { kind: "user", text: textOf(message.content) });
    case "assistant":
      return add(view, { kind: "assistant", blocks: blocksOf(message), error: errorOf(message), isLive });
    case "toolResult":
      return setTool(view, message.toolCallId, { output: textOf(message.content), state: message.isError ? "failed" : "done" });
    case "bashExecution":
      return add(view, { kind: "tool", name: "bash", args: message.command, output: clip(message.output), state: message.exitCode === 0 ? "done" : "failed" });
    case "compactionSummary":
    case "branchSummary":
      return add(view, { kind: "note", text: message.summary });
    case "custom":
      return message.display ? add(view, { kind: "note", text: textOf(message.content) }) : undefined;
  }
}

function endMessage(view, message) {
  if (message.role !== "assistant") return;
  const index = view.items.findLastIndex(({ isLive }) => isLive);
  if (index < 0) return addMessage(view, message);
  view.items[index] = { kind: "assistant", blocks: blocksOf(message), error: errorOf(message), isLive: false };
  return index;
}

function grow(view, { type, contentIndex, delta, content }) {
  const index = view.items.findLastIndex(({ isLive }) => isLive);
  const item = view.items[index];
  if (!item) return;
  const [kind, part] = type.split("_");
  if (kind === "toolcall") item.blocks[contentIndex] ??= { kind: "call", text: "" };
  else if (part === "start") item.blocks[contentIndex] = { kind, text: "" };
  else if (part === "delta") item.blocks[contentIndex].text += delta;
  else item.blocks[contentIndex].text = content;
  return index;
}

function addTool(view, id, name, args) {
  const index = view.items.findLastIndex((item) => item.kind === "tool" && item.id === id);
  if (index >= 0) return index;
  return add(view, { kind: "tool", id, name, args: argsText(args), output: "", state: "running" });
}

function argsText(args) {
  return clip(
    Object.entries(args)
      .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
      .join("\n"),
  );
}

function setTool(view, id, change) {
  const index = view.items.findLastIndex((item) => item.kind === "tool" && item.id === id);
  if (index >= 0) Object.assign(view.items[index], change);
  return index >= 0 ? index : undefined;
}

function add(view, item) {
  return view.items.push(item) - 1;
}

function blocksOf(message) {
  return message.content.map((block) => {
    if (block.type === "text") return { kind: "text", text: block.text };
    if (block.type === "thinking") return { kind: "thinking", text: block.thinking };
    return { kind: "call", text: "" };
  });
}

function errorOf({ stopReason, errorMessage }) {
  return stopReason === "error" || stopReason === "aborted" ? (errorMessage ?? "Stopped.") : "";
}

export function textOf(content) {
  if (typeof content === "string") return clip(content);
  return clip(content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n"));
}

function clip(text) {
  return text.length > SHOWN_OUTPUT ? `${text.slice(0, SHOWN_OUTPUT)}\n… ${text.length - SHOWN_OUTPUT} more characters` : text;
}
