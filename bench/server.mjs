/** A model server for measurements: speaks OpenAI's completions API and does what the last user message says, e.g. "text 5000". */
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export const WORD = "lorem ";

export async function startServer() {
  /** times at which paced deltas were sent */
  const sent = [];
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const { messages = [] } = JSON.parse(Buffer.concat(pieces).toString("utf8") || "{}");
    response.writeHead(200, { "content-type": "text/event-stream" });
    const stream = new Stream(response);
    await answer(messages, stream, sent).catch(() => {});
    response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
    sent,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function answer(messages, stream, sent) {
  const [kind, count = "1", pause = "0"] = lastPrompt(messages).split(" ");
  const total = Number(count);
  if (kind === "text") {
    for (let index = 0; index < total; index++) await stream.delta({ content: WORD });
    return stream.end("stop");
  }
  if (kind === "paced") {
    for (let index = 0; index < total; index++) {
      await sleep(Number(pause));
      sent.push(performance.now());
      await stream.delta({ content: `#${index} ` });
    }
    return stream.end("stop");
  }
  const results = messages.length - 1 - messages.findLastIndex(({ role }) => role === "user");
  if (kind === "arguments" && results === 0) {
    await stream.call("write", `{"path":"written.txt","content":"`);
    for (let index = 0; index < total; index++) await stream.more(`${WORD.trim()} words `.slice(0, 12));
    await stream.more('"}');
    return stream.end("tool_calls");
  }
  if (kind === "loop" && messages.filter(({ role }) => role === "tool").length < total) {
    await stream.call("read", '{"path":"read.txt"}');
    return stream.end("tool_calls");
  }
  await stream.delta({ content: "Done." });
  return stream.end("stop");
}

function lastPrompt(messages) {
  const content = messages.findLast(({ role }) => role === "user")?.content ?? "";
  return typeof content === "string" ? content : content.map(({ text = "" }) => text).join("");
}

/** The answer, written one chunk at a time, as fast as the client takes it. */
class Stream {
  #closed;
  constructor(response) {
    this.response = response;
    this.#closed = new Promise((resolve) => response.once("close", resolve));
  }
  async delta(delta, finish = null) {
    const chunk = `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "bench", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    if (!this.response.write(chunk)) await Promise.race([new Promise((resolve) => this.response.once("drain", resolve)), this.#closed]);
    if (this.response.destroyed) throw new Error("closed");
  }
  call(name, json) {
    return this.delta({ tool_calls: [{ index: 0, id: `call_${Math.random().toString(36).slice(2)}`, type: "function", function: { name, arguments: json } }] });
  }
  more(json) {
    return this.delta({ tool_calls: [{ index: 0, function: { arguments: json } }] });
  }
  async end(reason) {
    await this.delta({}, reason);
    this.response.write(
      `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "bench", choices: [], usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 } })}\n\ndata: [DONE]\n\n`,
    );
  }
}
