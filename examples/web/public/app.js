/** The page: draws the view and sends what the user wants. Everything from the agent is put in as text, never as HTML. */
import { applyEvent, emptyView } from "./view.js";

const $ = (id) => document.getElementById(id);
const RECONNECT_MS = 1000;

// The token comes once in the address; it stays in this tab and leaves the address, where others could see it.
const given = location.hash.slice(1);
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem("token") ?? "";

let view = emptyView();
let connection = "Connecting…";
const changed = new Set();
let isAllChanged = true;
let isScheduled = false;

// ------------------------------------------------------------ the server

async function post(name, body = {}) {
  const response = await fetch(`/api/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** SSE over fetch, because EventSource cannot send the token in a header. */
async function listen() {
  const response = await fetch("/api/events", { headers: { authorization: `Bearer ${token}` } });
  if (response.status === 401) return "This page needs the address that the server printed.";
  if (!response.ok) throw new Error(String(response.status));
  let rest = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const records = (rest + value).split("\n\n");
    rest = records.pop();
    for (const record of records) receive(record);
  }
}

function receive(record) {
  const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(record) ?? [];
  if (!name) return;
  connection = "";
  const content = JSON.parse(data);
  if (name === "snapshot") {
    view = content;
    isAllChanged = true;
  } else {
    const index = applyEvent(view, content);
    if (index !== undefined) changed.add(index);
    if (content.type === "extension_ui_request" && content.method === "set_editor_text") setMessage(content.text);
    if (content.type === "extension_ui_request" && content.method === "setTitle") document.title = content.title;
  }
  schedule();
}

async function stayConnected() {
  for (;;) {
    const final = await listen().catch(() => undefined);
    connection = final ?? "Connecting…";
    schedule();
    if (final) return;
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
  }
}

// ------------------------------------------------------------ drawing

function schedule() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    draw();
  });
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function draw() {
  drawLog();
  $("name").textContent = view.name || "pi";
  $("model").textContent = view.model;
  $("status").textContent = view.gone || connection || [view.isRunning ? "Working…" : "Ready", ...Object.values(view.status)].join(" · ");
  $("stop").hidden = !view.isRunning;
  $("send").textContent = view.isRunning ? "Steer" : "Send";
  $("queue").textContent = view.queue.length > 0 ? `Waiting: ${view.queue.join(" · ")}` : "";
  $("notices").replaceChildren(...view.notices.map(({ text, level }) => element("p", level, text)));
  drawTree();
  drawDialog();
}

function drawLog() {
  const log = $("log");
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  if (isAllChanged) log.replaceChildren(...view.items.map(drawItem));
  else {
    for (const index of [...changed].sort((a, b) => a - b)) {
      const old = log.children[index];
      const made = drawItem(view.items[index]);
      if (old) old.replaceWith(made);
      else log.append(made);
    }
  }
  changed.clear();
  isAllChanged = false;
  if (isAtEnd) log.scrollTop = log.scrollHeight;
}

function drawItem(item) {
  if (item.kind === "tool") return drawTool(item);
  const made = element("div", `item ${item.kind}`);
  if (item.kind !== "assistant") {
    made.textContent = item.text;
    return made;
  }
  if (item.isLive) made.classList.add("live");
  for (const { kind, text } of item.blocks) {
    if (kind === "text") made.append(element("div", "text", text));
    if (kind === "thinking" && text) {
      const details = foldable("thinking", item, item.isLive);
      details.append(element("summary", "", "Thinking"), element("div", "", text));
      made.append(details);
    }
  }
  if (item.error) made.append(element("div", "error", item.error));
  return made;
}

/** What the user opened or closed stays so, however often it is drawn. */
function foldable(className, item, isOpen) {
  const made = element("details", className);
  made.open = item.isOpen ?? isOpen;
  made.addEventListener("click", ({ target }) => {
    if (target.closest("summary")) item.isOpen = !made.open;
  });
  return made;
}

function drawTool(item) {
  const { name, args, output, state } = item;
  const made = foldable("item tool", item, state === "failed");
  const summary = element("summary");
  const words = { running: "running", done: "done", failed: "failed" };
  summary.append(element("strong", "", name), element("span", "args", args.replace(/\s+/g, " ")), element("span", `state ${state}`, words[state]));
  made.append(summary, element("pre", "", `${args}\n\n${output}`));
  made.lastChild.tabIndex = 0;
  return made;
}

let drawnTree;
function drawTree() {
  if (view.tree === drawnTree) return;
  drawnTree = view.tree;
  const lines = view.tree.map(({ id, role, text, label, depth, isOnPath }) => {
    const line = element("li", `depth-${depth}`);
    const entry = element(role === "user" ? "button" : "span", `entry${isOnPath ? " on-path" : ""}`);
    if (label) entry.append(element("span", "label", `${label} `));
    entry.append(text);
    if (role === "user") {
      entry.type = "button";
      entry.addEventListener("click", () => act(() => goTo(id)));
    }
    line.append(entry);
    return line;
  });
  $("tree").replaceChildren(...lines);
}

async function goTo(id) {
  const { editorText } = await post("navigate", { id });
  if (editorText !== undefined) setMessage(editorText);
}

// ------------------------------------------------------------ dialogs

let shown;
function drawDialog() {
  const dialog = $("dialog");
  const request = view.dialogs[0];
  if (request?.id === shown) return;
  shown = request?.id;
  if (dialog.open) dialog.close();
  if (!request) return;
  const { id, method, title, message = "", options, placeholder = "", prefill = "" } = request;
  $("dialog-title").textContent = title;
  $("dialog-message").textContent = message;
  const respond = (value) => act(() => post("dialog", { id, value }));
  const button = (text, value, className = "") => {
    const made = element("button", className, text);
    made.type = "button";
    made.addEventListener("click", () => respond(value()));
    return made;
  };
  const cancel = button("Cancel", () => null);
  let field;
  if (method === "select") {
    const choices = element("div", "choices");
    choices.append(...options.map((option) => button(option, () => option)));
    $("dialog-body").replaceChildren(choices);
    $("dialog-actions").replaceChildren(cancel);
  } else if (method === "confirm") {
    $("dialog-body").replaceChildren();
    $("dialog-actions").replaceChildren(
      button("No", () => false),
      button("Yes", () => true, "primary"),
    );
  } else {
    field = element(method === "input" ? "input" : "textarea");
    field.setAttribute("aria-labelledby", "dialog-title");
    field.placeholder = placeholder;
    field.value = prefill;
    if (method === "editor") field.rows = 6;
    $("dialog-body").replaceChildren(field);
    $("dialog-actions").replaceChildren(
      cancel,
      button("OK", () => field.value, "primary"),
    );
  }
  $("dialog-form").onsubmit = (event) => {
    event.preventDefault();
    if (field) respond(field.value);
  };
  dialog.oncancel = (event) => {
    event.preventDefault();
    respond(null);
  };
  dialog.showModal();
  field?.focus();
}

// ------------------------------------------------------------ the user

function setMessage(text) {
  $("message").value = text;
  $("message").focus();
}

async function act(work) {
  try {
    await work();
  } catch (error) {
    applyEvent(view, { type: "extension_ui_request", method: "notify", message: error.message, notifyType: "error" });
    schedule();
  }
}

async function submit() {
  const message = $("message").value;
  if (!message.trim()) return;
  setMessage("");
  try {
    await post("prompt", { message });
  } catch (error) {
    // Nothing that was written is lost.
    if (!$("message").value) setMessage(message);
    throw error;
  }
}

$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  void act(submit);
});
$("message").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void act(submit);
});
$("stop").addEventListener("click", () => act(() => post("abort")));
$("new").addEventListener("click", () => act(() => post("new")));
$("toggle").addEventListener("click", () => {
  const isOpen = $("side").classList.toggle("open");
  $("toggle").setAttribute("aria-expanded", String(isOpen));
});

// Who scrolls with the keyboard must be able to get there.
$("log").tabIndex = 0;
void stayConnected();
schedule();
