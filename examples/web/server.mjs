/**
 * Shows one agent in the browser:
 *   node server.mjs [options of pi]
 * Pages get events over SSE and send commands by POST. Only this machine can connect (127.0.0.1), only pages of this server are heard
 * (Host and Origin), and only those that know the token, which is made anew for each start and printed with the address.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { RpcClient } from "pi-kernel/client";
import { applyEvent, emptyView, textOf, viewOf } from "./public/view.js";

const token = randomBytes(24).toString("base64url");
/** A page that is so far behind is disconnected; it comes back and gets a new picture. */
const BEHIND_BYTES = 4 * 1024 * 1024;
const BODY_BYTES = 1024 * 1024;

// ------------------------------------------------------------ the agent

let view = emptyView();
const pages = new Set();
/** dialogs that wait for an answer, by id */
const dialogs = new Map();

const wait = (request, signal) =>
  new Promise((resolve) => {
    const answer = (value) => {
      signal.removeEventListener("abort", onAbort);
      dialogs.delete(request.id);
      tell({ type: "dialog_closed", id: request.id });
      resolve(value);
    };
    const onAbort = () => answer(undefined);
    signal.addEventListener("abort", onAbort);
    dialogs.set(request.id, answer);
  });

const client = new RpcClient({
  ...(process.env.PI && { command: [process.execPath, process.env.PI] }),
  args: process.argv.slice(2),
  dialogs: { select: wait, confirm: wait, input: wait, editor: wait },
  onStderr: (text) => process.stderr.write(text),
});

client.onEvent((event) => {
  // The whole message stays here: pages put it together themselves, and the way to them stays short.
  const { message: _, ...increment } = event;
  tell(event.type === "message_update" ? increment : event);
  if (event.type === "agent_settled") void showTree();
});

/** Changes the picture, here and on all pages. */
function tell(event) {
  applyEvent(view, event);
  send("agent", event);
}

function send(name, data, targets = pages) {
  const text = `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  for (const page of targets) {
    page.write(text);
    if (page.writableLength > BEHIND_BYTES) page.destroy();
  }
}

async function showTree() {
  const answer = await client.getTree().catch(() => undefined);
  if (answer) tell({ type: "tree", tree: flat(answer) });
}

/** A new picture, after the conversation became another one. */
async function refresh() {
  const state = await client.getState();
  const tree = flat(await client.getTree());
  const { messages } = await client.getMessages();
  const { dialogs, notices, status } = view;
  view = { ...viewOf(messages, state, tree), dialogs, notices, status };
  send("snapshot", view);
}

/** The session tree as lines: what people wrote and what they were answered. A branch moves to the right. */
function flat({ tree, leafId }) {
  const path = new Set();
  const mark = ({ entry, children }) => {
    const isOnPath = children.map(mark).includes(true) || entry.id === leafId;
    if (isOnPath) path.add(entry.id);
    return isOnPath;
  };
  tree.forEach(mark);
  const lines = [];
  const add = ({ entry, children, label = "" }, depth) => {
    const text = wordsOf(entry.message).trim();
    if (text) lines.push({ id: entry.id, role: entry.message.role, text: text.slice(0, 80), label, depth: Math.min(depth, 8), isOnPath: path.has(entry.id) });
    for (const child of children) add(child, depth + (children.length > 1 ? 1 : 0));
  };
  for (const node of tree) add(node, 0);
  return lines;
}

function wordsOf({ role, content } = {}) {
  if (role === "user") return textOf(content);
  return role === "assistant" ? textOf(content.filter(({ type }) => type === "text")) : "";
}

const commands = {
  async prompt({ message }) {
    await client.prompt({ message, streamingBehavior: "steer" });
  },
  async abort() {
    await client.abort();
  },
  async dialog({ id, value }) {
    // A page may answer what another page has answered already.
    dialogs.get(id)?.(value ?? undefined);
  },
  async navigate({ id }) {
    const { editorText } = await client.navigateTree({ targetId: id });
    await refresh();
    return { editorText };
  },
  async new() {
    await client.newSession();
    await refresh();
  },
};

// ------------------------------------------------------------ the web

const files = { "/": "index.html", "/app.js": "app.js", "/view.js": "view.js", "/style.css": "style.css", "/icon.svg": "icon.svg" };
const types = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
const headers = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
};

const server = createServer((request, response) => {
  answer(request, response).catch((error) => reply(response, error.status ?? 400, { error: error.message }));
});

async function answer(request, response) {
  const { pathname } = new URL(request.url, "http://localhost");
  // A foreign name that points here (DNS rebinding) is as foreign as another page.
  if (!hosts().includes(request.headers.host)) return reply(response, 403, { error: "This host is not served." });
  const { origin } = request.headers;
  if (origin !== undefined && !hosts().some((host) => origin === `http://${host}`)) return reply(response, 403, { error: "This origin is not served." });
  if (request.method === "GET" && Object.hasOwn(files, pathname)) return sendFile(response, files[pathname]);
  if (!isKnown(request.headers.authorization)) return reply(response, 401, { error: "The token is missing or wrong." });
  if (request.method === "GET" && pathname === "/api/events") return join(request, response);
  const name = pathname.slice("/api/".length);
  if (request.method !== "POST" || !pathname.startsWith("/api/") || !Object.hasOwn(commands, name))
    return reply(response, 404, { error: "There is nothing here." });
  reply(response, 200, (await commands[name](await bodyOf(request))) ?? {});
}

function hosts() {
  const { port } = server.address();
  return [`127.0.0.1:${port}`, `localhost:${port}`];
}

function isKnown(authorization = "") {
  const given = Buffer.from(authorization);
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

async function bodyOf(request) {
  if (request.headers["content-type"] !== "application/json") throw new Error("Send JSON.");
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    // Read on, but keep nothing: who is cut off while sending does not hear why.
    if (size <= BODY_BYTES) chunks.push(chunk);
  }
  if (size > BODY_BYTES) throw Object.assign(new Error("That is too much."), { status: 413 });
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

async function sendFile(response, name) {
  const body = await readFile(new URL(`public/${name}`, import.meta.url));
  response.writeHead(200, { ...headers, "content-type": `${types[name.split(".")[1]]}; charset=utf-8` }).end(body);
}

function reply(response, status, body) {
  if (response.headersSent) return response.destroy();
  response.writeHead(status, { ...headers, "content-type": "application/json" }).end(JSON.stringify(body));
}

/** One page: the picture as it is now, then every event. Nothing can come between the two. */
function join(request, response) {
  response.writeHead(200, { ...headers, "content-type": "text/event-stream" });
  send("snapshot", view, [response]);
  pages.add(response);
  request.on("close", () => pages.delete(response));
}

// ------------------------------------------------------------ life

try {
  await client.start();
  await refresh();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  // After the #, so that the token gets into no log and to no other server.
  console.log(`Open http://127.0.0.1:${server.address().port}/#${token}`);
});
void client.closed.then(() => tell({ type: "gone", message: "The agent has ended. Start the server again." }));

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    server.close();
    for (const page of pages) page.end();
    await client.stop();
    process.exit(0);
  });
}
