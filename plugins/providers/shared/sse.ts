/** Server-sent events of a response, one pass over its text: the SDKs' own readers copy each byte several times and hop through generators. */

/** The `data` of each event, in order. Lines may end in LF, CRLF or CR, as the format allows. */
export async function* sseData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  let data: string | undefined;
  const reader = body.getReader();
  let isDone = false;
  try {
    while (!isDone) {
      const read = await reader.read();
      isDone = read.done;
      let text = rest + (read.done ? decoder.decode() : decoder.decode(read.value, { stream: true }));
      // A CR at the end may be half of a CRLF: it waits for what follows.
      const held = !isDone && text.endsWith("\r") ? "\r" : "";
      if (held) text = text.slice(0, -1);
      if (text.includes("\r")) text = text.replace(/\r\n?/g, "\n");
      if (isDone && text !== "") text += "\n\n";
      let from = 0;
      for (let to = text.indexOf("\n"); to >= 0; to = text.indexOf("\n", from)) {
        if (to === from) {
          if (data !== undefined) yield data;
          data = undefined;
        } else if (text.startsWith("data:", from)) {
          const value = text.slice(text.charCodeAt(from + 5) === 0x20 ? from + 6 : from + 5, to);
          data = data === undefined ? value : `${data}\n${value}`;
        }
        from = to + 1;
      }
      rest = text.slice(from) + held;
    }
    if (data !== undefined) yield data;
  } finally {
    // Whoever stops early wants no more of it.
    if (!isDone) reader.cancel().catch(() => {});
  }
}
